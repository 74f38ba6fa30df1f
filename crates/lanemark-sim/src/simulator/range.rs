//! A check that a request is within its target.

use super::{SimError, Simulator};
use crate::spec::target::{DriveNamespace, NamespaceExtent};
use lanemark_schema::workload::Access;

impl Simulator {
    /// Checks that a request is within its namespace.
    pub(super) fn check_range(
        &self,
        target: DriveNamespace,
        access: Access,
    ) -> Result<(), SimError> {
        let DriveNamespace { drive, namespace } = target;
        let extents =
            self.attachments.get(usize::from(drive)).map(|attachment| &attachment.extents);
        let extents = extents.ok_or(SimError::NoTarget { target })?;
        let NamespaceExtent { length: capacity, .. } =
            *extents.get(usize::from(namespace)).ok_or(SimError::NoTarget { target })?;
        let Access { offset, length, .. } = access;
        if offset.get().saturating_add(length.get()) <= capacity.get() {
            return Ok(());
        }
        Err(match extents.len() {
            1 => SimError::OutOfRange { offset, length, capacity },
            _ => SimError::OutOfNamespace { offset, length, namespace, capacity },
        })
    }
}

//! A check that a request is within its target.

use super::{SimError, Simulator};
use lanemark_schema::workload::Access;

impl Simulator {
    /// Checks that a request is within its drive.
    pub(super) fn check_range(&self, target: u16, access: Access) -> Result<(), SimError> {
        let attachment = self.attachments.get(usize::from(target));
        let capacity = attachment.ok_or(SimError::NoTarget { target })?.capacity;
        let Access { offset, length, .. } = access;
        if offset.get().saturating_add(length.get()) <= capacity.get() {
            Ok(())
        } else {
            Err(SimError::OutOfRange { offset, length, capacity })
        }
    }
}

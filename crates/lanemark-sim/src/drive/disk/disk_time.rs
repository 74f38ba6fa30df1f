//! The busy times of a disk: moving the arm, and reading or writing sectors.
//!
//! Ended operations are counted when they end; operations in progress are counted when the times are read. The wait for
//! the platters to turn belongs to neither time. In a read-ahead, only the sectors for which a command waits are
//! counted.

use super::operation::DiskOperation;
use lanemark_schema::units::{Duration, Instant};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiskWorkTime {
    /// Time during which the arm moved to the beginning of an operation.
    pub seek: Duration,
    /// Time during which sectors were read or written as they passed under the head, including track changes.
    pub transfer: Duration,
}

impl DiskWorkTime {
    pub(super) fn count(&mut self, operation: &DiskOperation, at: Instant) {
        self.seek += at.min(operation.moved).since_or_zero(operation.begun);
        self.transfer += at.since_or_zero(operation.reached);
    }

    /// Returns the times in the order of [`MediaPower::Disk`](crate::spec::MediaPower::Disk).
    pub(super) fn parts(&self) -> Vec<Duration> {
        vec![self.seek, self.transfer]
    }
}

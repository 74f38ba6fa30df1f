//! The times for which the arm of a disk has moved, and for which sectors were read or written.
//!
//! Ended operations are counted when they end; operations in progress are counted when the times are read. Waiting for
//! the platters to turn belongs to neither. For reading ahead, only the sectors that a command waits for are counted.

use super::operation::DiskOperation;
use lanemark_schema::units::{Duration, Instant};

/// Time worked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiskTime {
    /// The arm moved to the beginning of an operation.
    pub seek: Duration,
    /// Time in which sectors passed that were read or written, including changes of track.
    pub transfer: Duration,
}

impl DiskTime {
    pub(super) fn count(&mut self, operation: &DiskOperation, at: Instant) {
        self.seek += at.min(operation.moved).since_or_zero(operation.begun);
        self.transfer += at.since_or_zero(operation.reached);
    }

    /// Returns the times in the order of [`MediaPower::Disk`](crate::spec::MediaPower::Disk).
    pub(super) fn parts(&self) -> Vec<Duration> {
        vec![self.seek, self.transfer]
    }
}

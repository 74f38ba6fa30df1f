//! The times that the arm of a disk has moved, and that sectors were read or written.
//!
//! Operations that have ended are counted as they end; those under way are looked at when somebody asks. Waiting for the platters
//! to turn is neither. Of reading ahead only what a command waits for is counted.

use super::arm::Arm;
use super::{Disk, DiskOperation};
use crate::units::{Duration, Instant};

/// Time worked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct DiskTime {
    /// The arm moved to where an operation begins.
    pub seek: Duration,
    /// Sectors passed that were read or written, changes of track on the way included.
    pub transfer: Duration,
}

impl DiskTime {
    /// Counts an operation until `at`.
    pub(super) fn count(&mut self, operation: &DiskOperation, at: Instant) {
        self.seek += at.min(operation.moved).since_or_zero(operation.begun);
        self.transfer += at.since_or_zero(operation.reached);
    }

    /// Returns the times in the order of [`MediaPower::Disk`](crate::sim::spec::MediaPower::Disk).
    pub(super) fn parts(&self) -> Vec<Duration> {
        vec![self.seek, self.transfer]
    }
}

impl Disk {
    /// The time worked until `at`, which lies no earlier than anything that was asked of it.
    pub(super) fn time(&self, at: Instant) -> DiskTime {
        let mut time = self.worked;
        match self.arm {
            Arm::Working { operation, .. } => time.count(&self.operations[operation], at),
            // Sectors that a command waits for are counted when they are promised.
            Arm::Streaming(stream) => {
                let to_come = stream.accounted.since_or_zero(at);
                time.transfer = time.transfer.saturating_sub(to_come);
            }
            Arm::Resting(_) => {}
        }
        time
    }
}

//! The current activity of a disk's arm.

use lanemark_schema::units::Instant;

use super::geometry::Track;
use super::sweep::SectorSweep;
use crate::engine::slab::OperationHandle;

#[derive(Clone, Copy, Debug)]
pub(super) enum ArmWork {
    /// The arm rests on a track.
    Resting(Track),
    /// The arm executes an operation; `end` is the position of the head, and the instant, at the end of the operation.
    Working {
        operation: OperationHandle,
        end: SectorSweep,
    },
    Streaming(ReadAheadStream),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ReadAheadStream {
    pub(super) sweep: SectorSweep,
    pub(super) segment: usize,
    /// The sector at which the read-ahead stops.
    pub(super) limit: u64,
    /// The end of the sectors for which commands wait.
    pub(super) promised: u64,
    /// The instant at which the stream reaches `promised`.
    pub(super) promised_at: Instant,
    /// Instant up to which the time of the stream has been counted.
    pub(super) accounted: Instant,
}

//! Busy times of all die arrays and all channels, by kind of work.
//!
//! Ended operations are counted when they end; operations in progress are counted when the times are read.

use super::flash::Flash;
use super::operation::{DieTask, FlashOperation};
use crate::engine::slab::Handle;
use lanemark_schema::units::{Duration, Instant};

/// Busy times, summed over all dies or all channels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlashWorkTime {
    /// Sensing, including repeated reads.
    pub read: Duration,
    /// Programming.
    pub program: Duration,
    /// Erasing.
    pub erase: Duration,
    /// Transfer of commands and data on channels.
    pub channel: Duration,
}

impl FlashWorkTime {
    #[inline]
    pub(super) fn count(&mut self, operation: &FlashOperation, time: Duration) {
        match operation.task {
            DieTask::Program { .. } | DieTask::ProgramMap | DieTask::ProgramMoved => {
                self.program += time;
            }
            DieTask::Erase { .. } => self.erase += time,
            DieTask::Read { .. }
            | DieTask::ReadMap { .. }
            | DieTask::Prefetch { .. }
            | DieTask::Move { .. } => self.read += time,
        }
    }

    /// Returns the times in the order of [`MediaPower::Flash`](crate::spec::MediaPower::Flash).
    pub(crate) fn parts(&self) -> Vec<Duration> {
        vec![self.read, self.program, self.erase, self.channel]
    }
}

impl Flash {
    /// Returns the busy times until `at`, which must not be earlier than in a previous call.
    pub(crate) fn array_time(&self, at: Instant) -> FlashWorkTime {
        let mut time = self.array;
        for handle in
            self.lanes.iter().map(|lane| lane.current).filter(|&handle| handle != Handle::NONE)
        {
            let operation = &self.operations[handle];
            if !operation.sensed {
                time.count(operation, self.sensed_so_far(operation, at));
            }
        }
        for die in &self.dies {
            if die.storing != Handle::NONE {
                let operation = &self.operations[die.storing];
                let whole = match operation.left {
                    Duration::ZERO => operation.array,
                    left => left,
                };
                let to_come = operation.mark.since_or_zero(at).min(whole);
                time.count(operation, operation.array.saturating_sub(to_come));
            }
            if die.suspended != Handle::NONE {
                let operation = &self.operations[die.suspended];
                time.count(operation, operation.array.saturating_sub(operation.left));
            }
        }
        // Bookings on a channel after `at` follow without a gap.
        for channel in &self.channels {
            let booked = channel.free_at().since_or_zero(at);
            time.channel += channel.busy().saturating_sub(booked);
        }
        time
    }

    /// Returns the time for which the array has sensed until `at`. Between the attempts of a repeated read, the array
    /// rests while the data is transferred.
    fn sensed_so_far(&self, operation: &FlashOperation, at: Instant) -> Duration {
        let whole = self.sensing(operation);
        let to_come = operation.mark.since_or_zero(at).min(whole);
        let done = whole.saturating_sub(to_come);
        if operation.retries == 0 {
            return done;
        }
        let round = operation.array + self.time_out(operation.bytes);
        let rounds = done.picoseconds() / round.picoseconds().max(1);
        operation.array * rounds + done.saturating_sub(round * rounds).min(operation.array)
    }
}

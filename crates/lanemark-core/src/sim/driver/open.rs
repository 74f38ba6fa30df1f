//! An open loop: requests with times of their own.
//!
//! A thread has as many slots as may be outstanding. The request that is due next goes to the first slot that is free;
//! where none is free at its time, it waits for one, which is time in front of the host's queue and is accounted for
//! there. Its latency counts from the time at which it was due.

use super::super::budget::Hop;
use super::super::simulator::Completion;
use crate::result::{LatencyHistogram, Punctuality};
use crate::rng::StreamKey;
use crate::units::{Duration, Instant};
use crate::workload::{Schedule, Test};

/// The times of all threads.
pub(super) struct Open {
    schedules: Vec<Schedule>,
    /// Instant at which the request of each slot was due, thread by thread.
    due: Vec<Instant>,
    queue_depth: u32,
    /// Time at which the load begins.
    from: Duration,
    kept: Punctuality,
}

impl Open {
    /// The times of `threads` threads of `test`, where its loop is open; its load begins at `from`.
    pub(super) fn of(test: &Test, threads: u32, key: StreamKey, from: Duration) -> Option<Self> {
        let schedule = |thread: u32| {
            // Each namespace has the rate of the test, with the threads of the first again.
            let own = StreamKey { thread: thread % test.threads, ..key };
            Schedule::new(test, own)
        };
        let schedules: Option<Vec<Schedule>> = (0..threads).map(schedule).collect();
        let kept = Punctuality {
            lateness: LatencyHistogram::new(),
            held_back: 0,
            unsubmitted: 0,
            own_lateness: LatencyHistogram::new(),
        };
        Some(Self {
            schedules: schedules?,
            due: vec![Instant::ZERO; threads as usize * test.queue_depth() as usize],
            queue_depth: test.queue_depth(),
            from,
            kept,
        })
    }

    /// The thread of a slot.
    pub(super) fn thread(&self, slot: u32) -> u32 {
        slot / self.queue_depth
    }

    /// Returns the instant at which the next request of a slot is submitted, where the slot is free from `free` on.
    pub(super) fn next(&mut self, slot: u32, free: Instant) -> Instant {
        let schedule = &mut self.schedules[(slot / self.queue_depth) as usize];
        let due = Instant::ZERO + self.from + schedule.next_due();
        schedule.advance();
        self.due[slot as usize] = due;
        due.max(free)
    }

    /// Notes that the slot's request, a flush, has no time of its own and is submitted at `free`.
    pub(super) fn at_once(&mut self, slot: u32, free: Instant) -> Instant {
        self.due[slot as usize] = free;
        free
    }

    /// Moves the beginning of a request to the time at which it was due.
    pub(super) fn begin_when_due(&self, completion: &mut Completion) {
        let due = self.due[completion.tag as usize];
        let held = completion.submitted.since(due);
        completion.budget.wait_more(Hop::Protocol as usize, held);
        completion.submitted = due;
    }

    /// Counts how late a request of which `waited` was spent before it could be submitted.
    pub(super) fn count(&mut self, waited: Duration) {
        self.kept.lateness.record(waited);
        self.kept.held_back += u64::from(waited > Duration::ZERO);
    }

    /// Returns the time by which the slot's request was submitted late.
    pub(super) fn lateness(&self, slot: u32, submitted: Instant) -> Duration {
        submitted.since(self.due[slot as usize])
    }

    /// Returns the punctuality of the requests; a simulated generator is never late itself.
    pub(super) fn finish(self) -> Punctuality {
        self.kept
    }
}

//! An open loop: requests with predetermined times.
//!
//! A thread has one slot for each request that may be outstanding. The request that is due next takes the first free
//! slot; if no slot is free at its time, the request waits for a slot. This wait precedes the host's queue and is
//! attributed to the queue. The latency of a request is measured from the time at which the request was due.

use crate::engine::budget::Hop;
use crate::simulator::Completion;
use lanemark_schema::result::{LatencyHistogram, Punctuality};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Duration, Instant};
use lanemark_schema::workload::{ArrivalSchedule, Test};

/// The times of all threads.
pub(super) struct OpenLoopArrivals {
    schedules: Vec<ArrivalSchedule>,
    /// Instant at which the request of each slot was due, grouped by thread.
    due: Vec<Instant>,
    queue_depth: u32,
    /// Time at which the load begins.
    from: Duration,
    kept: Punctuality,
}

impl OpenLoopArrivals {
    /// Returns the times of `threads` threads of `test`, if it is an open loop. The load begins at `from`.
    pub(super) fn for_test(
        test: &Test,
        threads: u32,
        key: StreamKey,
        from: Duration,
    ) -> Option<Self> {
        let schedule = |thread: u32| {
            // Each drive has the rate of the test and repeats the threads of the first drive.
            let thread_key = StreamKey { thread: thread % test.threads, ..key };
            ArrivalSchedule::new(test, thread_key)
        };
        let schedules: Option<Vec<ArrivalSchedule>> = (0..threads).map(schedule).collect();
        let kept = Punctuality {
            lateness: LatencyHistogram::new(),
            held_back: 0,
            unsubmitted: 0,
            own_lateness: LatencyHistogram::new(),
        };
        Some(Self {
            schedules: schedules?,
            due: vec![Instant::ZERO; threads as usize * test.issue_depth() as usize],
            queue_depth: test.issue_depth(),
            from,
            kept,
        })
    }

    pub(super) fn thread(&self, slot: u32) -> u32 {
        slot / self.queue_depth
    }

    /// Returns the instant at which the next request of a slot is submitted, if the slot is free from `free` onward.
    pub(super) fn next(&mut self, slot: u32, free: Instant) -> Instant {
        let schedule = &mut self.schedules[(slot / self.queue_depth) as usize];
        let due = Instant::ZERO + self.from + schedule.next_due();
        schedule.advance();
        self.due[slot as usize] = due;
        due.max(free)
    }

    /// Records that the slot's request is a flush, which is not scheduled and is submitted at `free`.
    pub(super) fn at_once(&mut self, slot: u32, free: Instant) -> Instant {
        self.due[slot as usize] = free;
        free
    }

    /// Moves the beginning of the slot's request to the time at which it was due.
    pub(super) fn begin_when_due(&self, slot: u32, completion: &mut Completion) {
        let due = self.due(slot);
        let held = completion.submitted.since(due);
        completion.budget.wait_more(Hop::Protocol as usize, held);
        completion.submitted = due;
    }

    /// Records the lateness of a request that waited for `waited` before it could be submitted.
    pub(super) fn count(&mut self, waited: Duration) {
        self.kept.lateness.record(waited);
        self.kept.held_back += u64::from(waited > Duration::ZERO);
    }

    /// Returns the lateness of the slot's request, which was submitted at `submitted`.
    pub(super) fn lateness(&self, slot: u32, submitted: Instant) -> Duration {
        submitted.since(self.due[slot as usize])
    }

    /// Returns the instant at which the request of a slot was due.
    pub(super) fn due(&self, slot: u32) -> Instant {
        self.due[slot as usize]
    }

    /// Counts the requests that were due before `end` but were not submitted because no slot was free. Returns their
    /// ages.
    pub(super) fn unsubmitted(&mut self, end: Instant) -> Vec<Duration> {
        let mut ages = Vec::new();
        for schedule in &mut self.schedules {
            loop {
                let due = Instant::ZERO + self.from + schedule.next_due();
                if due >= end {
                    break;
                }
                ages.push(end.since(due));
                schedule.advance();
            }
        }
        self.kept.unsubmitted = ages.len() as u64;
        ages
    }

    /// Returns the punctuality of the requests; a simulated generator is never late itself.
    pub(super) fn finish(self) -> Punctuality {
        self.kept
    }
}

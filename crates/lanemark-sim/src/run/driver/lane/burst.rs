//! Threads that wait between bursts: after each burst, a thread waits for all its requests, and then for the think
//! time.

use lanemark_schema::units::{Duration, Instant};
use lanemark_schema::workload::{Operation, SyntheticRequests};

pub(super) struct Bursts {
    think: Duration,
    length: u32,
    threads: Vec<ThreadBurst>,
}

#[derive(Clone)]
struct ThreadBurst {
    /// Number of requests of the burst that have not been submitted.
    left: u32,
    outstanding: u32,
}

impl Bursts {
    /// Creates the first burst of each thread; `None` if the threads do not wait.
    pub(super) fn new(requests: &SyntheticRequests, threads: u32) -> Option<Self> {
        let SyntheticRequests { think, burst: length, .. } = *requests;
        let first = ThreadBurst { left: length, outstanding: 0 };
        let threads = vec![first; threads as usize];
        (think > Duration::ZERO).then_some(Self { think, length, threads })
    }

    /// Returns whether the burst of a thread contains further requests.
    pub(super) fn is_in_burst(&self, thread: u32) -> bool {
        self.threads[thread as usize].left > 0
    }

    /// Records a submitted request. Flushes do not count towards the burst.
    pub(super) fn submit(&mut self, thread: u32, operation: Operation) {
        let burst = &mut self.threads[thread as usize];
        burst.outstanding += 1;
        if operation != Operation::Flush {
            burst.left -= 1;
        }
    }

    /// Records a completion, and returns the instant at which the thread submits again: at once within a burst, and
    /// after the think time if the last request of a burst has completed. Returns `None` if it waits for other
    /// requests.
    pub(super) fn next_at(&mut self, completed: Instant, thread: u32) -> Option<Instant> {
        let burst = &mut self.threads[thread as usize];
        burst.outstanding -= 1;
        if burst.left > 0 {
            return Some(completed);
        }
        (burst.outstanding == 0).then(|| {
            burst.left = self.length;
            completed + self.think
        })
    }
}

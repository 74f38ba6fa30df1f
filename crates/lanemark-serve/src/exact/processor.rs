//! One processor for the guest and its calendar.
//!
//! Either waits for the other all the time. On two processors each message wakes one that has gone to sleep, which takes
//! many times as long as to change from one process to the other.

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// This thread, and what it starts, on the processor that it is on, until the end of this.
pub(super) struct OneProcessor {
    before: Option<CpuSet>,
}

impl OneProcessor {
    /// Keeps the thread where it is. A system that forbids that leaves it slower, and nothing else.
    pub(super) fn hold() -> Self {
        let mut one = CpuSet::new();
        one.set(sched_getcpu());
        let before = sched_getaffinity(None).ok();
        let held = before.filter(|_| sched_setaffinity(None, &one).is_ok());
        Self { before: held }
    }
}

impl Drop for OneProcessor {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // It was allowed before.
            let _ = sched_setaffinity(None, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_held_on_one_processor_and_let_go() {
        let before = sched_getaffinity(None).unwrap();
        let held = OneProcessor::hold();
        assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
        drop(held);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}

//! Pins the guest and its calendar to one processor.
//!
//! The guest and its calendar constantly wait for each other. On two processors, each message would wake a sleeping
//! processor, which takes many times as long as a switch between the two processes.

use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};

/// Pins this thread, and the processes that it starts, to its current processor until this value is dropped.
pub(super) struct ProcessorPin {
    before: Option<CpuSet>,
}

impl ProcessorPin {
    /// Pins the thread. If the system forbids pinning, the run is slower but otherwise the same.
    pub(super) fn hold() -> Self {
        let mut set = CpuSet::new();
        set.set(sched_getcpu());
        let before = sched_getaffinity(None).ok();
        let held = before.filter(|_| sched_setaffinity(None, &set).is_ok());
        Self { before: held }
    }
}

impl Drop for ProcessorPin {
    fn drop(&mut self) {
        if let Some(before) = &self.before {
            // The system allowed the previous setting before.
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
        let held = ProcessorPin::hold();
        assert_eq!(sched_getaffinity(None).unwrap().count(), 1);
        drop(held);
        assert_eq!(sched_getaffinity(None).unwrap(), before);
    }
}

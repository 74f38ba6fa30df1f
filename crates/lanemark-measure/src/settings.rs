//! The settings of a measurement that do not depend on the workload.

use crate::engine::EngineKind;

/// The reaction to a failed request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorReaction {
    /// The run ends, and returns the results until the failure.
    #[default]
    Stop,
    /// The request is counted as failed, and the run continues. A thread pauses after 1,000 failures within a second,
    /// and 10,000 failures without a success end the run.
    Continue,
}

/// The settings of a measurement that do not depend on the workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MeasureSettings {
    /// Engine that submits requests to the kernel.
    pub engine: EngineKind,
    /// Whether to use the page cache intentionally.
    pub buffered: bool,
    /// Whether to register buffers and file with the kernel.
    pub register: bool,
    /// Whether a kernel thread takes submissions (`SQPOLL`).
    pub submission_polled: bool,
    /// Whether the kernel polls for completions instead of waiting for interrupts (`IOPOLL`).
    pub completion_polled: bool,
    /// Whether the whole writable target is first written twice, as SNIA's specification requires.
    pub precondition: bool,
    /// Whether each test briefly runs again with its queue depth and with twice that depth, to show the gain of a
    /// deeper queue.
    pub probe: bool,
    /// Whether each thread is pinned to one processor, starting with the processors near the device.
    pub pinned: bool,
    /// Whether the processors are kept out of their idle states.
    pub no_idle: bool,
    /// Reaction to a failed request.
    pub on_error: ErrorReaction,
    /// Whether the processor times of the machine are measured after the tests of a run of 20 s or longer, for 5% of
    /// its time and for 10 s or less.
    pub host: bool,
}

/// Returns twice a queue depth, unless this exceeds `deepest`, the maximum number of outstanding requests of the
/// engine.
pub(crate) fn doubled_depth(queue_depth: u32, deepest: u32) -> Option<u32> {
    queue_depth.checked_mul(2).filter(|doubled| *doubled <= deepest)
}

impl Default for MeasureSettings {
    fn default() -> Self {
        Self {
            engine: EngineKind::IoUring,
            buffered: false,
            register: true,
            submission_polled: false,
            completion_polled: false,
            precondition: false,
            probe: false,
            pinned: false,
            no_idle: false,
            on_error: ErrorReaction::Stop,
            host: true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_depth_doubles_up_to_the_deepest() {
        for (queue_depth, deepest, wanted) in [
            (1, 2, Some(2)),
            (16, 32, Some(32)),
            (16, 33, Some(32)),
            (17, 33, None),
            (32, 32, None),
            (u32::MAX, u32::MAX, None),
        ] {
            assert_eq!(doubled_depth(queue_depth, deepest), wanted);
        }
    }
}

//! The settings of a measurement, whatever the workload is.

use crate::engine::EngineKind;

/// The reaction to a failed request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The run ends, with what there is.
    #[default]
    Stop,
    /// The request is counted as failed, and the run goes on. A thread for which too many fail waits, and one for which
    /// nothing else happens any more ends the run.
    Continue,
}

/// The settings of a measurement, whatever the workload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Engine by which requests reach the kernel.
    pub engine: EngineKind,
    /// Whether to go through the page cache on purpose.
    pub buffered: bool,
    /// Whether to register buffers and file with the kernel.
    pub register: bool,
    /// Whether a thread of the kernel takes submissions (`SQPOLL`).
    pub submission_polled: bool,
    /// Whether completions are looked for and not announced (`IOPOLL`).
    pub completion_polled: bool,
    /// Whether all of a target that is written is written twice over first, as SNIA's specification asks for.
    pub precondition: bool,
    /// Whether each test runs for a moment more with its queue depth and with twice that, to see what that gives.
    pub probe: bool,
    /// Whether each thread keeps to one processor, those beside the device first.
    pub pinned: bool,
    /// Whether the processors are kept out of their idle states.
    pub no_idle: bool,
    /// Whether [`Event::Running`](crate::Event::Running) tells latencies.
    pub watched: bool,
    /// Reaction to a failed request.
    pub on_error: OnError,
}

impl Default for Settings {
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
            watched: false,
            on_error: OnError::Stop,
        }
    }
}

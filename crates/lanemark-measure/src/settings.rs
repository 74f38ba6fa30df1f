//! The settings of a measurement that do not depend on the workload.

use std::str::FromStr;

use crate::engine::EngineKind;

/// The writes to the whole target before the tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preconditioning {
    /// Two passes in order, as SNIA's specification requires.
    Snia,
    /// One pass of random writes that leaves flash in the steady state of random writes
    /// ([`OnePass`](lanemark_schema::workload::one_pass::OnePass)), if its spare flash is this percentage of its
    /// capacity.
    Fast {
        /// From 1 to 100.
        spare_percent: u8,
    },
}

impl Preconditioning {
    /// The spare flash of a drive whose flash has the capacity in GiB and which offers it in GB.
    const SPARE_PERCENT: u8 = 7;
}

impl FromStr for Preconditioning {
    type Err = String;

    /// Reads `snia`, `fast`, or `fast:28%`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (name, percent) = text.split_once(':').unzip();
        match (name.unwrap_or(text), percent) {
            ("snia", None) => Ok(Self::Snia),
            ("fast", None) => Ok(Self::Fast { spare_percent: Self::SPARE_PERCENT }),
            ("fast", Some(percent)) => {
                let number = percent.strip_suffix('%').unwrap_or(percent).parse();
                let known = number.ok().filter(|percent| (1..=100).contains(percent));
                let spare_percent = known.ok_or("the spare flash is 1% to 100% of the capacity")?;
                Ok(Self::Fast { spare_percent })
            }
            _ => Err("expected snia, fast, or fast with the spare flash, such as fast:28%".into()),
        }
    }
}

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
    /// The writes to the whole writable target before the tests.
    pub precondition: Option<Preconditioning>,
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
            precondition: None,
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
    fn a_method_of_preconditioning_states_its_spare_flash() {
        let fast = |spare_percent| Ok(Preconditioning::Fast { spare_percent });
        assert_eq!("fast".parse(), fast(7));
        assert_eq!("fast:28%".parse(), fast(28));
        for wrong in ["", "slow", "fast:", "fast:0", "fast:101%", "fast:x", "snia:7"] {
            assert!(wrong.parse::<Preconditioning>().is_err(), "{wrong}");
        }
    }

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

//! Doubts about a result: a closed list, each with its advice, stored in the result and shown by every
//! view.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::steady::Reason;
use crate::units::{Bytes, Duration};

/// A doubt about a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Warning {
    /// The file system would not bypass the page cache.
    PageCache {
        /// What the kernel answered.
        reason: String,
    },
    /// Buffers or files could not be registered with the kernel.
    NotRegistered {
        /// What the kernel answered.
        reason: String,
    },
    /// Fewer than three repeats: no spread can be told.
    FewRepeats {
        /// How many there were.
        repeats: u32,
    },
    /// A sample lasted too short to be trusted.
    ShortSample {
        /// The test.
        test: String,
        /// How long it lasted.
        #[serde(rename = "elapsed_ns")]
        elapsed: Duration,
    },
    /// The run was cut short; what is here is what had ended.
    Interrupted,
    /// A drive has more lanes or a later generation than the port that it is in.
    TrainedDown {
        /// What the drive could do, `PCIe 3.0 x4`.
        drive: String,
        /// What the port allows, `PCIe 2.0 x1`.
        port: String,
    },
    /// Requests of a trace came before their predecessors, and were taken to come with them.
    TimesBackward {
        /// How many.
        requests: u64,
        /// The longest step back.
        #[serde(rename = "step_most_ns")]
        step_most: Duration,
    },
    /// The system could not keep up with a trace.
    HeldBack {
        /// Requests that had to wait to be submitted.
        requests: u64,
        /// The most that were outstanding.
        outstanding: u64,
    },
    /// Requests of a trace lay behind the end of their drive, and were moved into it.
    Wrapped {
        /// How many.
        requests: u64,
    },
    /// Reads and writes of a trace had no length, and were left out.
    EmptyRequests {
        /// How many.
        requests: u64,
    },
    /// The way to one port of a drive fails during the run, and the other takes its commands.
    PathFails {
        /// The port.
        port: String,
        /// The one that takes over.
        other: String,
        /// When.
        #[serde(rename = "after_ns")]
        after: Duration,
    },
    /// A test of rounds did not become steady.
    NotSteady {
        /// The test.
        test: String,
        /// How many rounds there were.
        rounds: u32,
        /// What the last five of them failed.
        reason: Reason,
        /// How far they lay apart, as a share of their mean.
        range: f64,
        /// How far their best-fit line rose or fell, as a share of their mean.
        slope_range: f64,
    },
    /// The latencies of a test that another program measured are known by some percentiles only.
    FromPercentiles {
        /// The test.
        test: String,
        /// How many percentiles; without any, all latencies are taken as the mean.
        known: u32,
    },
    /// The drive was fresh, and nothing had to make room for what was written: in the long run it is slower.
    NoCollection {
        /// How much the workload wrote.
        written_bytes: Bytes,
    },
}

impl Warning {
    /// What a person can do about it.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::PageCache { .. } => "use a file system with direct I/O (ext4, xfs, btrfs)",
            Self::NotRegistered { .. } => {
                "raise `ulimit -l` (locked memory) or run on a newer kernel"
            }
            Self::FewRepeats { .. } => "use at least three repeats",
            Self::ShortSample { .. } => "use a larger size or a longer duration",
            Self::Interrupted => "run again for the missing tests",
            Self::TrainedDown { .. } => "use a port with the drive's lanes and generation",
            Self::TimesBackward { .. } => "sort the trace by time where the steps are long",
            Self::HeldBack { .. } => {
                "latencies grow with the length of the trace; use a lower --speed or \
                 --as-fast-as-possible"
            }
            Self::Wrapped { .. } => "use a drive as large as the one that was recorded",
            Self::EmptyRequests { .. } => "see whether the trace is damaged",
            Self::NotSteady { .. } => "use longer rounds, or write to the drive before",
            Self::NoCollection { .. } => {
                "--set drive.state.condition=random shows the steady state"
            }
            Self::FromPercentiles { .. } => {
                "run fio with --output-format=json+ to have all of them"
            }
            Self::PathFails { .. } => "read the figures as those of both ports and of one, in turn",
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PageCache { reason } => write!(f, "the page cache is in use ({reason})"),
            Self::NotRegistered { reason } => {
                write!(f, "buffers are not registered with the kernel ({reason})")
            }
            Self::FewRepeats { repeats: 1 } => write!(f, "only one repeat"),
            Self::FewRepeats { repeats } => write!(f, "only {repeats} repeats"),
            Self::ShortSample { test, elapsed } => write!(f, "{test}: a sample of only {elapsed}"),
            Self::Interrupted => write!(f, "the run was interrupted"),
            Self::TrainedDown { drive, port } => write!(f, "{drive} drive trained down to {port}"),
            Self::TimesBackward { requests, step_most } => write!(
                f,
                "{} earlier than the line above, by at most {step_most}, and the time above was taken",
                counted(*requests, "came")
            ),
            Self::HeldBack { requests, outstanding } => write!(
                f,
                "{} to be submitted behind {outstanding} outstanding",
                counted(*requests, "had to wait")
            ),
            Self::Wrapped { requests } => {
                write!(f, "{} behind the end of the drive", counted(*requests, "lay"))
            }
            Self::EmptyRequests { requests } => {
                write!(f, "{} no length and no effect", counted(*requests, "had"))
            }
            Self::PathFails { port, other, after } => {
                write!(f, "port {port} fails after {after}, and {other} takes its commands")
            }
            Self::NotSteady { test, rounds, reason, range, slope_range } => {
                write!(f, "{test}: not steady after {}", rounds_told(*rounds))?;
                match reason {
                    Reason::FewRounds => write!(f, ", and five are needed"),
                    Reason::NoFigures => write!(f, ", in which nothing was done"),
                    Reason::Range => {
                        write!(f, ", the last five lie {:.0}% of their mean apart", range * 100.0)
                    }
                    Reason::Slope => write!(
                        f,
                        ", the last five move by {:.0}% of their mean",
                        slope_range * 100.0
                    ),
                }
            }
            Self::FromPercentiles { test, known: 0 } => {
                write!(f, "{test}: of the latencies only least, mean and greatest are known")
            }
            Self::FromPercentiles { test, known } => {
                write!(
                    f,
                    "{test}: latencies rebuilt from {known} percentiles, and steps between them"
                )
            }
            Self::NoCollection { written_bytes } => {
                write!(f, "{written_bytes} written to a fresh drive, with nothing to collect yet")
            }
        }
    }
}

fn rounds_told(rounds: u32) -> String {
    match rounds {
        1 => "one round".to_owned(),
        rounds => format!("{rounds} rounds"),
    }
}

/// `17 requests came`.
fn counted(requests: u64, verb: &str) -> String {
    match requests {
        1 => format!("one request {verb}"),
        requests => format!("{requests} requests {verb}"),
    }
}

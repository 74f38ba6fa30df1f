//! Doubts about a result: a closed list, each with its advice, stored in the result and shown by every
//! view.

use std::fmt;

use serde::{Deserialize, Serialize};

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
    /// The modelled drive collects no garbage: a sustained random write would be slower.
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
            Self::PathFails { .. } => "read the figures as those of both ports and of one, in turn",
            Self::NoCollection { .. } => "read the write figures as those of a fresh drive",
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
            Self::PathFails { port, other, after } => {
                write!(f, "port {port} fails after {after}, and {other} takes its commands")
            }
            Self::NoCollection { written_bytes } => {
                write!(f, "{written_bytes} written without garbage collection")
            }
        }
    }
}

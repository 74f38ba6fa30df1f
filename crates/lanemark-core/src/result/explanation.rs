//! Why a measured test was no faster: a verdict, and the evidence that it rests on.
//!
//! A verdict is given only where its evidence is complete; else it is undecided, and the evidence says what is missing.

use serde::{Deserialize, Serialize};

use crate::units::BytesPerSecond;

/// What limited a measured test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// What each hop of the path could carry for this test, where that is known, from the processor on.
    pub ceilings: Vec<HopCeiling>,
    /// The place of the narrowest among them.
    pub narrowest: Option<usize>,
    /// The throughput as a share of that ceiling.
    pub ceiling_share: Option<f64>,
    /// What limited it.
    pub verdict: Verdict,
    /// What speaks for it.
    pub evidence: Vec<Sign>,
}

/// What one hop of a real path can carry for a test, by the simulator's law.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HopCeiling {
    /// The link's lower end, `0000:01:00.0`.
    pub hop: String,
    /// The link in words, `PCIe 3.0 x4`.
    pub link: String,
    /// The most that it carries for this test.
    #[serde(rename = "rate_bytes_per_second")]
    pub rate: BytesPerSecond,
}

/// What limited a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// A link of the path was full.
    LinkBound,
    /// The device had no more to give.
    DriveBound,
    /// The processors had no time left.
    CpuBound,
    /// More requests outstanding would have given more.
    QueueStarved,
    /// The time went between the program and the device.
    FileSystemBound,
    /// The evidence does not tell.
    Undecided,
}

impl Verdict {
    /// The verdict in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::LinkBound => "link-bound",
            Self::DriveBound => "drive-bound",
            Self::CpuBound => "CPU-bound",
            Self::QueueStarved => "queue-starved",
            Self::FileSystemBound => "file-system-bound",
            Self::Undecided => "undecided",
        }
    }
}

/// A piece of evidence.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Sign {
    /// The throughput as a share of the narrowest link's ceiling.
    CeilingShare {
        /// The link in words.
        link: String,
        /// The share.
        share: f64,
    },
    /// No link of the path tells what it could carry.
    NoCeiling,
    /// How busy the busiest thread of the program was, as a share of one core.
    ThreadBusy {
        /// The share.
        share: f64,
    },
    /// How much of the machine's processors was used.
    MachineBusy {
        /// Cores in use.
        used: f64,
        /// Cores there are.
        cores: u32,
    },
    /// How long the device had anything outstanding, as a share of the time.
    DeviceBusy {
        /// Its name.
        device: String,
        /// The share.
        share: f64,
    },
    /// The mean time of a request at the device, and as the program saw it.
    DeviceTime {
        /// At the device, in ns.
        device_ns: f64,
        /// As the program saw it, in ns.
        request_ns: f64,
    },
    /// What twice as many outstanding requests give.
    DeeperQueue {
        /// Requests outstanding in the test.
        queue_depth: u32,
        /// The throughput with twice as many, over that with as many, both taken one after the other.
        gain: f64,
    },
    /// Queue depths were not tried.
    NoQueueProbe,
}

/// A test once more for a moment, with its own queue depth and with twice that.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueProbe {
    /// Requests outstanding per thread in the test.
    pub queue_depth: u32,
    /// Requests a second with as many.
    pub iops: f64,
    /// Requests a second with twice as many.
    pub iops_doubled: f64,
}

//! The reason why a measured test was no faster: a verdict, and the evidence for it.
//!
//! A verdict is given only where its evidence is complete; else it is undecided, and the evidence says what is missing.

use serde::{Deserialize, Serialize};

use super::ProcessorUse;
use crate::units::BytesPerSecond;

/// The explanation of what limited a measured test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Ceiling of each hop of the path for this test, where it is known, from the processor on.
    pub ceilings: Vec<HopCeiling>,
    /// The place of the narrowest among them.
    pub narrowest: Option<usize>,
    /// The throughput as a share of that ceiling; of the most that it may be where that is not known.
    pub ceiling_share: Option<f64>,
    /// Part of the system that was the limit.
    pub verdict: Verdict,
    /// Evidence for the verdict.
    pub evidence: Vec<Sign>,
}

/// The ceiling of one hop of a real path for a test, by the simulator's law.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HopCeiling {
    /// The link's lower end, `0000:01:00.0`.
    pub hop: String,
    /// The link in words, `PCIe 3.0 x4`.
    pub link: String,
    /// Greatest throughput of the hop for this test; where the size of its packets is not known, with the smallest.
    #[serde(rename = "rate_bytes_per_second")]
    pub rate: BytesPerSecond,
    /// The most that the link carries with the largest packets, where their size is not known: the ceiling is somewhere
    /// between `rate` and this.
    #[serde(
        default,
        rename = "rate_most_bytes_per_second",
        skip_serializing_if = "Option::is_none"
    )]
    pub rate_most: Option<BytesPerSecond>,
}

impl HopCeiling {
    /// Returns the rate that the hop cannot exceed, whatever the size of its packets.
    pub fn bound(&self) -> BytesPerSecond {
        self.rate_most.unwrap_or(self.rate)
    }
}

/// The part of the system that limited a test.
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
    /// A limit that somebody set was met.
    HeldBack,
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
            Self::HeldBack => "held back",
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
        /// The share; the least that it may be where the size of the link's packets is not known.
        share: f64,
        /// Greatest value of the share, where it is not known exactly.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        share_most: Option<f64>,
    },
    /// No link of the path tells what it could carry.
    NoCeiling,
    /// The processor time of the program's busiest thread, as a share of one core.
    ThreadBusy {
        /// Share, from 0 to 1.
        share: f64,
    },
    /// The processor time used on the whole machine, in cores.
    MachineBusy {
        /// Processor time, in cores.
        used: f64,
        /// Cores of the machine.
        cores: u32,
    },
    /// The processor time of other programs, in cores.
    OthersBusy {
        /// Processor time, in cores.
        used: f64,
        /// Cores of the machine.
        cores: u32,
    },
    /// The share of the time in which a thread of the program was ready and waited for a core.
    CoreWait {
        /// Share, from 0 to 1.
        share: f64,
    },
    /// Other programs took enough processor time to explain the rest of the evidence, so that it decides nothing.
    Crowded,
    /// A limit of a control group on the device, and how much of it was used.
    DeviceLimit {
        /// The limit, as it stands.
        limit: String,
        /// Share, from 0 to 1.
        share: f64,
    },
    /// A quota of processor time, and the share of the time in which it kept the program from the processors.
    Quota {
        /// The quota, as it stands.
        limit: String,
        /// Share, from 0 to 1.
        share: f64,
    },
    /// The requests did not reach a device: the engine submits none, or the page cache answers.
    NoDevice,
    /// The share of the time in which the device had requests outstanding.
    DeviceBusy {
        /// Name of the device.
        device: String,
        /// Share, from 0 to 1.
        share: f64,
    },
    /// The mean time of a request at the device, and as the program saw it.
    DeviceTime {
        /// Latency at the device, in ns.
        device_ns: f64,
        /// Latency seen by the program, in ns.
        request_ns: f64,
    },
    /// The gain from twice as many outstanding requests.
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
    /// The machine's processors in that of both moments in which other programs used more of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<ProcessorUse>,
    /// Share of the time that a thread waited for a core, in that of both moments in which it waited longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_wait: Option<f64>,
}

//! The reason why a measured test was not faster: a verdict, and its evidence.
//!
//! A verdict requires complete evidence. If evidence is missing, the verdict is undecided, and the evidence states the
//! missing part.

use serde::{Deserialize, Serialize};

use super::ProcessorUse;
use crate::units::BytesPerSecond;

/// The explanation of what limited a measured test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Known ceilings of the hops for this test, in order from the processor.
    pub ceilings: Vec<HopCeiling>,
    /// Index of the bottleneck in `ceilings`.
    pub bottleneck: Option<usize>,
    /// Throughput divided by the ceiling of the bottleneck, or by the ceiling's upper bound if the ceiling is not known
    /// exactly.
    pub ceiling_share: Option<f64>,
    /// Part of the system that was the limit.
    pub verdict: LimitingPart,
    /// Evidence for the verdict.
    pub evidence: Vec<EvidenceItem>,
}

/// The ceiling of one hop of a real path for a test, computed with the simulator's formula.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HopCeiling {
    /// The device at the link's lower end, such as `0000:01:00.0`.
    pub hop: String,
    /// The link as text, such as `PCIe 3.0 x4`.
    pub link: String,
    /// Maximum throughput of the hop for this test, computed with the smallest packets if their size is unknown.
    #[serde(rename = "rate_bytes_per_second")]
    pub rate: BytesPerSecond,
    /// Maximum throughput of the link with the largest packets, if their size is unknown. The ceiling is between `rate`
    /// and this value.
    #[serde(
        default,
        rename = "rate_most_bytes_per_second",
        skip_serializing_if = "Option::is_none"
    )]
    pub rate_most: Option<BytesPerSecond>,
}

impl HopCeiling {
    /// Returns the rate that the hop cannot exceed, regardless of the packet size.
    pub fn bound(&self) -> BytesPerSecond {
        self.rate_most.unwrap_or(self.rate)
    }
}

/// The part of the system that limited a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitingPart {
    /// A link of the path was full.
    LinkBound,
    /// The device ran at its limit.
    DriveBound,
    /// The processors had no idle time.
    CpuBound,
    /// More outstanding requests would have raised the throughput.
    QueueStarved,
    /// Most of the time was spent between the program and the device.
    FileSystemBound,
    /// A configured limit was reached.
    HeldBack,
    /// The evidence does not determine the limit.
    Undecided,
}

impl LimitingPart {
    /// Returns the verdict as text.
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
pub enum EvidenceItem {
    /// The throughput divided by the bottleneck's ceiling.
    CeilingShare {
        /// The link as text.
        link: String,
        /// The share, or its lower bound if the packet size of the link is unknown.
        share: f64,
        /// Upper bound of the share, if it is not known exactly.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        share_most: Option<f64>,
    },
    /// The ceilings of all links of the path are unknown.
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
    /// Other programs used enough processor time to explain the remaining evidence, so the evidence is not conclusive.
    Crowded,
    /// A limit of a control group on the device, and its used share.
    DeviceLimit {
        /// The limit as configured.
        limit: String,
        /// Share, from 0 to 1.
        share: f64,
    },
    /// A quota of processor time, and the share of the time in which the quota kept the program off the processors.
    Quota {
        /// The quota as configured.
        limit: String,
        /// Share, from 0 to 1.
        share: f64,
    },
    /// The requests did not reach a device, because the engine does not submit requests, or because the page cache
    /// answers them.
    NoDevice,
    /// The share of the time in which the device had requests outstanding.
    DeviceBusy {
        /// Name of the device.
        device: String,
        /// Share, from 0 to 1.
        share: f64,
    },
    /// The mean latency of a request at the device, and the mean latency measured by the program.
    DeviceTime {
        /// Latency at the device, in ns.
        device_ns: f64,
        /// Latency measured by the program, in ns.
        request_ns: f64,
    },
    /// The gain from twice as many outstanding requests.
    DeeperQueue {
        /// Requests outstanding in the test.
        queue_depth: u32,
        /// Throughput with twice the queue depth, divided by the throughput with the test's queue depth; both are
        /// measured in succession.
        gain: f64,
    },
    /// Other queue depths were not measured.
    NoQueueProbe,
}

/// Short repetitions of a test, one at its own queue depth and one at twice that depth.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueDepthProbe {
    /// Requests outstanding per thread in the test.
    pub queue_depth: u32,
    /// Requests a second with this queue depth.
    pub iops: f64,
    /// Requests a second with twice this queue depth.
    pub iops_doubled: f64,
    /// Processor use of the machine, from the repetition in which other programs used more processor time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processors: Option<ProcessorUse>,
    /// Share of the time in which a thread waited for a core, from the repetition in which the wait was longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_wait: Option<f64>,
}

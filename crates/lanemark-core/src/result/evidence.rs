//! The evidence that a measured sample keeps beside its requests: the device under it, the processors and the clock.
//!
//! Everything here is a difference between a reading before the sample and one after it. A reading that the
//! machine does not give is absent.

use serde::{Deserialize, Serialize};

use super::latency::LatencyHistogram;
use crate::units::{Bytes, Duration};

/// Readings of the machine during a measured sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// The block device under the target.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceUse>,
    /// The processors of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processors: Option<ProcessorUse>,
    /// The threads that asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<ThreadUse>,
    /// Limits that held for the run, and how far they were met.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<Limit>,
    /// Number of requests outstanding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outstanding: Option<Outstanding>,
    /// Requests that the kernel handed to worker threads of its own, where it can be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub punted: Option<u64>,
    /// The temperature of the device at the end, in degrees Celsius.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_celsius: Option<f64>,
    /// The drive's own health report at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<DriveHealth>,
    /// Drift between the two clocks of the machine, as a share of the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_drift: Option<f64>,
}

/// The block layer's counters of a device (`/sys/block/…/stat`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceUse {
    /// Name of the device, `vda`.
    pub name: String,
    /// Reads that were complete.
    pub reads: u64,
    /// Writes that were complete.
    pub writes: u64,
    /// Flushes that were complete.
    pub flushes: u64,
    /// Trims that were complete.
    pub trims: u64,
    /// Data read.
    pub read_bytes: Bytes,
    /// Data written.
    pub written_bytes: Bytes,
    /// Time of the reads, summed.
    #[serde(rename = "read_time_ns")]
    pub read_time: Duration,
    /// Time of the writes, summed.
    #[serde(rename = "write_time_ns")]
    pub write_time: Duration,
    /// Time of the flushes, summed; zero where the kernel does not count them.
    #[serde(rename = "flush_time_ns", default)]
    pub flush_time: Duration,
    /// Time in which the device had requests outstanding.
    #[serde(rename = "busy_ns")]
    pub busy: Duration,
    /// The time between the two readings.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Duration,
}

/// The health that an NVMe drive reports.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DriveHealth {
    /// Temperature of the drive, in °C.
    pub temperature_celsius: Option<f64>,
    /// Critical warning of the health log, as bits.
    pub warnings: u8,
    /// The spare that is left.
    pub spare_percent: u8,
    /// The life that is used; may pass 100.
    pub used_percent: u8,
    /// Bytes read by hosts since the drive was made.
    #[serde(rename = "read_bytes")]
    pub read: Bytes,
    /// Bytes written by hosts since the drive was made.
    #[serde(rename = "written_bytes")]
    pub written: Bytes,
    /// Times at which data could not be had back.
    pub media_errors: u64,
    /// Minutes at its warning or critical temperature.
    pub throttled_minutes: u64,
}

/// The processor time of the machine during a sample, in cores: 1 is one core all the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessorUse {
    /// Number of cores.
    pub cores: u32,
    /// Time in programs.
    pub user: f64,
    /// Time in the kernel, on behalf of programs and of itself.
    pub system: f64,
    /// Time in interrupts, hard and soft.
    pub interrupts: f64,
    /// Taken by the hypervisor.
    pub stolen: f64,
    /// Idle, also while requests are outstanding.
    pub idle: f64,
    /// Part of `user` and `system` taken by this program, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<f64>,
    /// Part of `system` taken by the kernel's own threads, where they can be seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<f64>,
    /// Number of times that processors left an idle state, a second and over all of them, where the kernel counts that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wakes: Option<f64>,
    /// Whether the processors are those of a virtual machine, where waking one takes a detour over the host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_virtual: bool,
}

impl ProcessorUse {
    /// Returns the time in which the processors were not idle, in cores.
    pub fn used(&self) -> f64 {
        self.user + self.system + self.interrupts + self.stolen
    }

    /// Returns the time of other programs, with the kernel's own threads where these cannot be seen, in cores.
    pub fn others(&self) -> Option<f64> {
        let known = self.own? + self.kernel.unwrap_or(0.0);
        Some((self.user + self.system - known).max(0.0))
    }

    /// Returns the time of other programs, in cores, from which on it is more than usual for a machine at rest.
    pub fn others_matter_from(&self) -> f64 {
        (f64::from(self.cores) * OTHERS_SHARE).max(OTHERS_LEAST)
    }
}

/// Least time of other programs that counts as a disturbance, in cores.
const OTHERS_LEAST: f64 = 0.25;
/// Least time of other programs that counts as a disturbance, as a share of all cores.
const OTHERS_SHARE: f64 = 0.05;
/// Share of a device's limit from which on it counts as met: its kernel counts in slices of time.
const DEVICE_LIMIT_MET: f64 = 0.9;
/// Share of the time without a processor from which on a quota counts as met.
const QUOTA_MET: f64 = 0.1;

/// A limit of a control group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Limit {
    /// Setting and place of the limit, `io.max of group /a: 8:0 rbps=8388608`.
    #[serde(rename = "limit")]
    pub text: String,
    /// Resource that is limited.
    pub kind: LimitKind,
    /// Share of a device's limit that was used. Of processor time: the share of the time in which it kept the program
    /// from the processors.
    pub share: f64,
}

/// The resource that a limit applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    /// Bytes or requests of a device in a second.
    Device,
    /// Processor time of the group.
    Processor,
}

impl Limit {
    /// Returns whether the limit held the sample back.
    pub fn is_met(&self) -> bool {
        match self.kind {
            LimitKind::Device => self.share >= DEVICE_LIMIT_MET,
            LimitKind::Processor => self.share >= QUOTA_MET,
        }
    }
}

/// The processor time of the threads that submitted requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadUse {
    /// Processor time of the busiest thread, as a share of one core.
    pub busiest: f64,
    /// Number of times that threads gave up the processor to wait.
    pub switches_voluntary: u64,
    /// Number of times that the processor was taken from a thread.
    pub switches_involuntary: u64,
    /// Greatest share of its time that a thread was ready and waited for a core, where the kernel tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_wait: Option<f64>,
}

/// The mean number of requests outstanding, counted in two ways that must agree (Little's law).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Outstanding {
    /// Requests that were submitted and not complete, averaged over time.
    pub mean: f64,
    /// Throughput times the latency from submission on, over all kinds of requests.
    pub accounted: f64,
}

/// The punctuality of an open loop: the delays from due times to submissions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Punctuality {
    /// Delay from each request's due time to its submission.
    pub lateness: LatencyHistogram,
    /// Requests that were late because as many as allowed were outstanding: the target's fault, not the generator's.
    pub held_back: u64,
    /// Requests that were due before the end and were not submitted even a second after it.
    #[serde(default)]
    pub unsubmitted: u64,
    /// Delay from the due time to the submission of requests for which there was room: the generator's fault.
    pub own_lateness: LatencyHistogram,
}

impl DeviceUse {
    /// The share of the time in which anything was outstanding.
    pub fn busy_share(&self) -> f64 {
        match self.elapsed {
            Duration::ZERO => 0.0,
            elapsed => (self.busy.as_seconds() / elapsed.as_seconds()).min(1.0),
        }
    }
}

impl DeviceUse {
    /// The mean latency of a read in ns as the block layer sees it.
    pub fn mean_read_ns(&self) -> Option<f64> {
        (self.reads > 0).then(|| nanoseconds(self.read_time) / self.reads as f64)
    }

    /// The mean latency of a write in ns.
    pub fn mean_write_ns(&self) -> Option<f64> {
        (self.writes > 0).then(|| nanoseconds(self.write_time) / self.writes as f64)
    }

    /// The mean latency of reads and writes together in ns.
    pub fn mean_ns(&self) -> Option<f64> {
        let count = self.reads as f64 + self.writes as f64;
        let sum = nanoseconds(self.read_time) + nanoseconds(self.write_time);
        (count > 0.0).then(|| sum / count)
    }

    /// The time of all requests added up in ns, which is more than went by where several were outstanding.
    pub(crate) fn request_time_ns(&self) -> f64 {
        [self.read_time, self.write_time, self.flush_time].map(nanoseconds).iter().sum()
    }
}

fn nanoseconds(time: Duration) -> f64 {
    time.picoseconds() as f64 / 1e3
}

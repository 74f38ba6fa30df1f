//! The evidence that a measured sample records in addition to its requests: the use of the device under the target, of
//! the processors and of the clock.
//!
//! Each value is the difference between a reading before the sample and a reading after it. A value that the machine
//! does not report is absent.

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
    /// The threads that submitted requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<ThreadUse>,
    /// Limits that applied to the run, each with the share of it that was used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub limits: Vec<CgroupLimit>,
    /// Number of requests outstanding.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outstanding: Option<OutstandingRequests>,
    /// Requests that the kernel passed to its worker threads, if it reports them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub punted: Option<u64>,
    /// The temperature of the device at the end, in degrees Celsius.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature_celsius: Option<f64>,
    /// The temperatures of the device during the sample, if its sensor can be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperatures: Option<Temperatures>,
    /// The drive's own health report at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub health: Option<DriveHealth>,
    /// Drift between the two clocks of the machine, as a share of the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_drift: Option<f64>,
}

/// Temperatures of a device during a sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Temperatures {
    /// Temperature from which the drive reports overheating, in °C, if the sensor states it (`temp1_max`). Drives
    /// reduce their speed at or below this temperature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit_celsius: Option<f64>,
    /// The readings, in order of time.
    pub readings: Vec<TemperatureReading>,
}

/// One reading of a temperature sensor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TemperatureReading {
    /// Time since the start of the sample.
    #[serde(rename = "at_ns")]
    pub at: Duration,
    /// Temperature, in °C.
    pub celsius: f64,
}

impl Temperatures {
    /// Difference from the limit within which a reading counts as at the limit, in °C. Sensors have whole degrees.
    const MARGIN: f64 = 1.0;

    /// Returns the maximum of the readings from `from` to before `to`, in °C.
    pub fn max_between(&self, from: Duration, to: Duration) -> Option<f64> {
        let readings = self.readings.iter().filter(|reading| (from..to).contains(&reading.at));
        readings.map(|reading| reading.celsius).reduce(f64::max)
    }

    /// Returns whether a temperature is at the limit, or `None` if the limit is not known.
    pub fn is_at_limit(&self, celsius: f64) -> Option<bool> {
        self.limit_celsius.map(|limit| celsius >= limit - Self::MARGIN)
    }
}

/// The block layer's counters of a device (`/sys/block/…/stat`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceUse {
    /// Name of the device, `vda`.
    pub name: String,
    /// Completed reads.
    pub reads: u64,
    /// Completed writes.
    pub writes: u64,
    /// Completed flushes.
    pub flushes: u64,
    /// Completed trims.
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
    /// Time of the flushes, summed; zero if the kernel does not count them.
    #[serde(rename = "flush_time_ns", default)]
    pub flush_time: Duration,
    /// Time during which requests were outstanding in the device.
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
    /// Remaining spare blocks, in per cent.
    pub spare_percent: u8,
    /// Used share of the drive's rated life, in per cent; may exceed 100.
    pub used_percent: u8,
    /// Bytes read by hosts over the drive's life.
    #[serde(rename = "read_bytes")]
    pub read: Bytes,
    /// Bytes written by hosts over the drive's life.
    #[serde(rename = "written_bytes")]
    pub written: Bytes,
    /// Number of unrecovered data errors.
    pub media_errors: u64,
    /// Minutes at the warning or critical temperature.
    pub throttled_minutes: u64,
}

/// The processor time of the machine during a sample, in cores: 1 means one core for the whole time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessorUse {
    /// Number of cores.
    pub cores: u32,
    /// Time in programs.
    pub user: f64,
    /// Time in the kernel, for programs and for the kernel itself.
    pub system: f64,
    /// Time in interrupts, hard and soft.
    pub interrupts: f64,
    /// Time taken by the hypervisor.
    pub stolen: f64,
    /// Idle time, including waits for outstanding requests.
    pub idle: f64,
    /// Part of `user` and `system` that this program used, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<f64>,
    /// Part of `system` that the kernel's threads used, if they are visible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<f64>,
    /// Number of times that processors left an idle state, per second and summed over all processors, if the kernel
    /// counts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wakes: Option<f64>,
    /// Whether the processors are virtual. Waking a virtual processor requires an exit to the host.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_virtual: bool,
}

impl ProcessorUse {
    /// Returns the time in which the processors were not idle, in cores.
    pub fn used(&self) -> f64 {
        self.user + self.system + self.interrupts + self.stolen
    }

    /// Returns the time of other programs, in cores. The time includes the kernel's threads if they are not visible.
    pub fn others(&self) -> Option<f64> {
        let known = self.own? + self.kernel.unwrap_or(0.0);
        Some((self.user + self.system - known).max(0.0))
    }

    /// Returns the time of other programs, in cores, above which the machine is considered disturbed.
    pub fn others_matter_from(&self) -> f64 {
        (f64::from(self.cores) * OTHERS_SHARE).max(OTHERS_LEAST)
    }
}

/// Minimum time of other programs that counts as a disturbance, in cores.
const OTHERS_LEAST: f64 = 0.25;
/// Minimum time of other programs that counts as a disturbance, as a share of all cores.
const OTHERS_SHARE: f64 = 0.05;
/// Used share of a device's limit above which the limit is considered reached. The share is below 1 because the kernel
/// counts in slices of time.
const DEVICE_LIMIT_MET: f64 = 0.9;
/// Share of the time from which a quota that keeps the program off the processors is considered reached.
const QUOTA_MET: f64 = 0.1;

/// A limit of a control group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CgroupLimit {
    /// Setting and path of the limit, such as `io.max of group /a: 8:0 rbps=8388608`.
    #[serde(rename = "limit")]
    pub text: String,
    /// Resource that is limited.
    pub kind: CgroupLimitKind,
    /// Used share of a device's limit. For a limit on processor time: the share of the time in which the limit kept the
    /// program off the processors.
    pub share: f64,
}

/// The resource to which a limit applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CgroupLimitKind {
    /// Bytes or requests per second of a device.
    Device,
    /// Processor time of the group.
    Processor,
}

impl CgroupLimit {
    /// Returns whether the limit slowed the sample down.
    pub fn is_met(&self) -> bool {
        match self.kind {
            CgroupLimitKind::Device => self.share >= DEVICE_LIMIT_MET,
            CgroupLimitKind::Processor => self.share >= QUOTA_MET,
        }
    }
}

/// The processor time of the threads that submitted requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ThreadUse {
    /// Processor time of the busiest thread, as a share of one core.
    pub busiest: f64,
    /// Number of times that threads released the processor to wait.
    pub switches_voluntary: u64,
    /// Number of times that the kernel took the processor from a thread.
    pub switches_involuntary: u64,
    /// Maximum over the threads of the share of time in which a thread was ready and waited for a core, if the kernel
    /// reports it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub core_wait: Option<f64>,
}

/// The mean number of outstanding requests, computed in two ways that must agree (Little's law).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OutstandingRequests {
    /// Mean number of outstanding requests, averaged over time.
    pub mean: f64,
    /// Throughput multiplied by the latency from submission, over all kinds of requests.
    pub accounted: f64,
}

/// The punctuality of an open loop: the delays between due times and submissions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Punctuality {
    /// Delay between each request's due time and its submission.
    pub lateness: LatencyHistogram,
    /// Number of requests that were late because the maximum number of requests was outstanding. The target causes this
    /// delay, not the generator.
    pub held_back: u64,
    /// Number of requests that were due before the end and had not been submitted a second after the end.
    #[serde(default)]
    pub unsubmitted: u64,
    /// Delay between due time and submission for requests that did not have to wait for others. The generator causes
    /// this delay.
    pub own_lateness: LatencyHistogram,
}

impl DeviceUse {
    /// Returns the share of the time in which any request was outstanding.
    pub fn busy_share(&self) -> f64 {
        match self.elapsed {
            Duration::ZERO => 0.0,
            elapsed => (self.busy.as_seconds() / elapsed.as_seconds()).min(1.0),
        }
    }
}

impl DeviceUse {
    /// Returns the mean latency of a read at the block layer, in ns.
    pub fn mean_read_ns(&self) -> Option<f64> {
        (self.reads > 0).then(|| nanoseconds(self.read_time) / self.reads as f64)
    }

    /// Returns the mean latency of a write at the block layer, in ns.
    pub fn mean_write_ns(&self) -> Option<f64> {
        (self.writes > 0).then(|| nanoseconds(self.write_time) / self.writes as f64)
    }

    /// Returns the mean latency of reads and writes together at the block layer, in ns.
    pub fn mean_ns(&self) -> Option<f64> {
        let count = self.reads as f64 + self.writes as f64;
        let sum = nanoseconds(self.read_time) + nanoseconds(self.write_time);
        (count > 0.0).then(|| sum / count)
    }

    /// Returns the summed time of all requests in ns. The sum exceeds the elapsed time if several requests were
    /// outstanding.
    pub(crate) fn request_time_ns(&self) -> f64 {
        [self.read_time, self.write_time, self.flush_time].map(nanoseconds).iter().sum()
    }
}

fn nanoseconds(time: Duration) -> f64 {
    time.picoseconds() as f64 / 1e3
}

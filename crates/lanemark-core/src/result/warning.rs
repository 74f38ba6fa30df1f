//! Doubts about a result: a closed list, each with its advice, stored in the result and shown by every
//! view.

mod text;

use serde::{Deserialize, Serialize};

use super::errors::RequestErrors;
use super::steady::Reason;
use crate::units::{Bytes, Duration};

/// A doubt about a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Warning {
    /// The file system would not bypass the page cache.
    PageCache {
        /// The kernel's answer.
        reason: String,
    },
    /// Buffers or files could not be registered with the kernel.
    NotRegistered {
        /// The kernel's answer.
        reason: String,
    },
    /// Fewer than three repeats: no spread can be told.
    FewRepeats {
        /// Number of repeats.
        repeats: u32,
    },
    /// Requests failed.
    Failed {
        /// Name of the test.
        test: String,
        /// Number of failed requests by kind, over all repeats.
        errors: RequestErrors,
    },
    /// A sample lasted too short to be trusted.
    ShortSample {
        /// Name of the test.
        test: String,
        /// Length of the sample.
        #[serde(rename = "elapsed_ns")]
        elapsed: Duration,
    },
    /// The run was cut short; what is here is what had ended.
    Interrupted,
    /// A drive has more lanes or a later generation than the port that it is in.
    TrainedDown {
        /// Link that the drive supports, `PCIe 3.0 x4`.
        drive: String,
        /// Link that the port allows, `PCIe 2.0 x1`.
        port: String,
    },
    /// Requests of a trace came before their predecessors, and were taken to come with them.
    TimesBackward {
        /// Number of such requests.
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
    /// Requests of a trace lay beyond the end of their drive, and were moved into it.
    Wrapped {
        /// Number of such requests.
        requests: u64,
    },
    /// Reads and writes of a trace had no length, and were left out.
    EmptyRequests {
        /// Number of such requests.
        requests: u64,
    },
    /// The path to one port of a drive fails during the run, and the other takes its commands.
    PathFails {
        /// Name of the port.
        port: String,
        /// Name of the port that takes over.
        other: String,
        /// Time from the beginning of the run.
        #[serde(rename = "after_ns")]
        after: Duration,
    },
    /// A test of rounds did not become steady.
    NotSteady {
        /// Name of the test.
        test: String,
        /// Number of rounds.
        rounds: u32,
        /// Condition that the last five of them failed.
        reason: Reason,
        /// Range of the figures, as a share of their mean.
        range: f64,
        /// Rise or fall of their best-fit line, as a share of their mean.
        slope_range: f64,
    },
    /// The latencies of a test that another program measured are known by some percentiles only.
    FromPercentiles {
        /// Name of the test.
        test: String,
        /// Number of known percentiles; without any, all latencies are taken as the mean.
        known: u32,
    },
    /// The kernel handed requests to worker threads, because they could not be submitted without waiting.
    Punted {
        /// Name of the test.
        test: String,
        /// Number of threads that worked.
        workers: u64,
    },
    /// The device under the target moved less than was asked for: something before it answered.
    NotFromDevice {
        /// Name of the test.
        test: String,
        /// Bytes of the requests.
        asked_bytes: Bytes,
        /// Bytes that the device moved.
        device_bytes: Bytes,
    },
    /// The device under the target moved more than was asked for: others used it, too.
    OtherUse {
        /// Name of the test.
        test: String,
        /// Bytes of the requests.
        asked_bytes: Bytes,
        /// Bytes that the device moved.
        device_bytes: Bytes,
    },
    /// One read at a time was answered sooner than flash is sensed.
    WithoutFlash {
        /// Name of the test.
        test: String,
        /// Mean latency of its reads in nanoseconds.
        read_ns: f64,
        /// The least that flash takes over this path, in nanoseconds.
        least_ns: f64,
    },
    /// A part of what is to be read was never written: it is read from no medium.
    Holes {
        /// Share of the range, from 0 to 1.
        share: f64,
        /// The file below a device that has the holes; absent where it is the target itself.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        below: Option<String>,
    },
    /// The target received no requests: the figures are those of the program itself.
    NothingAsked,
    /// The target compresses or deduplicates what is written.
    Compresses {
        /// Part of the system that does so, `the file system`.
        what: String,
    },
    /// A cache under the device may answer.
    CacheBelow {
        /// Whose, and how that is known.
        what: String,
    },
    /// The device was not written full before, and a drive that is fresh is faster than one that is worn in.
    Fresh {
        /// Bytes that the workload writes.
        written_bytes: Bytes,
        /// Capacity of the device.
        capacity_bytes: Bytes,
    },
    /// The target is held back by a limit.
    Throttled {
        /// The limit, as it stands.
        limit: String,
    },
    /// A sample was faster in one half than in the other.
    Transient {
        /// Name of the test.
        test: String,
        /// Requests a second in the first half.
        first_iops: f64,
        /// Requests a second in the second half.
        second_iops: f64,
        /// The temperature of the device at the end, where known.
        temperature_celsius: Option<f64>,
    },
    /// The program itself was the limit.
    GeneratorBound {
        /// Name of the test.
        test: String,
        /// Processor time of the busiest thread, as a share of one core.
        busiest: f64,
    },
    /// Part of what was written only filled the write buffer.
    BufferFilling {
        /// Name of the test.
        test: String,
        /// The share of what was written.
        share: f64,
    },
    /// The hypervisor took processor time away.
    Stolen {
        /// Name of the test.
        test: String,
        /// Processor time, in cores.
        cores: f64,
    },
    /// Requests waited for processors of a virtual machine that had gone idle.
    Asleep {
        /// Name of the test.
        test: String,
        /// Number of times that a processor woke, for each request.
        wakes: f64,
    },
    /// The latencies of a sample do not add up to what was outstanding in its time.
    Unaccounted {
        /// Name of the test.
        test: String,
        /// Mean number of requests outstanding.
        outstanding: f64,
        /// Throughput times latency.
        accounted: f64,
    },
    /// Processors were busy with other programs.
    OthersBusy {
        /// Name of the test.
        test: String,
        /// Processor time of the other programs, in cores.
        used: f64,
        /// Cores there are.
        cores: u32,
    },
    /// A thread that asks was ready and had to wait for a core.
    CoreWait {
        /// Name of the test.
        test: String,
        /// Share of the time.
        share: f64,
    },
    /// An open loop could not keep its times.
    Late {
        /// Name of the test.
        test: String,
        /// Median delay of the requests for which there was room.
        #[serde(rename = "lateness_p50_ns")]
        lateness_p50: Duration,
        /// Requests that had to wait for others.
        held_back: u64,
        /// Requests that were due before the end and were never submitted.
        #[serde(default)]
        unsubmitted: u64,
        /// Requests in all.
        requests: u64,
    },
    /// Answers of a served system came later than the model says, beyond the bounds within which a run holds.
    NotDelivered {
        /// Name of the test.
        test: String,
        /// Median and 99th percentile of the lateness.
        #[serde(rename = "lateness_ns")]
        lateness: (Duration, Duration),
    },
    /// The clocks of the machine went apart.
    ClockDrift {
        /// Deviation, as a share of the time.
        share: f64,
    },
    /// The drive was fresh, and nothing had to make room for what was written: in the long run it is slower.
    NoCollection {
        /// Bytes that the workload wrote.
        written_bytes: Bytes,
    },
}

impl Warning {
    /// Returns the test that the warning is about, where it is about one.
    pub fn test(&self) -> Option<&str> {
        match self {
            Self::Failed { test, .. }
            | Self::ShortSample { test, .. }
            | Self::NotSteady { test, .. }
            | Self::Punted { test, .. }
            | Self::NotFromDevice { test, .. }
            | Self::OtherUse { test, .. }
            | Self::Transient { test, .. }
            | Self::GeneratorBound { test, .. }
            | Self::BufferFilling { test, .. }
            | Self::WithoutFlash { test, .. }
            | Self::Stolen { test, .. }
            | Self::Asleep { test, .. }
            | Self::Unaccounted { test, .. }
            | Self::OthersBusy { test, .. }
            | Self::CoreWait { test, .. }
            | Self::NotDelivered { test, .. }
            | Self::Late { test, .. } => Some(test),
            _ => None,
        }
    }

    /// Whether `other` is of the same kind and about the same test, whatever its figures are. Two that are about no
    /// test must be equal.
    pub fn is_about_the_same(&self, other: &Self) -> bool {
        match self.test() {
            Some(test) => {
                std::mem::discriminant(self) == std::mem::discriminant(other)
                    && other.test() == Some(test)
            }
            None => self == other,
        }
    }

    /// Returns the advice for the warning.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::PageCache { .. } => "use a file system with direct I/O (ext4, xfs, btrfs)",
            Self::NotRegistered { .. } => {
                "raise `ulimit -l` (locked memory) or run on a newer kernel"
            }
            Self::FewRepeats { .. } => "use at least three repeats",
            Self::Failed { .. } => {
                "look at `dmesg` and the drive's log; failed requests are in no other figure"
            }
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
            Self::Punted { .. } => {
                "the figures are those of the kernel's threads; use --engine sync, or a block device or \
                 file system that submits without waiting (ext4, xfs with direct I/O)"
            }
            Self::NotFromDevice { .. } => {
                "use direct I/O, a span larger than the caches, and data that was written and does not \
                 compress"
            }
            Self::OtherUse { .. } => "stop what else uses the device, and run again",
            Self::WithoutFlash { .. } => {
                "blocks that were never written or are trimmed are read from no flash, and caches answer for it: \
                 write the whole span first (--precondition), or take a larger one"
            }
            Self::Holes { below: None, .. } => {
                "write the file full first: --overwrite lets a run do so"
            }
            Self::Holes { below: Some(_), .. } => {
                "write the device full first: --i-will-lose-all-data-on lets a run do so"
            }
            Self::NothingAsked => "use another engine for figures of the target",
            Self::Compresses { .. } => {
                "figures hold for data that compresses as the workload's does"
            }
            Self::CacheBelow { what } if what.contains("loop device") => {
                "attach the file with direct I/O: losetup --direct-io=on"
            }
            Self::CacheBelow { .. } => {
                "read more than the host's memory holds, or measure on the host itself"
            }
            Self::Fresh { .. } => "--precondition writes the device twice over first",
            Self::Throttled { .. } => {
                "take the limit away, or read the figures as those of the limit"
            }
            Self::Transient { .. } => "run longer, or until steady: --steady 60s",
            Self::GeneratorBound { .. } => "use more threads, or a larger block",
            Self::Asleep { .. } => {
                "--no-idle keeps the processors awake: it shows how much of the latency is waking them"
            }
            Self::BufferFilling { .. } => "give the test a ramp, or a larger volume",
            Self::Stolen { .. } => "run on a machine whose processors are its own",
            Self::OthersBusy { .. } => "stop what else runs, and run again",
            Self::CoreWait { .. } => {
                "leave a core to each thread: stop what else runs, or use fewer"
            }
            Self::NotDelivered { .. } => "use a larger --time-scale, or a quieter machine",
            Self::Late { .. } => "use a lower rate, more threads, or --pin",
            Self::Unaccounted { .. } => {
                "run longer: what began before the sample or ended after it weighs too much"
            }
            Self::ClockDrift { .. } => "run again; where it stays, distrust all latencies",
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

//! Warnings about a result: a closed list. Each warning has advice; results store the warnings, and every view shows
//! them.

mod advice;
mod text;

use serde::{Deserialize, Serialize};

use super::assumed::AssumedLimit;
use super::errors::RequestErrors;
use super::live::LiveVerdict;
use super::steady::UnsteadyReason;
use crate::units::{Bytes, Duration};
use crate::workload::Precondition;

/// A warning about a result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Warning {
    /// The file system or the database did not bypass the page cache.
    PageCache {
        /// The kernel's error message, or the limitation of the database.
        reason: String,
    },
    /// Buffers or files could not be registered with the kernel.
    NotRegistered {
        /// The kernel's error message.
        reason: String,
    },
    /// There were fewer than three repeats, so the spread is unknown.
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
    /// A sample was too short to be reliable.
    ShortSample {
        /// Name of the test.
        test: String,
        /// Length of the sample.
        #[serde(rename = "elapsed_ns")]
        elapsed: Duration,
    },
    /// The run was interrupted; the result contains only the tests that had ended by then.
    Interrupted,
    /// A drive supports more lanes or a later generation than its port.
    TrainedDown {
        /// Link that the drive supports, such as `PCIe 3.0 x4`.
        drive: String,
        /// Link that the port allows, such as `PCIe 2.0 x1`.
        port: String,
    },
    /// Some requests of a trace have earlier times than the requests before them; they were replayed together with
    /// those requests.
    TimesBackward {
        /// Number of requests with earlier times.
        requests: u64,
        /// Maximum step back in time.
        #[serde(rename = "step_most_ns")]
        step_most: Duration,
    },
    /// The system could not keep up with a trace.
    HeldBack {
        /// Requests that had to wait to be submitted.
        requests: u64,
        /// Maximum number of outstanding requests.
        outstanding: u64,
    },
    /// Requests of a trace were beyond the end of their drive, and their offsets were wrapped.
    Wrapped {
        /// Number of wrapped requests.
        requests: u64,
    },
    /// Reads and writes of a trace had length zero, and were skipped.
    EmptyRequests {
        /// Number of skipped requests.
        requests: u64,
    },
    /// A test that runs in rounds did not become steady.
    NotSteady {
        /// Name of the test.
        test: String,
        /// Number of rounds.
        rounds: u32,
        /// Condition that the last five rounds did not meet.
        reason: UnsteadyReason,
        /// Range of the figures in these rounds, as a share of their mean.
        range: f64,
        /// Rise or fall of the best-fit line through these rounds, as a share of their mean.
        slope_range: f64,
    },
    /// The latencies of a test were measured by another program, and only some of their percentiles are known.
    FromPercentiles {
        /// Name of the test.
        test: String,
        /// Number of known percentiles; if it is zero, only the mean, minimum and maximum are known.
        known: u32,
    },
    /// An assumed value is the bottleneck of a simulated test.
    AssumedLimit {
        /// Name of the test.
        test: String,
        /// The bottleneck and the value.
        limit: AssumedLimit,
    },
    /// Another program states only the mean of a test's latencies, and possibly the minimum and maximum.
    OnlyMeans {
        /// Name of the test.
        test: String,
    },
    /// Another program states rates, but neither the time nor the number of requests.
    RatesOnly {
        /// Name of the program.
        program: String,
        /// Time for which requests at the stated rates are counted.
        #[serde(rename = "time_ns")]
        time: Duration,
    },
    /// Each figure from another program is the best of several runs.
    BestOfRuns {
        /// Name of the program.
        program: String,
        /// Number of runs, if it is stated.
        runs: Option<u32>,
    },
    /// A value from an imported file was dropped or computed.
    Imported {
        /// The value and its use.
        note: String,
    },
    /// Another program counted requests but did not measure their latencies.
    NoLatencies {
        /// Name of the test.
        test: String,
    },
    /// The options of an imported test contradict its counts, so the options describe a different job.
    OptionsContradict {
        /// Name of the test.
        test: String,
        /// The contradiction.
        what: String,
    },
    /// An imported result does not state a setting of its test.
    NotStated {
        /// Name of the test.
        test: String,
        /// The setting, such as `the queue depth`.
        what: String,
        /// Option of `lanemark report` that supplies the setting.
        option: String,
    },
    /// The kernel passed requests to worker threads, because they could not be submitted without waiting.
    Punted {
        /// Name of the test.
        test: String,
        /// Number of worker threads.
        workers: u64,
    },
    /// The device under the target transferred less data than requested, so a layer above the device answered requests.
    NotFromDevice {
        /// Name of the test.
        test: String,
        /// Amount of data in the requests.
        asked_bytes: Bytes,
        /// Amount of data that the device transferred.
        device_bytes: Bytes,
    },
    /// The device under the target transferred more data than requested, so other programs also used it.
    OtherUse {
        /// Name of the test.
        test: String,
        /// Amount of data in the requests.
        asked_bytes: Bytes,
        /// Amount of data that the device transferred.
        device_bytes: Bytes,
    },
    /// Individual reads completed faster than flash can be sensed.
    WithoutFlash {
        /// Name of the test.
        test: String,
        /// Mean latency of its reads in nanoseconds.
        read_ns: f64,
        /// The minimum latency of flash over this path, in nanoseconds.
        least_ns: f64,
    },
    /// Part of the range was never written, so reads of that part do not reach the media.
    Holes {
        /// Share of the range, from 0 to 1.
        share: f64,
        /// The file under a device that contains the holes; absent if the target itself contains them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        below: Option<String>,
    },
    /// The target received no requests, so the figures describe the program itself.
    NothingRequested,
    /// The target compresses or deduplicates written data.
    Compresses {
        /// The part of the system that compresses or deduplicates, such as `the file system`.
        what: String,
    },
    /// A cache under the device may answer requests.
    CacheBelow {
        /// The cache, and how it was recognised.
        what: String,
    },
    /// The device was not fully written before the run, and a fresh drive is faster than a preconditioned drive.
    Fresh {
        /// Bytes that the workload writes.
        written_bytes: Bytes,
        /// Capacity of the device.
        capacity_bytes: Bytes,
    },
    /// The workload requires a preconditioned drive, but the run did not write the target first.
    NotPreconditioned {
        /// The state that the workload requires.
        precondition: Precondition,
    },
    /// A limit throttles the target.
    Throttled {
        /// The limit as configured.
        limit: String,
    },
    /// A sample was faster in one half than in the other half.
    Transient {
        /// Name of the test.
        test: String,
        /// Requests a second in the first half.
        first_iops: f64,
        /// Requests a second in the second half.
        second_iops: f64,
        /// The temperature of the device at the end, if known.
        temperature_celsius: Option<f64>,
    },
    /// The rate fell while the drive was at its temperature limit.
    Overheated {
        /// Name of the test.
        test: String,
        /// The drive's temperature limit, in °C.
        limit_celsius: f64,
        /// Requests a second below the limit.
        cool_iops: f64,
        /// Requests a second at the limit.
        hot_iops: f64,
    },
    /// The program itself was the limit.
    GeneratorBound {
        /// Name of the test.
        test: String,
        /// Processor time of the busiest thread, as a share of one core.
        busiest: f64,
    },
    /// Part of the written data only filled the write buffer.
    BufferFilling {
        /// Name of the test.
        test: String,
        /// Share of the written data that only filled the write buffer.
        share: f64,
    },
    /// The hypervisor took processor time from the machine.
    Stolen {
        /// Name of the test.
        test: String,
        /// Processor time that the hypervisor took, in cores.
        cores: f64,
    },
    /// Requests waited until idle processors of a virtual machine woke.
    Asleep {
        /// Name of the test.
        test: String,
        /// Number of times that a processor woke, per request.
        wakes: f64,
    },
    /// The sum of a sample's latencies does not equal the number of outstanding requests multiplied by the time.
    Unaccounted {
        /// Name of the test.
        test: String,
        /// Mean number of outstanding requests.
        outstanding: f64,
        /// Throughput multiplied by latency.
        accounted: f64,
    },
    /// The processors were busy with other programs.
    OthersBusy {
        /// Name of the test.
        test: String,
        /// Processor time of the other programs, in cores.
        used: f64,
        /// Cores of the machine.
        cores: u32,
    },
    /// A thread that submits requests was ready and had to wait for a core.
    CoreWait {
        /// Name of the test.
        test: String,
        /// Share of the time in which the thread waited for a core.
        share: f64,
    },
    /// An open loop could not submit its requests on time.
    Late {
        /// Name of the test.
        test: String,
        /// Median delay of the requests that did not have to wait for other requests.
        #[serde(rename = "lateness_p50_ns")]
        lateness_p50: Duration,
        /// Number of requests that had to wait until other requests completed.
        held_back: u64,
        /// Number of requests that were due before the end and were never submitted.
        #[serde(default)]
        unsubmitted: u64,
        /// Total number of requests.
        requests: u64,
    },
    /// The clients of a served system did not observe the rate or the median latency of the model.
    NotDelivered {
        /// Name of the test.
        test: String,
        /// Median and 99th percentile of the lateness.
        #[serde(rename = "lateness_ns")]
        lateness: (Duration, Duration),
        /// The reason.
        #[serde(default = "late_verdict")]
        verdict: LiveVerdict,
    },
    /// The clocks of the machine diverged.
    ClockDrift {
        /// Deviation, as a share of the time.
        share: f64,
    },
    /// Requests would go through the page cache, which the simulator does not model: it sends all requests to the
    /// drive.
    CacheNotModelled {
        /// Number of tests that run with one outstanding request per thread, because their engine waits for each
        /// buffered read.
        tests_at_depth_one: u32,
        /// Whether some requests are not multiples of 512 B; the drive receives these requests as whole pages.
        whole_pages: bool,
    },
    /// The written data did not require garbage collection; a drive that collects garbage is slower.
    NoCollection {
        /// Bytes that the workload wrote.
        written_bytes: Bytes,
        /// State of the drive before the run, if the result records it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<DriveSpace>,
    },
    /// At the end of the test, some requests had been in flight for longer than any counted request took.
    Unfinished {
        /// Name of the test.
        test: String,
        /// Number of requests in flight that were older than any counted latency.
        requests: u64,
        /// Age of the oldest of these requests, which is a lower bound of its latency.
        #[serde(rename = "age_ns")]
        age: Duration,
        /// Maximum counted latency; `None` if no request was counted.
        #[serde(rename = "counted_ns", default, skip_serializing_if = "Option::is_none")]
        counted: Option<Duration>,
    },
}

/// Used and free space on a drive before a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DriveSpace {
    /// Amount of the host's data on the drive.
    pub held_bytes: Bytes,
    /// Part of the drive's capacity that does not contain data.
    pub free_bytes: Bytes,
}

impl Warning {
    /// Returns the test to which the warning applies, or `None` if it does not apply to one specific test.
    pub fn test(&self) -> Option<&str> {
        match self {
            Self::Failed { test, .. }
            | Self::ShortSample { test, .. }
            | Self::NotSteady { test, .. }
            | Self::Punted { test, .. }
            | Self::NotFromDevice { test, .. }
            | Self::OtherUse { test, .. }
            | Self::Transient { test, .. }
            | Self::Overheated { test, .. }
            | Self::GeneratorBound { test, .. }
            | Self::BufferFilling { test, .. }
            | Self::WithoutFlash { test, .. }
            | Self::Stolen { test, .. }
            | Self::Asleep { test, .. }
            | Self::Unaccounted { test, .. }
            | Self::OthersBusy { test, .. }
            | Self::CoreWait { test, .. }
            | Self::NotDelivered { test, .. }
            | Self::NoLatencies { test }
            | Self::OnlyMeans { test }
            | Self::FromPercentiles { test, .. }
            | Self::AssumedLimit { test, .. }
            | Self::OptionsContradict { test, .. }
            | Self::NotStated { test, .. }
            | Self::Unfinished { test, .. }
            | Self::Late { test, .. } => Some(test),
            Self::PageCache { .. }
            | Self::NotRegistered { .. }
            | Self::FewRepeats { .. }
            | Self::Interrupted
            | Self::TrainedDown { .. }
            | Self::TimesBackward { .. }
            | Self::HeldBack { .. }
            | Self::Wrapped { .. }
            | Self::EmptyRequests { .. }
            | Self::RatesOnly { .. }
            | Self::BestOfRuns { .. }
            | Self::Imported { .. }
            | Self::Holes { .. }
            | Self::NothingRequested
            | Self::Compresses { .. }
            | Self::CacheBelow { .. }
            | Self::Fresh { .. }
            | Self::NotPreconditioned { .. }
            | Self::Throttled { .. }
            | Self::ClockDrift { .. }
            | Self::CacheNotModelled { .. }
            | Self::NoCollection { .. } => None,
        }
    }

    /// Returns whether `other` is a warning of the same kind about the same test; their figures may differ. Two
    /// warnings that do not concern a test must be equal.
    pub fn is_about_the_same(&self, other: &Self) -> bool {
        match self.test() {
            Some(test) => {
                std::mem::discriminant(self) == std::mem::discriminant(other)
                    && other.test() == Some(test)
            }
            None => self == other,
        }
    }
}

/// Returns the verdict of saved warnings that do not state one.
fn late_verdict() -> LiveVerdict {
    LiveVerdict::Late
}

//! The results of runs. Real and simulated runs share one schema.
//!
//! A [`RunResult`] is the result of one workload on one target. It is plain data that JSON stores without loss. In
//! JSON, the name of a field ends in the field's unit. A value that an instrument cannot know is absent, never zero: a
//! real run lacks a time budget by hop, and a simulated run lacks page faults.

mod assumed;
mod bounds;
mod change;
mod compared;
mod comparison;
mod converged;
mod counters;
mod credit_use;
mod direction;
mod drawn;
mod drive_use;
mod energy;
mod errors;
mod evidence;
mod explanation;
mod faults;
mod figures;
mod finding;
mod fitted;
mod hop;
mod inspected;
mod inspected_link;
mod latency;
mod latency_steps;
mod live;
mod path;
mod phases;
mod power_cut;
mod predicted;
mod prediction;
mod range;
mod rate_phase;
mod replay;
pub mod sensitivity;
pub mod series;
mod served_in_time;
mod similar;
mod statistic;
pub mod steady;
mod study;
mod sweep;
mod target;
mod target_name;
mod transactions;
mod verified;
mod waits;
mod warning;
mod whatif;

pub use assumed::AssumedLimit;
pub use change::{ChangeKind, LEAST, RequestGroup, changes, omitted_factor};
pub use compared::{ComparedFigure, ComparedRun, ComparedRuns};
pub use comparison::{
    FigureUncertainty, RatioEstimate, RatioVerdict, SAME_WITHIN, UncertainFigure,
};
pub use converged::ConvergedTest;
pub use counters::{DatabaseCounter, DatabaseCounters};
pub use credit_use::CreditUse;
pub use direction::DirectionResult;
pub use drawn::{DRAWS_MIN, DrawnRates, interval_80};
pub use drive_use::{DriveUse, FILLING_MAX};
pub use energy::{EnergyPart, EnergyUse, PlatformPower, PowerStateUse};
pub use errors::{ErrorCount, ErrorKind, RequestErrors};
pub use evidence::{
    CgroupLimit, CgroupLimitKind, DeviceUse, DriveHealth, Evidence, OutstandingRequests,
    ProcessorUse, Punctuality, TemperatureReading, Temperatures, ThreadUse,
};
pub use explanation::{EvidenceItem, Explanation, HopCeiling, LimitingPart, QueueDepthProbe};
pub use faults::FaultImpact;
pub use finding::{Finding, InspectedFinding, LineRate};
pub use fitted::{
    Determination, FigureKind, FitWarning, FittedDrive, FittedFigure, FittedParameter,
    UndeterminedValue,
};
pub use hop::{HopId, UnknownHop};
pub use inspected::{
    BlockDeviceKind, DRIVES_NOT_SHOWN, DeviceIdentity, InspectedDevice, InspectedHop,
    InspectedHopKind, InspectedPartition, InspectedPath, Inspection, PciFunctionKind, QueueLimits,
    UnreadFile, UnreadReason, WriteCache,
};
pub use inspected_link::{InspectedLink, PataLink, PcieLink, PcieRate, SasLink, SataLink, UsbLink};
pub use latency::{LatencyDetail, LatencyHistogram, PERCENTILES};
pub use latency_steps::LatencySteps;
pub use live::{
    ClientDeviation, DEVIATION_MAX, DeliveryEvidence, LiveDelivery, LiveVerdict, OutsideTime,
    ProgramRun, ServedTarget, StartContent,
};
pub use path::{HopUse, LinkLoss, PathHop, PathLimit, PathUse, TestedPath, TopologyNode};
pub use phases::DrivePhases;
pub use power_cut::{PowerCut, PowerCutOutcome};
pub use predicted::{PredictedRate, changed_share};
pub use prediction::{MainUncertainty, PercentileInterval, PredictionInterval};
pub use range::OutOfRangeValue;
pub use rate_phase::{RatePhase, Reserve};
pub use replay::ReplayCounts;
pub use sensitivity::{ChangeGain, Sensitivity, SystemChange};
pub use series::{Series, SeriesPoint};
pub use similar::ScaledRun;
pub use statistic::{SIDES_80, Statistic, student, student_95};
pub use steady::SteadyState;
pub use study::{
    BoundKind, FigureCheck, FigureMetric, FigureRole, Publication, PublishedFigure, StudyAnswer,
    StudyClaim, StudyOutcome, StudySystem, SystemComparison, TestRatio, UnmodelledFigures,
};
pub use sweep::{DirectionFigures, Sweep, SweepFigures, SweepPoint, write_amplification};
pub use target::{MeasuredTarget, ParameterOverride, SimulatedTarget, Target};
pub use transactions::{
    DatabaseTarget, DeviceRates, ServerProcessorTime, SessionProcessorTime, TransactionFigures,
    TransactionKindFigures,
};
pub use verified::{
    AcknowledgedChange, DamageKind, DamagedRange, FoundData, InterveningEvent, RequestCounts,
    UnitCounts, VerificationResult, VerificationWrites, VerifyWarning,
};
pub use waits::{SessionWaits, WaitClass};
pub use warning::{DriveSpace, Warning};
pub use whatif::{
    Contradiction, ContradictionCause, PathSection, WhatIf, WhatIfFigures, WhatIfTest,
};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, BytesPerSecond, Duration};
use crate::workload::{Operation, Test, Workload};

/// The version of the schema. A reader rejects every other version.
pub const SCHEMA_VERSION: u32 = 1;

/// The result of one workload on one target.
///
/// A file that `lanemark` saved is a `RunResult` in JSON. A program that reads such files from other programs should
/// check the result:
///
/// ```
/// use lanemark_schema::result::RunResult;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../lanemark-cli/tests/saved/simulated.json");
/// let run: RunResult = serde_json::from_str(&std::fs::read_to_string(path)?)?;
/// run.check()?;
/// for test in &run.tests {
///     println!("{}: {:.0} IOPS", test.test.name, test.iops.value);
///     assert!(test.iops.value > 0.0);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// [`SCHEMA_VERSION`] of the program that wrote it.
    pub schema_version: u32,
    /// Program, machine and time that produced the result.
    pub provenance: Provenance,
    /// Target on which the workload ran.
    pub target: Target,
    /// The workload as it ran, including overrides from the command line.
    pub workload: Workload,
    /// The completed tests, in the order in which they ran.
    pub tests: Vec<TestResult>,
    /// False while the run continues, and permanently if it was interrupted.
    pub complete: bool,
    /// Warnings about the data.
    pub warnings: Vec<Warning>,
    /// The path to the target as the machine's kernel reports it; known for measured runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inspection: Option<Inspection>,
    /// The power cuts of a trial, in order; empty for other runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub power_cuts: Vec<PowerCut>,
}

/// The origin of a result: program, machine and time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The version of Lanemark.
    pub version: String,
    /// The command line.
    pub command: Vec<String>,
    /// The seed of all random numbers.
    pub seed: u64,
    /// Time at which the run began, RFC 3339 in UTC.
    pub started_at: String,
    /// Time at which this file was written, RFC 3339 in UTC.
    pub finished_at: String,
    /// The machine that ran the command, if recorded.
    pub machine: Option<Machine>,
    /// SHA-256 of each library and study file from which the result was computed.
    pub inputs: BTreeMap<String, String>,
    /// Name that the user gave to the system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The machine that ran Lanemark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's model name.
    pub cpu: String,
    /// Number of logical processors that the process may use.
    pub cores: u32,
    /// Main memory.
    pub memory_bytes: Bytes,
    /// The kernel's name and release.
    pub kernel: String,
    /// The host's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl Machine {
    /// Returns processor, number of processors and kernel in one line.
    pub fn description(&self) -> String {
        format!("{}, {} processors, {}", self.cpu, self.cores, self.kernel)
    }
}

/// The result of one test with all its repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestResult {
    /// The test as it ran.
    pub test: Test,
    /// Samples, one per repeat.
    pub samples: Vec<Sample>,
    /// Bytes a second over the repeats.
    pub throughput_bytes_per_second: Statistic,
    /// Requests a second over the repeats.
    pub iops: Statistic,
    /// Mean latency in ns over the repeats.
    pub latency_mean_ns: Statistic,
    /// A short repetition of the test with a deeper queue, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_probe: Option<QueueDepthProbe>,
    /// Explanation of why the test was not faster; known for measured runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// Gain from making one hop faster; known for simulated runs if it was requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<Sensitivity>,
    /// The 80% interval of the figures; known for simulated runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<PredictionInterval>,
    /// The rates in all draws of the uncertain values; known for simulated runs with an interval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drawn: Option<DrawnRates>,
}

/// The result of one repeat of one test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Time during which the requests were counted.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Duration,
    /// The reads, if there were any.
    pub reads: Option<DirectionResult>,
    /// The writes, if there were any.
    pub writes: Option<DirectionResult>,
    /// Reads and writes together, if their source does not separate them; in that case both separate fields are absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unified: Option<DirectionResult>,
    /// The flushes, if there were any; they transfer no data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes: Option<DirectionResult>,
    /// The trims, if there were any; their bytes are the trimmed part of the target, and no data is transferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trims: Option<DirectionResult>,
    /// The requests that failed, including failures during the ramp; no other figure includes them.
    #[serde(default, skip_serializing_if = "RequestErrors::is_empty")]
    pub errors: RequestErrors,
    /// Outcome of the faults of a simulated run, in order of time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultImpact>,
    /// Processor time per request, if known.
    pub cpu: Option<CpuUse>,
    /// Readings of the machine; known for measured runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Requests in flight at the end of the sample, which no other figure includes; known for simulated tests that end
    /// after a set time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight: Option<RequestsInFlight>,
    /// Punctuality of an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub punctuality: Option<Punctuality>,
    /// Use of each hop of the path; known for simulated runs.
    pub path: Option<PathUse>,
    /// Writes to the drive's flash; known for simulated runs.
    #[serde(default)]
    pub drive: Option<DriveUse>,
    /// Energy of the drives; known for simulated runs of drives whose power is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyUse>,
    /// Replay of a trace, if the sample is a replay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayCounts>,
    /// The sample in equal intervals, if it was requested or the sample was long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// The rounds of a test that ran until it was steady; the sample contains the figures of the last five rounds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyState>,
    /// The transactions that caused the requests, if a database submitted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions: Option<TransactionFigures>,
    /// The time at which the simulation stopped because its figures had converged; absent for a complete simulation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub converged: Option<ConvergedTest>,
    /// The smaller drive and the shorter time with which a long test was simulated; absent if the test was not
    /// shortened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub similar: Option<ScaledRun>,
    /// The phases of a simulated test whose rate changed when a reserve of the system was used up; empty otherwise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub phases: Vec<RatePhase>,
    /// The burst credits of cloud volumes in a simulated run; empty for other drives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credits: Vec<CreditUse>,
    /// Delivery to real programs, if the system was served to programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveDelivery>,
    /// False if the repeat was interrupted.
    pub complete: bool,
}

/// Requests in flight at the end of a sample. Their ages at the end are lower bounds of their latencies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestsInFlight {
    /// Number of requests, including requests of an open loop that were due but not yet submitted.
    pub requests: u64,
    /// Requests that are older than the longest counted latency.
    pub older_than_counted: u64,
    /// Age of the oldest request.
    #[serde(rename = "age_max_ns")]
    pub age_max: Duration,
    /// Sum of all ages.
    #[serde(rename = "age_total_ns")]
    pub age_total: Duration,
}

impl RequestsInFlight {
    /// Returns the requests with these ages, or `None` if there are no ages. `longest` is the maximum counted latency.
    pub fn from_ages(ages: &[Duration], longest: Option<Duration>) -> Option<Self> {
        let age_max = *ages.iter().max()?;
        let longest = longest.unwrap_or_default();
        Some(Self {
            requests: ages.len() as u64,
            older_than_counted: ages.iter().filter(|age| **age > longest).count() as u64,
            age_max,
            age_total: ages.iter().copied().sum(),
        })
    }
}

/// Processor time per request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuUse {
    /// Processor time in the program, in ns per request.
    pub user_ns_per_request: f64,
    /// Processor time in the kernel on the program's behalf, in ns per request.
    pub system_ns_per_request: f64,
}

impl Sample {
    /// Creates a sample without requests.
    pub fn empty() -> Self {
        Self {
            elapsed: Duration::ZERO,
            reads: None,
            writes: None,
            unified: None,
            flushes: None,
            trims: None,
            errors: RequestErrors::default(),
            faults: Vec::new(),
            cpu: None,
            evidence: None,
            in_flight: None,
            punctuality: None,
            path: None,
            drive: None,
            energy: None,
            replay: None,
            series: None,
            steady: None,
            transactions: None,
            converged: None,
            similar: None,
            phases: Vec::new(),
            credits: Vec::new(),
            live: None,
            complete: true,
        }
    }

    /// Returns the data that was transferred, from the device's counters if the requests were not counted otherwise.
    pub fn bytes(&self) -> Bytes {
        if let Some(device) = self.counted_device() {
            return Bytes(device.read_bytes.get().saturating_add(device.written_bytes.get()));
        }
        self.directions().fold(Bytes::ZERO, |sum, direction| sum + direction.bytes)
    }

    /// Returns the longest latency of the counted requests of all kinds, or `None` if no request was counted.
    pub fn latency_max(&self) -> Option<Duration> {
        let directions = [&self.reads, &self.writes, &self.flushes, &self.trims];
        let longest = directions
            .into_iter()
            .flatten()
            .filter_map(|direction| direction.latency.max_ns())
            .max();
        longest.map(Duration::from_nanoseconds)
    }

    /// Returns the number of completed requests, from the device's counters if they were not counted otherwise.
    pub fn operations(&self) -> u64 {
        if let Some(device) = self.counted_device() {
            return device.reads.saturating_add(device.writes);
        }
        self.directions().map(|direction| direction.latency.count()).sum()
    }

    /// Returns the amount of data transferred a second.
    pub fn throughput(&self) -> BytesPerSecond {
        self.bytes() / self.elapsed
    }

    /// Returns the requests completed a second; zero for an empty sample.
    pub fn iops(&self) -> f64 {
        if self.elapsed == Duration::ZERO {
            return 0.0;
        }
        self.operations() as f64 / self.elapsed.as_seconds()
    }

    /// Returns the latency of all requests combined.
    pub fn latency(&self) -> LatencyHistogram {
        let mut all = LatencyHistogram::new();
        self.directions().for_each(|direction| all.merge(&direction.latency));
        all
    }

    /// Returns the mean latency of all requests in ns; zero if no latency was measured.
    pub fn latency_mean_ns(&self) -> f64 {
        self.latency_mean_known_ns().unwrap_or(0.0)
    }

    fn latency_mean_known_ns(&self) -> Option<f64> {
        match self.counted_device() {
            Some(device) => device.mean_ns(),
            None => self.latency().mean_known_ns(),
        }
    }

    /// Returns whether requests were counted without their latencies, as fio does with `gtod_reduce`.
    pub fn lacks_latencies(&self) -> bool {
        self.counted_device().is_none() && self.operations() > 0 && !self.latency().is_measured()
    }

    /// Returns whether trims are the only requests of the sample.
    pub fn only_trims(&self) -> bool {
        let others = [&self.reads, &self.writes, &self.unified];
        self.trims.is_some() && others.into_iter().all(Option::is_none)
    }

    fn directions(&self) -> impl Iterator<Item = &DirectionResult> {
        let trims = self.trims.iter().filter(|_| self.only_trims());
        self.reads.iter().chain(&self.writes).chain(&self.unified).chain(trims)
    }
}

impl TestResult {
    /// Computes the figures of `samples`, averaged as `workload` specifies.
    pub fn new(workload: &Workload, test: &Test, samples: Vec<Sample>) -> Self {
        // For a database without a known device, the requests are unknown.
        let is_known =
            |sample: &&Sample| !sample.is_counted_by_device() || sample.counted_device().is_some();
        // A rate and the mean latency of a closed loop have the same relative interval (Little's law).
        let half_width = match samples.as_slice() {
            [one] => one.converged.map(|converged| converged.half_width),
            _ => None,
        };
        let with_half_width = |figure: Statistic| match half_width {
            Some(half_width) => figure.with_half_width(half_width),
            None => figure,
        };
        let statistic_over = |value: fn(&Sample) -> f64| {
            let values: Vec<f64> = samples.iter().filter(is_known).map(value).collect();
            with_half_width(Statistic::from_values(&values, workload.average))
        };
        let latencies: Vec<f64> = (samples.iter().filter(is_known))
            .filter(|sample| !sample.lacks_latencies())
            .map(Sample::latency_mean_ns)
            .collect();
        Self {
            test: test.clone(),
            throughput_bytes_per_second: statistic_over(|sample| sample.throughput().0 as f64),
            iops: statistic_over(Sample::iops),
            latency_mean_ns: with_half_width(Statistic::from_values(&latencies, workload.average)),
            samples,
            queue_probe: None,
            explanation: None,
            sensitivity: None,
            interval: None,
            drawn: None,
        }
    }

    /// Returns the latency of all repeats combined.
    pub fn latency(&self) -> LatencyHistogram {
        let mut all = LatencyHistogram::new();
        self.samples.iter().for_each(|sample| all.merge(&sample.latency()));
        all
    }

    /// Returns the failed requests of all repeats.
    pub fn errors(&self) -> RequestErrors {
        let mut all = RequestErrors::default();
        self.samples.iter().for_each(|sample| all.merge(&sample.errors));
        all
    }

    /// Returns the throughput in MB/s (10^6 bytes a second).
    pub fn megabytes_per_second(&self) -> f64 {
        self.throughput_bytes_per_second.value / 1e6
    }

    /// Returns whether the test only reads or only writes; `None` for a mix of both.
    pub fn direction(&self) -> Option<Operation> {
        match (self.test.reads(), self.test.writes()) {
            (true, false) => Some(Operation::Read),
            (false, true) => Some(Operation::Write),
            _ => None,
        }
    }
}

impl RunResult {
    /// Returns the result of the test that is named `name`.
    pub fn test(&self, name: &str) -> Option<&TestResult> {
        self.tests.iter().find(|result| result.test.name == name)
    }
}

#[cfg(test)]
mod tests;

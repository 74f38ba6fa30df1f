//! The results of runs: one schema for real and simulated runs.
//!
//! A [`RunResult`] is one workload on one target. It is plain data that goes to JSON and comes back
//! without loss. A field's unit ends its name in JSON. What an instrument cannot know is absent, never
//! zero: a real run has no time budget by hop, a simulated one no page faults.

mod bounds;
mod counters;
mod direction;
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
mod prediction;
mod range;
mod replay;
pub mod sensitivity;
pub mod series;
mod statistic;
pub mod steady;
mod study;
mod sweep;
mod target;
mod transactions;
mod verified;
mod waits;
mod warning;
mod whatif;

pub use counters::{Counter, Counters};
pub use direction::DirectionResult;
pub use drive_use::{DriveUse, FILLING_MAX};
pub use energy::{EnergyPart, EnergyUse, PlatformPower, PowerStateUse};
pub use errors::{ErrorCount, ErrorKind, RequestErrors};
pub use evidence::{
    DeviceUse, DriveHealth, Evidence, Limit, LimitKind, Outstanding, ProcessorUse, Punctuality,
    ThreadUse,
};
pub use explanation::{Explanation, HopCeiling, QueueProbe, Sign, Verdict};
pub use faults::FaultUse;
pub use finding::{Finding, Gigabits, InspectedFinding};
pub use fitted::{
    FigureKind, FitDoubt, FittedDrive, FittedFigure, FittedParameter, Standing, Unseen,
};
pub use hop::{HopId, NoHop};
pub use inspected::{
    BlockKind, HopPart, Identity, InspectedDevice, InspectedHop, InspectedPartition, InspectedWay,
    Inspection, PciRole, QueueLimits, Unread, UnreadReason, WriteCache,
};
pub use inspected_link::{InspectedLink, PataLink, PcieLink, PcieRate, SasLink, SataLink, UsbLink};
pub use latency::{LatencyHistogram, PERCENTILES};
pub use latency_steps::LatencySteps;
pub use live::{LiveUse, lateness_bounds};
pub use path::{HopUse, LinkLoss, PathHop, PathLimit, PathUse, PathView, TopologyNode};
pub use phases::Phases;
pub use prediction::{PredictionInterval, Widest};
pub use range::OutOfRange;
pub use replay::ReplayUse;
pub use sensitivity::{Changed, Gain, Sensitivity};
pub use series::Series;
pub use statistic::Statistic;
pub use steady::SteadyState;
pub use study::{
    Bound, Comparison, Document, Figure, FigureCheck, Metric, NotModelled, Role, StudyOutcome,
    StudySystem,
};
pub use sweep::{Sweep, SweepFigures, SweepPoint};
pub use target::{Calibration, MeasuredTarget, SimulatedTarget, Target};
pub use transactions::{
    DatabaseTarget, DeviceRates, KindUse, ServerTime, SessionTime, TransactionsUse,
};
pub use verified::{
    Acknowledged, Damage, DamageKind, Found, RequestCounts, Since, UnitCounts, Verified,
    VerifyDoubt, WrittenToVerify,
};
pub use waits::{SessionWaits, WaitClass};
pub use warning::Warning;
pub use whatif::{Outlook, PathPart, WhatIf, WhatIfTest};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, BytesPerSecond, Duration};
use crate::workload::{Operation, Test, Workload};

/// The version of the schema; a reader refuses what is newer than it knows.
pub const SCHEMA_VERSION: u32 = 1;

/// The result of one workload on one target.
///
/// A file that `lanemark` saved is one of these in JSON. Whoever reads one that others wrote checks it:
///
/// ```
/// use lanemark_core::result::RunResult;
///
/// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../lanemark-cli/tests/former/hops-by-name.json");
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
    /// Program, machine and time that the result came from.
    pub provenance: Provenance,
    /// Target that the workload ran on.
    pub target: Target,
    /// The workload as it ran: overrides from the command line are in it.
    pub workload: Workload,
    /// The tests that ended, in the order in which they ran.
    pub tests: Vec<TestResult>,
    /// False while the run goes on, and for good when it was cut short.
    pub complete: bool,
    /// Doubts about the data.
    pub warnings: Vec<Warning>,
    /// The path to the target as the machine's kernel tells it; known for measured runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inspection: Option<Inspection>,
}

/// The origin of a result: program, machine and time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// The version of Lanemark.
    pub version: String,
    /// The command line.
    pub command: Vec<String>,
    /// The seed that all random numbers come from.
    pub seed: u64,
    /// Time at which the run began, RFC 3339 in UTC.
    pub started_at: String,
    /// Time at which this file was written, RFC 3339 in UTC.
    pub finished_at: String,
    /// The machine that ran it, where asked.
    pub machine: Option<Machine>,
    /// SHA-256 of each library and study file that it was made from.
    pub inputs: BTreeMap<String, String>,
}

/// The machine that ran Lanemark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor's model name.
    pub cpu: String,
    /// Logical processors that the process may use.
    pub cores: u32,
    /// Main memory.
    pub memory_bytes: Bytes,
    /// The kernel's name and release.
    pub kernel: String,
}

/// The result of one test with all its repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestResult {
    /// The test as run.
    pub test: Test,
    /// Samples, one for each repeat.
    pub samples: Vec<Sample>,
    /// Bytes a second over the repeats.
    pub throughput_bytes_per_second: Statistic,
    /// Requests a second over the repeats.
    pub iops: Statistic,
    /// Mean latency in ns over the repeats.
    pub latency_mean_ns: Statistic,
    /// The test for a moment with a deeper queue, where that was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_probe: Option<QueueProbe>,
    /// Explanation of why the test was no faster; known for measured runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// Gain from making one hop faster; known for simulated runs, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sensitivity: Option<Sensitivity>,
    /// The 80% interval of the figures; known for simulated runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<PredictionInterval>,
}

/// The result of one repeat of one test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// The time over which the requests were counted.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Duration,
    /// The reads, where there were any.
    pub reads: Option<DirectionResult>,
    /// The writes, where there were any.
    pub writes: Option<DirectionResult>,
    /// The flushes, where there were any; they move no data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flushes: Option<DirectionResult>,
    /// The trims, where there were any; their bytes are not moved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trims: Option<DirectionResult>,
    /// The requests that failed, those of the ramp included; they are in no other figure.
    #[serde(default, skip_serializing_if = "RequestErrors::is_empty")]
    pub errors: RequestErrors,
    /// Outcome of the faults of a simulated run, in the order of times.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<FaultUse>,
    /// Processor time per request, where known.
    pub cpu: Option<CpuUse>,
    /// Readings of the machine; known for measured runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// Punctuality of an open loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub punctuality: Option<Punctuality>,
    /// Use of each hop of the path; known for simulated runs.
    pub path: Option<PathUse>,
    /// Writes to the drive's flash; known for simulated runs.
    #[serde(default)]
    pub drive: Option<DriveUse>,
    /// Energy of the drives; known for simulated runs of drives whose power is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyUse>,
    /// Replay of a trace, where the sample is of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replay: Option<ReplayUse>,
    /// The sample in equal intervals, where it was asked for or took long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub series: Option<Series>,
    /// The rounds of a test that ran until it was steady; the figures are those of the last five.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steady: Option<SteadyState>,
    /// The transactions that the requests were for, where a database asked for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions: Option<TransactionsUse>,
    /// Delivery to real programs, where the system was served to some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<LiveUse>,
    /// False where the repeat was cut short.
    pub complete: bool,
}

/// Processor time per request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuUse {
    /// Processor time in the program, in ns a request.
    pub user_ns_per_request: f64,
    /// Processor time in the kernel on the program's behalf, in ns a request.
    pub system_ns_per_request: f64,
}

impl Sample {
    /// Data moved in both directions; by the device's own count where nobody else counted.
    pub fn bytes(&self) -> Bytes {
        if let Some(device) = self.counted_device() {
            return Bytes(device.read_bytes.get().saturating_add(device.written_bytes.get()));
        }
        self.directions().fold(Bytes::ZERO, |sum, direction| sum + direction.bytes)
    }

    /// Requests completed in both directions; by the device's own count where nobody else counted.
    pub fn operations(&self) -> u64 {
        if let Some(device) = self.counted_device() {
            return device.reads.saturating_add(device.writes);
        }
        self.directions().map(|direction| direction.latency.count()).sum()
    }

    /// Data moved a second.
    pub fn throughput(&self) -> BytesPerSecond {
        self.bytes() / self.elapsed
    }

    /// Requests completed a second; zero for an empty sample.
    pub fn iops(&self) -> f64 {
        if self.elapsed == Duration::ZERO {
            return 0.0;
        }
        self.operations() as f64 / self.elapsed.as_seconds()
    }

    /// The latency of all requests together.
    pub fn latency(&self) -> LatencyHistogram {
        let mut all = LatencyHistogram::new();
        self.directions().for_each(|direction| all.merge(&direction.latency));
        all
    }

    /// The mean latency of all requests together in ns; zero where nothing is known of any.
    pub fn latency_mean_ns(&self) -> f64 {
        match self.counted_device() {
            Some(device) => device.mean_ns().unwrap_or(0.0),
            None => self.latency().mean_ns(),
        }
    }

    fn directions(&self) -> impl Iterator<Item = &DirectionResult> {
        self.reads.iter().chain(&self.writes)
    }
}

impl TestResult {
    /// The figures of `samples`, averaged as `workload` says.
    pub fn new(workload: &Workload, test: &Test, samples: Vec<Sample>) -> Self {
        // Of a database without a device that is known, nothing is known of requests.
        let asked =
            |sample: &&Sample| !sample.is_counted_by_device() || sample.counted_device().is_some();
        let over = |value: fn(&Sample) -> f64| {
            let values: Vec<f64> = samples.iter().filter(asked).map(value).collect();
            Statistic::of(&values, workload.average)
        };
        Self {
            test: test.clone(),
            throughput_bytes_per_second: over(|sample| sample.throughput().0 as f64),
            iops: over(Sample::iops),
            latency_mean_ns: over(Sample::latency_mean_ns),
            samples,
            queue_probe: None,
            explanation: None,
            sensitivity: None,
            interval: None,
        }
    }

    /// The latency of all repeats together.
    pub fn latency(&self) -> LatencyHistogram {
        let mut all = LatencyHistogram::new();
        self.samples.iter().for_each(|sample| all.merge(&sample.latency()));
        all
    }

    /// The requests of all repeats that failed.
    pub fn errors(&self) -> RequestErrors {
        let mut all = RequestErrors::default();
        self.samples.iter().for_each(|sample| all.merge(&sample.errors));
        all
    }

    /// Throughput in MB/s (10^6 bytes a second).
    pub fn megabytes_per_second(&self) -> f64 {
        self.throughput_bytes_per_second.value / 1e6
    }

    /// Whether the test only reads, only writes, or mixes (`None`).
    pub fn direction(&self) -> Option<Operation> {
        match (self.test.reads(), self.test.writes()) {
            (true, false) => Some(Operation::Read),
            (false, true) => Some(Operation::Write),
            _ => None,
        }
    }
}

impl RunResult {
    /// The result of the test that is named `name`.
    pub fn test(&self, name: &str) -> Option<&TestResult> {
        self.tests.iter().find(|result| result.test.name == name)
    }
}

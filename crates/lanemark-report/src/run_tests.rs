//! Small results for the tests of this crate.

use lanemark_schema::result::{
    DirectionResult, MeasuredTarget, PredictionInterval, Provenance, RunResult, SCHEMA_VERSION,
    Sample, Target, TestResult,
};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{Test, Workload};

/// Returns the requests of `kib` KiB with these latencies in µs.
pub(crate) fn requests(kib: u64, latencies_us: &[u64]) -> DirectionResult {
    let mut direction = DirectionResult::new();
    for &us in latencies_us {
        direction.record(Bytes::kibi(kib), Duration::from_microseconds(us));
    }
    direction
}

pub(crate) fn interval(low_ratio: f64, high_ratio: f64) -> PredictionInterval {
    PredictionInterval { low_ratio, high_ratio, widest: None, percentiles: Vec::new() }
}

/// Returns a repeat of `milliseconds` with reads of `kib` KiB that have these latencies.
pub(crate) fn reads(milliseconds: u64, kib: u64, latencies_us: &[u64]) -> Sample {
    let elapsed = Duration::from_microseconds(1_000 * milliseconds);
    Sample { elapsed, reads: Some(requests(kib, latencies_us)), ..Sample::empty() }
}

/// Returns the test `name` with its repeats.
pub(crate) fn test(name: &str, samples: Vec<Sample>) -> TestResult {
    let test = Test { name: name.to_owned(), ..Test::of_blocks(Bytes::kibi(4)) };
    TestResult::new(&Workload::of_test("w", "W", test.clone()), &test, samples)
}

/// Returns a run on a file with these tests.
pub(crate) fn run(tests: Vec<TestResult>) -> RunResult {
    let first =
        tests.first().map_or_else(|| Test::of_blocks(Bytes::kibi(4)), |one| one.test.clone());
    let mut workload = Workload::of_test("w", "W", first);
    workload.tests = tests.iter().map(|test| test.test.clone()).collect();
    RunResult {
        schema_version: SCHEMA_VERSION,
        provenance: Provenance::default(),
        target: Target::Measured(MeasuredTarget {
            path: "/mnt/file".to_owned(),
            device: Some(false),
            size_bytes: Some(Bytes::mebi(64)),
            file_system: None,
            block_device: None,
            engine: "io_uring".to_owned(),
            direct: Some(true),
            served: None,
            host: None,
        }),
        workload,
        tests,
        complete: true,
        warnings: Vec::new(),
        inspection: None,
        power_cuts: Vec::new(),
    }
}

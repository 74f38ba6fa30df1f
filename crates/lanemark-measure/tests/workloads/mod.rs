//! Small workloads, and a bench with default settings for them.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::path::Path;
use std::sync::atomic::AtomicBool;

use lanemark_measure::{Bench, MeasureError, MeasureOutcome};
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{AverageMethod, Test, TestOrder, Workload};

/// Returns a test of 256 random 4 KiB reads over 1 MiB.
pub(crate) fn read() -> Test {
    Test {
        name: "read".to_owned(),
        span: Bytes::mebi(1),
        volume: Some(Bytes::mebi(1)),
        ..Test::of_blocks(Bytes::kibi(4))
    }
    .with(|requests| requests.queue_depth = 4)
}

/// Returns the same test with writes.
pub(crate) fn write() -> Test {
    Test { name: "write".to_owned(), ..read() }.with(|requests| requests.read_share = Ratio::ZERO)
}

/// Returns `test` with a duration in milliseconds instead of a volume.
pub(crate) fn timed(test: Test, milliseconds: u64) -> Test {
    Test { volume: None, duration: Some(Duration::from_microseconds(milliseconds * 1000)), ..test }
}

pub(crate) fn workload(tests: impl IntoIterator<Item = Test>) -> Workload {
    let tests: Vec<Test> = tests.into_iter().collect();
    tests.iter().for_each(|test| test.check().unwrap());
    Workload {
        faults: Vec::new(),
        id: "small".to_owned(),
        name: "Small".to_owned(),
        repeats: 1,
        average: AverageMethod::Mean,
        order: TestOrder::Listed,
        precondition: None,
        tests,
    }
}

pub(crate) fn run(
    path: &Path,
    workload: &Workload,
    overwrite: Option<&Path>,
) -> Result<MeasureOutcome, MeasureError> {
    let stop = AtomicBool::new(false);
    Bench { overwrite, ..Bench::new(path, workload, 42, &stop) }.run(&mut |_| ())
}

/// Returns bytes that are neither zeros nor data that Lanemark's layout writes.
pub(crate) fn content(length: usize) -> Vec<u8> {
    (0..length).map(|offset| (offset % 251) as u8 + 1).collect()
}

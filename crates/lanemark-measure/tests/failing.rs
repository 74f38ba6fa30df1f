//! Requests that actually fail, on a device with an unreadable part, in a file that shrinks, and on a full file system.
//!
//! The device is a loop device whose file was truncated, so that reads past its end fail with `EIO`. Creating the
//! device requires root.

mod workloads;

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use lanemark_measure::{
    Bench, EngineKind, ErrorReaction, Event, MeasureError, MeasureOutcome, MeasureSettings,
};
use lanemark_schema::result::{ErrorCount, ErrorKind, TestResult, Warning};
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{Operation, Pattern, Test, Workload};
use lanemark_testbed::{LoopDevice, Mounted};
use workloads::{content, read, timed, workload, write};

const MIB: usize = 1 << 20;

/// Runs `workload` with permission to overwrite its file; `meanwhile` is called once, when a test has started.
fn run(
    path: &Path,
    workload: &Workload,
    settings: MeasureSettings,
    meanwhile: impl FnOnce(),
) -> Result<MeasureOutcome, MeasureError> {
    let stop = AtomicBool::new(false);
    let mut meanwhile = Some(meanwhile);
    let mut bench = Bench::new(path, workload, 42, &stop);
    bench.settings = settings;
    bench.overwrite = workload.tests.iter().any(Test::writes).then_some(path);
    bench.run(&mut |event| {
        if matches!(event, Event::Running(_)) {
            meanwhile.take().into_iter().for_each(|meanwhile| meanwhile());
        }
    })
}

fn going_on() -> MeasureSettings {
    MeasureSettings { on_error: ErrorReaction::Continue, ..MeasureSettings::default() }
}

/// Returns a 4 MiB device whose second half cannot be read.
fn half_device() -> Option<LoopDevice> {
    let device = LoopDevice::with_content(&content(4 * MIB), true)?;
    let medium = File::options().write(true).open(device.medium()).unwrap();
    medium.set_len(2 * MIB as u64).unwrap();
    Some(device)
}

/// Returns the number of counted requests.
fn done(test: &TestResult) -> u64 {
    test.samples.iter().map(lanemark_schema::result::Sample::operations).sum()
}

#[test]
fn a_run_continues_on_the_sound_half_of_a_device() {
    let Some(device) = half_device() else { return };
    for engine in [EngineKind::IoUring, EngineKind::Synchronous] {
        let queue_depth = if engine == EngineKind::Synchronous { 1 } else { 4 };
        // In order, there are 512 successful requests, 512 failed requests, and 256 requests that start again at the
        // beginning.
        let test = Test { span: Bytes(4 * MIB as u64), ..read() }
            .with(|requests| requests.pattern = Pattern::Sequential);
        let test = Test { volume: Some(Bytes(3 * MIB as u64)), ..test }
            .with(|requests| requests.queue_depth = queue_depth);
        let workload = Workload { repeats: 2, ..workload([test]) };
        let settings = MeasureSettings { engine, ..going_on() };
        let outcome = run(device.node(), &workload, settings, || ()).unwrap();
        assert!(outcome.complete && outcome.failure.is_none(), "{outcome:?}");
        let test = &outcome.tests[0];
        let errors = test.errors();
        let failed = ErrorCount { kind: ErrorKind::Other, errno: Some(5), requests: 2 * 512 };
        assert_eq!((done(test), errors.counts()), (2 * 768, &[failed][..]), "{engine:?}");
        let warning =
            outcome.warnings.iter().find(|warning| matches!(warning, Warning::Failed { .. }));
        assert_eq!(
            warning,
            Some(&Warning::Failed { test: "read".to_owned(), errors: errors.clone() })
        );
        let little = test.samples[0].evidence.as_ref().unwrap().outstanding.unwrap();
        assert!((little.accounted - little.mean).abs() < 0.05 * little.mean, "{little:?}");
    }
}

#[test]
fn the_first_failure_ends_a_run_and_its_results_so_far_are_returned() {
    let Some(device) = half_device() else { return };
    let pattern = Pattern::Sequential;
    let whole = Bytes(4 * MIB as u64);
    let good = Test { name: "good".to_owned(), ..read() };
    let bad = Test { span: whole, volume: Some(whole), ..read() }.with(|requests| {
        requests.pattern = pattern;
        requests.queue_depth = 1;
    });
    let never = Test { name: "never".to_owned(), ..read() };
    let all = workload([good, bad, never]);
    let outcome = run(device.node(), &all, MeasureSettings::default(), || ()).unwrap();
    let names: Vec<&str> = outcome.tests.iter().map(|test| test.test.name.as_str()).collect();
    assert_eq!(names, ["good", "read"]);
    assert_eq!((done(&outcome.tests[0]), outcome.complete), (256, false));
    let [sample] = &outcome.tests[1].samples[..] else { panic!("{outcome:?}") };
    assert_eq!((sample.errors.total(), sample.complete), (1, false));
    let Some(MeasureError::Request { operation, offset, length, source, .. }) = &outcome.failure
    else {
        panic!("{:?}", outcome.failure);
    };
    assert_eq!(
        (*operation, *length, source.raw_os_error()),
        (Operation::Read, Bytes(4096), Some(5))
    );
    assert!(offset.get() >= 2 * MIB as u64, "{offset}");
    // The preceding reads are sequential from some offset.
    assert!(sample.operations() <= 512, "{}", sample.operations());
    assert!(!outcome.warnings.contains(&Warning::Interrupted), "it was not interrupted");
}

#[test]
fn a_file_that_becomes_smaller_is_reported_as_that() {
    let folder = tempfile::tempdir_in(".").unwrap();
    let file = folder.path().join("file");
    fs::write(&file, content(MIB)).unwrap();
    let cut = || File::options().write(true).open(&file).unwrap().set_len(4096).unwrap();
    let test = workload([timed(read(), 1_500)]);
    let outcome = run(&file, &test, going_on(), cut).unwrap();
    let errors = outcome.tests[0].errors();
    assert_eq!(errors.counts().len(), 1, "{errors}");
    assert_eq!((errors.counts()[0].kind, errors.counts()[0].errno), (ErrorKind::Ended, None));
    assert!(outcome.failure.is_none() && done(&outcome.tests[0]) > 0);
}

#[test]
fn a_full_file_system_fails_writes_a_thousand_times_a_second_at_most() {
    let Some(mounted) = Mounted::with(&["-t", "tmpfs", "-o", "size=4M", "lanemark"]) else {
        return;
    };
    let file = mounted.path().join("file");
    fs::write(&file, content(MIB)).unwrap();
    // The file repeatedly loses its space to another file, until no space remains for writes.
    let fill = || {
        let own = File::options().write(true).open(&file).unwrap();
        let mut other = File::create(mounted.path().join("other")).unwrap();
        while own.metadata().unwrap().blocks() > 8 {
            own.set_len(0).unwrap();
            while other.write_all(&[1; 4096]).is_ok() {}
            own.set_len(MIB as u64).unwrap();
        }
    };
    let test = workload([timed(write(), 1_200)]);
    let outcome = run(&file, &test, going_on(), fill).unwrap();
    let errors = outcome.tests[0].errors();
    let no_space = errors.counts().iter().find(|count| count.kind == ErrorKind::NoSpace);
    let no_space = no_space.unwrap_or_else(|| panic!("{errors}"));
    assert_eq!(no_space.errno, Some(28));
    assert!((1..=2_000 + 8).contains(&no_space.requests), "{no_space:?}");
    assert!(outcome.failure.is_none() && outcome.complete);
}

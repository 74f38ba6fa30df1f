//! Measures this machine as a host: the values are plausible, the text is a valid host file, and a stop ends the
//! measurement.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use lanemark_measure::MeasureError;
use lanemark_measure::host::{HostFigures, HostProbe, MARK};

fn measure(target: Option<&Path>) -> HostFigures {
    let stop = AtomicBool::new(false);
    let probe = HostProbe { target, duration: Duration::from_millis(1_500), stop: &stop };
    let mut parts = Vec::new();
    let figures = probe.run(&mut |part| parts.push(part.to_owned())).unwrap().unwrap();
    assert_eq!(parts[0], "reads of /dev/zero");
    assert_eq!(parts.last().unwrap(), "wakes");
    assert_eq!(parts.iter().any(|part| part == "reads of the target"), target.is_some());
    figures
}

#[test]
fn a_host_without_a_target_lacks_a_driver() {
    let begun = Instant::now();
    let figures = measure(None);
    let taken = begun.elapsed().as_secs_f64();
    assert!((1.4..20.0).contains(&taken), "{taken} s");
    assert_eq!(figures.driver, None);
    // A read of zeros takes more than a tenth of a microsecond on any processor, and less than a millisecond.
    for spread in [figures.submit, figures.complete, figures.wake] {
        assert!(spread.low <= spread.value && spread.value <= spread.high, "{spread:?}");
        assert!((50.0..1e6).contains(&spread.value), "{spread:?}");
    }
    assert!(figures.submit.value + figures.complete.value > 100.0, "{figures:?}");
    assert_eq!(figures.by_threads[0].0, 1);
    let text = figures.text("A \"host\"\n", "a machine");
    assert!(text.starts_with(MARK) && !text.contains("driver_time"), "{text}");
}

#[test]
fn a_folder_has_a_driver_and_stays_empty() {
    // Direct I/O is not possible in every temporary folder, but it is possible in the folder of the build.
    let folder = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    // While other programs run, the difference between long and short reads can vanish in one measurement.
    let has_length = |figures: &HostFigures| {
        let per_mib = figures.driver.and_then(|driver| driver.per_mib);
        per_mib.is_some_and(|time| time.value >= 1e3)
    };
    let mut attempts = (0..3).map(|_| measure(Some(folder.path())));
    let figures = attempts.find(has_length).expect("a MiB takes longer in one of three attempts");
    let driver = figures.driver.unwrap();
    assert!((50.0..1e6).contains(&driver.time.value), "{driver:?}");
    assert!((0.0..=1.0).contains(&driver.submit_share), "{driver:?}");
    // A MiB takes more than a nanosecond per KiB, and less than reading it from memory at 100 MB/s.
    let per_mib = driver.per_mib.unwrap().value;
    assert!((1e3..1e7).contains(&per_mib), "{driver:?}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let text = figures.text("h", "m");
    assert!(text.contains("driver_time") && text.contains("pin_per_mib"), "{text}");
}

#[test]
fn a_stop_ends_the_measurement_without_figures() {
    let stop = AtomicBool::new(true);
    let probe = HostProbe { target: None, duration: Duration::from_secs(60), stop: &stop };
    let begun = Instant::now();
    assert_eq!(probe.run(&mut |_| {}).unwrap(), None);
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[test]
fn wrong_targets_are_errors_before_anything_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "x").unwrap();
    let stop = AtomicBool::new(false);
    let failed = |target: &Path| {
        let probe =
            HostProbe { target: Some(target), duration: Duration::from_secs(60), stop: &stop };
        let mut parts = 0;
        let error = probe.run(&mut |_| parts += 1).unwrap_err();
        assert_eq!(parts, 0);
        error
    };
    assert!(matches!(failed(&file), MeasureError::HostKind { .. }));
    assert!(failed(Path::new("/dev/null")).hint().unwrap().contains("the drive's device"));
    let missing = failed(&folder.path().join("missing"));
    assert!(missing.to_string().contains("can't open "), "{missing}");
    // No files can be created in a pseudo file system, even by root.
    let refused = failed(Path::new("/proc"));
    assert!(refused.to_string().contains("write a file in "), "{refused}");
}

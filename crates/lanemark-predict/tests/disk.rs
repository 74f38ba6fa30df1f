//! Hard disks can also be fitted: the arm, the gain from reordering, and the sequential rate.

mod laboratory;

use std::sync::LazyLock;

use laboratory::{
    PlatformPort, fitted, library, noisy, number, outcome, run, short_workload, system,
};
use lanemark_predict::PredictError;
use lanemark_schema::result::{FittedParameter, RunResult};
use lanemark_schema::units::Duration;
use lanemark_schema::workload::Workload;
use lanemark_study::Library;

const TEMPLATE: &str = "seagate-barracuda-1tb";

fn port() -> PlatformPort {
    ("workstation-z170".to_owned(), "sata".to_owned())
}

/// Returns the tests of the workload `fit`. Random tests cover the whole disk and last long enough for the slow seeks.
fn workload(library: &Library) -> Workload {
    let mut workload = short_workload(library, 60_000);
    let tests = ["RND4K Q1T1", "RND4K Q4T1", "RND4K Q32T1", "SEQ128K Q1T1", "SEQ128K Q32T1"];
    workload.tests.retain(|test| tests.iter().any(|name| test.name.starts_with(name)));
    for test in &mut workload.tests {
        test.ramp = Duration::from_seconds(if test.writes() { 40 } else { 2 });
        if !test.is_in_order() {
            test.span = lanemark_schema::units::Bytes(900_000_000_000);
        }
    }
    workload
}

/// The results for a disk that differs from the template, measured with 3% of noise.
static MEASURED: LazyLock<RunResult> = LazyLock::new(|| {
    let library = &library();
    let settings: Vec<(String, String)> = [
        ("drive.disk.read_seek.average", "10.8 ms"),
        ("drive.disk.read_seek.full_stroke", "22 ms"),
        ("drive.disk.write_seek.average", "12 ms"),
        ("drive.disk.write_seek.full_stroke", "24 ms"),
        ("drive.disk.reorder_margin", "1 ms"),
        ("drive.disk.zones.sectors_outer", "2900"),
        ("drive.disk.zones.sectors_inner", "1450"),
        ("drive.disk.zones.cylinders", "450000"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .to_vec();
    let truth = system(library, TEMPLATE, &port(), &settings).unwrap();
    noisy(&run(&truth, &workload(library), 77), 0.03, 5)
});

fn value(parameters: &[FittedParameter], name: &str) -> f64 {
    let one = parameters.iter().find(|parameter| parameter.parameter == name);
    let one = one.unwrap_or_else(|| panic!("{name} is not there"));
    number(one.value.as_ref().unwrap())
}

#[test]
fn the_arm_and_the_rate_of_a_disk_come_back_and_its_file_is_read() {
    let library = library();
    let fit = fitted(&library, &MEASURED, &port(), Some(TEMPLATE), &[], 2000);
    let parameters = &fit.drive.parameters;
    for (name, truth, within) in [
        ("drive.disk.read_seek.average", 10_800.0, 0.06),
        ("drive.disk.write_seek.average", 12_000.0, 0.15),
        ("drive.disk.zones.sectors_outer", 2900.0, 0.05),
        ("drive.disk.reorder_margin", 1000.0, 0.4),
    ] {
        let found = value(parameters, name);
        assert!((found / truth - 1.0).abs() < within, "{name}: {found} for {truth}");
    }
    let errors = fit.drive.errors();
    assert!(errors[errors.len() / 2] < 0.05, "{errors:?}");

    // The file is a library drive with the same behaviour.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fitted.toml");
    std::fs::write(&path, fit.file("fitted").unwrap()).unwrap();
    let again = system(&library, path.to_str().unwrap(), &port(), &[]).expect("a drive's file");
    let short = |system| {
        let mut workload = workload(&library);
        workload.tests.retain(|test| test.name == "RND4K Q1T1 read");
        run(system, &workload, 3).tests[0].iops.value
    };
    let before = MEASURED.tests.iter().find(|test| test.test.name == "RND4K Q1T1 read").unwrap();
    let off = short(&again) / before.iops.value - 1.0;
    assert!(off.abs() < 0.06, "{off:+.3}");
}

#[test]
fn a_disk_is_not_fitted_from_a_solid_state_drive_nor_the_reverse() {
    let library = library();
    let refused = |run: &RunResult, like: Option<&str>| {
        let runs = std::slice::from_ref(run);
        let error = outcome(&library, runs, &port(), like, &[], 100).unwrap_err();
        assert!(matches!(error, PredictError::OtherMedia { .. }), "{error}");
        (error.to_string(), error.hint().unwrap())
    };
    let (message, hint) = refused(&MEASURED, None);
    assert!(
        message.contains("like reads from a hard disk, but generic-sata is a solid-state"),
        "{message}"
    );
    assert!(hint.contains("--like"), "{hint}");
    let ssd = system(&library, "generic-sata", &port(), &[]).unwrap();
    let ssd = run(&ssd, &short_workload(&library, 20), 1);
    let (message, _) = refused(&ssd, Some(TEMPLATE));
    assert!(message.contains("like reads from a solid-state drive"), "{message}");
}

#[test]
fn a_cloud_volume_is_no_template() {
    let library = library();
    let instance = ("aws-m5-4xlarge".to_owned(), "volume".to_owned());
    let volume = Some("aws-gp3-1tib");
    let runs = std::slice::from_ref(&*MEASURED);
    let error = outcome(&library, runs, &instance, volume, &[], 100).unwrap_err();
    assert!(matches!(error, PredictError::CloudTemplate { .. }), "{error}");
    assert!(error.hint().unwrap().contains("[cloud]"), "{error}");
}

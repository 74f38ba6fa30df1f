//! Invalid input to a fit is reported with a helpful message.

mod laboratory;

use laboratory::{Bounds, PlatformPort, bounded, library, run, short_workload, system};
use lanemark_lab::Pool;
use lanemark_predict::{FitInput, PredictError, fit};
use lanemark_schema::result::{
    Determination, DirectionResult, FitWarning, MeasuredTarget, RunResult, Target, TestResult,
};
use lanemark_schema::units::{Bytes, Duration};

fn port() -> PlatformPort {
    ("workstation-x570".to_owned(), "m2".to_owned())
}

/// Returns a short run with some of the tests on a drive.
fn measure(drive: &str, wanted: impl Fn(&str) -> bool) -> RunResult {
    let library = library();
    let mut workload = short_workload(&library, 5);
    workload.repeats = 1;
    workload.tests.retain(|test| wanted(&test.name));
    for test in &mut workload.tests {
        test.ramp = Duration::from_microseconds(5000);
    }
    run(&system(&library, drive, &port(), &[]).unwrap(), &workload, 3)
}

fn outcome(runs: &[RunResult], like: Option<&str>) -> Result<lanemark_predict::Fit, PredictError> {
    laboratory::outcome(&library(), runs, &port(), like, &[], 200)
}

/// Returns the error and its hint.
fn refusal(runs: &[RunResult], like: Option<&str>) -> (String, String) {
    let error = outcome(runs, like).unwrap_err();
    (error.to_string(), error.hint().unwrap_or_default())
}

#[test]
fn missing_tests_are_named_with_the_workload_that_has_them() {
    let run = measure("generic-nvme", |name| name.starts_with("SEQ"));
    let (message, hint) = refusal(&[run], None);
    assert_eq!(message, "the results lack small random requests (RND4K Q1T1 to Q32T1 read)");
    assert!(hint.contains("lanemark bench PATH fit"), "{hint}");
    let (message, hint) = refusal(&[], None);
    assert_eq!(message, "no result was given");
    assert!(hint.contains("lanemark bench PATH fit"), "{hint}");
}

#[test]
fn a_grid_of_small_requests_is_enough_and_undetermined_values_name_their_test() {
    let run = measure("generic-nvme", |name| name.starts_with("RND4K") && name.ends_with("read"));
    let drive = outcome(&[run], None).unwrap().drive;
    let of =
        |name: &str| drive.parameters.iter().find(|parameter| parameter.parameter == name).unwrap();
    let Determination::Open { needs, .. } = &of("drive.data_path.read").standing else {
        panic!("{:?}", of("drive.data_path.read"))
    };
    assert!(needs.contains("SEQ128K"), "{needs}");
    assert_eq!(of("drive.flash.read").standing, Determination::Identified);
}

/// A drive that was never written answers reads without an access to its flash. A fit must not mistake this for the
/// speed of the drive.
#[test]
fn reads_that_met_no_flash_are_refused() {
    let library = library();
    let mut workload = short_workload(&library, 5);
    workload.repeats = 1;
    workload.tests.retain(|test| test.name.ends_with("read"));
    let purged = [("drive.state.condition".to_owned(), "purged".to_owned())];
    let system = system(&library, "generic-nvme", &port(), &purged).unwrap();
    let (message, hint) = refusal(&[run(&system, &workload, 3)], None);
    assert!(message.starts_with("test `RND4K Q1T1 read`: reads took "), "{message}");
    assert!(message.contains("but flash takes at least 28 µs"), "{message}");
    assert!(hint.contains("write the whole span"), "{hint}");
}

#[test]
fn several_drives_are_not_mixed() {
    let one = measure("generic-nvme", |name| name.contains("read"));
    let other = measure("samsung-980-pro-1tb", |name| name.contains("read"));
    let (message, hint) = refusal(&[one, other], None);
    let both =
        "1.json is a result for Generic NVMe SSD (template) in m2, but 2.json is for Samsung";
    assert!(message.starts_with(both), "{message}");
    assert_eq!(hint, "fit each drive to its own results");
}

#[test]
fn a_run_that_was_cut_short_is_refused() {
    let mut run = measure("generic-nvme", |name| name.contains("read"));
    run.complete = false;
    let (message, _) = refusal(std::slice::from_ref(&run), None);
    assert!(message.starts_with("1.json: the run was cut short after 14 of 14"), "{message}");
    run.complete = true;
    run.tests[2].samples[0].complete = false;
    assert!(refusal(&[run], None).0.contains("cut short"));
}

#[test]
fn figures_of_nought_are_refused_with_their_test() {
    let mut run = measure("generic-nvme", |name| name.contains("read"));
    let mut samples = run.tests[4].samples.clone();
    samples[0].reads = Some(DirectionResult::new());
    run.tests[4] = TestResult::new(&run.workload, &run.tests[4].test, samples);
    let (message, _) = refusal(std::slice::from_ref(&run), None);
    assert_eq!(message, "1.json: test `RND4K Q16T1 read`: the throughput of a repeat is 0");
    run.tests[4].samples.clear();
    assert!(refusal(&[run], None).0.contains("the number of repeats is 0"));
    // Bytes without a latency, or with a time of zero, are also not figures.
    let mut run = measure("generic-nvme", |name| name.contains("read"));
    run.tests[0].samples[0].elapsed = Duration::ZERO;
    assert!(outcome(&[run], None).is_err());
    let mut run = measure("generic-nvme", |name| name.contains("read"));
    run.tests[0].samples[0].reads =
        Some(DirectionResult { bytes: Bytes(4096), ..Default::default() });
    assert!(outcome(&[run], None).is_err());
}

#[test]
fn templates_that_cannot_be_are_named() {
    let run = measure("generic-nvme", |name| name.contains("read"));
    let (message, hint) = refusal(std::slice::from_ref(&run), Some("samsung-980-pr-1tb"));
    assert!(message.contains("unknown drive `samsung-980-pr-1tb`"), "{message}");
    assert!(hint.contains("samsung-980-pro-1tb"), "{hint}");
    assert!(outcome(&[run], Some("seagate-constellation-2-1tb")).is_err());
}

/// Linux names drives by protocol, and a PCIe port accepts two protocols.
#[test]
fn the_template_of_a_pcie_port_follows_the_name_of_the_device() {
    let run = measure("generic-nvme", |name| name.starts_with("RND4K") && name.ends_with("read"));
    for (path, block_device, wanted) in [
        ("/dev/nvme0n1", Some("nvme0n1"), "generic-nvme"),
        ("/mnt/file", Some("sdb1"), "generic-pcie-ahci"),
        ("/dev/sda", None, "generic-pcie-ahci"),
        ("/mnt/sd", None, "generic-nvme"),
        ("/dev/sd-card", None, "generic-nvme"),
    ] {
        let target = Target::Measured(MeasuredTarget {
            served: None,
            host: None,
            path: path.to_owned(),
            size_bytes: Some(Bytes::mebi(1024)),
            device: Some(path.starts_with("/dev/")),
            file_system: None,
            block_device: block_device.map(str::to_owned),
            engine: "io_uring".to_owned(),
            direct: Some(true),
        });
        let runs = [RunResult { target, ..run.clone() }];
        let bounds = Bounds { requests: 20, work_max: 0 };
        let fitted = bounded(&library(), &runs, &port(), None, &[], bounds).unwrap().drive;
        assert_eq!(fitted.template, wanted, "{path}");
    }
}

#[test]
fn reads_without_writes_keep_the_templates_write_values() {
    let run = measure("generic-nvme", |name| name.ends_with("read"));
    let fit = outcome(&[run], None).unwrap();
    assert!(
        matches!(fit.drive.warnings[0], FitWarning::Simulated { .. }),
        "{:?}",
        fit.drive.warnings
    );
    assert!(fit.drive.warnings.contains(&FitWarning::NoWrites));
    for parameter in fit.drive.parameters.iter().filter(|parameter| {
        parameter.parameter.contains("write") || parameter.parameter.ends_with("program")
    }) {
        assert!(
            matches!(parameter.standing, Determination::Open { kept_template: true, .. }),
            "{}: {:?}",
            parameter.parameter,
            parameter.standing
        );
        assert_eq!(parameter.value, parameter.template, "{}", parameter.parameter);
    }
}

#[test]
fn the_written_file_is_a_drive_of_the_library_and_simulated_results_are_noted() {
    let library = library();
    let run = measure("generic-nvme", |_| true);
    assert!(matches!(run.target, Target::Simulated(_)));
    let fit = outcome(&[run], Some("samsung-980-pro-1tb")).unwrap();
    assert!(matches!(fit.drive.warnings[0], FitWarning::Simulated { .. }));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("fitted.toml");
    let text = fit.file("A fitted drive").unwrap();
    assert!(text.starts_with(lanemark_predict::fit::FITTED_MARK), "{text}");
    assert!(text.contains("95%: "), "{text}");
    std::fs::write(&file, text).unwrap();
    let system = system(&library, file.to_str().unwrap(), &port(), &[]).unwrap();
    assert_eq!(system.target.drive, "A fitted drive");
    for parameter in &fit.drive.parameters {
        let name = format!("{} = ", parameter.parameter);
        let assumed = |entry: &&String| entry.starts_with(&name);
        if parameter.standing == Determination::Identified {
            let found = system.target.values_assumed.iter().find(assumed);
            assert!(found.is_none(), "{}: {found:?}", parameter.parameter);
        }
    }
}

#[test]
fn the_outcome_does_not_depend_on_the_number_of_threads() {
    let run = measure("generic-nvme", |name| name.ends_with("read"));
    let results = [("1.json".to_owned(), run)];
    let (platform, port) = port();
    let of = |threads: usize| {
        let job = FitInput {
            results: &results,
            platform: &platform,
            port: &port,
            like: None,
            settings: &[],
            requests: 60,
            work_max: 200_000,
            pool: Pool::new(threads.try_into().unwrap()),
            provenance: Default::default(),
            cancel: Default::default(),
        };
        fit(&library(), &job, &mut |_| ()).unwrap().drive
    };
    assert_eq!(of(1), of(3));
}

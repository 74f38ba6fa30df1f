//! Tests of the answers of a study: counts, ties, and missing figures.

use lanemark_report::{Style, answer, results_answer, run_table, study_table};
use lanemark_schema::result::{
    BlockDeviceKind, DeviceIdentity, InspectedDevice, Inspection, RatioEstimate, RunResult,
    StudyAnswer, StudyClaim, StudyOutcome, SystemComparison, Target, TestRatio,
};

use crate::fixture;

fn study(ratios: &[(&str, f64, Option<f64>)]) -> StudyOutcome {
    let ratios = ratios.iter().map(|(test, ours, theirs)| {
        let simulated = RatioEstimate::within(*ours, ours / 1.1, ours * 1.1);
        TestRatio { test: (*test).to_owned(), simulated, published: *theirs }
    });
    let comparison = SystemComparison {
        system: "nvme".to_owned(),
        base: "sata".to_owned(),
        ratios: ratios.collect(),
    };
    StudyOutcome { comparison: Some(comparison), ..fixture::study() }
}

#[test]
fn only_known_published_ratios_are_listed() {
    let partly = answer(&study(&[("a", 1.5, Some(1.4)), ("b", 2.5, None), ("c", 3.0, Some(0.9))]));
    let partly = partly.unwrap();
    assert!(partly.ends_with(" Published: 0.90x (c) to 1.40x (a) in 2 tests."), "{partly}");
    let one = answer(&study(&[("a", 1.5, Some(1.4)), ("b", 2.5, None)])).unwrap();
    assert!(one.ends_with(" Published: 1.40x (a)."), "{one}");
    let none = answer(&study(&[("a", 1.5, None), ("b", 2.0, None)])).unwrap();
    assert!(none.ends_with("No published ratio to compare."), "{none}");
}

#[test]
fn a_ratio_that_is_no_number_does_not_count() {
    let answer = answer(&study(&[("a", f64::INFINITY, Some(f64::NAN)), ("b", 2.0, None)])).unwrap();
    assert!(answer.starts_with("NVMe is faster than SATA, 2.00x (1.82 to 2.20) in"), "{answer}");
    assert!(!answer.contains("inf") && !answer.contains("NaN"), "{answer}");
}

#[test]
fn nothing_compared_is_no_answer() {
    assert_eq!(answer(&study(&[])), None);
    assert_eq!(answer(&StudyOutcome { comparison: None, ..fixture::study() }), None);
}

fn first_line(run: &RunResult) -> String {
    run_table(run, &Style { width: 160, colour: false }).lines().next().unwrap().to_owned()
}

fn device(name: &str, model: Option<&str>, below: &[&str]) -> InspectedDevice {
    InspectedDevice {
        identity: DeviceIdentity { model: model.map(str::to_owned), ..DeviceIdentity::default() },
        below: below.iter().map(|name| (*name).to_owned()).collect(),
        ..InspectedDevice::new(name, BlockDeviceKind::Disk)
    }
}

#[test]
fn a_measured_target_is_named_by_its_drive_or_by_host_and_device() {
    let named = |path: &str, host: Option<&str>, devices: &[(&str, Option<&str>, &[&str])]| {
        let mut run = fixture::measured();
        let Target::Measured(target) = &mut run.target else { unreachable!() };
        path.clone_into(&mut target.path);
        if path == "nowhere" {
            target.block_device = None;
        }
        run.provenance.machine.as_mut().unwrap().host = host.map(str::to_owned);
        let all = devices.iter().map(|(name, model, below)| device(name, *model, below));
        run.inspection = (!devices.is_empty()).then(|| Inspection {
            target: Some(devices[0].0.to_owned()),
            devices: all.collect(),
            ..Inspection::default()
        });
        let line = first_line(&run);
        line.split_once(" reads").unwrap_or_else(|| panic!("{line}")).0.to_owned()
    };
    let raid: &[(&str, Option<&str>, &[&str])] =
        &[("md0", None, &["a", "b"]), ("a", Some("X"), &[]), ("b", Some("X"), &[])];
    assert_eq!(
        named(".", None, &[("vda1", None, &["vda"]), ("vda", Some("Drive X"), &[])]),
        "Drive X"
    );
    assert_eq!(named(".", None, raid), "2 x X");
    let unlike: &[(&str, Option<&str>, &[&str])] =
        &[("md0", None, &["a", "b"]), ("a", Some("X"), &[]), ("b", Some("Y"), &[])];
    assert_eq!(named(".", None, unlike), "X + Y");
    // A drive without a model name is identified by host and device, and an absolute path identifies itself.
    assert_eq!(named(".", Some("box"), &[("vda", None, &[])]), "vda of box");
    assert_eq!(named(".", None, &[]), "vda");
    assert_eq!(named("/var/tmp/x.dat", None, &[]), "/var/tmp/x.dat");
    assert_eq!(named("nowhere", Some("box"), &[]), "a file of box");
    let mut run = fixture::measured();
    run.provenance.name = Some("my laptop".to_owned());
    assert!(first_line(&run).starts_with("my laptop reads "), "{}", first_line(&run));
}

#[test]
fn a_written_answer_is_shown_only_if_its_claims_hold() {
    let claim = |value: f64, to: f64| StudyClaim {
        claim: "nvme: Seq read / sata: Seq read".to_owned(),
        value,
        from: None,
        to: Some(to),
        holds: value <= to,
    };
    let text = "NVMe reads 1,607 MB/s.".to_owned();
    let of = |claims| {
        let answer = Some(StudyAnswer { text: text.clone(), claims });
        study_table(
            &StudyOutcome { answer, ..fixture::study() },
            None,
            false,
            &Style { width: 100, colour: false },
        )
    };
    let printed = of(vec![claim(3.0, 3.2)]);
    assert!(printed.starts_with("NVMe reads 1,607 MB/s.\n\n"), "{printed}");
    assert!(printed.contains("NVMe is faster than SATA, 1.95x"), "{printed}");
    let withheld = of(vec![claim(3.0, 3.2), claim(3.3, 3.2)]);
    assert!(
        !withheld.contains("1,607 MB/s.") && withheld.starts_with("NVMe is faster"),
        "{withheld}"
    );
    let words = withheld.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words.contains("is at most 3.2, but here it is 3.30"), "{withheld}");
}

/// Returns the simulated fixture with only its first test.
fn first_test() -> RunResult {
    let mut run = fixture::simulated();
    run.tests.truncate(1);
    run
}

#[test]
fn a_latency_of_zero_is_not_stated() {
    let mut run = first_test();
    let answer = |run: &RunResult| results_answer(None, &[run]).unwrap();
    assert!(answer(&run).contains("with a mean latency of"), "{}", answer(&run));
    run.tests[0].latency_mean_ns.value = 0.0;
    assert!(!answer(&run).contains("latency"), "{}", answer(&run));
}

#[test]
fn a_budget_without_time_does_not_name_a_largest_part() {
    let mut run = first_test();
    let limits =
        |run: &RunResult| fixture::detail(run, &run.tests[0], &Style { width: 100, colour: false });
    for sample in &mut run.tests[0].samples {
        let path = sample.path.as_mut().unwrap();
        for hop in &mut path.hops {
            hop.utilisation = 0.1;
        }
    }
    assert!(limits(&run).contains("No hop is busy"), "{}", limits(&run));
    for sample in &mut run.tests[0].samples {
        let path = sample.path.as_mut().unwrap();
        for hop in &mut path.hops {
            (hop.wait_ns, hop.service_ns) = (0.0, 0.0);
        }
    }
    let text = limits(&run);
    assert!(!text.contains("NaN") && !text.contains("No hop is busy"), "{text}");
}

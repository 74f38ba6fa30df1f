//! Tests of what-ifs with measured results: short simulations predict the same gains as complete simulations.

use lanemark_lab::interval::DrawnSystem;
use lanemark_lab::{Lab, LabRun, WhatIfJob, WhatIfSide, assemble};
use lanemark_schema::result::{ContradictionCause, Provenance, RatioEstimate, RunResult, WhatIf};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{Pattern, Test, Workload};
use lanemark_study::Library;

const PRESENT: &str = "samsung-850-pro-1tb@workstation-z170:sata";
/// Another port of the same platform.
const PORT: &str = "samsung-850-pro-1tb@workstation-z170:sata-2";
const OTHER: &str = "samsung-950-pro-512gb@workstation-z170:m2";

fn test(name: &str, block: Bytes, pattern: Pattern, depths: (u32, u32)) -> Test {
    Test {
        name: name.to_owned(),
        threads: depths.1,
        span: Bytes::mebi(8192),
        volume: None,
        duration: Some(Duration::from_seconds(5)),
        ..Test::of_blocks(block)
    }
    .with(|asked| {
        asked.pattern = pattern;
        asked.queue_depth = depths.0;
    })
}

fn workload() -> Workload {
    let small = Bytes::kibi(4);
    let mut workload = lanemark_study::workload::open(&Library::built_in(), "data-sheet").unwrap();
    workload.repeats = 1;
    workload.tests = vec![
        test("one", small, Pattern::Uniform, (1, 1)),
        test("deep", small, Pattern::Uniform, (32, 4)),
        test("large", Bytes::kibi(128), Pattern::Sequential, (8, 1)),
        test("write", small, Pattern::Uniform, (4, 1))
            .with(|asked| asked.read_share = "0%".parse().unwrap()),
    ];
    workload
}

fn run(name: &str, workload: &Workload) -> RunResult {
    let system = assemble(&Library::built_in(), name, &[]).unwrap();
    let work = LabRun { system: &system, workload };
    Lab::default().run_all(&[work], &Provenance::default(), &mut |_| {}).unwrap().remove(0)
}

/// Returns the what-if of `other`, compared with `measured` if it is given.
fn what_if(other: &str, measured: Option<&RunResult>) -> WhatIf {
    let library = Library::built_in();
    let side = |name: &str| {
        let system = assemble(&library, name, &[]).unwrap();
        WhatIfSide { name: name.to_owned(), system, workload: workload() }
    };
    let present = side(PRESENT);
    let other = side(other);
    let measured = measured.map(|run| ("measured.json", run));
    let job = WhatIfJob {
        present,
        other,
        subjects: None,
        measured,
        is_forced: false,
        changed: Vec::new(),
        seed: 1,
    };
    Lab::default().what_if(&job, &mut |_| {}).unwrap().unwrap()
}

#[test]
fn shortened_tests_report_the_figures_of_whole_ones() {
    let measured = run(PRESENT, &workload());
    let short = what_if(OTHER, Some(&measured));
    let whole = what_if(OTHER, None);
    let shortened: Vec<bool> = short.tests.iter().map(|test| test.shortened_to.is_some()).collect();
    // Writes fill a buffer and are not shortened.
    assert_eq!(shortened, [true, true, true, false]);
    for (short, whole) in short.tests.iter().zip(&whole.tests) {
        assert_eq!(whole.shortened_to, None);
        for (short_side, whole_side) in
            [(&short.present, &whole.present), (&short.other, &whole.other)]
        {
            let ratio = short_side.bytes_per_second / whole_side.bytes_per_second;
            assert!((ratio - 1.0).abs() <= 0.01, "{}: {ratio}", short.test);
            let ratio = short_side.latency_mean_ns / whole_side.latency_mean_ns;
            assert!((ratio - 1.0).abs() <= 0.01, "{}: mean latency {ratio}", short.test);
        }
    }
}

#[test]
fn a_measured_figure_is_scaled_only_if_the_limit_stays() {
    let mut measured = run(PRESENT, &workload());
    // This drive is a tenth slower than its model.
    for test in &mut measured.tests {
        test.throughput_bytes_per_second.value *= 0.9;
    }
    let prediction = what_if(PORT, Some(&measured));
    let near = |value: f64, wanted: f64| (value / wanted - 1.0).abs() < 0.02;
    for test in &prediction.tests {
        let model = test.other.bytes_per_second;
        let wanted = if test.limit_stays() { 0.9 * model } else { model };
        assert!(near(test.expected(), wanted), "{}: {}", test.test, test.expected() / model);
    }
    assert!(prediction.tests.iter().any(lanemark_schema::result::WhatIfTest::limit_stays));
    // Another drive takes only the host's part of the deviation. Large reads are limited by the SATA link only on the
    // current system.
    let prediction = what_if(OTHER, Some(&measured));
    let of = |name: &str| prediction.tests.iter().find(|test| test.test == name).unwrap();
    let part = of("one").expected() / of("one").other.bytes_per_second;
    assert!(of("one").limit_stays() && (0.95..1.0).contains(&part), "{part}");
    assert!(!of("large").limit_stays());
    assert!(near(of("large").expected(), of("large").other.bytes_per_second));
}

/// A drive that measured 2% above the formula of its SATA link is not expected to exceed a second such link by more
/// than the accuracy of the formula.
#[test]
fn an_interval_does_not_exceed_the_rate_of_the_links() {
    let mut workload = workload();
    workload.tests.retain(|test| test.name == "large");
    let mut measured = run(PRESENT, &workload);
    measured.tests[0].throughput_bytes_per_second.value *= 1.02;
    let prediction = drawn_what_if([PRESENT, PORT], &workload, Some(&measured));
    let test = &prediction.tests[0];
    let links = test.other.links_bytes_per_second.unwrap();
    let high = test.expected() * test.interval.as_ref().unwrap().high_ratio;
    // The formulas of SATA links agree with measurements within 3%.
    assert!(high / links <= 1.03 + 1e-9 && high > links, "{high} over {links}");
}

/// Returns the what-if of two systems with intervals, also for tests whose measurement contradicts the model.
fn drawn_what_if(names: [&str; 2], workload: &Workload, measured: Option<&RunResult>) -> WhatIf {
    answer_drawn(names, workload, measured, true)
}

/// Returns the what-if of two systems with intervals.
fn answer_drawn(
    names: [&str; 2],
    workload: &Workload,
    measured: Option<&RunResult>,
    is_forced: bool,
) -> WhatIf {
    let library = Library::built_in();
    let subject = |name| DrawnSystem { library: &library, name, settings: &[], ranges: &[] };
    let side = |name: &str| WhatIfSide {
        name: name.to_owned(),
        system: assemble(&library, name, &[]).unwrap(),
        workload: workload.clone(),
    };
    let job = WhatIfJob {
        present: side(names[0]),
        other: side(names[1]),
        subjects: Some(names.map(subject)),
        measured: measured.map(|run| ("measured.json", run)),
        is_forced,
        changed: Vec::new(),
        seed: 1,
    };
    Lab::default().what_if(&job, &mut |_| {}).unwrap().unwrap()
}

/// A measurement outside the interval of the current system's model is no basis of a prediction.
#[test]
fn a_contradicted_test_is_predicted_only_by_force() {
    let mut workload = workload();
    workload.tests.truncate(2);
    let mut measured = run(PRESENT, &workload);
    let agreed = answer_drawn([PRESENT, PORT], &workload, Some(&measured), false);
    assert!(agreed.contradictions.is_empty() && agreed.tests.len() == 2, "{agreed:?}");
    // The test states 128 outstanding requests, and a fiftieth of its rate needs only two or three.
    let deep = &mut measured.tests[1];
    deep.throughput_bytes_per_second.value /= 50.0;
    deep.iops.value /= 50.0;
    let names = |answer: &WhatIf| -> Vec<String> {
        answer.tests.iter().map(|test| test.test.clone()).collect()
    };
    let refused = answer_drawn([PRESENT, PORT], &workload, Some(&measured), false);
    assert_eq!(names(&refused), ["one"]);
    let [contradiction] = refused.contradictions.as_slice() else { panic!("{refused:?}") };
    assert_eq!(contradiction.test, "deep");
    let ContradictionCause::Outstanding { mean, stated } = contradiction.cause else {
        panic!("{contradiction:?}")
    };
    assert!(stated == 128 && (mean - 128.0 / 50.0).abs() < 0.1, "{mean}");
    let forced = answer_drawn([PRESENT, PORT], &workload, Some(&measured), true);
    assert_eq!(names(&forced), ["one", "deep"]);
    assert_eq!(forced.contradictions, refused.contradictions);
}

/// Without a measurement, the interval describes the other system, whose values are less certain here.
#[test]
fn an_interval_without_a_measurement_is_of_the_other_system() {
    let mut workload = workload();
    workload.tests.truncate(1);
    let rated = "samsung-990-pro-2tb@data-sheet:pcie";
    let widths = [[PRESENT, rated], [rated, PRESENT]].map(|names| {
        let prediction = drawn_what_if(names, &workload, None);
        let interval = prediction.tests[0].interval.as_ref().unwrap();
        interval.high_ratio / interval.low_ratio
    });
    assert!(widths[0] > 2.0 * widths[1], "{widths:?}");
}

/// Measured figures that scatter around the model are applied to the other system with a wider interval.
#[test]
fn scattered_measurements_widen_the_intervals_of_a_what_if() {
    let mut workload = workload();
    let one = |threads| test(&format!("{threads}"), Bytes::kibi(4), Pattern::Uniform, (1, threads));
    workload.tests = (1..=6).map(one).collect();
    let run = run(PRESENT, &workload);
    let low = |scatter: f64| {
        let mut measured = run.clone();
        for (number, test) in measured.tests.iter_mut().enumerate() {
            let factor = if number % 2 == 0 { 1.0 + scatter } else { 1.0 - scatter };
            test.throughput_bytes_per_second.value *= factor;
        }
        let slower = "samsung-850-pro-1tb@workstation-x570:sata";
        let prediction = drawn_what_if([PRESENT, slower], &workload, Some(&measured));
        prediction.tests[0].interval.as_ref().unwrap().low_ratio
    };
    let lows = [0.0, 0.2].map(low);
    assert!(lows[1] < 0.9 * lows[0], "{lows:?}");
}

/// The change has the interval of the ratio, in which shared values do not vary, instead of the interval of the rate.
#[test]
fn a_change_has_the_interval_of_the_ratio_and_the_inverse_change_its_inverse() {
    let mut workload = workload();
    workload.tests.truncate(1);
    let change = |names| drawn_what_if(names, &workload, None).tests.remove(0).change;
    assert_eq!(change([PRESENT, PRESENT]), RatioEstimate::Identical);
    let forward = change([PRESENT, OTHER]);
    let back = change([OTHER, PRESENT]).inverse();
    assert!((forward.ratio() / back.ratio() - 1.0).abs() < 1e-9, "{forward:?}, {back:?}");
    let ends = |change: RatioEstimate| change.interval_80().unwrap();
    let (low, high) = ends(forward);
    assert!((low / ends(back).0 - 1.0).abs() < 1e-6, "{forward:?}, {back:?}");
    assert!((high / ends(back).1 - 1.0).abs() < 1e-6, "{forward:?}, {back:?}");
    // The values of a rated drive are uncertain, and both systems share them.
    let names = ["samsung-990-pro-2tb@data-sheet:pcie", "samsung-990-pro-2tb@workstation-z170:m2"];
    workload.tests = vec![test("4K", Bytes::kibi(4), Pattern::Uniform, (1, 1))];
    let prediction = drawn_what_if(names, &workload, None);
    let test = &prediction.tests[0];
    let (low, high) = ends(test.change);
    let rate = test.interval.as_ref().unwrap();
    assert!(high / low < 0.7 * rate.high_ratio / rate.low_ratio, "{test:?}");
}

#[test]
fn what_both_systems_have_in_common_does_not_widen_a_ratio() {
    let library = Library::built_in();
    // Rated drives without measurements have wide ranges.
    let name = |port: &str| format!("samsung-990-pro-2tb@data-sheet{port}:pcie");
    let settings = |text: &str| lanemark_lab::settings(&[text.to_owned()]).unwrap();
    let present = name("");
    let other = name("");
    let slower = settings("platform.port.pcie.latency=600 ns");
    let subject = |name, settings| DrawnSystem { library: &library, name, settings, ranges: &[] };
    let side = |name: &str, set: &[_]| {
        let mut workload = workload();
        workload.tests.truncate(1);
        WhatIfSide {
            name: name.to_owned(),
            system: assemble(&library, name, set).unwrap(),
            workload,
        }
    };
    let widths = |measured: Option<(&str, &RunResult)>| {
        let subjects = Some([subject(&present, &[]), subject(&other, &slower)]);
        let job = WhatIfJob {
            present: side(&present, &[]),
            other: side(&other, &slower),
            subjects,
            measured,
            is_forced: false,
            changed: Vec::new(),
            seed: 1,
        };
        let prediction = Lab::default().what_if(&job, &mut |_| {}).unwrap().unwrap();
        let interval = prediction.tests[0].interval.clone().unwrap();
        assert!(interval.low_ratio < 1.0 && 1.0 < interval.high_ratio, "{interval:?}");
        interval.high_ratio / interval.low_ratio
    };
    let measured = run(&present, &side(&present, &[]).workload);
    let alone = widths(None);
    let scaled = widths(Some(("measured.json", &measured)));
    assert!(scaled < 0.8 * alone, "{scaled} compared with {alone}");
}

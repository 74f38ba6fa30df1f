//! Tests of what-ifs with measured results: short simulations predict the same gains as complete simulations.

use lanemark_lab::interval::DrawnSystem;
use lanemark_lab::{Lab, LabRun, WhatIfJob, WhatIfSide, assemble};
use lanemark_schema::result::{Provenance, RunResult, WhatIf};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{Pattern, Test, Workload};
use lanemark_study::Library;

const PRESENT: &str = "samsung-850-pro-1tb@workstation-z170:sata";
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

/// Returns the what-if, compared with `measured` if it is given.
fn what_if(measured: Option<&RunResult>) -> WhatIf {
    let library = Library::built_in();
    let side = |name: &str| {
        let system = assemble(&library, name, &[]).unwrap();
        WhatIfSide { name: name.to_owned(), system, workload: workload() }
    };
    let (present, other) = (side(PRESENT), side(OTHER));
    let measured = measured.map(|run| ("measured.json", run));
    let job = WhatIfJob { present, other, subjects: None, measured, changed: Vec::new(), seed: 1 };
    Lab::default().what_if(&job, &mut |_| {}).unwrap().unwrap()
}

#[test]
fn shortened_tests_tell_what_whole_ones_do() {
    let system = assemble(&Library::built_in(), PRESENT, &[]).unwrap();
    let workload = workload();
    let work = LabRun { system: &system, workload: &workload };
    let runs = Lab::default().run_all(&[work], &Provenance::default(), &mut |_| {}).unwrap();
    let (short, whole) = (what_if(Some(&runs[0])), what_if(None));
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
fn a_measured_figure_is_scaled_only_where_the_limit_stays() {
    let library = Library::built_in();
    let system = assemble(&library, PRESENT, &[]).unwrap();
    let workload = workload();
    let work = LabRun { system: &system, workload: &workload };
    let mut runs = Lab::default().run_all(&[work], &Provenance::default(), &mut |_| {}).unwrap();
    // This drive is a tenth slower than its model.
    for test in &mut runs[0].tests {
        test.throughput_bytes_per_second.value *= 0.9;
    }
    let prediction = what_if(Some(&runs[0]));
    let near = |value: f64, wanted: f64| (value / wanted - 1.0).abs() < 0.02;
    for test in &prediction.tests {
        let model = test.other.bytes_per_second;
        let wanted = if test.limit_stays() { 0.9 * model } else { model };
        assert!(near(test.expected(), wanted), "{}: {}", test.test, test.expected() / model);
    }
    // Reads at queue depth 1 have the same limit on both systems; large reads are limited by the SATA link only on the
    // current system.
    let stays =
        |name: &str| prediction.tests.iter().find(|test| test.test == name).unwrap().limit_stays();
    assert!(stays("one") && !stays("large"));
}

#[test]
fn what_both_systems_have_in_common_does_not_widen_a_ratio() {
    let library = Library::built_in();
    // Rated drives without measurements have wide ranges.
    let name = |port: &str| format!("samsung-990-pro-2tb@data-sheet{port}:pcie");
    let settings = |text: &str| lanemark_lab::settings(&[text.to_owned()]).unwrap();
    let (present, other) = (name(""), name(""));
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
        let (present, other) = (side(&present, &[]), side(&other, &slower));
        let job = WhatIfJob { present, other, subjects, measured, changed: Vec::new(), seed: 1 };
        let prediction = Lab::default().what_if(&job, &mut |_| {}).unwrap().unwrap();
        let interval = prediction.tests[0].interval.clone().unwrap();
        assert!(interval.low_ratio < 1.0 && 1.0 < interval.high_ratio, "{interval:?}");
        interval.high_ratio / interval.low_ratio
    };
    let own = side(&present, &[]);
    let work = LabRun { system: &own.system, workload: &own.workload };
    let runs = Lab::default().run_all(&[work], &Provenance::default(), &mut |_| {}).unwrap();
    let (alone, scaled) = (widths(None), widths(Some(("measured.json", &runs[0]))));
    assert!(scaled < 0.8 * alone, "{scaled} compared with {alone}");
}

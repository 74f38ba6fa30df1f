//! Tests of the answer of a comparison.

use lanemark_schema::result::{
    DeliveryEvidence, LatencyHistogram, LiveDelivery, Sample, ServedTarget,
};
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{Pattern, Test};

use super::*;
use crate::run_tests::{reads, run, test};

/// The name of each test, and the number of requests in each of its repeats.
type Counts<'t> = &'t [(&'t str, &'t [usize])];

/// Returns a run whose tests have repeats with these numbers of requests, each in ten milliseconds.
fn rates(name: &str, tests: Counts<'_>) -> RunResult {
    let repeats = |counts: &[usize]| -> Vec<Sample> {
        counts.iter().map(|&count| reads(10, 4, &vec![50; count])).collect()
    };
    let mut run =
        run(tests.iter().map(|(test_of, counts)| test(test_of, repeats(counts))).collect());
    run.provenance.name = Some(name.to_owned());
    run
}

#[test]
fn the_answer_counts_faster_slower_and_equal_tests() {
    let answer_to = |a: Counts<'_>, b: Counts<'_>| {
        answer(("a.json", &rates("A", a)), ("b.json", &rates("B", b)))
    };
    // The spread of two equal repeats is zero, so the interval of their ratio is a point.
    let x = |count: usize| [count, count];
    let cases: [(Counts<'_>, Counts<'_>, &str); 10] = [
        (
            &[("x", &x(100))],
            &[("x", &x(150))],
            "B is faster than A, 1.50x (1.50 to 1.50) in the one common test, x.",
        ),
        (
            &[("x", &x(100))],
            &[("x", &x(80))],
            "B is slower than A, 0.80x (0.80 to 0.80) in the one common test, x.",
        ),
        (
            &[("x", &x(1_000))],
            &[("x", &x(1_004))],
            "B is as fast as A, within 3%: 1.00x (1.00 to 1.00) in the one common test, x.",
        ),
        (
            &[("x", &x(100)), ("y", &x(100))],
            &[("x", &x(150)), ("y", &x(400))],
            "B is faster than A, 1.50x (1.50 to 1.50; x) to 4.00x (4.00 to 4.00; y) in 2 of 2 tests.",
        ),
        (
            &[("x", &x(100)), ("y", &x(100)), ("z", &x(100))],
            &[("x", &x(150)), ("y", &x(50)), ("z", &x(100))],
            "B is faster than A, 1.50x (1.50 to 1.50; x) in 1 of 3 tests; slower, 0.50x (0.50 to 0.50; y) in 1 of 3 \
             tests; the same within 3%, 1.00x (1.00 to 1.00; z) in 1 of 3 tests.",
        ),
        // The repeats of the two runs overlap.
        (
            &[("x", &[100, 120])],
            &[("x", &[110, 130])],
            "no difference shown between B and A, 1.09x (0.87 to 1.38) in the one common test, x.",
        ),
        // The mean of one repeat is not known to any precision.
        (
            &[("x", &[100])],
            &[("x", &[150])],
            "B against A: 1.50x in the one common test, x; no difference can be shown, because a figure has neither \
             repeats nor an interval.",
        ),
        (
            &[("x", &[100]), ("y", &x(100))],
            &[("x", &x(150)), ("y", &x(200))],
            "B is faster than A, 2.00x (2.00 to 2.00; y) in 1 of 2 tests; not known, because a figure has neither \
             repeats nor an interval: 1.50x (x) in 1 of 2 tests.",
        ),
        (&[("x", &[100]), ("z", &[9])], &[("y", &[100])], "B and A share no test."),
        // The only tests of two runs match by their requests.
        (
            &[("x", &x(100))],
            &[("y", &x(150))],
            "B is faster than A, 1.50x (1.50 to 1.50) in the one common test, x.",
        ),
    ];
    for (a, b, wanted) in cases {
        assert_eq!(answer_to(a, b), wanted);
    }
    let one = rates("A", &[("x", &[100])]);
    assert_eq!(
        answer(("a.json", &one), ("b.json", &one)),
        "a.json and b.json are the same result."
    );
}

#[test]
fn tests_of_one_name_with_other_requests_are_not_compared() {
    let a = rates("A", &[("vol0", &[100])]);
    let change = |change: &dyn Fn(&mut Test)| {
        let mut b = rates("B", &[("vol0", &[200])]);
        change(&mut b.tests[0].test);
        answer(("a.json", &a), ("b.json", &b))
    };
    let larger = change(&|test| test.block = Bytes::kibi(32));
    assert_eq!(larger, "B and A share no test: vol0 is 4 KiB against 32 KiB.");
    let writes = change(&|test| test.requests_mut().unwrap().read_share = Ratio::ZERO);
    assert_eq!(writes, "B and A share no test: vol0 is 100% reads against 0% reads.");
    let ordered = change(&|test| test.requests_mut().unwrap().pattern = Pattern::Sequential);
    assert_eq!(ordered, "B and A share no test: vol0 is random against sequential.");
}

#[test]
fn runs_are_named_by_their_targets_or_by_their_files() {
    let a = rates("A", &[]);
    let b = rates("B", &[]);
    assert_eq!(distinguishing_names([("a.json", &a), ("b.json", &b)]), ["A", "B"]);
    assert_eq!(distinguishing_names([("a.json", &a), ("b.json", &a)]), ["a.json", "b.json"]);
}

/// Marks a sample as served by a server that answered every request `late_us` late.
fn serve_late(sample: &mut Sample, late_us: u64) {
    let us = Duration::from_microseconds;
    let mut lateness = LatencyHistogram::new();
    let mut latency = LatencyHistogram::new();
    for _ in 0..100 {
        lateness.record(us(late_us));
        latency.record(us(50));
    }
    sample.live = Some(LiveDelivery {
        time_scale: 1.0,
        served: us(1_000),
        lateness,
        reads: Some(crate::run_tests::requests(4, &[50 + late_us; 100])),
        writes: None,
        host_errors: Default::default(),
        evidence: DeliveryEvidence::of_modelled(&latency, 1.0),
        content: None,
        processor_s: 0.0,
        busy: us(1_000),
        program: None,
    });
}

/// Returns two runs of two tests with two repeats each, on served systems that kept to their times.
fn served_runs() -> [RunResult; 2] {
    ["A", "B"].map(|name| {
        let mut run = rates(name, &[("x", &[100, 101]), ("y", &[100, 101])]);
        for sample in run.tests.iter_mut().flat_map(|test| &mut test.samples) {
            serve_late(sample, 1);
        }
        run
    })
}

#[test]
fn runs_with_a_late_server_on_either_side_are_not_ranked() {
    let answer_to = |[a, b]: &[RunResult; 2]| answer(("a.json", a), ("b.json", b));
    let mut runs = served_runs();
    runs[1].tests[0].samples[0].elapsed = Duration::from_microseconds(10_001);
    assert!(!answer_to(&runs).contains("cannot be ranked"), "{}", answer_to(&runs));
    for (side, name) in ["A", "B"].into_iter().enumerate() {
        for (test, test_of) in ["x", "y"].into_iter().enumerate() {
            for sample in [0, 1] {
                let mut late = runs.clone();
                serve_late(&mut late[side].tests[test].samples[sample], 9_000);
                let wanted =
                    format!("the server of {name} did not keep to its model's times in {test_of}");
                assert!(answer_to(&late).contains(&wanted), "{}", answer_to(&late));
                let mut failed = runs.clone();
                let live = failed[side].tests[test].samples[sample].live.as_mut().unwrap();
                live.host_errors.record_errno(28);
                let wanted = format!(
                    "the machine of {name}'s server failed requests that the drive completed in {test_of}: 1 without space"
                );
                assert!(answer_to(&failed).contains(&wanted), "{}", answer_to(&failed));
            }
        }
    }
}

#[test]
fn runs_at_different_time_scales_are_not_ranked() {
    for (own, other) in [(1.0, 4.0), (0.5, 1.0)] {
        let mut runs = served_runs();
        for (run, time_scale) in runs.iter_mut().zip([own, other]) {
            let Target::Measured(target) = &mut run.target else { panic!() };
            target.served = Some(ServedTarget {
                system: "d@p:s".to_owned(),
                drive: "D".to_owned(),
                time_scale,
                faults: Vec::new(),
            });
        }
        let answer = answer(("a.json", &runs[0]), ("b.json", &runs[1]));
        let wanted = format!("A was measured at a time scale of {own}, and B at {other}");
        assert!(answer.contains(&wanted), "{answer}");
        // A system without a server has a time scale of 1.
        if let Target::Measured(target) = &mut runs[0].target {
            target.served = None;
        }
        let answer = super::answer(("a.json", &runs[0]), ("b.json", &runs[1]));
        assert_eq!(answer.contains("time scale"), other != 1.0, "{answer}");
    }
}

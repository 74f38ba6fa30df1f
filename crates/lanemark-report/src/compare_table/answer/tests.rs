//! Tests of the answer of a comparison.

use lanemark_schema::result::Sample;

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
    let cases: [(Counts<'_>, Counts<'_>, &str); 8] = [
        (
            &[("x", &[100])],
            &[("x", &[150])],
            "B is faster than A in the one common test, 1.50x (x).",
        ),
        (
            &[("x", &[100])],
            &[("x", &[80])],
            "B is slower than A in the one common test, 0.80x (x).",
        ),
        (
            &[("x", &[1_000])],
            &[("x", &[1_004])],
            "B is as fast as A in the one common test: no difference is larger than the spread, 1.00x (x).",
        ),
        (
            &[("x", &[100]), ("y", &[100])],
            &[("x", &[150]), ("y", &[400])],
            "B is faster than A in 2 of 2 tests, 1.50x (x) to 4.00x (y).",
        ),
        (
            &[("x", &[100]), ("y", &[100]), ("z", &[100])],
            &[("x", &[150]), ("y", &[50]), ("z", &[100])],
            "B is faster than A in 1 of 3 tests (x, 1.50x); slower in 1 (y, 0.50x); no difference in 1.",
        ),
        (
            &[("x", &[100]), ("y", &[100])],
            &[("x", &[20]), ("y", &[50])],
            "B is slower than A in 2 of 2 tests, 0.20x (x) to 0.50x (y).",
        ),
        // The repeats of the two runs overlap.
        (
            &[("x", &[100, 120])],
            &[("x", &[110, 130])],
            "B is as fast as A in the one common test: no difference is larger than the spread, 1.09x (x).",
        ),
        (&[("x", &[100])], &[("y", &[100])], "B and A share no test."),
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
fn runs_are_named_by_their_targets_or_by_their_files() {
    let (a, b) = (rates("A", &[]), rates("B", &[]));
    assert_eq!(distinguishing_names([("a.json", &a), ("b.json", &b)]), ["A", "B"]);
    assert_eq!(distinguishing_names([("a.json", &a), ("b.json", &a)]), ["a.json", "b.json"]);
}

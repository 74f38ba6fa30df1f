//! Tests of the summary of runs.

use lanemark_schema::result::Statistic;
use lanemark_schema::workload::AverageMethod;

use super::*;
use crate::run_tests::{reads, run, test};

#[test]
fn one_run_has_the_answer_of_the_command() {
    let one = run(vec![test("slow", vec![reads(10, 4, &[80; 100])])]);
    assert_eq!(summary(&[("a", &one)]), Some(lead::run(&one)));
    assert_eq!(summary(&[("a", &run(Vec::new()))]), None);
}

/// Returns a run whose tests a, b, … have these mean rates, each with three repeats within 1% of it.
fn rates(megabytes: &[f64]) -> RunResult {
    let mut run = run(Vec::new());
    for (index, rate) in megabytes.iter().enumerate() {
        let name = char::from(b'a' + index as u8).to_string();
        let mut result = test(&name, vec![reads(10, 4, &[80; 100])]);
        let repeats = [0.995, 1.0, 1.005].map(|share| share * rate * 1e6);
        result.throughput_bytes_per_second = Statistic::from_values(&repeats, AverageMethod::Mean);
        run.tests.push(result);
    }
    run.provenance.seed = megabytes.iter().sum::<f64>() as u64;
    run
}

#[test]
fn several_runs_are_reported_with_the_tests_in_which_they_are_the_fastest() {
    let text_of = |all: &[&[f64]]| {
        let runs: Vec<RunResult> = all.iter().map(|rates_of| rates(rates_of)).collect();
        let names = ["A", "B", "C"];
        let named: Vec<(&str, &RunResult)> = names.into_iter().zip(&runs).collect();
        summary(&named).unwrap()
    };
    let cases: [(&[&[f64]], &str); 6] = [
        (
            &[&[200.0], &[100.0], &[90.0]],
            "A is the fastest in the one test that all 3 runs contain.",
        ),
        (
            &[&[100.0, 50.0], &[200.0, 90.0], &[80.0, 40.0]],
            "B is the fastest in each of the 2 tests that all 3 runs contain.",
        ),
        (
            &[&[100.0, 50.0], &[200.0, 50.0], &[80.0, 50.2]],
            "B is the fastest in 1 of the 2 tests that all 3 runs contain; in 1, no run is shown to be the fastest.",
        ),
        (
            &[&[300.0, 50.0, 70.0], &[200.0, 90.0, 95.0], &[100.0, 40.0, 60.0]],
            "A is the fastest in 1 of the 3 tests that all 3 runs contain, B is the fastest in 2.",
        ),
        (
            &[&[100.0], &[100.1], &[99.9]],
            "In the one test that all 3 runs contain, no run is shown to be the fastest.",
        ),
        (
            &[&[300.0, 90.0, 70.0, 10.0], &[200.0, 95.0, 70.1, 20.0], &[100.0, 50.0, 90.0, 30.0]],
            "3 runs are each the fastest in some of the 4 tests that all 3 runs contain, each in up to 2.",
        ),
    ];
    for (all, wanted) in cases {
        assert_eq!(text_of(all), wanted);
    }
    assert_eq!(text_of(&[&[100.0], &[], &[]]), "No test is in all 3 runs.");
}

#[test]
fn two_runs_have_the_answer_of_a_comparison() {
    let pair = [rates(&[100.0, 50.0]), rates(&[200.0, 50.0])];
    let text = summary(&[("A", &pair[0]), ("B", &pair[1])]);
    assert_eq!(text, Some(answer(("A", &pair[0]), ("B", &pair[1]))));
}

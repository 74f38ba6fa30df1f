//! Tests of the summary of runs.

use lanemark_schema::workload::AverageMethod;

use super::*;
use crate::run_tests::{reads, run, test};

fn statistic_from(repeats: &[f64]) -> Statistic {
    Statistic::from_values(repeats, AverageMethod::Mean)
}

#[test]
fn a_lead_within_the_repeats_is_ignored() {
    let low = statistic_from(&[100.0, 101.0]);
    let high = statistic_from(&[103.0, 104.0]);
    let wide = statistic_from(&[99.0, 120.0]);
    assert!(is_ahead(&[&low, &high], 1) && !is_ahead(&[&low, &high], 0));
    assert!(!is_ahead(&[&low, &wide], 1) && !is_ahead(&[&low, &wide], 0));
    // A run without repeats leads only if it is ahead by one per cent or more.
    let one = statistic_from(&[100.0]);
    let equal = statistic_from(&[100.5]);
    let more = statistic_from(&[102.0]);
    assert!(!is_ahead(&[&one, &equal], 1) && is_ahead(&[&one, &more], 1));
    assert!(!is_ahead(&[&one, &one], 0) && !is_ahead(&[&one, &one], 1));
    // A run leads only if it is ahead of every other run.
    assert!(is_ahead(&[&one, &more, &low], 1) && !is_ahead(&[&one, &more, &high], 1));
    assert!(!is_ahead(&[&one, &more, &more], 1));
    // If the ranges of the repeats touch, neither run leads. A run without repeats must lead by one per cent.
    assert!(!is_ahead(&[&statistic_from(&[101.0, 102.0]), &statistic_from(&[102.0, 103.0])], 1));
    assert!(!is_ahead(&[&statistic_from(&[100.0, 101.0]), &statistic_from(&[101.0])], 1));
}

#[test]
fn one_run_has_the_answer_of_the_command() {
    let one = run(vec![test("slow", vec![reads(10, 4, &[80; 100])])]);
    assert_eq!(summary(&[("a", &one)]), Some(lead::run(&one)));
    assert_eq!(summary(&[("a", &run(Vec::new()))]), None);
}

/// Returns a run whose tests a, b, … transfer the data of these numbers of requests.
fn rates(requests: &[usize]) -> RunResult {
    let of = |(index, count): (usize, &usize)| {
        let name = char::from(b'a' + index as u8).to_string();
        test(&name, vec![reads(10, 4, &vec![50; *count])])
    };
    run(requests.iter().enumerate().map(of).collect())
}

#[test]
fn several_runs_are_reported_with_their_numbers_of_leads() {
    let text_of = |all: &[&[usize]]| {
        let runs: Vec<RunResult> = all.iter().map(|rates_of| rates(rates_of)).collect();
        let names = ["A", "B", "C"];
        let named: Vec<(&str, &RunResult)> = names.into_iter().zip(&runs).collect();
        summary(&named).unwrap()
    };
    let tie = "no run leads by more than its spread";
    let cases: [(&[&[usize]], &str); 8] = [
        (&[&[200], &[100]], "A moves the most data in the one test that both runs contain."),
        (
            &[&[100, 50], &[200, 90]],
            "B moves the most data in each of the 2 tests that both runs contain.",
        ),
        (
            &[&[100, 50], &[200, 50]],
            "B moves the most data in 1 of the 2 tests that both runs contain; in one, ",
        ),
        (
            &[&[100, 50, 70], &[200, 50, 70]],
            "B moves the most data in 1 of the 3 tests that both runs contain; in 2, ",
        ),
        (
            &[&[300, 50, 70], &[200, 90, 95]],
            "A moves the most data in 1 of the 3 tests that both runs contain, B moves the most data in 2.",
        ),
        (
            &[&[100], &[100]],
            "In the one test that both runs contain, no run leads by more than its spread.",
        ),
        (
            &[&[300, 90, 70, 10], &[200, 95, 70, 20], &[100, 50, 90, 30]],
            "3 runs each move the most data in some of the 4 tests that all 3 runs contain, each in up to 2.",
        ),
        (&[&[100], &[]], "2 runs that share no test."),
    ];
    for (all, wanted) in cases {
        let wanted =
            if wanted.ends_with(", ") { format!("{wanted}{tie}.") } else { wanted.to_owned() };
        assert_eq!(text_of(all), wanted);
    }
}

//! Watched tests must report their progress in order, end within a bounded number of events, and otherwise have the
//! same results.

use crate::tests::runs::{checked, nvme, small_drive};
use crate::tests::transactions::{plain, users};
use crate::tests::{lasting, random_read, us};
use crate::*;
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{CheckedTest, RoundSettings, Test};

const KEY: StreamKey = StreamKey { seed: 3, test: 0, repeat: 0, thread: 0 };

/// Returns tests that end after a time, after a volume, after either, or in a steady state, and a test with the users
/// of a database.
fn tests() -> Vec<CheckedTest> {
    let read = Test { span: Bytes::mebi(32), ..random_read() }.with(|calls| calls.queue_depth = 8);
    let timed =
        Test { volume: None, ramp: us(50_000), duration: Some(us(200_000)), ..read.clone() };
    let counted = Test { volume: Some(Bytes::mebi(256)), ..read.clone() };
    let both = Test { duration: Some(Duration::from_seconds(3600)), ..counted.clone() };
    let rounds = RoundSettings { length: us(50_000), tracked: Default::default() };
    let steady = Test { volume: None, rounds: Some(rounds), ..read };
    let database = Test { duration: Some(Duration::from_seconds(1)), ..users(8, plain()) };
    [timed, counted, both, steady, database].map(|test| test.checked().unwrap()).into()
}

#[test]
fn progress_reports_continue_to_the_end_without_side_effects() {
    let system = checked(&nvme(small_drive()));
    for test in tests() {
        let mut reports: Vec<Progress> = Vec::new();
        let watched = run_test_watched(&system, &test, KEY, &mut |progress| {
            reports.push(*progress);
            true
        });
        assert_eq!(watched, run_test(&system, &test, KEY));
        assert!(reports.len() > 5, "{}", reports.len());
        assert!(reports.is_sorted_by(|one, two| one.now < two.now && one.requests <= two.requests));
        let shares: Vec<f64> = reports.iter().filter_map(|one| one.share).collect();
        if test.rounds.is_some() {
            assert!(shares.is_empty(), "the end of a steady test is not known");
            continue;
        }
        assert_eq!(shares.len(), reports.len());
        assert!(shares.is_sorted() && shares[0] < 0.1, "{}", shares[0]);
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
        assert!(shares[shares.len() - 1] > 0.8, "{}", shares[shares.len() - 1]);
    }
}

#[test]
fn a_test_ends_on_request() {
    let system = checked(&nvme(small_drive()));
    for test in tests() {
        for wanted in [1, 3] {
            let mut calls = 0;
            let outcome = run_test_watched(&system, &test, KEY, &mut |_| {
                calls += 1;
                calls < wanted
            });
            assert_eq!((outcome, calls), (Err(SimError::Cancelled), wanted));
        }
    }
}

#[test]
fn between_two_looks_lie_a_bounded_number_of_requests() {
    let system = checked(&nvme(small_drive()));
    let long = Test { span: Bytes::mebi(32), ..random_read() };
    let long = lasting(Duration::from_seconds(3600), long);
    let mut requests = 0;
    let mut calls = 0;
    let outcome = run_test_watched(&system, &long.checked().unwrap(), KEY, &mut |progress| {
        // A request causes one event or more.
        assert!(progress.requests - requests <= 4096 + 1, "{} after {requests}", progress.requests);
        requests = progress.requests;
        calls += 1;
        calls < 100
    });
    assert_eq!(outcome, Err(SimError::Cancelled));
}

/// Without storage accesses, a transaction has two events: its user returns, and its work at the processor ends.
#[test]
fn a_database_reports_its_progress_after_each_1024_events() {
    let system = checked(&nvme(small_drive()));
    let test = Test { duration: Some(Duration::from_seconds(1)), ..users(8, plain()) };
    let mut ended = Vec::new();
    let outcome = run_test_watched(&system, &test.checked().unwrap(), KEY, &mut |progress| {
        ended.push(progress.requests);
        true
    });
    assert!(outcome.is_ok() && ended.len() > 5, "{} reports", ended.len());
    // The work of up to eight users that have returned may not have ended, so there are up to four fewer transactions
    // than half the events.
    for (ended, all) in ended.into_iter().zip((0u64..).step_by(512)) {
        assert!((all.saturating_sub(4)..=all).contains(&ended), "{ended} of {all}");
    }
}

//! The sizes and remarks of a database trial.

use lanemark_oltp::TransactionProfile;
use lanemark_oltp::run::TransactionDates;
use lanemark_schema::result::{Sample, ServerProcessorTime, TransactionFigures};

use super::turn::LoadedContents;
use super::*;

fn sizes(plan: &DatabasePlan, users: u32) -> Result<TrialSizes, String> {
    TrialSizes::from_plan(plan, users).map_err(|error| error.to_string())
}

#[test]
fn default_sizes_fit_a_whole_or_a_short_run() {
    let of = |plan: &DatabasePlan| {
        let TrialSizes { turns, times, scale } = sizes(plan, 45).unwrap();
        let seconds = [times.ramp, times.duration].map(|time| time.as_secs());
        (turns, seconds, scale.warehouses, scale.divisor)
    };
    let usual = DatabasePlan::default();
    assert_eq!(of(&usual), (3, [30, 40], 45, 10));
    assert_eq!(of(&DatabasePlan { is_short: true, ..usual.clone() }), (1, [2, 4], 5, 100));
    let given = DatabasePlan {
        turns: Some(7),
        ramp: Some(units::Duration::from_seconds(1)),
        duration: Some(units::Duration::from_seconds(9)),
        warehouses: Some(6),
        divisor: Some(20),
        ..usual.clone()
    };
    assert_eq!(of(&given), (7, [1, 9], 6, 20));
    let of_ms = |ms: u64| DatabasePlan {
        duration: Some(units::Duration::from_microseconds(1_000 * ms)),
        ..usual.clone()
    };
    assert!(sizes(&of_ms(999), 45).is_err());
    assert!(sizes(&of_ms(1_000), 45).is_ok());
    // Ten users share one warehouse.
    let of_five = DatabasePlan { warehouses: Some(5), ..usual.clone() };
    assert!(sizes(&of_five, 50).is_ok());
    let error = sizes(&of_five, 51).err().unwrap();
    assert!(error.contains("--warehouses: expected 6 or more for 51 users"), "{error}");
}

/// Returns a turn of 2,000 transactions, each with this processor time in µs, and with these page reads.
fn turn(each_us: f64, page_reads: f64) -> TurnOutcome {
    let time = ServerProcessorTime {
        server_s: Some(each_us * 1.5e-3),
        driver_s: Some(each_us * 0.5e-3),
        sessions: None,
    };
    let transactions = TransactionFigures {
        count: 2_000,
        processor_time: Some(time),
        page_reads: Some(page_reads),
        page_writes: Some(2.0 * page_reads),
        log_writes: Some(0.5),
        ..TransactionFigures::default()
    };
    TurnOutcome {
        sample: Sample {
            elapsed: units::Duration::from_seconds(10),
            transactions: Some(transactions),
            ..Sample::empty()
        },
        served: None,
        target: calibration::tests::target(),
        data: units::Bytes::mebi(64),
        options: RunOptions {
            profile: TransactionProfile::Hammerdb,
            users: 1,
            think_times: false,
            ramp: Duration::ZERO,
            duration: Duration::from_secs(10),
            seed: 1,
            clock: TransactionDates::Wall,
            pause: Duration::ZERO,
        },
        page_cache: None,
    }
}

#[test]
fn remarks_have_the_means_of_both_systems() {
    let loaded = LoadedContents::with_sizes(1, 2);
    let set = TurnValues { scale: 2.5, pause: Duration::ZERO, loaded, processor_us: 300.0 };
    let sides = [vec![turn(400.0, 3.0), turn(600.0, 5.0)], vec![turn(700.0, 1.0)]];
    let found = LiveOutcome { set, cores: 4.0, sides };
    let text = remarks(&found);
    for part in [
        "multiplied by 2.5,",
        "took 500 and 700 µs of processor time in PostgreSQL and its users (300 µs without latency)",
        "and 500 and 700 µs including the kernel",
        "took another 0 and 0 µs",
        "caused 4.00 and 1.00 page reads, 8.00 and 2.00 page writes, and 0.50 and 0.50 log writes",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(lateness_warning(&turn(1.0, 1.0)).is_none());
}

#[test]
fn a_turn_counts_once_both_systems_completed_it() {
    for (first, second, wanted) in [(0, 0, 0), (1, 0, 0), (1, 1, 1), (2, 1, 1), (2, 3, 2)] {
        let loaded = LoadedContents::with_sizes(1, 2);
        let set = TurnValues { scale: 1.0, pause: Duration::ZERO, loaded, processor_us: 1.0 };
        let turns = |count: usize| (0..count).map(|_| turn(400.0, 3.0)).collect();
        let outcome = LiveOutcome { set, cores: 4.0, sides: [turns(first), turns(second)] };
        assert_eq!(outcome.turns(), wanted, "{first} and {second}");
    }
}

#[test]
fn other_programs_are_reported_if_they_use_more_than_a_negligible_share() {
    assert_eq!(others_warning("t", BUSY, 4.0), None);
    let wanted = Warning::OthersBusy { test: "t".to_owned(), used: 2.0, cores: 4 };
    assert_eq!(others_warning("t", 0.5, 4.0), Some(wanted));
}

//! The values that are calibrated before a database trial.

use std::path::PathBuf;
use std::sync::Arc;

use lanemark_oltp::TransactionProfile;
use lanemark_oltp::run::{RunOptions, TransactionDates};
use lanemark_schema::result::{
    BoundKind, DatabaseTarget, FigureCheck, FigureMetric, FigureRole, Provenance, Publication,
    PublishedFigure, RunResult, Sample, ServerProcessorTime, StudySystem, Target, TestResult,
    TransactionFigures,
};
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{Test, Workload};

use super::*;
use crate::database::study_parts::StudySide;

#[test]
fn the_next_buffer_is_on_the_line_between_its_neighbours() {
    for (wanted, small, large, size) in [
        (20.0, Some((100.0, 30.0)), (200.0, 10.0), 150),
        (15.0, Some((100.0, 30.0)), (200.0, 10.0), 175),
        // If the target number of reads is close to the number at a known size, the next size still moves by a
        // twentieth of the distance between the known sizes.
        (29.9, Some((100.0, 30.0)), (200.0, 10.0), 105),
        (10.1, Some((100.0, 30.0)), (200.0, 10.0), 195),
        (10.0, Some((100.0, 10.0)), (200.0, 10.0), 105),
        // A 100 MiB buffer, half of 200 MiB, is assumed to cause 30 reads.
        (15.0, None, (200.0, 10.0), 175),
        (15.0, None, (200.0, 0.0), 150),
        (4.0, None, (1.0, 0.0), 1),
    ] {
        assert_eq!(next_size(wanted, small, large), size, "{wanted}, {small:?}, {large:?}");
    }
}

fn check(system: &str, metric: FigureMetric, published: f64) -> FigureCheck {
    let figure = PublishedFigure {
        id: "id".to_owned(),
        system: system.to_owned(),
        test: "users".to_owned(),
        metric,
        published,
        bound: BoundKind::Exactly,
        over: None,
        place: "Table 1".to_owned(),
        role: FigureRole::Predicted,
    };
    FigureCheck::new(figure, Default::default())
}

fn sample(use_of: TransactionFigures) -> Sample {
    Sample { transactions: Some(use_of), ..Sample::empty() }
}

pub(crate) fn target() -> DatabaseTarget {
    DatabaseTarget {
        product: "PostgreSQL".to_owned(),
        version: None,
        name: String::new(),
        place: None,
        settings: Default::default(),
        served: None,
    }
}

/// Returns a system of the study with the reads of a simulated transaction.
fn system(name: &str, page_reads: Option<f64>) -> StudySystem {
    let test = Test::of_blocks(Bytes::kibi(8));
    let workload = Workload::of_test("w", "W", test.clone());
    let use_of = TransactionFigures { page_reads, ..TransactionFigures::default() };
    let tests = vec![TestResult::new(&workload, &test, vec![sample(use_of)])];
    let run = RunResult {
        schema_version: 1,
        provenance: Provenance::default(),
        target: Target::Database(target()),
        workload,
        tests,
        complete: true,
        warnings: Vec::new(),
        inspection: None,
        power_cuts: Vec::new(),
    };
    StudySystem { name: name.to_owned(), label: name.to_owned(), run }
}

fn outcome(figures: Vec<FigureCheck>, systems: Vec<StudySystem>) -> StudyOutcome {
    StudyOutcome {
        schema_version: 1,
        provenance: Provenance::default(),
        id: String::new(),
        title: String::new(),
        question: String::new(),
        document: Publication { file: String::new(), citation: String::new() },
        systems,
        figures,
        comparison: None,
        answer: None,
        not_modelled: Vec::new(),
        notes: Vec::new(),
    }
}

fn parts() -> StudyParts {
    let side = |name: &str| StudySide { name: name.to_owned(), arguments: Vec::new() };
    StudyParts {
        sides: [side("sata"), side("nvme")],
        users: 40,
        elsewhere: lanemark_schema::units::Duration::from_microseconds(15_000),
        buffer_share: 0.5,
        flushes: true,
        cores: 16,
    }
}

/// Calls `check` with the setting of a study that publishes 1.2 million transactions at 75% of the processors.
fn with(time_scale: Option<f64>, simulated: &StudyOutcome, check: impl Fn(&TurnCalibration<'_>)) {
    let bench = TurnEnvironment {
        outside: std::fs::File::open("/dev/null").unwrap(),
        folder: PathBuf::new(),
        stop: Arc::default(),
        library: Vec::new(),
        scale: lanemark_oltp::schema::Scale { warehouses: 2, divisor: 3, seed: 4 },
        users: 40,
        seed: 5,
        flushes: true,
    };
    let asked = parts();
    let setting = TurnCalibration {
        time_scale,
        is_short: false,
        parts: &asked,
        times: PROBE,
        bench: &bench,
        simulated,
    };
    check(&setting);
}

fn published() -> StudyOutcome {
    let figures = vec![
        check("nvme", FigureMetric::Transactions, 7.0),
        check("sata", FigureMetric::ReadLatency, 7.0),
        check("sata", FigureMetric::Transactions, 1.2e6),
        check("sata", FigureMetric::ProcessorUse, 75.0),
    ];
    outcome(figures, vec![system("nvme", Some(9.0)), system("sata", Some(2.5))])
}

fn took(per_minute: f64) -> TurnOutcome {
    let use_of = TransactionFigures { per_minute, ..TransactionFigures::default() };
    TurnOutcome {
        sample: sample(use_of),
        served: None,
        target: target(),
        data: Bytes::ZERO,
        options: RunOptions {
            profile: TransactionProfile::Hammerdb,
            users: 40,
            think_times: false,
            ramp: Duration::ZERO,
            duration: Duration::ZERO,
            seed: 5,
            clock: TransactionDates::Wall,
            pause: Duration::ZERO,
        },
        page_cache: None,
    }
}

fn values(scale: f64, pause_ms: f64) -> TurnValues {
    let pause = Duration::from_secs_f64(pause_ms / 1e3);
    TurnValues { scale, pause, loaded: LoadedContents::with_sizes(64, 300), processor_us: 0.0 }
}

#[test]
fn the_time_elsewhere_is_the_rest_of_a_published_transaction() {
    let near = |seen: f64, wanted: f64| assert!((seen - wanted).abs() < 1e-6, "{seen} {wanted}");
    let simulated = published();
    // At 240,000 transactions a minute, each of 40 users takes 10 ms for a transaction, 6 ms of it inside the
    // database. At the published rate a transaction takes 2 ms, or 20 ms if the time scale is 10.
    let cost = ProcessorCost { database_us: 2_000.0, disk_us: 100.0, busy: 0.5 };
    with(Some(20.0), &simulated, |setting| {
        let mut set = values(10.0, 4.0);
        setting.adjust(&mut set, &took(240_000.0), cost);
        near(set.scale, 10.0);
        near(set.pause.as_secs_f64() * 1e3, 2.0 * 10.0 - 6.0);
        let mut set = values(20.0, 4.0);
        setting.adjust(&mut set, &took(240_000.0), cost);
        near(set.pause.as_secs_f64() * 1e3, 40.0 - 6.0);
        // The processor time does not exceed the time inside, and the pause is never negative.
        let mut set = values(1.0, 9.0);
        setting.adjust(&mut set, &took(240_000.0), cost);
        near(set.pause.as_secs_f64() * 1e3, 2.0 - 1.0);
        let mut set = values(1.0, 4.0);
        setting.adjust(&mut set, &took(240_000.0), cost);
        near(set.pause.as_secs_f64(), 0.0);
        // Without a rate, the pause does not change.
        let mut set = values(20.0, 4.0);
        setting.adjust(&mut set, &took(0.0), cost);
        near(set.pause.as_secs_f64() * 1e3, 4.0);
    });
    with(None, &simulated, |setting| {
        let mut set = values(10.0, 4.0);
        // At this cost, the machine reaches a 24th of the published rate. The time inside that is not processor
        // time grows with the time scale.
        let cores = cores();
        let database_us = 0.75 * (cores * 60e6 * 24.0 / 1.2e6 - 100.0);
        let cost = ProcessorCost { database_us, ..cost };
        setting.adjust(&mut set, &took(240_000.0), cost);
        near(set.scale, 24.0);
        let worked = (database_us / 1e3).min(6.0);
        let inside = worked + (6.0 - worked) * 24.0 / 10.0;
        near(set.pause.as_secs_f64() * 1e3, (48.0 - inside).max(0.0));
    });
    let unpublished = outcome(Vec::new(), Vec::new());
    with(None, &unpublished, |setting| {
        let mut set = values(10.0, 4.0);
        setting.adjust(&mut set, &took(240_000.0), cost);
        near(set.scale, 10.0);
        near(set.pause.as_secs_f64() * 1e3, 4.0);
    });
}

#[test]
fn the_first_values_follow_from_the_study_and_the_processor_time() {
    let simulated = published();
    let loaded = LoadedContents::with_sizes(64, 300);
    with(Some(7.0), &simulated, |setting| {
        let set = setting.first(loaded, 500.0).unwrap();
        assert_eq!((set.scale, set.processor_us), (7.0, 500.0));
        assert_eq!(set.pause, Duration::from_millis(105));
    });
    with(None, &simulated, |setting| {
        // Three quarters of the processors reach 60e6 / 500 * 0.75 transactions each.
        let set = setting.first(loaded, 500.0).unwrap();
        let wanted = 1.2e6 / (cores() * 90_000.0);
        assert!((set.scale - wanted).abs() <= 0.005 + 1e-9, "{} {wanted}", set.scale);
    });
    with(None, &outcome(Vec::new(), Vec::new()), |setting| {
        assert!(setting.first(loaded, 500.0).is_err());
    });
    assert_eq!([4.567, 2.413, 0.004].map(rounded), [4.57, 2.41, 0.0]);
}

#[test]
fn the_reads_of_the_first_system_are_wanted() {
    let reads = |systems| {
        let simulated = outcome(Vec::new(), systems);
        let seen = std::cell::Cell::new(None);
        with(None, &simulated, |setting| seen.set(setting.reads()));
        seen.get()
    };
    assert_eq!(reads(vec![system("nvme", Some(9.0)), system("sata", Some(2.5))]), Some(2.5));
    assert_eq!(reads(vec![system("sata", Some(0.0))]), None);
    assert_eq!(reads(vec![system("sata", None)]), None);
    assert_eq!(reads(vec![system("nvme", Some(9.0))]), None);
}

#[test]
fn a_turn_without_processor_time_gives_no_time() {
    let with = |server_s: Option<f64>, count: u64| {
        let time = ServerProcessorTime { server_s, driver_s: Some(0.5), sessions: None };
        let processor_time = Some(time);
        let use_of = TransactionFigures { count, processor_time, ..TransactionFigures::default() };
        time_of(&TurnOutcome { sample: sample(use_of), ..took(1.0) }).ok()
    };
    assert_eq!(with(Some(1.5), 4_000), Some(500.0));
    assert_eq!((with(None, 4_000), with(Some(1.5), 0), with(Some(-0.5), 10)), (None, None, None));
}

#[test]
fn a_scale_is_settled_when_a_trial_hardly_changes_it() {
    assert!(is_settled(20.0, 20.0));
    assert!(is_settled(20.0 * (1.0 + 0.9 * SETTLED), 20.0));
    assert!(is_settled(20.0 * (1.0 - 0.9 * SETTLED), 20.0));
    assert!(!is_settled(20.0 * (1.0 + 1.1 * SETTLED), 20.0));
    assert!(!is_settled(20.0 * (1.0 - 1.1 * SETTLED), 20.0));
}

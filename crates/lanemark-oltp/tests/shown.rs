//! Results as people see them, and two of them beside each other, by the figures of the published chart.

use std::collections::BTreeMap;

use lanemark_core::result::LatencyHistogram;
use lanemark_oltp::budget::{TimeBudget, WaitClass};
use lanemark_oltp::compare::{Verdict, compare, doubts, interval, nodes_saved};
use lanemark_oltp::counters::{Counter, Counters};
use lanemark_oltp::processor::{ProcessorUse, SessionsUse};
use lanemark_oltp::result::{
    DatabaseInfo, DeviceWork, OLTP_SCHEMA_VERSION, OltpRepeat, OltpResult, OltpWorkload,
    TransactionUse,
};
use lanemark_oltp::schema::Scale;
use lanemark_oltp::{Profile, TransactionKind, view};

/// A repeat of a minute in which each of 1,000 transactions took 2 ms.
fn repeat(tpm: f64, (read_us, write_us): (u64, u64), busy: f64) -> OltpRepeat {
    let mut latency = LatencyHistogram::new();
    (0..1_000).for_each(|_| latency.record_ns(2_000_000));
    let orders = TransactionUse { count: 1_000, rolled_back: 4, retries: 3, latency };
    OltpRepeat {
        seconds: 60.0,
        tpm,
        nopm: tpm / 2.2,
        transactions: BTreeMap::from([(TransactionKind::NewOrder, orders)]),
        database_tpm: Some(tpm * 1.005),
        device: Some(DeviceWork {
            device: "sda".to_owned(),
            reads: 3_000,
            read_bytes: 3_000 * 8_192,
            read_ms: 3 * read_us,
            writes: 1_000,
            write_bytes: 1_000 * 16_384,
            write_ms: write_us,
            ..DeviceWork::default()
        }),
        processor_busy: Some(busy),
        processor_others: Some(0.01),
        processor: Some(ProcessorUse {
            server_s: Some(0.179),
            driver_s: Some(0.05),
            sessions: Some(SessionsUse { running_s: 0.4, ready_s: 0.1 }),
        }),
        counters: Counters::from_iter([
            (Counter::BufferHits, 990),
            (Counter::BufferMisses, 10),
            (Counter::WalBytes, 4_096_000),
            (Counter::WalFlushes, 800),
        ]),
        looked_on: 48,
        budget: Some(TimeBudget {
            period_ms: 20,
            looks: 100,
            samples: BTreeMap::from([(WaitClass::Processor, 100), (WaitClass::Read, 300)]),
        }),
    }
}

fn result(repeats: Vec<OltpRepeat>) -> OltpResult {
    OltpResult {
        schema_version: OLTP_SCHEMA_VERSION,
        workload: OltpWorkload::TpccDerived,
        provenance: lanemark_core::result::Provenance::default(),
        database: DatabaseInfo {
            kind: "PostgreSQL".to_owned(),
            name: "postgres://host/x".to_owned(),
            settings: BTreeMap::new(),
        },
        scale: Scale { warehouses: 1_000, divisor: 1, seed: 1 },
        profile: Profile::Hammerdb,
        users: 48,
        think_times: false,
        ramp_s: 120.0,
        duration_s: 60.0,
        repeats,
        complete: true,
    }
}

fn three(tpm: f64, latency: (u64, u64), busy: f64) -> OltpResult {
    let spread = [0.99, 1.0, 1.01];
    result(spread.map(|by| repeat(tpm * by, latency, busy)).to_vec())
}

#[test]
fn the_published_chart_comes_out_as_published() {
    let (sata, sas) = (three(1.37e6, (440, 290), 0.51), three(1.71e6, (210, 40), 0.61));
    let changes = compare(&sata, &sas);
    let change = |name: &str| changes.iter().find(|one| one.name == name).unwrap();
    for (name, per_cent) in [
        ("tpm", 24.8),
        ("device read, us", -52.3),
        ("device write, us", -86.2),
        ("processors busy, %", 19.6),
    ] {
        let found = change(name).per_cent.unwrap();
        assert!((found - per_cent).abs() < 0.05, "{name}: {:?}", change(name));
    }
    // Of all requests together: three reads for a write.
    assert!((change("device overall, us").from.value - (3.0 * 440.0 + 290.0) / 4.0).abs() < 1e-9);
    assert_eq!(change("tpm").verdict, Verdict::Shown);
    let (low, high) = interval(&change("tpm").from).unwrap();
    // Student's 4.303 for three repeats 1% apart.
    assert!((high / 1.37e6 - 1.0 - 0.01 * 4.303 / 3f64.sqrt()).abs() < 1e-6, "{low} to {high}");
    let names: Vec<&str> = changes.iter().take(6).map(|one| one.name.as_str()).collect();
    let chart = ["tpm", "NOPM", "device read, us", "device write, us", "device overall, us"];
    assert_eq!(names[..5], chart);
    let shown = view::compare_text(&sata, &sas, &changes);
    assert!(shown.contains("; +10.0 points"), "{shown}");
    assert!(shown.contains("A 1335965 to 1404035, B "), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 60), "{shown}");
}

#[test]
fn five_servers_stay_five_by_the_papers_own_table_and_a_hundred_do_not() {
    let (sata, sas) = (three(1.37e6, (440, 290), 0.51), three(1.71e6, (210, 40), 0.61));
    let saved = nodes_saved(&sata, &sas, 5).unwrap().unwrap();
    assert!(saved.plan.answer.contains("none saved"), "{}", saved.plan.answer);
    assert!(saved.greatest.answer.contains("1 saved (20%)"), "{}", saved.greatest.answer);
    assert!(saved.least.answer.contains("none saved"), "{}", saved.least.answer);
    let many = nodes_saved(&sata, &sas, 100).unwrap().unwrap();
    assert!(many.plan.answer.contains("19 saved (19%)"), "{}", many.plan.answer);
    assert!(nodes_saved(&sata, &result(Vec::new()), 5).is_err());
}

/// The same server, once with other programs beside it.
#[test]
fn a_difference_is_shown_by_intervals_that_are_apart_and_by_nothing_that_others_made() {
    let verdict = |a: &OltpResult, b: &OltpResult| compare(a, b)[0].verdict;
    let of = |tpm: &[f64], others: f64| {
        let one = |&tpm: &f64| {
            let one = repeat(tpm, (440, 290), 0.5);
            OltpRepeat { processor_others: Some(others), ..one }
        };
        result(tpm.iter().map(one).collect())
    };
    let calm = of(&[100e3, 101e3, 102e3], 0.01);
    let close = of(&[101e3, 103e3, 104e3], 0.01);
    let halved = of(&[50e3, 51e3, 52e3], 0.01);
    let disturbed = of(&[50e3, 51e3, 52e3], 0.48);
    let once = of(&[50e3], 0.01);
    assert_eq!(verdict(&calm, &close), Verdict::NotShown);
    assert_eq!(verdict(&calm, &calm), Verdict::NotShown);
    assert_eq!(verdict(&calm, &halved), Verdict::Shown);
    assert_eq!(verdict(&calm, &disturbed), Verdict::Others);
    assert_eq!(verdict(&disturbed, &calm), Verdict::Others);
    // That it did better in spite of others they did not make.
    assert_eq!(verdict(&halved, &of(&[100e3, 101e3, 102e3], 0.48)), Verdict::Shown);
    assert_eq!(verdict(&calm, &once), Verdict::NoSpread);
    for other in [&close, &disturbed, &once] {
        assert_eq!(nodes_saved(&calm, other, 5).unwrap(), None);
    }
    assert!(!view::run_text(&calm).contains("doubt"));
    let doubt = "doubt: others had up to 48% of the processors: run it again alone";
    assert!(view::run_text(&disturbed).contains(doubt));
    let told = doubts(&calm, &disturbed);
    assert_eq!(told, ["B: others had up to 48% of the processors"]);
    let shown = view::compare_text(&calm, &disturbed, &compare(&calm, &disturbed));
    assert!(shown.contains("not shown: others were on the processors"), "{shown}");
    let shown = view::compare_text(&calm, &close, &compare(&calm, &close));
    assert!(shown.contains("; no difference shown"), "{shown}");
    // Slower servers: more of them, and no number below nothing.
    let slower = nodes_saved(&calm, &halved, 5).unwrap().unwrap();
    assert!(slower.plan.answer.contains("10 servers with B instead of 5 with A: 5 more (100%)"));
    assert!(slower.plan.steps.iter().all(|step| step.value > 0.0), "{:?}", slower.plan.steps);
}

#[test]
fn a_run_without_transactions_has_no_latency_and_no_infinite_change() {
    let none = OltpRepeat {
        tpm: 0.0,
        nopm: 0.0,
        transactions: BTreeMap::new(),
        ..repeat(0.0, (440, 290), 0.5)
    };
    let nothing = result(vec![none.clone(), none.clone(), none]);
    let shown = view::run_text(&nothing);
    assert!(!shown.contains("0.000 ") && !shown.contains("latency, mean"), "{shown}");
    let some = three(1.37e6, (440, 290), 0.51);
    for (a, b) in [(&nothing, &some), (&some, &nothing), (&nothing, &nothing)] {
        let shown = view::compare_text(a, b, &compare(a, b));
        assert!(!shown.contains("inf") && !shown.contains("NaN"), "{shown}");
        assert!(shown.lines().all(|line| line.chars().count() <= 60), "{shown}");
        assert_eq!(nodes_saved(a, b, 5).unwrap(), None);
    }
}

#[test]
fn a_single_repeat_has_no_spread() {
    let shown = view::run_text(&result(vec![repeat(100.0, (1, 1), 0.5)]));
    // That of samples of sessions is their own, whatever the repeats.
    let figures = shown.lines().take_while(|line| !line.starts_with("time of a transaction"));
    assert!(shown.contains("1 repeat of 60 s"), "{shown}");
    assert!(figures.into_iter().all(|line| !line.contains('±')), "{shown}");
    assert!(view::run_text(&three(100.0, (1, 1), 0.5)).contains("± 1.0%"));
}

#[test]
fn a_run_shows_what_its_time_was_and_the_device_beside_tpm() {
    let result = three(1.37e6, (440, 290), 0.51);
    let shown = view::run_text(&result);
    // 1,610 ms of requests over 1,000 transactions of 2 ms.
    let row = |name: &str| {
        let found = shown.lines().find(|line| line.trim_start().starts_with(name));
        found.unwrap_or_else(|| panic!("{name}: {shown}")).to_owned()
    };
    assert!(row("tpm, all").contains("device time is 80% of the response time"), "{shown}");
    assert!(row("tpm, database's count").contains("+0.50% from ours"), "{shown}");
    assert!(row("device reads a second").contains("of 8.0 KiB each"), "{shown}");
    assert!(row("database CPU, us each").contains("179"), "{shown}");
    assert!(row("buffer hits, %").contains("99.00"), "{shown}");
    assert!(row("log, KiB each").contains("4.00"), "{shown}");
    assert!(row("log flushes each").contains("0.800"), "{shown}");
    assert!(row("time of a transaction").contains("by 1200 samples"), "{shown}");
    assert!(row("read wait").contains("1.500") && row("read wait").contains("75.0%"), "{shown}");
    assert!(row("measured:").contains("0.400 on a processor, 0.100 ready"), "{shown}");
    assert!(!shown.contains("latches") && !shown.contains("deadlocks"), "{shown}");
}

#[test]
fn what_is_not_known_is_not_shown_and_not_saved() {
    let mut one = repeat(100.0, (1, 1), 0.5);
    (one.device, one.processor, one.budget) = (None, None, None);
    (one.database_tpm, one.counters, one.looked_on) = (None, Counters::default(), 0);
    let result = result(vec![one]);
    let shown = view::run_text(&result);
    assert!(shown.contains("device time unknown"), "{shown}");
    for name in ["database's count", "CPU", "buffer hits", "log", "time of a transaction"] {
        assert!(!shown.contains(name), "{name}: {shown}");
    }
    let saved = serde_json::to_string(&result).unwrap();
    for name in ["counters", "budget", "looked_on", "\"processor\""] {
        assert!(!saved.contains(name), "{name}: {saved}");
    }
    assert_eq!(serde_json::from_str::<OltpResult>(&saved).unwrap(), result);
}

#[test]
fn a_user_thread_shows_its_own_time_where_the_database_tells_nothing() {
    let mut one = repeat(100.0, (1, 1), 0.5);
    one.budget = None;
    one.processor.as_mut().unwrap().server_s = None;
    let shown = view::run_text(&result(vec![one]));
    for part in ["by its user's thread", "on a processor", "ready for one", "waiting"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let waiting = shown.lines().find(|line| line.trim_start().starts_with("waiting")).unwrap();
    assert!(waiting.contains("1.500") && waiting.contains("75.0%"), "{waiting}");
    assert!(shown.contains("\nCPU, us each"), "{shown}");
}

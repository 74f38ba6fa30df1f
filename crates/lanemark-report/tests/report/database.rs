//! Tests of the views of database runs: two runs compared by the figures in the published chart, and a real run
//! compared with a simulated run.

use std::collections::BTreeMap;

use lanemark_report::{
    ChangeVerdict, Style, compare, compare_runs, compare_table, database_compare_text,
    database_text, html, nodes_saved, run_table, warnings,
};
use lanemark_schema::result::{
    DatabaseCounter, DatabaseCounters, DatabaseTarget, DeviceUse, DirectionResult, Evidence,
    LatencyHistogram, RatioVerdict, RunResult, SCHEMA_VERSION, Sample, ServerProcessorTime,
    SessionProcessorTime, SessionWaits, Target, TestResult, TransactionFigures,
    TransactionKindFigures, WaitClass, Warning,
};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{DatabaseUsers, LoadKind, TransactionKind, TransactionProfile};

use crate::fixture;

fn ms(milliseconds: u64) -> Duration {
    Duration::from_microseconds(milliseconds * 1_000)
}

/// Returns a repeat of one minute, in which each of 1,000 transactions took 2 ms.
pub(crate) fn repeat(tpm: f64, latency_us: (u64, u64), busy: f64) -> Sample {
    let (read_us, write_us) = latency_us;
    let mut latency = LatencyHistogram::new();
    (0..1_000).for_each(|_| latency.record_ns(2_000_000));
    let response = latency.clone();
    let orders = TransactionKindFigures { count: 1_000, rolled_back: 4, retries: 3, latency };
    let device = DeviceUse {
        name: "sda".to_owned(),
        reads: 3_000,
        read_bytes: Bytes(3_000 * 8_192),
        read_time: ms(3 * read_us),
        writes: 1_000,
        written_bytes: Bytes(1_000 * 16_384),
        write_time: ms(write_us),
        ..DeviceUse::default()
    };
    let transactions = TransactionFigures {
        count: 1_000,
        per_minute: tpm,
        new_orders_per_minute: Some(tpm / 2.2),
        processor_busy: Some(busy),
        processor_others: Some(0.01),
        processor_time: Some(ServerProcessorTime {
            server_s: Some(0.179),
            driver_s: Some(0.05),
            sessions: Some(SessionProcessorTime { running_s: 0.4, ready_s: 0.1 }),
        }),
        buffer_hit_ratio: Some(0.99),
        log_bytes: Some(4_096.0),
        log_flushes: Some(0.8),
        response,
        kinds: BTreeMap::from([(TransactionKind::NewOrder, orders)]),
        counters: DatabaseCounters::from_iter([
            (DatabaseCounter::BufferHits, 990),
            (DatabaseCounter::BufferMisses, 10),
        ]),
        waits: Some(SessionWaits {
            period_ms: 20,
            looks: 100,
            samples: BTreeMap::from([(WaitClass::Processor, 100), (WaitClass::Read, 300)]),
        }),
        counted_per_minute: Some(tpm * 1.005),
        looked_on: 48,
        ..TransactionFigures::default()
    };
    Sample {
        elapsed: ms(60_000),
        reads: None,
        writes: None,
        evidence: Some(Evidence { device: Some(device), ..Evidence::default() }),
        path: None,
        cpu: None,
        energy: None,
        transactions: Some(transactions),
        ..fixture::measured().tests[0].samples[0].clone()
    }
}

fn transactions_mut(sample: &mut Sample) -> &mut TransactionFigures {
    sample.transactions.as_mut().unwrap()
}

pub(crate) fn result(samples: Vec<Sample>) -> RunResult {
    let mut run = fixture::measured();
    let mut test = run.workload.tests[0].clone();
    test.name = "48 users".to_owned();
    test.threads = 48;
    test.duration = Some(ms(60_000));
    test.ramp = ms(120_000);
    test.asks = LoadKind::Database(DatabaseUsers {
        profile: TransactionProfile::Hammerdb,
        warehouses: 1_000,
        divisor: 1,
        contents_seed: 1,
        think_times: false,
        pause: lanemark_schema::units::Duration::ZERO,
    });
    run.workload.name = "TPC-C-derived, profile hammerdb".to_owned();
    run.workload.tests = vec![test.clone()];
    run.schema_version = SCHEMA_VERSION;
    run.warnings = Vec::new();
    run.target = Target::Database(DatabaseTarget {
        served: None,
        product: "PostgreSQL".to_owned(),
        version: Some("17.11".to_owned()),
        name: "postgres://host/x".to_owned(),
        place: Some("/srv/data".to_owned()),
        settings: BTreeMap::from([("fsync".to_owned(), "on".to_owned())]),
    });
    run.tests = if samples.is_empty() {
        Vec::new()
    } else {
        vec![TestResult::new(&run.workload, &test, samples)]
    };
    run
}

fn three(tpm: f64, latency: (u64, u64), busy: f64) -> RunResult {
    let spread = [0.99, 1.0, 1.01];
    result(spread.map(|by| repeat(tpm * by, latency, busy)).to_vec())
}

/// Returns a simulated run with the same users.
fn simulated(name: &str) -> RunResult {
    let mut run = result(vec![repeat(1.5e6, (0, 0), 0.4), repeat(1.5e6, (0, 0), 0.4)]);
    run.target = fixture::simulated().target;
    run.workload.tests[0].name = name.to_owned();
    let test = &mut run.tests[0];
    test.test.name = name.to_owned();
    for sample in &mut test.samples {
        let direction = |count: u64, us: u64| {
            let mut direction = DirectionResult::new();
            (0..count).for_each(|_| {
                direction.record(Bytes::kibi(8), Duration::from_microseconds(us));
            });
            Some(direction)
        };
        sample.evidence = None;
        (sample.reads, sample.writes) = (direction(3_000, 100), direction(1_000, 50));
        let all = transactions_mut(sample);
        all.kinds.clear();
        (all.waits, all.counted_per_minute, all.new_orders_per_minute) = (None, None, None);
        all.log_writes = Some(0.25);
    }
    *test = TestResult::new(&run.workload, &test.test, test.samples.clone());
    run
}

fn text(run: &RunResult) -> String {
    database_text(run, &STYLE).unwrap()
}

fn compared(from: &RunResult, to: &RunResult) -> String {
    database_compare_text(from, to, &STYLE).unwrap()
}

const STYLE: Style = Style { width: 100, colour: false };

#[test]
fn the_published_chart_comes_out_as_published() {
    let sata = three(1.37e6, (440, 290), 0.51);
    let sas = three(1.71e6, (210, 40), 0.61);
    let changes = compare(&sata, &sas);
    let change = |name: &str| changes.iter().find(|change| change.name == name).unwrap();
    for (name, per_cent) in [
        ("tpm", 24.8),
        ("device read, µs", -52.3),
        ("device write, µs", -86.2),
        ("processors busy, %", 19.6),
    ] {
        let found = change(name).per_cent.unwrap();
        assert!((found - per_cent).abs() < 0.05, "{name}: {:?}", change(name));
    }
    // The mean covers all requests: there are three reads per write.
    assert!((change("device overall, µs").from.value - (3.0 * 440.0 + 290.0) / 4.0).abs() < 1e-9);
    assert_eq!(change("tpm").verdict, ChangeVerdict::Distinct);
    let (low, high) = change("tpm").from.interval_95.unwrap();
    // Student's factor is 4.302_65 for three repeats; the repeats differ by 1%.
    assert!((high / 1.37e6 - 1.0 - 0.01 * 4.302_65 / 3f64.sqrt()).abs() < 1e-6, "{low} to {high}");
    let names: Vec<&str> = changes.iter().take(6).map(|change| change.name.as_str()).collect();
    let chart = ["tpm", "NOPM", "device read, µs", "device write, µs", "device overall, µs"];
    assert_eq!(names[..5], chart);
    let printed = compared(&sata, &sas);
    let row = printed.lines().find(|line| line.starts_with("tpm")).unwrap();
    let row: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(row, ["tpm", "1,370,000", "±2.5%", "1,710,000", "±2.5%", "+24.8%", "yes"]);
}

#[test]
fn five_servers_stay_five_by_the_papers_own_table_and_a_hundred_do_not() {
    let sata = three(1.37e6, (440, 290), 0.51);
    let sas = three(1.71e6, (210, 40), 0.61);
    let saved = nodes_saved(&sata, &sas, 5).unwrap().unwrap();
    assert!(saved.plan.answer.contains("no servers saved"), "{}", saved.plan.answer);
    assert!(saved.greatest.answer.contains("1 saved (20%)"), "{}", saved.greatest.answer);
    assert!(saved.least.answer.contains("no servers saved"), "{}", saved.least.answer);
    let many = nodes_saved(&sata, &sas, 100).unwrap().unwrap();
    assert!(many.plan.answer.contains("19 saved (19%)"), "{}", many.plan.answer);
    assert!(nodes_saved(&sata, &result(Vec::new()), 5).is_err());
}

/// A server is compared with itself, once while other programs use the processors.
#[test]
fn a_difference_is_shown_by_intervals_that_are_apart_and_by_nothing_that_others_made() {
    let verdict = |a: &RunResult, b: &RunResult| compare(a, b)[0].verdict;
    let run_of = |tpm: &[f64], others: f64| {
        let one = |&tpm: &f64| {
            let mut one = repeat(tpm, (440, 290), 0.5);
            transactions_mut(&mut one).processor_others = Some(others);
            one
        };
        result(tpm.iter().map(one).collect())
    };
    let calm = run_of(&[100e3, 101e3, 102e3], 0.01);
    let close = run_of(&[101e3, 103e3, 104e3], 0.01);
    let halved = run_of(&[50e3, 51e3, 52e3], 0.01);
    let disturbed = run_of(&[50e3, 51e3, 52e3], 0.48);
    let once = run_of(&[50e3], 0.01);
    assert_eq!(verdict(&calm, &close), ChangeVerdict::Indistinct);
    // A copy with all rates a tenth higher has the verdict of `compare`, although the 95% intervals overlap.
    let scattered = run_of(&[90e3, 100e3, 105e3, 98e3], 0.01);
    let copy = run_of(&[99e3, 110e3, 115.5e3, 107.8e3], 0.01);
    let change = compare(&scattered, &copy).remove(0);
    assert!(change.from.interval_95.unwrap().1 > change.to.interval_95.unwrap().0);
    assert_eq!(
        (change.verdict, change.ratio.verdict()),
        (ChangeVerdict::Distinct, RatioVerdict::Higher)
    );
    let figures = compare_runs(("a", &scattered), ("b", &copy)).figures;
    let tpm = figures.iter().find(|figure| (figure.b / figure.a - 1.1).abs() < 1e-9).unwrap();
    assert_eq!(tpm.ratio.verdict(), change.ratio.verdict());
    assert_eq!(verdict(&calm, &calm), ChangeVerdict::Indistinct);
    assert_eq!(verdict(&calm, &halved), ChangeVerdict::Distinct);
    assert_eq!(verdict(&calm, &disturbed), ChangeVerdict::Others);
    assert_eq!(verdict(&disturbed, &calm), ChangeVerdict::Others);
    // Other programs cannot explain a better result.
    assert_eq!(verdict(&halved, &run_of(&[100e3, 101e3, 102e3], 0.48)), ChangeVerdict::Distinct);
    assert_eq!(verdict(&calm, &once), ChangeVerdict::NoSpread);
    for other in [&close, &disturbed, &once] {
        assert_eq!(nodes_saved(&calm, other, 5).unwrap(), None);
    }
    assert!(!text(&calm).contains("! "), "{}", text(&calm));
    let reported = warnings(&calm, &disturbed);
    assert_eq!(reported, ["B: other programs used up to 48% of the processors"]);
    let printed = compared(&calm, &disturbed);
    assert!(printed.contains("not shown: other programs used the processors"), "{printed}");
    let printed = compared(&calm, &close);
    assert!(printed.contains("no: no difference shown"), "{printed}");
    // With slower servers, more servers are needed, and no number is negative.
    let slower = nodes_saved(&calm, &halved, 5).unwrap().unwrap();
    assert!(slower.plan.answer.contains("10 servers with B instead of 5 with A: 5 more (100%)"));
    assert!(slower.plan.steps.iter().all(|step| step.value > 0.0), "{:?}", slower.plan.steps);
}

#[test]
fn a_run_without_transactions_lacks_latency_and_infinite_changes() {
    let mut none = repeat(0.0, (440, 290), 0.5);
    transactions_mut(&mut none).kinds.clear();
    (transactions_mut(&mut none).count, transactions_mut(&mut none).response) =
        (0, LatencyHistogram::new());
    let nothing = result(vec![none.clone(), none.clone(), none]);
    let printed = text(&nothing);
    assert!(!printed.contains("latency, mean"), "{printed}");
    assert!(!printed.contains("NaN") && !printed.contains("inf"), "{printed}");
    let some = three(1.37e6, (440, 290), 0.51);
    for (a, b) in [(&nothing, &some), (&some, &nothing), (&nothing, &nothing)] {
        let printed = compared(a, b);
        assert!(!printed.contains("inf") && !printed.contains("NaN"), "{printed}");
        assert_eq!(nodes_saved(a, b, 5).unwrap(), None);
    }
}

#[test]
fn a_single_repeat_lacks_a_spread() {
    let printed = text(&result(vec![repeat(100.0, (1, 1), 0.5)]));
    // The spread of session samples does not depend on the number of repeats.
    let figures = printed.lines().take_while(|line| !line.starts_with("Time of a transaction"));
    assert!(printed.contains("1 repeat of 60 s"), "{printed}");
    assert!(figures.into_iter().all(|line| !line.contains('±')), "{printed}");
    assert!(text(&three(100.0, (1, 1), 0.5)).contains("±1.0%"));
}

#[test]
fn a_run_shows_its_time_split_and_the_device_next_to_tpm() {
    let result = three(1.37e6, (440, 290), 0.51);
    let printed = text(&result);
    // 1,610 ms of requests are spread over 1,000 transactions of 2 ms.
    let row = |name: &str| {
        let found = printed.lines().find(|line| line.trim_start().starts_with(name));
        found.unwrap_or_else(|| panic!("{name}: {printed}")).to_owned()
    };
    for (name, value) in [
        ("device share of time", "80.5"),
        ("count differs by", "0.500"),
        ("device read size", "8.00"),
        ("database CPU", "179"),
        ("buffer hits", "99.0"),
        ("log  ", "4.00"),
        ("log flushes", "0.800"),
        ("Time of a transaction", "from 1200 samples"),
        ("read wait", "1.50"),
        ("read wait", "75.0%"),
        ("Time of a transaction", "measured: 0.400 ms on a processor, 0.100 ms"),
    ] {
        assert!(row(name).contains(value), "{name}: {value}: {printed}");
    }
    assert!(!printed.contains("latches") && !printed.contains("deadlocks"), "{printed}");
}

#[test]
fn unknown_values_are_not_shown() {
    let mut one = repeat(100.0, (1, 1), 0.5);
    one.evidence = None;
    let all = transactions_mut(&mut one);
    (all.processor_time, all.waits, all.buffer_hit_ratio) = (None, None, None);
    (all.counted_per_minute, all.counters, all.looked_on) = (None, DatabaseCounters::default(), 0);
    (all.log_bytes, all.log_flushes) = (None, None);
    let result = result(vec![one]);
    let printed = text(&result);
    for name in
        ["device share", "counted by", "CPU", "buffer hits", "log  ", "Time of a transaction"]
    {
        assert!(!printed.contains(name), "{name}: {printed}");
    }
}

#[test]
fn user_threads_show_their_time_if_the_database_does_not() {
    let mut one = repeat(100.0, (1, 1), 0.5);
    transactions_mut(&mut one).waits = None;
    transactions_mut(&mut one).processor_time.as_mut().unwrap().server_s = None;
    let printed = text(&result(vec![one]));
    for part in ["by its user's thread", "on a processor", "ready for one", "waiting"] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let waiting = printed.lines().find(|line| line.trim_start().starts_with("waiting")).unwrap();
    assert!(waiting.contains("1.50") && waiting.contains("75.0%"), "{waiting}");
    assert!(printed.contains("\ndriver CPU"), "{printed}");
}

#[test]
fn a_real_run_and_its_simulation_stand_side_by_side_in_one_table_and_one_page() {
    let real = three(1.37e6, (440, 290), 0.51);
    // A different name, or a different share of the page, does not separate the runs.
    for simulation in [simulated("48 users"), simulated("another name")] {
        let page = html(None, &[&real, &simulation]);
        let page = page.split("<h2>Transactions</h2>").nth(1).unwrap();
        let page = page.split("</section>").next().unwrap();
        assert_eq!(page.matches("<h3>").count(), 1, "{page}");
        for (figure, ours, model) in [
            ("tpm, 1/min", "1,370,000", "1,500,000"),
            ("latency, mean, ms", "2.00", "2.00"),
            ("processors busy, %", "51.0", "40.0"),
            // There are 3,000 reads and 1,000 writes in a minute, counted by the device and from the requests.
            ("device reads, 1/s", "50.0", "50.0"),
            ("device writes, 1/s", "16.7", "16.7"),
            // The device takes 3 x 440 + 290 µs, and 3 x 100 + 50 µs, of 2 ms.
            ("device share of time, %", "80.5", "17.5"),
            ("log, KiB each", "4.00", "4.00"),
        ] {
            let panel = page.split("<figure>").find(|part| part.contains(figure)).unwrap();
            let panel = panel.split("</figure>").next().unwrap();
            let bars: Vec<&str> = panel.split("postgres://host/x").collect();
            assert!(bars.len() > 1, "{figure}: {panel}");
            for value in [ours, model] {
                assert!(panel.contains(value), "{figure} {value}: {panel}");
            }
            assert_eq!(panel.matches("class=\"solid s").count(), 2, "{figure}: {panel}");
        }
        // Of 400 session samples, 100 were on a processor and 300 waited for reads. The parts of the 2 ms equal the
        // parts that the command prints.
        let split = page.split("<h4>Time of a transaction</h4>").nth(1).unwrap();
        let text = text(&real);
        for (part, ms, share) in [("processor", "0.500", "25.0%"), ("read wait", "1.50", "75.0%")] {
            for found in [part, ms, share] {
                assert!(split.contains(found), "{found}: {split}");
            }
            let row = text.lines().find(|line| line.starts_with(&format!("{part} "))).unwrap();
            assert!(row.contains(share), "{row}");
            // With 1,200 samples in three repeats, the square root of 0.25 x 0.75 / 1,200 is 1.25%.
            assert!(row.contains("± 1.2 points") || row.contains("± 1.3 points"), "{row}");
        }
        // The real run does not record log writes, so there is only one bar, and no bar for zero.
        let panel = page.split("<figure>").find(|part| part.contains("log writes, each")).unwrap();
        let panel = panel.split("</figure>").next().unwrap();
        assert_eq!(panel.matches("class=\"solid s").count(), 1, "{panel}");
        let compared = compare_table(("real", &real), ("model", &simulation), true, &STYLE);
        let row = |name: &str| {
            let mut rows = compared.lines().filter(|line| line.starts_with(name));
            rows.next().unwrap_or_else(|| panic!("{name}: {compared}")).to_owned()
        };
        assert!(row("device share").contains("80.5") && row("device share").contains("17.5"));
        assert!(row("NOPM").contains('–'), "{}", row("NOPM"));
        assert!(compared.contains("B/A"), "{compared}");
    }
    // The two real runs do not have a database.
    assert_eq!(database_text(&simulated("48 users"), &STYLE), None);
    assert_eq!(database_compare_text(&real, &simulated("48 users"), &STYLE), None);
}

#[test]
fn a_database_run_shows_its_device_and_its_warnings() {
    let mut real = three(1.37e6, (440, 290), 0.51);
    real.warnings = vec![Warning::OthersBusy { test: "48 users".to_owned(), used: 1.9, cores: 2 }];
    let table = run_table(&real, &STYLE);
    // There are 4,000 requests in a minute: 3,000 of 8 KiB and 1,000 of 16 KiB.
    let row = table.lines().find(|line| line.starts_with("48 users")).unwrap();
    let words: Vec<&str> = row.split_whitespace().collect();
    assert_eq!(words[2..], ["0.683", "66.7", "402"], "{table}");
    assert!(table.contains("PostgreSQL 17.11, data in /srv/data; fsync on"), "{table}");
    assert!(table.contains("other programs took 1.90 of 2 cores"), "{table}");
    assert!(text(&real).contains("! 48 users: other programs took 1.90 of 2 cores"));
    // If the device is unknown, there are no additional lines.
    real.tests[0].samples.iter_mut().for_each(|sample| sample.evidence = None);
    let test = real.tests[0].clone();
    real.tests[0] = TestResult::new(&real.workload, &test.test, test.samples);
    let table = run_table(&real, &STYLE);
    let row = table.lines().find(|line| line.starts_with("48 users")).unwrap();
    assert_eq!(row, "48 users", "columns without any figure are not shown: {table}");
}

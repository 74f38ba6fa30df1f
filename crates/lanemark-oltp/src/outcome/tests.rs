//! Tests the figures of a repeat.

use lanemark_schema::workload::TransactionProfile;

use super::*;

/// Returns users of one warehouse, without think times.
fn users() -> DatabaseUsers {
    DatabaseUsers {
        profile: TransactionProfile::Tpcc,
        warehouses: 1,
        divisor: 1,
        contents_seed: 1,
        think_times: false,
        pause: Duration::ZERO,
    }
}

/// Returns the warnings about repeats in which other programs used these shares of `cores` processors.
fn about(others: &[Option<f64>], complete: bool, cores: Option<u32>) -> Vec<Warning> {
    let samples = others.iter().map(|&processor_others| {
        RepeatCounts { seconds: 1.0, processor_others, ..RepeatCounts::default() }.sample()
    });
    let second = Duration::from_seconds(1);
    let workload = workload_of(users(), 2, second, second, Bytes::mebi(1), 3);
    let test = TestResult::new(&workload, &workload.tests[0], samples.collect());
    test_warnings(&test, complete, cores)
}

#[test]
fn other_programs_are_reported_in_processors_of_their_busiest_repeat() {
    let found = about(&[Some(0.125), None, Some(0.25)], true, Some(8));
    let [Warning::OthersBusy { test, used, cores }] = &found[..] else { panic!("{found:?}") };
    assert_eq!((test.as_str(), *used, *cores), ("2 users", 2.0, 8));
    for (others, cores) in [(Some(OTHERS), Some(8)), (None, Some(8)), (Some(0.5), None)] {
        assert_eq!(about(&[others; 3], true, cores), []);
    }
}

#[test]
fn few_repeats_of_a_complete_run_are_reported() {
    assert_eq!(about(&[None; 2], true, None), [Warning::FewRepeats { repeats: 2 }]);
    assert_eq!((about(&[None; 3], true, None), about(&[None; 2], false, None)), (vec![], vec![]));
}

fn kind(count: u64, rolled_back: u64) -> TransactionKindFigures {
    TransactionKindFigures { count, rolled_back, ..TransactionKindFigures::default() }
}

fn kinds() -> BTreeMap<TransactionKind, TransactionKindFigures> {
    BTreeMap::from([
        (TransactionKind::NewOrder, kind(60, 2)),
        (TransactionKind::Payment, kind(40, 1)),
        (TransactionKind::OrderStatus, kind(15, 0)),
        (TransactionKind::StockLevel, kind(5, 0)),
    ])
}

fn work() -> DeviceWork {
    DeviceWork {
        device: "vda".to_owned(),
        reads: 360,
        read_bytes: 5_000,
        read_ms: 11,
        writes: 480,
        write_bytes: 6_000,
        write_ms: 13,
        flushes: 7,
        flush_ms: 17,
        busy_ms: 19,
    }
}

#[test]
fn the_figures_of_a_repeat_are_for_each_transaction_and_minute() {
    let counters = DatabaseCounters::from_iter([
        (DatabaseCounter::WalWrites, 240),
        (DatabaseCounter::WalBytes, 1_200_000),
        (DatabaseCounter::WalFlushes, 90),
    ]);
    let counts = || RepeatCounts {
        seconds: 30.0,
        kinds: kinds(),
        device: Some(work()),
        counters: counters.clone(),
        ..RepeatCounts::default()
    };
    let sample = counts().sample();
    assert_eq!(sample.elapsed, Duration::from_seconds(30));
    let found = sample.transactions.unwrap();
    assert_eq!((found.count, found.per_minute), (120, 240.0));
    // Two of the 60 orders were rolled back, as required.
    assert_eq!(found.new_orders_per_minute, Some(116.0));
    assert_eq!((found.page_reads, found.page_writes), (Some(3.0), Some(2.0)));
    assert_eq!((found.log_writes, found.log_bytes), (Some(2.0), Some(10_000.0)));
    assert_eq!(found.log_flushes, Some(0.75));
    assert_eq!(changing_transactions(&kinds()), 58 + 39);
    assert_eq!(found.commits_per_log_write, Some(97.0 / 240.0));
    let device = sample.evidence.unwrap().device.unwrap();
    let ms = |ms: u64| Duration::from_microseconds(1_000 * ms);
    assert_eq!(device.name, "vda");
    assert_eq!([device.reads, device.writes, device.flushes, device.trims], [360, 480, 7, 0]);
    assert_eq!((device.read_bytes, device.written_bytes), (Bytes(5_000), Bytes(6_000)));
    assert_eq!([device.read_time, device.write_time], [ms(11), ms(13)]);
    assert_eq!([device.flush_time, device.busy], [ms(17), ms(19)]);
    assert_eq!(device.elapsed, Duration::from_seconds(30));

    let empty = RepeatCounts { kinds: BTreeMap::new(), seconds: 0.0, ..counts() };
    let found = empty.sample().transactions.unwrap();
    assert_eq!((found.count, found.per_minute), (0, 0.0));
    assert_eq!((found.page_reads, found.page_writes, found.log_bytes), (None, None, None));
    assert_eq!(found.commits_per_log_write, Some(0.0));
    let no_log = DatabaseCounters::from_iter([(DatabaseCounter::WalWrites, 0)]);
    let found = RepeatCounts { counters: no_log, ..counts() }.sample().transactions.unwrap();
    assert_eq!((found.commits_per_log_write, found.log_writes), (None, Some(0.0)));
    assert_eq!(found.page_writes, Some(4.0));
    let found = RepeatCounts { device: None, ..counts() }.sample();
    assert_eq!(found.evidence, None);
    assert_eq!(found.transactions.unwrap().page_writes, None);
}

#[test]
fn a_run_is_complete_if_all_repeats_are() {
    let second = Duration::from_seconds(1);
    let workload = workload_of(users(), 2, second, second, Bytes(PAGE + 1), 2);
    assert_eq!(workload.tests[0].span, Bytes(2 * PAGE));
    assert_eq!(workload.tests[0].name, "2 users");
    let repeat = |complete| Sample {
        complete,
        ..RepeatCounts { seconds: 1.0, ..RepeatCounts::default() }.sample()
    };
    let target = DatabaseTarget {
        product: "SQLite".to_owned(),
        version: None,
        name: String::new(),
        place: None,
        settings: BTreeMap::new(),
        served: None,
    };
    let of = |samples: Vec<Sample>| {
        let run = result(Provenance::default(), target.clone(), workload.clone(), samples);
        (run.tests.len(), run.complete, run.warnings)
    };
    let few = vec![Warning::FewRepeats { repeats: 2 }];
    assert_eq!(of(vec![repeat(true), repeat(true)]), (1, true, few));
    assert_eq!(of(vec![repeat(true)]), (1, false, vec![]));
    assert_eq!(of(vec![repeat(true), repeat(false)]), (1, false, vec![Warning::Interrupted]));
    assert_eq!(of(Vec::new()), (0, false, vec![]));
}

#[test]
fn a_database_is_a_target_with_its_settings_and_its_size() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("shop.db");
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.execute_batch("PRAGMA page_size = 4096; CREATE TABLE letter (text TEXT)").unwrap();
    drop(connection);
    let (found, data) = target(&Database::sqlite(&path)).unwrap();
    // The schema and the table occupy one page each; the cache size is 64 MiB.
    assert_eq!(data, Bytes(8_192));
    assert_eq!(found.settings["cache_over_data"], "8192.00");
    assert_eq!(
        (found.product.as_str(), found.name),
        ("SQLite", format!("sqlite:{}", path.display()))
    );
    assert!(found.version.is_some() && !found.settings.contains_key("version"));
    assert_eq!(found.place, path.canonicalize().ok().map(|path| path.display().to_string()));
}

//! Tests workloads that are derived from measured runs.

use std::collections::BTreeMap;

use lanemark_schema::result::{
    DatabaseCounters, DeviceUse, Evidence, ServerProcessorTime, SessionWaits, TransactionFigures,
};
use lanemark_schema::units::Duration;
use lanemark_schema::workload::{DatabaseUsers, TransactionKind, TransactionProfile};

use super::*;

#[test]
fn the_sums_of_repeats_add_every_value() {
    let device = DeviceUse {
        reads: 3,
        read_time: Duration::from_microseconds(30),
        writes: 5,
        write_time: Duration::from_microseconds(500),
        flushes: 7,
        flush_time: Duration::from_microseconds(7_000),
        ..DeviceUse::default()
    };
    let waits = SessionWaits {
        samples: BTreeMap::from([
            (WaitClass::Read, 2),
            (WaitClass::Write, 4),
            (WaitClass::Log, 8),
            (WaitClass::Lock, 16),
            (WaitClass::Processor, 32),
        ]),
        ..SessionWaits::default()
    };
    let transactions = TransactionFigures {
        count: 11,
        processor_time: Some(ServerProcessorTime {
            server_s: Some(1.5),
            driver_s: Some(0.25),
            sessions: None,
        }),
        waits: Some(waits),
        counters: DatabaseCounters::from_iter([
            (DatabaseCounter::WalBytes, 1_000),
            (DatabaseCounter::WalWrites, 10),
        ]),
        ..TransactionFigures::default()
    };
    let sample = Sample {
        elapsed: Duration::from_seconds(2),
        transactions: Some(transactions),
        evidence: Some(Evidence { device: Some(device), ..Evidence::default() }),
        ..Sample::empty()
    };
    let mut sums = RepeatSums::default();
    for repeat in 1..=3u64 {
        sums.add(&sample).unwrap();
        let times = repeat as f64;
        let near = |sum: f64, each: f64| (sum - times * each).abs() < 1e-9;
        assert_eq!(sums.transactions, 11 * repeat);
        assert_eq!([sums.reads, sums.writes, sums.flushes], [3, 5, 7].map(|one| one * repeat));
        assert!(near(sums.seconds, 2.0) && near(sums.processor_s, 1.75));
        assert!(near(sums.read_s, 30e-6) && near(sums.write_s, 500e-6));
        assert!(near(sums.flush_s, 7e-3), "{}", sums.flush_s);
        assert_eq!((sums.wal_bytes, sums.wal_writes), (Some(1_000 * repeat), Some(10 * repeat)));
        let SampledSessions { all, storage, page_writes, locks, processor } = sums.samples;
        assert_eq!(
            [all, storage, page_writes, locks, processor],
            [62, 14, 4, 16, 32].map(|one| one * repeat)
        );
    }
    // Without the work of the device in each repeat, there is no sum.
    assert!(sums.add(&Sample::empty()).is_none());
}

/// Returns a repeat with 1,000 transactions in ten seconds, half of them with changes to data.
fn repeat(counters: DatabaseCounters, waits: Option<SessionWaits>) -> Sample {
    let device = DeviceUse {
        reads: 2_500,
        read_time: Duration::from_microseconds(500_000),
        writes: 1_500,
        write_time: Duration::from_microseconds(450_000),
        flushes: 250,
        flush_time: Duration::from_microseconds(100_000),
        ..DeviceUse::default()
    };
    let kind =
        |count| lanemark_schema::result::TransactionKindFigures { count, ..Default::default() };
    let transactions = TransactionFigures {
        count: 1_000,
        processor_time: Some(ServerProcessorTime {
            server_s: Some(1.5),
            driver_s: Some(0.5),
            sessions: None,
        }),
        kinds: BTreeMap::from([
            (TransactionKind::Payment, kind(500)),
            (TransactionKind::OrderStatus, kind(500)),
        ]),
        waits,
        counters,
        ..TransactionFigures::default()
    };
    Sample {
        elapsed: Duration::from_seconds(10),
        transactions: Some(transactions),
        evidence: Some(Evidence { device: Some(device), ..Evidence::default() }),
        ..Sample::empty()
    }
}

/// Returns a run of four users on three warehouses at a tenth of the normal scale.
fn run(samples: Vec<Sample>) -> RunResult {
    let users = DatabaseUsers {
        profile: TransactionProfile::Hammerdb,
        warehouses: 3,
        divisor: 10,
        contents_seed: 1,
        think_times: false,
        pause: Duration::ZERO,
    };
    let second = Duration::from_seconds(1);
    let workload = crate::outcome::workload_of(users, 4, second, second, Bytes::mebi(1), 1);
    let target = DatabaseTarget {
        product: "PostgreSQL".to_owned(),
        version: None,
        name: String::new(),
        place: None,
        settings: BTreeMap::new(),
        served: None,
    };
    crate::outcome::result(Default::default(), target, workload, samples)
}

fn logged(bytes: u64, writes: Option<u64>) -> DatabaseCounters {
    let writes = writes.map(|writes| (DatabaseCounter::WalWrites, writes));
    DatabaseCounters::from_iter(std::iter::once((DatabaseCounter::WalBytes, bytes)).chain(writes))
}

fn assert_lines(text: &str, lines: &[&str]) {
    for wanted in lines {
        assert!(text.lines().any(|line| line.starts_with(wanted)), "{wanted} in\n{text}");
    }
}

#[test]
fn the_workload_of_a_run_without_samples_uses_the_time_of_its_device() {
    let text = workload(&run(vec![repeat(logged(1_000_000, Some(400)), None)])).unwrap();
    // 40 ms pass from one transaction of a user to the next. Of these, 2 ms are processor time and 0.85 ms are device
    // time: 2.5 reads that take 200 µs each, and for half of the transactions a write that takes 300 µs and a flush
    // that takes 400 µs.
    assert_lines(
        &text,
        &[
            &format!("{WORKLOAD_MARK} from a run of 4 users: 1000 transactions in 10 s."),
            "# The requests include all requests to the device that stores the data.",
            "elsewhere    = { value = \"37150.0 us\", derived = \"40000 µs from one transaction of a user to the next, \
             minus the processor time, 0 µs of locks and 850 µs of the drive's time for its requests\" }",
            "locks        = { value = 0.0000,",
            "processor    = { value = \"2000.0 us\",",
            "reads        = { value = 2.5000, derived = \"2500 reads from the device during the run\" }",
            "writes       = { value = 1.1000, derived = \"1500 writes to the device during the run, 400 of them to the log\" }",
            "awaited      = { value = 0.0000, derived = \"sessions that waited for a page to be written, divided by the \
             drive's time for a write, 300 µs\" }",
            "share       = { value = \"50.00%\",",
            "record      = { value = \"2000 B\",",
            "write_max   = { value = \"65536 B\",",
            "outstanding = { value = 1, source = \"PostgreSQL: one",
            "flush       = { value = \"after-each-write\", derived = \"250 flushes of the device during the run\" }",
            "area        = { value = \"1073741824 B\",",
            "threads  = 4",
            // The span is 30 MB, rounded up to 8 KiB pages, plus the log.
            "span     = \"1103749120 B\"",
        ],
    );
}

#[test]
fn the_workload_of_a_run_with_samples_uses_the_waits_of_its_sessions() {
    let waits = |write: u64, lock: u64| SessionWaits {
        samples: BTreeMap::from([
            (WaitClass::Read, 200),
            (WaitClass::Write, write),
            (WaitClass::Log, 400 - write),
            (WaitClass::Lock, lock),
            (WaitClass::Processor, 240),
            (WaitClass::Client, 160 - lock),
        ]),
        ..SessionWaits::default()
    };
    let of = |write, lock| {
        let sample = repeat(logged(200_000_000, None), Some(waits(write, lock)));
        workload(&run(vec![sample])).unwrap()
    };
    let text = of(3, 120);
    // Of 1,000 sampled sessions, 600 waited for storage, 120 for locks, and 3 until a page was written.
    assert_lines(
        &text,
        &[
            "elsewhere    = { value = \"9200.0 us\", derived = \"40000 µs from one transaction of a user to the next, \
             minus the processor time, 4800 µs of locks and 24000 µs of waits for data and log, as sessions reported them\" }",
            "locks        = { value = 0.1429,",
            // Without a count of log writes, one is assumed for each transaction that changes data.
            "writes       = { value = 1.0000,",
            "awaited      = { value = 0.4000,",
            "record      = { value = \"400000 B\",",
            "write_max   = { value = \"400384 B\",",
        ],
    );
    assert_lines(
        &of(60, 80),
        &["awaited      = { value = 1.0000,", "locks        = { value = 0.0952,"],
    );
}

#[test]
fn a_run_that_lacks_its_counters_lacks_a_workload() {
    let what = |run: &RunResult| match workload(run) {
        Err(OltpError::Unknown { what }) => what,
        other => panic!("{other:?}"),
    };
    let good = || repeat(logged(1_000_000, Some(400)), None);
    assert!(workload(&run(vec![good(), good()])).unwrap().contains("2000 transactions in 20 s"));
    let mut silent = good();
    silent.transactions.as_mut().unwrap().counters = DatabaseCounters::default();
    assert_eq!(what(&run(vec![silent])), "the number of bytes that it logged");
    let mut reading = good();
    let kinds = &mut reading.transactions.as_mut().unwrap().kinds;
    kinds.remove(&TransactionKind::Payment);
    assert_eq!(what(&run(vec![reading])), "transactions that changed data");
    assert_eq!(what(&run(vec![Sample::empty()])), "the counters of its device and processors");
    assert_eq!(what(&run(Vec::new())), "requests from the users of a database");
    let mut idle = good();
    let device = idle.evidence.as_mut().and_then(|one| one.device.as_mut()).unwrap();
    (device.flushes, device.writes, device.write_time) = (0, 0, Duration::ZERO);
    let text = workload(&run(vec![idle])).unwrap();
    assert_lines(
        &text,
        &[
            "flush       = { value = \"never\",",
            "writes       = { value = 0.0000,",
            "awaited      = { value = 0.0000,",
        ],
    );
    let mut lite = run(vec![good()]);
    let Target::Database(target) = &mut lite.target else { panic!() };
    target.product = "SQLite".to_owned();
    assert_lines(&workload(&lite).unwrap(), &["# SQLite lets one user write at a time"]);
}

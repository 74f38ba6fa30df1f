//! Tests of the rows in an export to Iometer's results file.

use lanemark_schema::result::{Evidence, ProcessorUse};
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{Test, Workload};

use super::*;

fn direction(length: u64, latencies_us: &[u64]) -> Option<DirectionResult> {
    let mut direction = DirectionResult::new();
    for &us in latencies_us {
        direction.record(Bytes(length), Duration::from_microseconds(us));
    }
    Some(direction)
}

fn processors(cores: u32, user: f64, system: f64, interrupts: f64) -> Option<Evidence> {
    let used = ProcessorUse { cores, user, system, interrupts, ..ProcessorUse::default() };
    Some(Evidence { processors: Some(used), ..Evidence::default() })
}

/// Returns a test with two repeats: six reads of 1 MiB and two writes of 512 KiB in four seconds.
fn result() -> TestResult {
    let sample = |reads: &[u64], writes: &[u64], seconds, evidence| Sample {
        elapsed: Duration::from_seconds(seconds),
        reads: direction(1 << 20, reads),
        writes: direction(1 << 19, writes),
        evidence,
        ..Sample::empty()
    };
    let samples = vec![
        sample(&[1_000, 2_000, 3_000], &[500], 1, processors(4, 0.5, 1.0, 0.5)),
        sample(&[1_000, 2_000, 3_000], &[700], 3, processors(8, 0.8, 1.6, 0.8)),
    ];
    let mut test = Test::of_blocks(Bytes(1 << 20)).with(|requests| requests.queue_depth = 7);
    test.name = "a,b".to_owned();
    (test.threads, test.offset, test.span) = (3, Bytes(5 * 512), Bytes(9 * 512));
    TestResult::new(&Workload::of_test("w", "W", test.clone()), &test, samples)
}

/// Returns the cells of a row, each with the name of its column.
fn cells(row: RowKind) -> Vec<(&'static str, String)> {
    let result = result();
    let text = TestFigures::of(&result).row(row);
    let classes = CLASSES.iter().map(|(name, _)| *name);
    let columns: Vec<&str> = COLUMNS.into_iter().chain(classes).collect();
    let cells: Vec<String> = text.split(',').map(str::to_owned).collect();
    assert_eq!(cells.len(), columns.len());
    columns.into_iter().zip(cells).collect()
}

fn assert_cells(row: RowKind, wanted: &[(&str, &str)]) {
    let cells = cells(row);
    for (column, wanted) in wanted {
        let found = cells.iter().find(|(name, _)| name == column).map(|(_, cell)| cell.as_str());
        assert_eq!(found, Some(*wanted), "{column}");
    }
}

#[test]
fn a_row_has_rates_times_and_counts_of_both_directions() {
    let figures = [
        ("Access Specification Name", "a;b"),
        ("# Disks", "1"),
        // There are 8 requests with 7 MiB in 4 s.
        ("IOps", "2.000000"),
        ("Read IOps", "1.500000"),
        ("Write IOps", "0.500000"),
        ("MiBps (Binary)", "1.750000"),
        ("Read MiBps (Binary)", "1.500000"),
        ("Write MiBps (Binary)", "0.250000"),
        ("MBps (Decimal)", "1.835008"),
        ("Read MBps (Decimal)", "1.572864"),
        ("Write MBps (Decimal)", "0.262144"),
        ("Average Response Time", "1.650000"),
        ("Average Read Response Time", "2.000000"),
        ("Average Write Response Time", "0.600000"),
        ("Maximum Response Time", "3.000000"),
        ("Maximum Write Response Time", "0.700000"),
        ("Errors", "0"),
        ("Bytes Read", "6291456"),
        ("Bytes Written", "1048576"),
        ("Read I/Os", "6"),
        ("Write I/Os", "2"),
        ("Connections", "0"),
        ("Transactions per Connection", "1"),
        ("Starting Sector", "5"),
        ("Maximum Size", "9"),
        ("Queue Depth", "7"),
        // The latencies are two writes, then 1, 2 and 3 ms twice each; the upper end of a class belongs to the next
        // class.
        ("0.5 to 1 mS", "2"),
        ("1 to 2 mS", "2"),
        ("2 to 5 mS", "4"),
        ("200 to 500 uS", "0"),
    ];
    for row in [RowKind::All, RowKind::Manager, RowKind::Worker] {
        assert_cells(row, &figures);
    }
}

#[test]
fn the_kinds_of_rows_differ_in_their_names_and_their_processors() {
    // Half of 4 cores and two fifths of 8 cores were used.
    let busy = [
        ("% CPU Utilization", "45.000000"),
        ("% User Time", "11.250000"),
        ("% Privileged Time", "22.500000"),
        ("% DPC Time", "0.000000"),
        ("% Interrupt Time", "11.250000"),
        ("Interrupts per Second", "0.000000"),
    ];
    let raw = [
        ("Total Raw Read Response Time", "12000000"),
        ("Total Raw Write Response Time", "1200000"),
        ("Maximum Raw Read Response Time", "3000000"),
        ("Maximum Raw Write Response Time", "700000"),
        ("Total Raw Run Time", "4000000000"),
    ];
    let none = |names: &[(&'static str, &str)]| -> Vec<(&'static str, &'static str)> {
        names.iter().map(|&(name, _)| (name, "")).collect()
    };
    assert_cells(RowKind::All, &busy);
    assert_cells(RowKind::All, &none(&raw));
    assert_cells(
        RowKind::All,
        &[("'Target Type", "ALL"), ("Target Name", "All"), ("# Managers", "1"), ("# Workers", "3")],
    );
    assert_cells(RowKind::All, &[("Processor Speed", "")]);
    assert_cells(RowKind::Manager, &busy);
    assert_cells(RowKind::Manager, &raw);
    assert_cells(
        RowKind::Manager,
        &[
            ("'Target Type", "MANAGER"),
            ("Target Name", "Lanemark"),
            ("# Managers", ""),
            ("# Workers", "3"),
            ("Processor Speed", "0.000000"),
        ],
    );
    assert_cells(RowKind::Worker, &none(&busy));
    assert_cells(RowKind::Worker, &raw);
    assert_cells(
        RowKind::Worker,
        &[
            ("'Target Type", "WORKER"),
            ("Target Name", "a;b"),
            ("# Managers", ""),
            ("# Workers", ""),
            ("Processor Speed", "0.000000"),
        ],
    );
}

#[test]
fn processors_are_unknown_without_cores() {
    let mut result = result();
    result.samples[1].evidence = processors(0, 0.8, 1.6, 0.8);
    assert_eq!(TestFigures::of(&result).processors(), [50.0, 12.5, 25.0, 0.0, 12.5]);
    result.samples[0].evidence = None;
    assert_eq!(TestFigures::of(&result).processors(), [0.0; 5]);
}

#[test]
fn a_latency_at_the_end_of_a_class_belongs_to_the_next() {
    let of = |ns: u64| {
        let mut one = LatencyHistogram::new();
        one.record(Duration::from_nanoseconds(ns));
        let counts = classes(&one);
        assert_eq!(counts.iter().sum::<u64>(), 1);
        counts.iter().position(|&count| count == 1).unwrap()
    };
    for (class, (_, end)) in CLASSES[..20].iter().enumerate() {
        assert_eq!(of(end * 1_000), class + 1, "{end} us");
        assert_eq!(of(end * 1_000 - 1), class, "below {end} us");
    }
    assert_eq!((of(1), of(11_000_000_000)), (0, 20));
    assert_eq!(cell("a,b\nc d"), "a;b;c d");
}

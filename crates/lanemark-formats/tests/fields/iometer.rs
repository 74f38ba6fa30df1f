//! Tests of every column in Iometer's results file, and of CrystalDiskMark's text.

use lanemark_formats::crystaldiskmark::{self, LineEnd};
use lanemark_formats::iometer;
use lanemark_schema::result::{Sample, TestResult};
use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::{Pattern, Test};

use super::{direction, of_two_repeats};

#[test]
fn every_column_of_iometer_has_its_value() {
    let text = iometer::write(&of_two_repeats());
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| line.matches(',').count() > 10)
        .map(|line| line.split(',').collect())
        .collect();
    let [header, all, manager, worker] = &rows[..] else { panic!("{text}") };
    // There are 42 reads of 4 KiB and 8 writes of 8 KiB in 5 s.
    let mean = (2.0 * 512.0 + 34.0 * 1024.0 + 6.0 * 1_500_000.0) / 42.0;
    let both = (42.0 * mean + 8.0 * 2048.0) / 50.0;
    let (read_bytes, written_bytes) = (172_032.0, 65_536.0);
    let mib = f64::from(1 << 20);
    let numbers = [
        ("# Disks", 1.0),
        ("IOps", 10.0),
        ("Read IOps", 8.4),
        ("Write IOps", 1.6),
        ("MiBps (Binary)", (read_bytes + written_bytes) / mib / 5.0),
        ("Read MiBps (Binary)", read_bytes / mib / 5.0),
        ("Write MiBps (Binary)", written_bytes / mib / 5.0),
        ("MBps (Decimal)", (read_bytes + written_bytes) / 5e6),
        ("Read MBps (Decimal)", read_bytes / 5e6),
        ("Write MBps (Decimal)", written_bytes / 5e6),
        ("Average Response Time", both / 1e6),
        ("Average Read Response Time", mean / 1e6),
        ("Average Write Response Time", 0.002_048),
        ("Maximum Response Time", 1.5),
        ("Maximum Read Response Time", 1.5),
        ("Maximum Write Response Time", 0.002_048),
        ("Bytes Read", read_bytes),
        ("Bytes Written", written_bytes),
        ("Read I/Os", 42.0),
        ("Write I/Os", 8.0),
        ("Transactions per Connection", 1.0),
        ("Maximum Size", f64::from(1 << 21)),
        ("Queue Depth", 4.0),
        ("0 to 50 uS", 44.0),
        ("1 to 2 mS", 6.0),
    ];
    // The values of one manager are means over the repeats, for four processors. Stolen time does not count as used
    // time.
    let processors = [
        ("% CPU Utilization", 100.0 * (0.8 + 0.6) / 4.0),
        ("% User Time", 100.0 * 0.8 / 4.0),
        ("% Privileged Time", 100.0 * 0.4 / 4.0),
        ("% Interrupt Time", 100.0 * 0.2 / 4.0),
    ];
    let raw = [
        ("Total Raw Read Response Time", 42.0 * mean),
        ("Total Raw Write Response Time", 8.0 * 2048.0),
        ("Maximum Raw Read Response Time", 1_500_000.0),
        ("Maximum Raw Write Response Time", 2048.0),
        ("Total Raw Run Time", 5e9),
    ];
    let texts =
        ["'Target Type", "Target Name", "Access Specification Name", "# Managers", "# Workers"];
    let rows = [
        (all, ["ALL", "All", "both", "1", "2"], &processors[..], &[][..]),
        (manager, ["MANAGER", "Lanemark", "both", "", "2"], &processors[..], &raw[..]),
        (worker, ["WORKER", "both", "both", "", ""], &[][..], &raw[..]),
    ];
    for (row, wanted, processors, raw) in rows {
        let mut known: Vec<(&str, f64)> = numbers.to_vec();
        known.extend(processors);
        known.extend(raw);
        for (column, cell) in header.iter().zip(row) {
            if let Some(at) = texts.iter().position(|text| text == column) {
                assert_eq!(*cell, wanted[at], "{column}");
            } else if let Some((_, value)) = known.iter().find(|(name, _)| name == column) {
                let found: f64 = cell.parse().unwrap_or_else(|_| panic!("{column}: {cell}"));
                // Numbers are printed with six decimals.
                assert!(
                    (found - value).abs() <= 1e-6_f64.max(1e-7 * value),
                    "{column}: {found} for {value}"
                );
            } else {
                assert!(cell.is_empty() || cell.parse() == Ok(0.0), "{column}: {cell}");
            }
        }
        assert_eq!(row.len(), header.len());
    }
}

#[test]
fn latencies_fall_in_the_classes_of_iometer() {
    let ends = [
        50,
        100,
        200,
        500,
        1_000,
        2_000,
        5_000,
        10_000,
        15_000,
        20_000,
        30_000,
        50_000,
        100_000,
        200_000,
        500_000,
        1_000_000,
        2_000_000,
        4_700_000,
        5_000_000,
        10_000_000_u64,
    ];
    let mut run = of_two_repeats();
    for (class, end) in ends.into_iter().enumerate() {
        // This latency is far enough from the end of its bucket.
        for (latency, class) in [(end * 998, class), (end * 1002, class + 1)] {
            run.tests[0].samples = vec![Sample {
                elapsed: Duration::from_seconds(1),
                reads: direction(4096, &[(latency, 3)]),
                ..Sample::empty()
            }];
            let text = iometer::write(&run);
            let row = text.lines().find(|line| line.starts_with("ALL")).unwrap();
            let counts: Vec<&str> = row.split(',').skip(59).collect();
            let wanted: Vec<&str> = (0..21).map(|at| if at == class { "3" } else { "0" }).collect();
            assert_eq!(counts, wanted, "{latency} ns");
        }
    }
}

#[test]
fn crystaldiskmark_has_the_median_of_the_repeats() {
    let mut run = of_two_repeats();
    let repeat = |seconds: u64, count: u64, latency: u64| Sample {
        elapsed: Duration::from_seconds(seconds),
        reads: direction(count << 20, &[(latency, count)]),
        ..Sample::empty()
    };
    let repeats = [(1, 100, 2_048_000), (2, 1000, 1_024_000), (1, 300, 4_096_000)]
        .map(|(s, n, ns)| repeat(s, n, ns));
    let test = run.tests[0].test.clone().with(|requests| {
        requests.read_share = Ratio::ONE;
        requests.pattern = Pattern::Sequential;
    });
    let test = Test { block: Bytes::mebi(1), ..test };
    run.tests = vec![TestResult::new(&run.workload, &test, repeats.to_vec())];
    let text = crystaldiskmark::write(&run, LineEnd::Lf);
    let line = text.lines().find(|line| line.contains("IOPS]")).unwrap();
    // The repeats have 100, 500 and 300 requests of 1 MiB a second, and latencies of 2.048, 1.024 and 4.096 ms.
    assert_eq!(line, "  SEQ    1MiB (Q=  4, T= 2):   314.573 MB/s [    300.0 IOPS] <  2048.00 us>");
    assert!(text.contains("[Read]\n") && text.contains("(x3) [/dev/sdx"), "{text}");
}

//! Single lines of the normal output, each with its values or its error.

use super::*;

const MEBI: f64 = 1_048_576.0;
/// The number of bytes in 1,000 requests of 4 KiB.
const BYTES: f64 = 4_096_000.0;

#[test]
fn the_first_line_of_a_direction_has_bytes_time_and_rate() {
    for (text, index, bytes, milliseconds, iops) in [
        (
            "read: IOPS=9999, BW=39.1MiB/s (41.0MB/s)(391MiB/10001msec)",
            0,
            391.0 * MEBI,
            10_001,
            9999.0,
        ),
        (
            "write: IOPS=25.5k, BW=100MiB/s (105MB/s)(2GB/20000msec); 0 zone resets",
            1,
            2e9,
            20_000,
            25_500.0,
        ),
        ("trim: IOPS=1, BW=1MiB/s (1049kB/s)(512KiB/500msec)", 2, 524_288.0, 500, 1.0),
        ("mixed: IOPS=3M, BW=7B/s (7B/s)(7B/1msec)", 3, 7.0, 1, 3e6),
        // Version 2 prints KB of 1024 bytes.
        (
            "read : io=1024.0MB, bw=150208KB/s, iops=37552, runt=  6981msec",
            0,
            1024.0 * MEBI,
            6981,
            37_552.0,
        ),
        ("write: io=4KB, bw=800KB/s, runt=5msec", 1, 4096.0, 5, 0.0),
    ] {
        let Ok(Some((found, figures))) = parse_direction(text) else { panic!("{text}") };
        assert_eq!(found, index, "{text}");
        assert_eq!((figures.bytes, figures.iops), (bytes, iops), "{text}");
        let elapsed = Duration::from_microseconds(1000 * milliseconds);
        assert_eq!(figures.elapsed, elapsed, "{text}");
        assert!(figures.completion.ends.is_none() && figures.whole.ends.is_none());
    }
    for text in [
        "",
        "read",
        "read: nothing",
        "read: io=4KB, bw=800KB/s",
        "cpu          : usr=1.00%, sys=2.00%",
        "reads: IOPS=1, BW=1MiB/s (1MB/s)(1MiB/1msec)",
    ] {
        assert!(matches!(parse_direction(text), Ok(None)), "{text}");
    }
    for text in [
        "read: IOPS=x, BW=1MiB/s (1MB/s)(1MiB/1msec)",
        "read: IOPS=1, BW=1MiB/s 1MiB/1msec",
        "read: IOPS=1, BW=1MiB/s (1MB/s)(1MiB)",
        "read: IOPS=1, BW=1MiB/s (1MB/s)(1QiB/1msec)",
        "read: IOPS=1, BW=1MiB/s (1MB/s)(1MiB/1sec)",
        "read: IOPS=1, BW=1MiB/s (1MB/s)(1MiB/msec)",
        "write: io=1X, runt=5msec",
    ] {
        let error = parse_direction(text).map(|_| ()).unwrap_err();
        assert_eq!(error, format!("`{text}` does not contain the figures of a direction"));
    }
}

#[test]
fn latencies_of_every_unit_are_in_nanoseconds() {
    use LatencyKind::{Completion, Flush, Submission, Whole};
    for (text, kind, wanted) in [
        ("clat (usec): min=60, max=900, avg=95.5, stdev=20.00", Completion, (60e3, 900e3, 95.5e3)),
        (" lat (msec): min=1, max=2k, avg=1.5, stdev=20.00", Whole, (1e6, 2e9, 1.5e6)),
        ("slat (nsec): min=7, max=9, avg=8.5, stdev=20.00", Submission, (7.0, 9.0, 8.5)),
        ("sync (sec): min=0.5, max=2, avg=1, stdev=20.00", Flush, (5e8, 2e9, 1e9)),
    ] {
        let text = text.trim_start();
        assert!(parse_latency_extremes(text) == Ok(Some((kind, wanted))), "{text}");
    }
    for text in [
        "lat (usec)   : 100=0.50%, 250=99.50%",
        "bw (KiB/s): min=1, max=3, avg=2",
        "clat (min): min=1, max=3, avg=2",
        "clat percentiles (usec):",
        "iops        : min=1, max=3, avg=2",
    ] {
        assert!(parse_latency_extremes(text) == Ok(None), "{text}");
    }
    for text in ["clat (usec): min=1, max=3", "clat (usec): min=1, avg=3"] {
        assert!(
            parse_latency_extremes(text) == Err(format!("`{text}` does not contain latencies")),
            "{text}"
        );
    }
    for (text, wanted) in [
        ("clat percentiles (usec):", Some((Completion, 1e3))),
        ("lat percentiles (nsec):", Some((Whole, 1.0))),
        ("sync percentiles (msec):", Some((Flush, 1e6))),
        ("slat percentiles (sec):", Some((Submission, 1e9))),
        ("clat percent (usec):", None),
        ("clat percentiles:", None),
        ("clat percentiles (days):", None),
    ] {
        assert!(percentiles_head(text) == wanted, "{text}");
    }
}

#[test]
fn a_line_of_percentiles_has_each_percentile_with_its_latency() {
    for (list, unit, wanted) in [
        ("  1.00th=[   70], 50.00th=[   92],", 1e3, Ok(vec![(1.0, 70e3), (50.0, 92e3)])),
        (" 99.50th=[>=2000]", 1e6, Ok(vec![(99.5, 2e9)])),
        (" 30.00th=[7", 1.0, Ok(vec![(30.0, 7.0)])),
        ("", 1.0, Ok(vec![])),
        (" 50.00th=[x]", 1.0, Err("` 50.00th=[x` is not a percentile".to_owned())),
        ("xth=[5]", 1.0, Err("`xth=[5` is not a percentile".to_owned())),
    ] {
        assert_eq!(percentiles(list, unit), wanted, "{list}");
    }
    for (text, wanted) in [
        (" rwts: total=1,2", None),
        (" rwts: total=1,2,3", Some([1.0, 2.0, 3.0, 0.0])),
        (" rwts: total=1,2,3,4,5 short=0", Some([1.0, 2.0, 3.0, 4.0])),
        ("    : total=r=10/w=2/d=0, short=r=0", Some([10.0, 2.0, 0.0, 0.0])),
        (" rwts: total=", None),
        (" rwts: sum=1,2,3,4", None),
    ] {
        assert_eq!(parse_issued_counts(text), wanted, "{text}");
    }
}

#[test]
fn the_first_line_of_an_entry_has_its_group_jobs_error_and_date() {
    for (line, name, numbers, date) in [
        (
            "a: (groupid=0, jobs=1): err= 0: pid=1: Mon Jul  3 22:30:33 2023",
            "a",
            (0, 1, 0),
            "Mon Jul  3 22:30:33 2023",
        ),
        (
            "b c: (groupid=7, jobs=12): err=28 (file:filesetup.c:1): pid=3: Tue",
            "b c",
            (7, 12, 28),
            "Tue",
        ),
        ("d: (groupid=1, jobs=2): err= 5", "d", (1, 2, 5), ""),
    ] {
        let found = entry(line, 9).unwrap();
        assert_eq!((found.name.as_str(), found.date.as_str(), found.line), (name, date, 9));
        assert_eq!((found.group, found.jobs, found.errno), numbers, "{line}");
        assert!(is_ours(&format!("first\n{line}\n")));
    }
    for line in [
        "a: (g=0): rw=randread, bs=(R) 4096B-4096B, ioengine=libaio, iodepth=32",
        "a: (groupid=x, jobs=1): err= 0: pid=1: now",
        "a: (groupid=0, jobs=0): err= 0: pid=1: now",
        "a: (groupid=0, jobs=1: err= 0: pid=1: now",
        "a: (groupid=0, jobs=1): pid=1: now",
        "a: (groupid=0, jobs=1): err= x: pid=1: now",
    ] {
        assert!(entry(line, 1).is_none() && !is_ours(line), "{line}");
    }
    for (line, wanted) in
        [("fio-3.33", true), ("fio-2", true), ("fio-", false), ("fio-x3", false), ("3.33", false)]
    {
        assert_eq!(is_version(line), wanted, "{line}");
    }
}

#[test]
fn requests_are_counted_from_the_best_of_three_sources() {
    let side = |bytes: f64, iops: f64| DirectionFigures {
        bytes,
        elapsed: Duration::from_seconds(10),
        iops,
        ..DirectionFigures::default()
    };
    for (bytes, iops, issued, block, wanted) in [
        (BYTES, 100.0, Some(1000.0), Some(4096.0), (BYTES, 1000.0)),
        // Rounding explains a difference of up to 2% of the size.
        (BYTES, 100.0, Some(1020.0), Some(4096.0), (4_177_920.0, 1020.0)),
        (BYTES, 100.0, Some(980.0), Some(4096.0), (4_014_080.0, 980.0)),
        (BYTES, 100.0, Some(1021.0), Some(4096.0), (BYTES, 1000.0)),
        (BYTES, 100.0, Some(979.0), Some(4096.0), (BYTES, 1000.0)),
        (BYTES, 100.0, Some(0.0), Some(4096.0), (BYTES, 1000.0)),
        (BYTES, 100.0, None, Some(8192.0), (BYTES, 500.0)),
        (BYTES, 100.0, None, Some(1e9), (BYTES, 1.0)),
        // If the request size is not known, rounding explains up to 2% of the rate.
        (BYTES, 100.0, Some(1020.0), None, (BYTES, 1020.0)),
        (BYTES, 100.0, Some(1021.0), None, (BYTES, 1000.0)),
        (BYTES, 0.0, Some(1021.0), None, (BYTES, 1021.0)),
        (BYTES, 100.0, None, Some(0.0), (BYTES, 1000.0)),
        (BYTES, 0.0, None, None, (BYTES, 1.0)),
        (0.0, 0.0, None, None, (0.0, 0.0)),
    ] {
        let found = side(bytes, iops).counts(issued, block);
        assert_eq!(found, wanted, "{bytes} B, {iops} a second, {issued:?} of {block:?}");
    }
}

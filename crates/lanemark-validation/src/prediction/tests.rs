//! Tests predictions of rows.

use lanemark_schema::result::PercentileInterval;
use lanemark_schema::units::Bytes;

use super::*;

/// Returns a row of random reads with these values in addition to, or instead of, the usual ones.
fn row(more: &[(&str, &str)]) -> CorpusRow {
    let usual = [
        ("drive", "Invented 1 TB"),
        ("drive_kind", "nvme-ssd"),
        ("target", "device"),
        ("pattern", "random"),
        ("read_percent", "100"),
        ("queue_depth", "1"),
        ("figure", "iops"),
    ];
    CorpusRow::from_columns(&[&usual[..], more].concat())
}

#[test]
fn a_latency_has_the_inverse_interval_and_a_percentile_its_own() {
    let percentiles =
        [99.0].map(|percentile| PercentileInterval { percentile, low_ratio: 0.9, high_ratio: 3.0 });
    let percentiles = percentiles.to_vec();
    let interval =
        PredictionInterval { low_ratio: 0.5, high_ratio: 1.25, widest: None, percentiles };
    for figure in FIGURES {
        let expected = match figure {
            "latency_p99" => Some((0.9, 3.0)),
            "latency_p99.9" => None,
            "latency_mean" | "latency_p50" => Some((0.8, 2.0)),
            _ => Some((0.5, 1.25)),
        };
        assert_eq!(interval_ends(figure, &interval), expected, "{figure}");
    }
}

#[test]
fn each_figure_is_in_the_unit_of_its_row() {
    let mut sample = Sample::empty();
    sample.elapsed = Duration::from_seconds(2);
    // There are 2,000 reads of 4 KiB, which take from 1 to 2,000 µs, and 500 writes of 8 KiB.
    let mut reads = DirectionResult::new();
    (1..=2_000).for_each(|us| reads.record(Bytes(4_096), Duration::from_microseconds(us)));
    let mut writes = DirectionResult::new();
    (0..500).for_each(|_| writes.record(Bytes(8_192), Duration::from_microseconds(9_000)));
    (sample.reads, sample.writes) = (Some(reads), Some(writes));
    for (name, wanted) in [
        ("iops", 1_250.0),
        ("read_iops", 1_000.0),
        ("write_iops", 250.0),
        ("throughput", 6.144),
        ("read_throughput", 4.096),
        ("write_throughput", 2.048),
        ("latency_mean", 1_000.5),
        ("latency_p50", 1_000.0),
        ("latency_p99", 1_980.0),
        ("latency_p99.9", 1_998.0),
    ] {
        let found = figure(&row(&[("figure", name)]), &sample).unwrap();
        assert!((found / wanted - 1.0).abs() < 2e-3, "{name}: {found}, expected {wanted}");
    }
    assert_eq!(figure(&row(&[]), &Sample::empty()).filter(|rate| *rate > 0.0), None);
}

/// Only writes change the drive, so only they are preceded by more than one round of uncounted requests.
#[test]
fn the_ramp_is_a_round_of_reads_two_of_writes_and_enough_to_fill_a_cache() {
    let library = Library::built_in();
    let system = assemble(&library, "samsung-950-pro-512gb@workstation-z170:m2", &[]).unwrap();
    // Each case is the kind of drive, the share of reads, depth and threads, the class, and the number of requests in
    // the ramp.
    for (kind, reads, depth, threads, class, wanted) in [
        ("nvme-ssd", 100, 1, 1, "one-at-a-time", 1.0),
        ("nvme-ssd", 100, 64, 4, "saturated", 256.0),
        ("nvme-ssd", 100, 1024, 4, "saturated", 2000.0),
        ("nvme-ssd", 0, 4, 1, "writes-fresh", 8.0),
        ("nvme-ssd", 99, 8, 2, "mix", 32.0),
        ("hdd", 0, 4, 1, "hard-disk", 64e6 / 4096.0 + 8.0),
        ("hdd", 100, 4, 1, "hard-disk", 4.0),
    ] {
        let [reads, depths, count] = [reads, depth, threads].map(|number| number.to_string());
        let values = [("drive_kind", kind), ("read_percent", &*reads), ("queue_depth", &*depths)];
        let others = [("threads", &*count), ("span_bytes", "8000000000"), ("class", class)];
        let row = row(&[values, others].concat());
        let case = PredictionCase::prepare(&library, &row, None, Path::new("")).unwrap();
        let test = case.timed(&system, false);
        let rate = case.baselines.rule_rate().max(1.0);
        let requests = test.ramp.as_seconds() * rate;
        assert!((requests / wanted - 1.0).abs() < 1e-3, "{kind} {class}: {requests}");
        let counted = test.duration.unwrap().as_seconds() * rate;
        let least = 3_000.0_f64.max(6.0 * f64::from(depth * threads));
        assert!((counted / least - 1.0).abs() < 1e-3, "{kind} {class}: {counted}");
    }
}

#[test]
fn the_drives_of_a_row_are_a_volume_at_ports_of_one_platform() {
    let library = Library::built_in();
    let folder = tempfile::tempdir().unwrap();
    for (path, drives, volume, ports) in [
        ("PCIe 3.0 x4", "1", "", "p0"),
        ("PCIe 3.0 x4", "2", "stripe-64KiB:", "p0+p1"),
        ("PCIe 3.0 x4, RAID 0", "3", "stripe-64KiB:", "p0+p1+p2"),
        ("PCIe 3.0 x4, RAID 1", "2", "mirror:", "p0+p1"),
        ("PCIe 3.0 x4, ZFS mirror", "2", "mirror:", "p0+p1"),
        ("PCIe 3.0 x4, mirror of one", "1", "", "p0"),
    ] {
        let row = row(&[("drives", drives), ("path", path), ("os", "Linux")]);
        let case = PredictionCase::prepare(&library, &row, None, folder.path()).unwrap();
        let file = |name: &str| folder.path().join(name).display().to_string();
        let drive = file("drive.toml");
        let platform = file("platform.toml");
        let name = case.named().unwrap();
        assert_eq!(name, format!("{volume}{drive}@{platform},linux-block:{ports}"));
        assert!(case.assembled(&name, &[]).is_ok(), "{name}");
        let count = drives.parse::<f64>().unwrap();
        assert_eq!((case.size(), case.block()), (1e12 * count, 4096.0));
    }
}

#[test]
fn a_drive_is_in_the_state_of_its_row() {
    let library = Library::built_in();
    let text = |more: &[(&str, &str)]| {
        let row = row(&[&[("read_percent", "0")][..], more].concat());
        let case = PredictionCase::prepare(&library, &row, None, Path::new("")).unwrap();
        (case.drive_text(), case.is_sustained())
    };
    let (plain, is_sustained) = text(&[]);
    assert!(plain.ends_with("[rated]\n") && !is_sustained, "{plain}");
    for (values, state, is_sustained) in [
        (("class", "writes-steady"), "condition = \"random\"\n", true),
        (("class", "writes-sustained"), "", true),
        (("state", "preconditioned"), "condition = \"sequential\"\nfilled = \"100%\"\n", false),
        (("tool", "resctl-bench"), "condition = \"sequential\"\nfilled = \"50%\"\n", false),
    ] {
        let head = if state.is_empty() { "" } else { "[state]\n" };
        assert_eq!(text(&[values]), (format!("{plain}{head}{state}"), is_sustained));
    }
}

#[test]
fn a_test_in_the_cache_lasts_for_a_fifth_of_it_at_the_rated_speed() {
    let row = row(&[
        ("read_percent", "0"),
        ("pattern", "sequential"),
        ("queue_depth", "32"),
        ("span_bytes", "1000000000000"),
        ("state", "fresh"),
        ("figure", "throughput"),
        ("class", "writes-sustained"),
    ]);
    let rated = CorpusRow::from_columns(&[("seq_read_mb_s", "2000"), ("seq_write_mb_s", "1000")]);
    let library = Library::built_in();
    let case = PredictionCase::prepare(&library, &row, Some(&rated), Path::new("")).unwrap();
    // A fifth of 50 GB takes 10 s at 1,000 MB/s.
    let duration = case.test_in_cache(50e9).duration.unwrap().as_seconds();
    assert!((duration / 10.0 - 1.0).abs() < 0.01, "{duration} s");
    assert_eq!(time_in_cache(0.0, 1e9), seconds(0.0));
}

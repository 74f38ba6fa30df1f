//! Programs that print one table: every figure in its unit, and no setting that the table does not state.

use super::*;
use lanemark_schema::result::RatePhase;

fn direct(result: &RunResult) -> Option<bool> {
    let Target::Measured(target) = &result.target else { panic!() };
    target.direct
}

#[test]
fn kbench_has_a_rate_of_each_direction_and_names_its_latencies() {
    let own = result(sample("kbench.txt"));
    assert_eq!(own.tests.len(), 8);
    let one = test(&own, "RND4K read");
    assert_eq!(figures(one), (98_304.0 * 4096.0, 98_304.0, 0.0));
    assert_eq!((one.test.queue_depth(), one.test.span), (None, Bytes::mebi(20 << 10)));
    assert_eq!(test(&own, "SEQ128K write").throughput_bytes_per_second.value, 1_280_000.0 * 1024.0);
    assert_eq!(test(&own, "SEQ128K write").test.pattern(), Some(&Pattern::Sequential));
    let noted = |warning: &Warning| matches!(warning, Warning::Imported { note } if note.contains("RND read 91.5 µs"));
    assert!(own.warnings.iter().any(noted), "{:?}", own.warnings);
}

#[test]
fn a_comparison_of_kbench_is_one_result_per_volume() {
    let runs = foreign::read(include_str!("kbench-two.txt"), "it.txt").unwrap();
    let all = foreign::results(runs, &SuppliedSettings::default()).unwrap();
    let rate = |result: &RunResult| test(result, "RND4K write").iops.value;
    let rates: Vec<(String, f64)> =
        all.iter().map(|one| (one.result.target_name(), rate(&one.result))).collect();
    assert_eq!(rates, [("plain".to_owned(), 20_480.0), ("replicated".to_owned(), 4_096.0)]);
}

#[test]
fn pg_test_fsync_has_a_test_for_each_available_method() {
    let own = result(sample("pg-test-fsync.txt"));
    assert_eq!(own.tests.len(), 10);
    let one = test(&own, "8K write, fdatasync");
    assert_eq!(figures(one), ((1250.2_f64 * 8192.0).floor(), 1250.2, 800.0));
    assert_eq!(one.test.duration, Some(Duration::from_seconds(5)));
    assert_eq!((one.test.queue_depth(), one.test.pattern()), (Some(1), None));
    let two = test(&own, "2 x 8K writes, fdatasync");
    assert_eq!(figures(two), (1200.0 * 16_384.0, 1200.0, 833.0));
    assert_eq!(test(&own, "2 * 8kB open_sync writes").test.block, Bytes(16_384));
    assert_eq!(test(&own, "8K write, not flushed").iops.value, 250_000.0);
    // Old versions do not print the mean time.
    let old = result(&sample("pg-test-fsync.txt").replace("usecs/op", ""));
    assert_eq!(reads_or_writes(test(&old, "8K write, fsync")), LatencyDetail::Count);
}

fn reads_or_writes(test: &TestResult) -> LatencyDetail {
    let one = single_sample(test);
    one.reads.as_ref().or(one.writes.as_ref()).unwrap().latency.detail()
}

#[test]
fn elbencho_is_read_from_the_column_of_the_last_thread() {
    let own = result(sample("elbencho.txt"));
    let one = test(&own, "write");
    // 8 GiB in requests of 64 KiB.
    assert_eq!(
        (one.iops.value, single_sample(one).elapsed),
        (13_107.2, Duration::from_seconds(10))
    );
    assert_eq!(one.latency_mean_ns.value, 2_440_000.0);
    assert_eq!(one.latency().percentile_ns(99.0), Some(8_192_000));
    assert_eq!((one.test.threads, one.test.issue_depth()), (4, 8));
    assert_eq!((one.test.pattern(), direct(&own)), (Some(&Pattern::Uniform), Some(true)));
    let read = test(&own, "read");
    assert_eq!(single_sample(read).elapsed, Duration::from_microseconds(62_500_000));
    assert_eq!(reads_or_writes(read), LatencyDetail::Mean);
    assert_eq!(own.tests.len(), 2);
    // Without the command line, the settings are not known, and the size follows from the rates.
    let bare = sample("elbencho.txt").replace("COMMAND LINE: \"elbencho\"", "");
    let bare = result(&bare);
    let one = test(&bare, "write");
    assert_eq!((one.test.block, one.test.queue_depth()), (Bytes::kibi(64), None));
    assert_eq!((one.test.pattern(), direct(&bare)), (None, None));
    // A phase of small files lacks a rate of requests.
    let files = sample("elbencho.txt")
        .replace("IOPS             :       13200       13107", "Files total : 5 16");
    assert_eq!(single_sample(test(&result(&files), "write")).operations(), 16);
}

#[test]
fn spdk_perf_has_the_direction_of_its_command_line() {
    let own = result(sample("spdk-perf.txt"));
    let one = &own.tests[0];
    assert_eq!(own.tests.len(), 1, "the sum repeats the only device");
    assert_eq!(figures(one), (512_000.0 * 4096.0, 512_000.0, 62.5));
    assert_eq!(one.latency().percentile_ns(99.0), Some(134_144));
    assert_eq!((one.latency().min_ns(), one.latency().max_ns()), (Some(8_250), Some(1_250_750)));
    assert_eq!((one.test.issue_depth(), one.test.duration), (32, Some(Duration::from_seconds(20))));
    assert_eq!(own.target_name(), "PCIE (0000:5e:00.0) NSID 1");
    let bare = result(&sample("spdk-perf.txt").replace("spdk_nvme_perf", "other"));
    let one = &bare.tests[0];
    assert!(single_sample(one).unified.is_some() && one.test.queue_depth().is_none());
    let says = |warning: &Warning| matches!(warning, Warning::Imported { note } if note.contains("read or wrote"));
    assert!(bare.warnings.iter().any(says), "{:?}", bare.warnings);
    let row = sample("spdk-perf.txt").lines().find(|line| line.starts_with("PCIE")).unwrap();
    let two = sample("spdk-perf.txt").replace(row, &format!("{row}\n{}", row.replace("5e", "5f")));
    let names: Vec<String> = result(&two).tests.iter().map(|test| test.test.name.clone()).collect();
    assert_eq!(names.len(), 3);
    assert_eq!(names[2], "Total");
}

#[test]
fn averaged_logs_of_one_job_are_one_result() {
    let all = [
        ("a/m_iops.1.log", "500, 2000, 0, 0, 0\n500, 100, 1, 0, 0\n1001, 1000, 0, 0, 0\n"),
        ("a/m_bw.1.log", "500, 8000, 0, 0, 0\n501, 400, 1, 0, 0\n1000, 4000, 0, 0, 0\n"),
        ("a/m_lat.1.log", "501, 300000, 0, 0, 0\n501, 90000, 1, 0, 0\n1001, 600000, 0, 0, 0\n"),
        ("a/m_slat.1.log", ""),
        ("a/m_clat.1.log", "501, 1, 0, 0, 0\n501, 1, 1, 0, 0\n1001, 1, 0, 0, 0\n"),
        ("b/m_iops.1.log", "500, 10, 0, 4096, 0\n1000, 10, 0, 4096, 0\n"),
    ];
    let read = |of: &[(&str, &str)]| {
        let runs = of.iter().flat_map(|(file, text)| foreign::read(text, file).unwrap()).collect();
        foreign::results(runs, &SuppliedSettings::default()).map_err(|error| error.to_string())
    };
    let results = read(&all).unwrap();
    assert_eq!(results.len(), 2, "the log in another folder is of another job");
    let files = ["a/m_iops.1.log", "a/m_bw.1.log", "a/m_lat.1.log"];
    assert_eq!(results[0].files, files);
    let one = &results[0].result.tests[0];
    let sample = single_sample(one);
    let reads = sample.reads.as_ref().unwrap();
    let points = &sample.series.as_ref().unwrap().points;
    // 0.5 s with 2,000 and 0.501 s with 1,000 reads a second.
    assert_eq!((reads.latency.count(), reads.bytes), (1501, Bytes(6_148_096)));
    assert_eq!(sample.writes.as_ref().unwrap().latency.count(), 50);
    let mean = (1000.0 * 3e5 + 501.0 * 6e5) / 1501.0;
    assert!((reads.latency.mean_ns() - mean).abs() < 1.0, "{}", reads.latency.mean_ns());
    assert_eq!(reads.latency.detail(), LatencyDetail::Mean);
    assert_eq!(points.iter().map(|point| point.reads).collect::<Vec<_>>(), [1000, 501]);
    assert!((points[1].latency_mean_ns - 6e5).abs() < 1.0);
    assert!(log("\n", "m_slat.1.log").unwrap_err().contains("is empty"));
    assert!(log("", "result.json").unwrap_err().contains("is empty"));
    // One kind of rate determines either the requests or the bytes.
    for part in [&all[..1], &all[1..2], &all[2..3]] {
        let error = read(part).unwrap_err();
        assert!(error.contains(part[0].0) && error.contains("log_avg_msec"), "{error}");
    }
}

fn log(text: &str, file: &str) -> Result<TestResult, String> {
    let runs = foreign::read(text, file).map_err(|error| error.to_string())?;
    let mut all =
        foreign::results(runs, &SuppliedSettings::default()).map_err(|e| e.to_string())?;
    Ok(all.remove(0).result.tests.remove(0))
}

#[test]
fn a_log_of_rates_has_its_mean_and_its_series() {
    let one = log(sample("fio_bw.1.log"), "fio_bw.1.log").unwrap();
    assert_eq!(one.throughput_bytes_per_second.value, 563_200.0 * 1024.0);
    let series = single_sample(&one).series.as_ref().unwrap();
    assert_eq!((series.points.len(), series.interval), (6, Duration::from_microseconds(500_000)));
    assert_eq!(
        (series.throughput(0), series.throughput(5)),
        (1_024_000.0 * 1024.0, 102_400.0 * 1024.0)
    );
    // The rate falls after half the time; the log does not state why.
    let half = RatePhase { until: series.elapsed(), iops: 800.0, ended_by: None };
    let fast = RatePhase { until: Duration::from_microseconds(1_500_000), iops: 8000.0, ..half };
    assert_eq!(single_sample(&one).phases, [fast, half]);
    let without_step = sample("fio_bw.1.log").replace("102400,", "902400,");
    let one = log(&without_step, "fio_bw.1.log").unwrap();
    assert!(single_sample(&one).phases.is_empty());
    let iops = "1000, 50, 0, 4096, 0\n2000, 30, 0, 4096, 0\n2000, 20, 1, 4096, 0\n";
    let one = log(iops, "a/x_iops.2.log").unwrap();
    assert_eq!(figures(&one), (60.0 * 4096.0, 60.0, 0.0));
    assert_eq!(single_sample(&one).writes.as_ref().unwrap().latency.count(), 40);
}

#[test]
fn a_log_of_latencies_has_each_request() {
    let text = "1, 400000, 0, 4096, 0\n1, 600000, 0, 4096, 8192\n3, 800000, 1, 8192, 0, 0\n4, 900000, 0, 4096, 0\n";
    let one = log(text, "r_clat.1.log").unwrap();
    let sample = single_sample(&one);
    assert_eq!(sample.elapsed, Duration::from_microseconds(4000));
    let reads = sample.reads.as_ref().unwrap();
    assert_eq!((reads.bytes, reads.latency.count()), (Bytes(12_288), 3));
    assert!((reads.latency.mean_ns() - 1.9e6 / 3.0).abs() < 1.0);
    assert_eq!(sample.writes.as_ref().unwrap().latency.max_ns(), Some(800_000));
    // Means over intervals do not state the number of requests.
    let means = text.replace("8192, 0, 0", "0, 0, 0");
    assert!(log(&means, "r_lat.log").unwrap_err().contains("log_avg_msec"));
    let regular = "500, 400000, 0, 4096\n1001, 600000, 0, 4096\n1500, 600000, 0, 4096\n";
    assert!(log(regular, "r_lat.log").unwrap_err().contains("log_avg_msec"));
    let slow = regular.replace("1001", "1100");
    assert_eq!(log(&slow, "r_lat.log").unwrap().latency().count(), 3);
    // Lines of four fields are from fio 2, in µs.
    assert!(log(text, "r_slat.1.log").unwrap_err().contains("submission"));
    let old = log("1, 110, 0, 4096\n2, 130, 0, 4096\n", "r_lat.log").unwrap();
    assert!((old.latency().mean_ns() - 120_000.0).abs() < 200.0);
    assert!(log(text, "renamed.txt").unwrap_err().contains("neither `bw`"));
    // A log of rates without averaging has a line per request, at any rate.
    let waiting = "0, 409600, 1, 4096, 0\n2, 409600, 1, 4096, 0\n4, 409600, 1, 4096, 0\n";
    assert_eq!(log(waiting, "r_bw.1.log").unwrap().iops.value, 750.0);
    let each =
        "1, 4000, 0, 4096, 0\n2, 4000, 0, 4096, 0\n3, 4000, 0, 4096, 0\n4, 4000, 0, 4096, 0\n";
    assert_eq!(log(each, "r_bw.1.log").unwrap().iops.value, 1000.0);
}

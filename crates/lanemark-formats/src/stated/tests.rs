//! Tests of results that state only totals and means.

use super::*;

fn direction_of(bytes: u64, count: u64) -> Option<DirectionResult> {
    let latency = LatencyHistogram::from_mean(count, 5_000.0, None, None);
    Some(DirectionResult { bytes: Bytes(bytes), latency })
}

fn stated(reads: Option<DirectionResult>, writes: Option<DirectionResult>) -> ReportedTest {
    let elapsed = Duration::from_seconds(2);
    ReportedTest::new("t", Sample { elapsed, reads, writes, ..Sample::empty() })
}

#[test]
fn a_stated_size_that_the_counts_contradict_is_reported() {
    let of = |block: Option<u64>, bytes: u64, count: u64| {
        let mut test = stated(None, direction_of(bytes, count));
        test.block = block.map(Bytes);
        test.size_contradiction()
    };
    assert_eq!(of(Some(4_000), 407_900, 100), None, "less than two per cent");
    assert_eq!(of(Some(4_000), 392_100, 100), None);
    let found = of(Some(4_000), 412_000, 100).unwrap();
    let wanted =
        format!("the settings request {} per write, but 4120 B were counted", Bytes(4_000));
    assert_eq!(found, wanted);
    assert!(of(Some(4_000), 391_900, 100).is_some());
    assert_eq!(of(Some(4_000), 800_000, 99), None, "too few requests");
    assert_eq!(of(None, 800_000, 100), None);
}

#[test]
fn a_test_has_its_stated_settings_or_its_counted_ones() {
    let supplied =
        SuppliedSettings { span: None, pattern: Some(Pattern::Sequential), queue_depth: Some(9) };
    let size = Bytes::mebi(64);
    let counted = stated(direction_of(30 * 8_000, 30), direction_of(10 * 9_000, 10));
    let test = counted.test(size, &supplied);
    // 330,000 bytes in 40 requests are 8,250 bytes per request, which is 8,192 bytes in whole sectors.
    assert_eq!((test.block, test.read_share().unwrap()), (Bytes(8_192), Ratio::new(0.75).unwrap()));
    assert_eq!((test.threads, test.issue_depth(), test.span), (1, 9, size));
    assert_eq!((test.pattern(), test.volume), (Some(&Pattern::Sequential), Some(Bytes(1 << 20))));
    let whole = ReportedTest {
        pattern: Some(Pattern::Uniform),
        block: Some(Bytes::kibi(16)),
        read_share: Ratio::new(0.3),
        threads: Some(5),
        queue_depth: Some(7),
        span: Some(Bytes::kibi(20)),
        duration: Some(Duration::from_seconds(11)),
        ..counted.clone()
    };
    let test = whole.test(size, &supplied);
    assert_eq!(
        (test.block, test.read_share().unwrap()),
        (Bytes::kibi(16), Ratio::new(0.3).unwrap())
    );
    assert_eq!((test.threads, test.issue_depth()), (5, 7));
    // Each thread has room for one request.
    assert_eq!((test.pattern(), test.span), (Some(&Pattern::Uniform), Bytes::kibi(80)));
    assert_eq!((test.volume, test.duration), (None, Some(Duration::from_seconds(11))));
    let odd = ReportedTest { block: Some(Bytes(5_000)), ..counted };
    assert_eq!(odd.test(size, &supplied).block, Bytes(5_120));
    assert_eq!(stated(None, None).test(size, &supplied).block, Bytes(4_096));
    let mut both = stated(None, None);
    both.sample.unified = direction_of(10 * 4_096, 10);
    assert_eq!(both.test(size, &supplied).read_share().unwrap(), Ratio::HALF);
}

#[test]
fn figures_are_bounded_on_both_sides() {
    let unmeasured = |count| LatencyHistogram::unmeasured(count);
    let count = |bytes, count| {
        let found = direction(bytes, count, unmeasured).ok()?;
        Some(found.map(|one| (one.bytes.get(), one.latency.count())))
    };
    assert_eq!(count(8_192.4, 2.6), Some(Some((8_192, 3))));
    assert_eq!(count(0.0, 0.4), Some(None));
    assert!(count(BYTES_MAX, COUNT_MAX).is_some());
    for (bytes, requests) in
        [(-1.0, 1.0), (1.0, -1.0), (BYTES_MAX * 1.1, 1.0), (1.0, COUNT_MAX * 1.1), (f64::NAN, 1.0)]
    {
        assert_eq!(count(bytes, requests), None, "{bytes} {requests}");
    }
    assert_eq!(time(2_500.0, 1e-3), Ok(Duration::from_microseconds(2_500_000)));
    assert!(time(-1.0, 1.0).is_err() && time(SECONDS_MAX * 1.01, 1.0).is_err());
    assert!(time(SECONDS_MAX, 1.0).is_ok());
    assert_eq!((nanoseconds(2.5, 1e3), nanoseconds(-0.1, 1e3)), (Some(2_500.0), None));
    assert_eq!(nanoseconds(SECONDS_MAX * 1.01, 1e9), None);
    let mean = of_mean(7, Some(50.5), Some(60.0), Some(40.0));
    assert_eq!((mean.count(), mean.mean_ns()), (7, 50.5));
    assert_eq!((mean.min_ns(), mean.max_ns()), (Some(50), Some(51)));
    let mean = of_mean(7, Some(50.5), Some(10.9), Some(90.1));
    assert_eq!((mean.min_ns(), mean.max_ns()), (Some(10), Some(91)));
    assert_eq!(of_mean(7, Some(0.0), Some(1.0), Some(2.0)).max_ns(), None);
    assert_eq!(of_mean(7, Some(5.0), None, Some(0.0)).count(), 7);
}

#[test]
fn processor_time_is_a_share_of_the_elapsed_time() {
    let sample = stated(direction_of(4_096 * 40, 40), None).sample;
    let used = cpu(&sample, 30.0, 50.0).unwrap();
    // The job used 30% and 50% of two seconds for 40 requests.
    assert!((used.user_ns_per_request - 15e6).abs() < 1e-3);
    assert!((used.system_ns_per_request - 25e6).abs() < 1e-3);
    assert_eq!(cpu(&Sample::empty(), 30.0, 50.0), None);
    assert_eq!((cpu(&sample, -1.0, 50.0), cpu(&sample, 30.0, f64::NAN)), (None, None));
}

#[test]
fn the_number_of_tests_is_bounded() {
    let mut run = ReportedRun::new("f", "P 1");
    for _ in 0..TESTS_MAX {
        run.add(stated(None, None)).unwrap();
    }
    assert!(run.add(stated(None, None)).is_err());
}

#[test]
fn stems_and_devices_are_recognised() {
    for (file, wanted) in [
        ("/x/y.json", "y"),
        (r"C:\x\y.z.txt", "y.z"),
        (".hidden", ".hidden"),
        ("-", "standard-input"),
        ("stdin", "standard-input"),
        ("", "standard-input"),
    ] {
        assert_eq!(stem(file), wanted, "{file}");
    }
    let paths = ["/dev/sda", "#1", r"\\.\PhysicalDrive0", "/deva", "C:"].map(is_device);
    assert_eq!(paths, [true, true, true, false, false]);
}

//! Tests of latency histograms.

use super::*;

fn ramp(count: u64) -> LatencyHistogram {
    let mut histogram = LatencyHistogram::new();
    (1..=count).for_each(|us| histogram.record(Duration::from_microseconds(us)));
    histogram
}

#[test]
fn percentiles_are_within_a_thousandth() {
    let histogram = ramp(10_000);
    for (percentile, exact_us) in [(50.0, 5_000.0), (99.0, 9_900.0), (99.9, 9_990.0)] {
        let reported = histogram.percentile_ns(percentile).unwrap() as f64 / 1e3;
        assert!((reported / exact_us - 1.0).abs() < 0.001, "p{percentile}: {reported} us");
    }
    assert!((histogram.mean_ns() - 5_000_500.0).abs() < 1e-6);
    assert_eq!(histogram.max_ns(), Some(10_000_000));
}

#[test]
fn a_percentile_is_the_smallest_sufficient_latency() {
    // Each latency is short enough for a separate bin and occurs a thousand times, and no percentile falls on the
    // boundary of a bin.
    let mut histogram = LatencyHistogram::new();
    (1..=1_999).for_each(|ns| (0..1_000).for_each(|_| histogram.record_ns(ns)));
    for percentile in PERCENTILES {
        let exact = (percentile * 19.99).ceil() as u64;
        assert_eq!(histogram.percentile_ns(percentile), Some(exact), "p{percentile}");
    }
}

#[test]
fn a_percentile_needs_a_request_beyond_it() {
    assert_eq!(ramp(99).percentile_ns(99.0), None);
    assert!(ramp(100).percentile_ns(99.0).is_some());
    assert!(ramp(1_000).percentile_ns(99.9).is_some());
    assert_eq!(LatencyHistogram::new().percentile_ns(50.0), None);
}

#[test]
fn constant_latencies_have_a_median_and_no_other_percentile() {
    let mut histogram = LatencyHistogram::new();
    (0..1000).for_each(|_| histogram.record_ns(48_700));
    assert_eq!(histogram.percentile_ns(50.0), Some(48_700));
    assert_eq!(histogram.percentile_ns(99.0), None);
    assert_eq!(histogram.recorded_percentile_ns(99.0), Some(48_700));
    histogram.record_ns(50_000);
    assert!(histogram.percentile_ns(99.0).unwrap().abs_diff(48_700) < 50);
}

#[test]
fn a_percentile_rests_on_the_requests_beyond_it() {
    assert_eq!(ramp(10_000).support(99.9), Some(11));
    assert_eq!(ramp(10_000).support(99.9999), None);
    let text = serde_json::to_string(&ramp(1000)).unwrap();
    assert!(text.contains(r#""99.0000":11"#), "{text}");
}

#[test]
fn merging_loses_nothing() {
    let mut halves = ramp(500);
    let mut rest = LatencyHistogram::new();
    (501..=1000).for_each(|us| rest.record(Duration::from_microseconds(us)));
    halves.merge(&rest);
    assert_eq!(halves, ramp(1000));
}

#[test]
fn a_growing_histogram_equals_a_preallocated_one() {
    let latencies = [0, 1, 2_047, 2_048, 90_000, 5_000_000_000, LATENCY_MAX_NS, 2 * LATENCY_MAX_NS];
    let mut growing = LatencyHistogram::new();
    let mut full = LatencyHistogram::preallocated();
    for (count, latency_ns) in latencies.into_iter().enumerate() {
        let text = serde_json::to_string(&growing).unwrap();
        assert_eq!(serde_json::from_str::<LatencyHistogram>(&text).unwrap(), full);
        let grown_before = growing.clone();
        let full_before = full.clone();
        assert_eq!(growing, full, "{count}");
        assert_eq!(full, growing, "{count}");
        growing.record_ns(latency_ns);
        full.record_ns(latency_ns);
        assert_ne!(growing, full_before);
        assert_ne!(full_before, growing);
        assert!(growing.bins().eq(full.bins()), "{latency_ns}");
        assert_eq!(growing.percentile_ns(90.0), full.percentile_ns(90.0));
        assert_eq!(growing.since(&grown_before), full.since(&full_before), "{latency_ns}");
        // Short histograms accept the counts of long ones, and the other way around.
        let mut sum = LatencyHistogram::new();
        sum.record_ns(5);
        let mut reverse = growing.clone();
        reverse.merge(&sum);
        sum.merge(&growing);
        assert_eq!(sum, reverse, "{latency_ns}");
        let text = serde_json::to_string(&growing).unwrap();
        assert_eq!(serde_json::from_str::<LatencyHistogram>(&text).unwrap(), full);
    }
    assert_eq!(growing.bins().count(), 7, "the last two latencies share a bucket");
    assert!(LatencyHistogram::new().buckets.distinct_values() == 2_048);
}

#[test]
fn bins_make_the_same_histogram_again() {
    let histogram = ramp(1_000);
    let min_ns = histogram.min_ns().unwrap();
    let max_ns = histogram.max_ns().unwrap();
    let mean_ns = histogram.mean_ns();
    let again = LatencyHistogram::from_bins(histogram.bins(), mean_ns, min_ns, max_ns);
    assert_eq!(again, histogram);
    // The deviation of 1 to 1,000 µs is the square root of (1,000^2 - 1) / 12.
    assert!((histogram.deviation_ns() / 288_675.0 - 1.0).abs() < 1e-3);
    // The divisor is the number of requests, not the number minus one. The cases are an empty histogram, and two
    // requests that are both 512 ns from their mean.
    for (bins, deviation) in [(&[][..], 0.0), (&[(512, 1), (1536, 1)], 512.0)] {
        let histogram = LatencyHistogram::from_bins(bins.iter().copied(), 1024.0, 512, 1536);
        assert_eq!(histogram.deviation_ns(), deviation);
    }
}

#[test]
fn a_difference_contains_the_values_between_two_states() {
    let before = ramp(500);
    let since = ramp(1000).since(&before);
    assert_eq!((since.count(), since.percentile_ns(50.0).map(|ns| ns / 10_000)), (500, Some(75)));
    assert_eq!(before.since(&before), LatencyHistogram::new());
}

#[test]
fn stated_percentiles_come_back_as_stated_and_others_not_at_all() {
    let stated = vec![(50.0, 100_000), (95.0, 200_000), (99.0, 200_500)];
    for count in [1, 2, 3, 87, 10_000] {
        let stated_again = stated.clone();
        let histogram =
            LatencyHistogram::from_percentiles(stated_again, count, 120_000.0, 50_000, 900_000);
        assert_eq!((histogram.count(), histogram.mean_ns()), (count, 120_000.0));
        for &(percentile, ns) in &stated {
            assert_eq!(histogram.percentile_ns(percentile), Some(ns), "p{percentile} of {count}");
        }
        // The neighbours of p97 agree, the neighbours of p90 do not, and the maximum cannot bracket a percentile.
        assert_eq!(histogram.percentile_ns(97.0), Some(200_500));
        assert_eq!((histogram.percentile_ns(90.0), histogram.percentile_ns(99.9)), (None, None));
        assert_eq!(histogram.percentile_ns(10.0), None);
        let text = serde_json::to_string(&histogram).unwrap();
        assert_eq!(serde_json::from_str::<LatencyHistogram>(&text).unwrap(), histogram);
    }
}

#[test]
fn a_sum_has_the_percentiles_of_both_parts_within_their_values() {
    let of = |p50, p99: u64| {
        let stated = vec![(50.0, p50), (99.0, p99)];
        LatencyHistogram::from_percentiles(stated, 1_000, p50 as f64, 10, 9_000)
    };
    let mut sum = of(100, 400);
    sum.merge(&of(200, 400));
    assert_eq!((sum.count(), sum.percentile_ns(99.0)), (2_000, Some(400)));
    let median = sum.percentile_ns(50.0).unwrap();
    assert!((100..=200).contains(&median), "{median}");
    assert_eq!(sum.percentile_ns(95.0), None);
    let mut with_counts = ramp(100);
    with_counts.merge(&LatencyHistogram::unmeasured(50));
    assert_eq!((with_counts.count(), with_counts.percentile_ns(50.0)), (150, None));
    assert_eq!((with_counts.mean_known_ns(), with_counts.max_ns()), (None, None));
    let mut empty = LatencyHistogram::new();
    empty.merge(&of(100, 400));
    assert_eq!(empty, of(100, 400));
}

#[test]
fn latencies_that_were_not_measured_lack_figures() {
    let histogram = LatencyHistogram::unmeasured(22_782);
    assert_eq!((histogram.count(), histogram.bins().count()), (22_782, 0));
    assert_eq!(
        (histogram.min_ns(), histogram.max_ns(), histogram.mean_known_ns()),
        (None, None, None)
    );
    assert!(PERCENTILES.iter().all(|&percentile| histogram.percentile_ns(percentile).is_none()));
    let text = serde_json::to_string(&histogram).unwrap();
    assert_eq!(serde_json::from_str::<LatencyHistogram>(&text).unwrap(), histogram);
}

#[test]
fn of_a_mean_only_the_mean_and_the_stated_ends_are_known() {
    let histogram = LatencyHistogram::from_mean(2_000, 46_780.0, None, Some(900_000));
    assert_eq!(
        (histogram.count(), histogram.bins().count(), histogram.deviation_ns()),
        (2_000, 0, 0.0)
    );
    assert_eq!(
        (histogram.mean_known_ns(), histogram.min_ns(), histogram.max_ns()),
        (Some(46_780.0), None, Some(900_000))
    );
    assert!(PERCENTILES.iter().all(|&percentile| histogram.percentile_ns(percentile).is_none()));
    let text = serde_json::to_string(&histogram).unwrap();
    assert_eq!(serde_json::from_str::<LatencyHistogram>(&text).unwrap(), histogram);
    // The sum states a mean, a minimum or a maximum only if both histograms state it.
    let mut sum = ramp(2_000);
    sum.merge(&histogram);
    assert_eq!(
        (sum.detail(), sum.min_ns(), sum.max_ns()),
        (LatencyDetail::Mean, None, Some(2_000_000))
    );
    assert_eq!(sum.percentile_ns(50.0), None);
    let hostile = text.replace("93560000.0", "-93560000.0");
    assert_ne!(hostile, text);
    assert!(serde_json::from_str::<LatencyHistogram>(&hostile).is_err());
}

#[test]
fn bins_that_do_not_add_up_are_refused() {
    let text = r#"{"count":3,"sum_ns":1.0,"min_ns":1,"max_ns":1,"bins":[[1,1]]}"#;
    let error = serde_json::from_str::<LatencyHistogram>(text).unwrap_err();
    assert!(error.to_string().contains("states 3 requests"), "{error}");
}

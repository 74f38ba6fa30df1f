//! Latency as a histogram with three significant digits, from 1 ns to an hour.
//!
//! The buckets equal HdrHistogram's buckets (Gil Tene), so merging is exact and a percentile has an error of up to
//! 0.1%. Count, sum, minimum and maximum are stored separately and are exact. JSON contains only the buckets with
//! requests, which is sufficient to store the whole distribution.
//!
//! Other programs print less than a distribution: some percentiles, only a mean, or a number of requests. A histogram
//! records the detail of its source ([`LatencyDetail`]), and does not return figures that the source does not contain.

mod saved;
mod steps;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use steps::steps;

use super::range::{RangeCheck, TIME_MAX_NS, ValuePath, check_count, check_within};
use crate::units::Duration;

/// Maximum latency of a bucket, in ns; longer latencies are counted in the bucket of this value.
const LATENCY_MAX_NS: u64 = 3_600_000_000_000;

/// Two stated percentiles whose latencies differ by no more than this factor determine every percentile between them.
const BRACKET: f64 = 1.01;

/// The detail in which the latencies of a histogram are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LatencyDetail {
    /// The bucket of each latency is known.
    #[default]
    Distribution,
    /// The mean, minimum, maximum and the stated percentiles are known. The list of percentiles may be empty.
    Percentiles,
    /// The mean is known; the minimum and the maximum are known if the source states them.
    Mean,
    /// Only the number of requests is known, because their latencies were not measured.
    Count,
}

impl LatencyDetail {
    fn is_distribution(&self) -> bool {
        *self == Self::Distribution
    }
}

/// The percentiles that every view shows.
pub const PERCENTILES: [f64; 8] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999, 99.9999];

/// The latencies of requests, as a histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyHistogram {
    buckets: Histogram<u64>,
    sum_ns: f64,
    min_ns: u64,
    max_ns: u64,
    detail: LatencyDetail,
    /// Percentiles that the source states, in ascending order, each with its latency in ns.
    stated: Vec<(f64, u64)>,
}

impl LatencyHistogram {
    /// Creates an empty histogram.
    pub fn new() -> Self {
        let buckets = Histogram::new_with_bounds(1, LATENCY_MAX_NS, 3)
            .expect("the bounds and digits are constants that the crate accepts");
        Self {
            buckets,
            sum_ns: 0.0,
            min_ns: u64::MAX,
            max_ns: 0,
            detail: LatencyDetail::Distribution,
            stated: Vec::new(),
        }
    }

    /// Creates a histogram of `count` requests from the percentiles in `stated`, in per cent and ascending, and from
    /// the mean, minimum and maximum, all in ns. Latencies that do not ascend with the percentiles are kept unchanged.
    pub fn from_percentiles(
        stated: Vec<(f64, u64)>,
        count: u64,
        mean_ns: f64,
        min_ns: u64,
        max_ns: u64,
    ) -> Self {
        let bins = steps(&stated, count, min_ns, mean_ns as u64, max_ns);
        let histogram = Self::from_bins(bins, mean_ns, min_ns, max_ns);
        Self { detail: LatencyDetail::Percentiles, stated, ..histogram }
    }

    /// Creates a histogram of `count` requests with a known mean latency, in ns, and with the minimum and the maximum
    /// if the source states them.
    pub fn from_mean(count: u64, mean_ns: f64, min_ns: Option<u64>, max_ns: Option<u64>) -> Self {
        let (min_ns, max_ns) = (min_ns.unwrap_or(u64::MAX), max_ns.unwrap_or(0));
        let histogram = Self::from_bins([(mean_ns as u64, count)], mean_ns, min_ns, max_ns);
        Self { detail: LatencyDetail::Mean, ..histogram }
    }

    /// Creates a histogram of `count` requests whose latencies were not measured.
    pub fn unmeasured(count: u64) -> Self {
        let histogram = Self::from_bins([(1, count)], 0.0, u64::MAX, 0);
        Self { detail: LatencyDetail::Count, ..histogram }
    }

    /// Returns the histogram with the percentiles that its source states, in per cent and ns, ascending. The stated
    /// percentiles take precedence over the buckets, whose midpoints may differ from them by the width of a bucket.
    #[must_use]
    pub fn with_stated(self, stated: Vec<(f64, u64)>) -> Self {
        Self { stated, ..self }
    }

    /// Returns the detail in which the latencies are known.
    pub fn detail(&self) -> LatencyDetail {
        self.detail
    }

    /// Returns the percentiles that the source states, in per cent and ns, ascending.
    pub fn stated(&self) -> &[(f64, u64)] {
        &self.stated
    }

    /// Returns whether the mean is known: there are requests, and their latencies were measured.
    pub fn is_measured(&self) -> bool {
        self.count() > 0 && self.detail != LatencyDetail::Count
    }

    /// Counts one latency.
    pub fn record(&mut self, latency: Duration) {
        self.record_ns(latency.nanoseconds());
    }

    /// Counts one latency in nanoseconds.
    #[inline]
    pub fn record_ns(&mut self, latency_ns: u64) {
        self.buckets.saturating_record(latency_ns);
        self.sum_ns += latency_ns as f64;
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// Creates a histogram from `bins`, each a latency in ns and a number of requests. The mean, minimum and maximum
    /// are stored separately, because the bins do not contain them exactly.
    pub fn from_bins(
        bins: impl IntoIterator<Item = (u64, u64)>,
        mean_ns: f64,
        min_ns: u64,
        max_ns: u64,
    ) -> Self {
        let mut histogram = Self::new();
        for (latency_ns, count) in bins {
            histogram.buckets.saturating_record_n(latency_ns, count);
        }
        if histogram.count() > 0 {
            histogram.sum_ns = mean_ns * histogram.count() as f64;
            (histogram.min_ns, histogram.max_ns) = (min_ns, max_ns);
        }
        histogram
    }

    /// Returns the non-empty bins in ascending order, each as its middle in ns and its number of requests. If only
    /// percentiles are stated, the bins are steps between them. There are no bins if no more than the mean is known.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let known = self.is_measured() && self.detail != LatencyDetail::Mean;
        self.buckets.iter_recorded().filter(move |_| known).map(|bin| {
            let middle = self.buckets.median_equivalent(bin.value_iterated_to());
            (middle.clamp(self.min_ns, self.max_ns.max(self.min_ns)), bin.count_at_value())
        })
    }

    /// Returns the standard deviation in ns, from the middles of the bins; zero if the histogram is empty.
    pub fn deviation_ns(&self) -> f64 {
        let mean = self.mean_ns();
        let from_mean = |middle: u64| middle as f64 - mean;
        let squares =
            |(middle, count): (u64, u64)| from_mean(middle) * from_mean(middle) * count as f64;
        match self.count() {
            0 => 0.0,
            count => (self.bins().map(squares).sum::<f64>() / count as f64).sqrt(),
        }
    }

    /// Adds all requests of `other`. The sum is only as detailed as the less detailed histogram: a percentile is stated
    /// only if both histograms state it, and its value is between the two stated values.
    pub fn merge(&mut self, other: &Self) {
        match (self.count(), other.count()) {
            (_, 0) => return,
            (0, _) => {
                *self = other.clone();
                return;
            }
            _ => {}
        }
        let detail = match (self.detail, other.detail) {
            (LatencyDetail::Count, _) | (_, LatencyDetail::Count) => LatencyDetail::Count,
            (LatencyDetail::Mean, _) | (_, LatencyDetail::Mean) => LatencyDetail::Mean,
            (LatencyDetail::Distribution, LatencyDetail::Distribution) => {
                LatencyDetail::Distribution
            }
            _ => LatencyDetail::Percentiles,
        };
        let known_pair = |percent: f64| {
            let pair = (self.percentile_ns(percent)?, other.percentile_ns(percent)?);
            Some((percent, (pair.0.min(pair.1), pair.0.max(pair.1))))
        };
        let bounds: Vec<(f64, (u64, u64))> = match detail {
            LatencyDetail::Percentiles => {
                let mut all: Vec<f64> =
                    self.stated.iter().chain(&other.stated).map(|(percent, _)| *percent).collect();
                all.sort_by(f64::total_cmp);
                all.dedup();
                all.into_iter().filter_map(known_pair).collect()
            }
            LatencyDetail::Distribution | LatencyDetail::Mean | LatencyDetail::Count => Vec::new(),
        };
        let ends = (self.min_ns().zip(other.min_ns()), self.max_ns().zip(other.max_ns()));
        self.merge_counts(other);
        if detail == LatencyDetail::Mean {
            // The minimum or the maximum is known only if both histograms state it.
            self.min_ns = ends.0.map_or(u64::MAX, |(one, other)| one.min(other));
            self.max_ns = ends.1.map_or(0, |(one, other)| one.max(other));
        }
        self.detail = detail;
        let mixed = |(percent, (low, high)): (f64, (u64, u64))| {
            (percent, self.buckets.value_at_percentile(percent).clamp(low, high))
        };
        self.stated = bounds.into_iter().map(mixed).collect();
    }

    fn merge_counts(&mut self, other: &Self) {
        self.buckets.add(&other.buckets).expect("all our histograms have the same bounds");
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Returns the histogram with each count multiplied by `factor`, from 0 to 1. The counts are rounded so that their
    /// running sums are accurate to half a request.
    #[must_use]
    pub fn thinned(&self, factor: f64) -> Self {
        let mut thinned = Self::new();
        let (mut before, mut kept) = (0, 0);
        for bin in self.buckets.iter_recorded() {
            before += bin.count_at_value();
            let all = (before as f64 * factor).round() as u64;
            thinned.buckets.saturating_record_n(bin.value_iterated_to(), all - kept);
            kept = all;
        }
        if kept > 0 {
            thinned.sum_ns = self.sum_ns * (kept as f64 / before as f64);
            let (least, most) = (thinned.buckets.min(), thinned.buckets.max());
            thinned.min_ns = least.max(self.min_ns);
            thinned.max_ns = most.min(self.max_ns);
        }
        thinned
    }

    /// Returns the requests counted since `earlier`, an earlier state of this histogram. The minimum and the maximum
    /// are computed from the buckets.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut buckets = self.buckets.clone();
        if buckets.subtract(&earlier.buckets).is_err() {
            return self.clone();
        }
        let (min_ns, max_ns) = match buckets.is_empty() {
            true => (u64::MAX, 0),
            false => (buckets.min(), buckets.max()),
        };
        let sum_ns = self.sum_ns - earlier.sum_ns;
        Self { buckets, sum_ns, min_ns, max_ns, detail: self.detail, stated: Vec::new() }
    }

    /// Returns the number of requests.
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// Returns the mean in ns; zero if no latency was measured. Views use [`Self::mean_known_ns`].
    pub fn mean_ns(&self) -> f64 {
        self.mean_known_ns().unwrap_or(0.0)
    }

    /// Returns the mean in ns, if any latency was measured.
    pub fn mean_known_ns(&self) -> Option<f64> {
        self.is_measured().then(|| self.sum_ns / self.count() as f64)
    }

    /// Returns the minimum in ns, if any latency was measured and the source states the minimum.
    pub fn min_ns(&self) -> Option<u64> {
        let known = self.detail != LatencyDetail::Mean || self.min_ns != u64::MAX;
        (self.is_measured() && known).then_some(self.min_ns)
    }

    /// Returns the maximum in ns, if any latency was measured and the source states the maximum.
    pub fn max_ns(&self) -> Option<u64> {
        let known = self.detail != LatencyDetail::Mean || self.max_ns != 0;
        (self.is_measured() && known).then_some(self.max_ns)
    }

    /// Returns the support of a percentile: the number of requests whose latency is the percentile's or longer; `None`
    /// if the percentile is unknown.
    pub fn support(&self, percentile: f64) -> Option<u64> {
        self.percentile_ns(percentile)?;
        let below = self.count() as f64 * percentile / 100.0;
        Some(self.count() - (below - 1e-6).max(0.0) as u64)
    }

    /// Returns the smallest latency, in ns, that `percentile` per cent of the requests did not exceed; `None` if no
    /// counted request is beyond the percentile. A percentile that the source states is returned as stated. If only
    /// percentiles are known, any other percentile is `None`, unless the two neighbouring stated percentiles differ by
    /// no more than 1%.
    pub fn percentile_ns(&self, percentile: f64) -> Option<u64> {
        let after = self.stated.partition_point(|(stated, _)| *stated < percentile - 1e-9);
        let next = self.stated.get(after).copied();
        if let Some((stated, latency)) = next
            && (stated - percentile).abs() <= 1e-9
        {
            return Some(latency);
        }
        if matches!(self.detail, LatencyDetail::Count | LatencyDetail::Mean) {
            return None;
        }
        if self.detail == LatencyDetail::Percentiles {
            let (_, below) = *self.stated.get(after.checked_sub(1)?)?;
            let (_, above) = next?;
            let close = above >= below && above as f64 <= below as f64 * BRACKET;
            return close.then_some(above);
        }
        let beyond = self.count() as f64 * (1.0 - percentile / 100.0);
        // Floating-point rounding of 1 - 99.9/100 must not hide a percentile that 1,000 samples support.
        if self.count() == 0 || beyond < 1.0 - 1e-6 {
            return None;
        }
        Some(self.buckets.value_at_percentile(percentile).clamp(self.min_ns, self.max_ns))
    }

    /// Checks that minimum, mean and maximum ascend, and that all three are absent if the histogram is empty.
    pub(super) fn check(&self, at: &ValuePath) -> RangeCheck {
        check_count(&at.key("count"), self.count())?;
        check_within(&at.key("sum_ns"), self.mean_ns(), TIME_MAX_NS)?;
        if let Some(greatest) = self.max_ns() {
            check_within(&at.key("max_ns"), greatest as f64, TIME_MAX_NS)?;
        }
        let (Some(least), Some(greatest)) = (self.min_ns(), self.max_ns()) else { return Ok(()) };
        if least > greatest {
            return at.key("min_ns").fail(least, format!("at most the maximum, {greatest}"));
        }
        let ascending = self.stated.windows(2).all(|pair| pair[0].0 < pair[1].0);
        let percents = self.stated.iter().all(|(percent, _)| (0.0..=100.0).contains(percent));
        if !ascending || !percents {
            let bound = "percentiles from 0 to 100, ascending";
            return at.key("stated_percentiles_ns").fail("invalid", bound);
        }
        for (_, latency) in &self.stated {
            check_within(&at.key("stated_percentiles_ns"), *latency as f64, TIME_MAX_NS)?;
        }
        Ok(())
    }
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
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
    fn a_percentile_is_the_least_latency_that_its_share_does_not_exceed() {
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
    fn bins_make_the_same_histogram_again() {
        let histogram = ramp(1_000);
        let (min_ns, max_ns) = (histogram.min_ns().unwrap(), histogram.max_ns().unwrap());
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
        assert_eq!(
            (since.count(), since.percentile_ns(50.0).map(|ns| ns / 10_000)),
            (500, Some(75))
        );
        assert_eq!(before.since(&before), LatencyHistogram::new());
    }

    #[test]
    fn json_brings_back_the_same_histogram() {
        for histogram in [ramp(1_000), LatencyHistogram::new()] {
            let text = serde_json::to_string(&histogram).unwrap();
            assert_eq!(serde_json::from_str::<LatencyHistogram>(&text).unwrap(), histogram);
        }
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
                assert_eq!(
                    histogram.percentile_ns(percentile),
                    Some(ns),
                    "p{percentile} of {count}"
                );
            }
            // The neighbours of p97 agree, the neighbours of p90 do not, and the maximum cannot bracket a percentile.
            assert_eq!(histogram.percentile_ns(97.0), Some(200_500));
            assert_eq!(
                (histogram.percentile_ns(90.0), histogram.percentile_ns(99.9)),
                (None, None)
            );
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
    fn latencies_that_were_not_measured_have_no_figures() {
        let histogram = LatencyHistogram::unmeasured(22_782);
        assert_eq!((histogram.count(), histogram.bins().count()), (22_782, 0));
        assert_eq!(
            (histogram.min_ns(), histogram.max_ns(), histogram.mean_known_ns()),
            (None, None, None)
        );
        assert!(
            PERCENTILES.iter().all(|&percentile| histogram.percentile_ns(percentile).is_none())
        );
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
        assert!(
            PERCENTILES.iter().all(|&percentile| histogram.percentile_ns(percentile).is_none())
        );
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
}

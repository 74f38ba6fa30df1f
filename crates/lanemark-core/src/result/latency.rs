//! Latency as a histogram of three significant digits from 1 ns to an hour.
//!
//! Buckets are those of HdrHistogram (Gil Tene), so merging is exact and a percentile is at most 0.1%
//! off. Count, sum, least and greatest are kept apart and are exact. In JSON only the buckets that hold
//! something are written, so a result carries its whole distribution.

use hdrhistogram::Histogram;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::range::{At, Checked, TIME_MAX_NS, counted, within};
use crate::units::Duration;

/// Greatest latency that is told apart, in ns; longer ones count as this long.
const LATENCY_MAX_NS: u64 = 3_600_000_000_000;

/// The percentiles that every view shows.
pub const PERCENTILES: [f64; 8] = [50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 99.999, 99.9999];

/// The latencies of requests, as a histogram.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyHistogram {
    buckets: Histogram<u64>,
    sum_ns: f64,
    min_ns: u64,
    max_ns: u64,
}

impl LatencyHistogram {
    /// An empty histogram.
    pub fn new() -> Self {
        let buckets = Histogram::new_with_bounds(1, LATENCY_MAX_NS, 3)
            .expect("the bounds and digits are constants that the crate accepts");
        Self { buckets, sum_ns: 0.0, min_ns: u64::MAX, max_ns: 0 }
    }

    /// Counts one latency.
    pub fn record(&mut self, latency: Duration) {
        self.record_ns(latency.nanoseconds());
    }

    /// Counts one latency in nanoseconds.
    pub fn record_ns(&mut self, latency_ns: u64) {
        self.buckets.saturating_record(latency_ns);
        self.sum_ns += latency_ns as f64;
        self.min_ns = self.min_ns.min(latency_ns);
        self.max_ns = self.max_ns.max(latency_ns);
    }

    /// A histogram of `bins`, each a latency in ns and how often there was one; what is not in them but known,
    /// the mean, the least and the greatest, is kept as it is.
    pub fn from_bins(
        bins: impl IntoIterator<Item = (u64, u64)>,
        mean_ns: f64,
        (min_ns, max_ns): (u64, u64),
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

    /// The bins that hold something, from the least: the middle of each in ns, and how often there was one.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.buckets.iter_recorded().map(|bin| {
            let middle = self.buckets.median_equivalent(bin.value_iterated_to());
            (middle.clamp(self.min_ns, self.max_ns.max(self.min_ns)), bin.count_at_value())
        })
    }

    /// The standard deviation in ns, by the middles of the bins; zero where nothing was counted.
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

    /// Adds all that `other` counted.
    pub fn merge(&mut self, other: &Self) {
        self.buckets.add(&other.buckets).expect("all our histograms have the same bounds");
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Returns the requests counted since `earlier`, an earlier state of this histogram. Least and greatest are those
    /// of the buckets.
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
        Self { buckets, sum_ns: self.sum_ns - earlier.sum_ns, min_ns, max_ns }
    }

    /// Latencies counted.
    pub fn count(&self) -> u64 {
        self.buckets.len()
    }

    /// The mean in ns; zero where nothing was counted.
    pub fn mean_ns(&self) -> f64 {
        if self.count() == 0 { 0.0 } else { self.sum_ns / self.count() as f64 }
    }

    /// The least latency in ns, where anything was counted.
    pub fn min_ns(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.min_ns)
    }

    /// The greatest latency in ns, where anything was counted.
    pub fn max_ns(&self) -> Option<u64> {
        (self.count() > 0).then_some(self.max_ns)
    }

    /// Returns the number of requests that took no less than a percentile: its support. Absent where the percentile is.
    pub fn support(&self, percentile: f64) -> Option<u64> {
        self.percentile_ns(percentile)?;
        let below = self.count() as f64 * percentile / 100.0;
        Some(self.count() - (below - 1e-6).max(0.0) as u64)
    }

    /// The latency in ns that `percentile` per cent of the requests did not exceed. Absent where fewer
    /// requests were counted than the percentile needs to mean anything: one beyond it.
    pub fn percentile_ns(&self, percentile: f64) -> Option<u64> {
        let beyond = self.count() as f64 * (1.0 - percentile / 100.0);
        // Float rounding of 1 - 99.9/100 must not hide a percentile that 1,000 samples support.
        if self.count() == 0 || beyond < 1.0 - 1e-6 {
            return None;
        }
        Some(self.buckets.value_at_percentile(percentile).clamp(self.min_ns, self.max_ns))
    }

    /// Checks that least, mean and greatest are in their order, and none of them is there where nothing was counted.
    pub(super) fn check(&self, at: &At) -> Checked {
        counted(&at.key("count"), self.count())?;
        let (Some(least), Some(greatest)) = (self.min_ns(), self.max_ns()) else { return Ok(()) };
        if least > greatest {
            return at.key("min_ns").fail(least, format!("at most the greatest, {greatest}"));
        }
        within(&at.key("max_ns"), greatest as f64, TIME_MAX_NS)?;
        within(&at.key("sum_ns"), self.mean_ns(), TIME_MAX_NS)
    }
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

/// The histogram as it stands in JSON. The percentiles are there for other readers.
#[derive(Serialize, Deserialize)]
struct Stored {
    count: u64,
    sum_ns: f64,
    min_ns: Option<u64>,
    max_ns: Option<u64>,
    #[serde(skip_deserializing)]
    mean_ns: f64,
    #[serde(skip_deserializing)]
    percentiles_ns: std::collections::BTreeMap<String, u64>,
    /// Number of requests that support each percentile: those that took no less.
    #[serde(skip_deserializing)]
    percentiles_support: std::collections::BTreeMap<String, u64>,
    /// Pairs of the greatest latency in a bucket and its count.
    bins: Vec<(u64, u64)>,
}

impl Serialize for LatencyHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let name = |percentile: f64| format!("{percentile:07.4}");
        let percentiles = PERCENTILES
            .iter()
            .filter_map(|&percentile| Some((name(percentile), self.percentile_ns(percentile)?)));
        let support = PERCENTILES.iter().filter_map(|&percentile| {
            Some((name(percentile), self.support(percentile).filter(|&support| support > 0)?))
        });
        Stored {
            count: self.count(),
            sum_ns: self.sum_ns,
            min_ns: self.min_ns(),
            max_ns: self.max_ns(),
            mean_ns: self.mean_ns(),
            percentiles_ns: percentiles.collect(),
            percentiles_support: support.collect(),
            bins: self
                .buckets
                .iter_recorded()
                .map(|bin| (bin.value_iterated_to(), bin.count_at_value()))
                .collect(),
        }
        .serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for LatencyHistogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let stored = Stored::deserialize(deserializer)?;
        let mut histogram = Self::new();
        for (latency_ns, count) in stored.bins {
            histogram.buckets.saturating_record_n(latency_ns, count);
        }
        if histogram.count() != stored.count {
            return Err(serde::de::Error::custom(format!(
                "a latency histogram says {} requests and its bins hold {}",
                stored.count,
                histogram.count()
            )));
        }
        histogram.sum_ns = stored.sum_ns;
        histogram.min_ns = stored.min_ns.unwrap_or(u64::MAX);
        histogram.max_ns = stored.max_ns.unwrap_or(0);
        histogram.check(&At::of("latency")).map_err(serde::de::Error::custom)?;
        Ok(histogram)
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
            let seen = histogram.percentile_ns(percentile).unwrap() as f64 / 1e3;
            assert!((seen / exact_us - 1.0).abs() < 0.001, "p{percentile}: {seen} us");
        }
        assert!((histogram.mean_ns() - 5_000_500.0).abs() < 1e-6);
        assert_eq!(histogram.max_ns(), Some(10_000_000));
    }

    #[test]
    fn a_percentile_is_the_least_latency_that_its_share_does_not_exceed() {
        // So short that each latency has a bin of its own; each comes a thousand times, and no share ends with a bin.
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
        let ends = (histogram.min_ns().unwrap(), histogram.max_ns().unwrap());
        let again = LatencyHistogram::from_bins(histogram.bins(), histogram.mean_ns(), ends);
        assert_eq!(again, histogram);
        // Of 1 to 1,000 us, the square root of (1,000^2 - 1) / 12.
        assert!((histogram.deviation_ns() / 288_675.0 - 1.0).abs() < 1e-3);
        assert_eq!(LatencyHistogram::new().deviation_ns(), 0.0);
    }

    #[test]
    fn a_difference_is_what_came_in_between() {
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
    fn bins_that_do_not_add_up_are_refused() {
        let text = r#"{"count":3,"sum_ns":1.0,"min_ns":1,"max_ns":1,"bins":[[1,1]]}"#;
        let error = serde_json::from_str::<LatencyHistogram>(text).unwrap_err();
        assert!(error.to_string().contains("says 3 requests"), "{error}");
    }
}

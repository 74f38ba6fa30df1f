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

/// Maximum latency of a bucket in an empty histogram, in ns.
const LATENCY_FIRST_NS: u64 = 2_047;

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
#[derive(Clone, Debug)]
pub struct LatencyHistogram {
    /// The buckets up to the largest recorded latency, or more.
    buckets: Histogram<u64>,
    sum_ns: f64,
    min_ns: u64,
    max_ns: u64,
    detail: LatencyDetail,
    /// Percentiles that the source states, in ascending order, each with its latency in ns.
    stated: Vec<(f64, u64)>,
}

impl LatencyHistogram {
    /// Creates an empty histogram. It occupies 16 KiB, and grows with the recorded latencies, up to 270 KiB.
    pub fn new() -> Self {
        Self::with_range(LATENCY_FIRST_NS)
    }

    /// Creates an empty histogram with room for all latencies, so that recording does not allocate memory.
    pub fn preallocated() -> Self {
        Self::with_range(LATENCY_MAX_NS)
    }

    fn with_range(longest_ns: u64) -> Self {
        let mut buckets = Histogram::new_with_bounds(1, longest_ns, 3)
            .expect("the bounds and digits are constants that the crate accepts");
        buckets.auto(true);
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
        let min_ns = min_ns.unwrap_or(u64::MAX);
        let max_ns = max_ns.unwrap_or(0);
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
        record_count(&mut self.buckets, latency_ns, 1);
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
            record_count(&mut histogram.buckets, latency_ns, count);
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
        self.buckets.add(&other.buckets).expect("the histogram grows to the range of the other");
        self.sum_ns += other.sum_ns;
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Returns the histogram with each count multiplied by `factor`, from 0 to 1. The counts are rounded so that their
    /// running sums are accurate to half a request.
    #[must_use]
    pub fn thinned(&self, factor: f64) -> Self {
        let mut thinned = Self::new();
        let mut before = 0;
        let mut kept = 0;
        for bin in self.buckets.iter_recorded() {
            before += bin.count_at_value();
            let all = (before as f64 * factor).round() as u64;
            record_count(&mut thinned.buckets, bin.value_iterated_to(), all - kept);
            kept = all;
        }
        if kept > 0 {
            thinned.sum_ns = self.sum_ns * (kept as f64 / before as f64);
            let most = thinned.buckets.max();
            thinned.min_ns = thinned.buckets.min().max(self.min_ns);
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
        let (min_ns, max_ns) =
            if buckets.is_empty() { (u64::MAX, 0) } else { (buckets.min(), buckets.max()) };
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

    /// Returns whether the latencies of two or more requests differ by no more than 1%. No drive does that: the source
    /// is a model that does not describe how the latencies of these requests vary.
    pub fn is_constant(&self) -> bool {
        self.detail == LatencyDetail::Distribution
            && self.count() > 1
            && self.max_ns as f64 <= self.min_ns as f64 * BRACKET
    }

    /// Returns the latency, in ns, that `percentile` per cent of the requests did not exceed, as
    /// [`recorded_percentile_ns`](Self::recorded_percentile_ns) does; `None` above the median if the latencies are
    /// [constant](Self::is_constant), because then the source does not contain the variation.
    pub fn percentile_ns(&self, percentile: f64) -> Option<u64> {
        let is_known = percentile <= 50.0 || !self.is_constant();
        self.recorded_percentile_ns(percentile).filter(|_| is_known)
    }

    /// Returns the smallest recorded latency, in ns, that `percentile` per cent of the requests did not exceed; `None`
    /// if no counted request is beyond the percentile. A percentile that the source states is returned as stated. If
    /// only percentiles are known, any other percentile is `None`, unless the two neighbouring stated percentiles
    /// differ by no more than 1%.
    pub fn recorded_percentile_ns(&self, percentile: f64) -> Option<u64> {
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

/// Adds `count` requests of one latency, in ns.
#[inline]
fn record_count(buckets: &mut Histogram<u64>, latency_ns: u64, count: u64) {
    buckets
        .record_n(latency_ns.min(LATENCY_MAX_NS), count)
        .expect("the histogram grows up to the maximum latency");
}

impl PartialEq for LatencyHistogram {
    fn eq(&self, other: &Self) -> bool {
        // The crate compares the buckets of the first histogram, which must not be more than the buckets of the second.
        let (few, many) = if self.buckets.distinct_values() <= other.buckets.distinct_values() {
            (&self.buckets, &other.buckets)
        } else {
            (&other.buckets, &self.buckets)
        };
        few == many
            && self.sum_ns == other.sum_ns
            && (self.min_ns, self.max_ns) == (other.min_ns, other.max_ns)
            && (self.detail, &self.stated) == (other.detail, &other.stated)
    }
}

impl Default for LatencyHistogram {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;

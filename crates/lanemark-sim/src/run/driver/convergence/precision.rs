//! The precision of a rate, computed from the times of batches of equal size.

use lanemark_schema::result::{LatencyHistogram, student_95};

/// Number of groups of batches for the statistical tests.
pub(super) const GROUPS: usize = 32;
/// The percentiles that must be known, each with the maximum half-width of its interval as a share of the percentile.
pub(super) const PERCENTILES: [(f64, f64); 2] = [(99.0, 0.015), (99.9, 0.025)];
/// Minimum number of requests for a percentile that no request exceeds, times the share *p* beyond the percentile. If
/// more than *p* of all requests were slower, 3/*p* requests would contain a slower request with a probability of 95%.
const RULE_OF_THREE: f64 = 3.0;
/// Minimum number of requests beyond a percentile in the whole test; with fewer, the percentile is not reported.
const BEYOND_MIN: f64 = 10.0;
/// The 95th percentile of the Cramér-von Mises statistic of a Brownian bridge (Anderson and Darling, 1952).
const BRIDGE_95: f64 = 0.461;
/// Maximum negligible difference between the halves of a part, as a share of the rate.
const NEGLIGIBLE: f64 = 0.000_5;

/// The method that estimates the deviation of a mean from the times of batches of equal size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeviationEstimate {
    /// Uses the deviation of the batches in the second half, which must be independent.
    Independent,
    /// Uses the spectrum at its lowest frequencies, like Heidelberger and Welch. With collection, short and long
    /// batches alternate with each superblock, so that their sum varies less than the sum of independent batches.
    Spectrum,
}

/// Number of ordinates of the spectrum that are averaged for all batches.
const ORDINATES: usize = 4;
/// Number of ordinates that are averaged for half of the batches.
const ORDINATES_OF_HALF: usize = 3;

/// Returns the half-width of the rate's interval at 95% confidence as a share of the rate, or `None` if the times of
/// batches of equal size are not stationary.
pub(super) fn rate_half_width(times: &[f64; GROUPS], estimate: DeviationEstimate) -> Option<f64> {
    let count = GROUPS as f64;
    let mean = times.iter().sum::<f64>() / count;
    if mean <= 0.0 {
        return None;
    }
    let (first, second) = times.split_at(GROUPS / 2);
    // The variance of the second half is used, because a transient in the first half would increase the variance and
    // escape the test.
    let of_second = match estimate {
        DeviationEstimate::Independent => deviation(second),
        DeviationEstimate::Spectrum => spectral_deviation(second, ORDINATES_OF_HALF),
    };
    let difference = mean_of(first) - mean_of(second);
    if difference.abs() > NEGLIGIBLE * mean {
        let mut sum = 0.0;
        let mut squares = 0.0;
        for time in times {
            sum += time - mean;
            squares += sum * sum;
        }
        let statistic = squares / (count * count * of_second * of_second);
        if statistic >= BRIDGE_95 {
            return None;
        }
    }
    let (quantile, deviation) = match estimate {
        DeviationEstimate::Independent => (student_95(GROUPS - 1), of_second),
        DeviationEstimate::Spectrum => {
            (student_95(2 * ORDINATES), spectral_deviation(times, ORDINATES).max(of_second))
        }
    };
    Some(quantile * deviation / count.sqrt() / mean)
}

/// Returns the deviation of independent values whose mean would vary as much as the mean of `values`: the root of the
/// mean of the lowest ordinates of their periodogram.
fn spectral_deviation(values: &[f64], ordinates: usize) -> f64 {
    let count = values.len() as f64;
    let power = |ordinate: usize| {
        let step = 2.0 * std::f64::consts::PI * ordinate as f64 / count;
        let sum = |wave: fn(f64) -> f64| {
            let indexed_values = values.iter().enumerate();
            indexed_values.map(|(index, value)| value * wave(step * index as f64)).sum::<f64>()
        };
        let cosine = sum(libm::cos);
        let sine = sum(libm::sin);
        (cosine * cosine + sine * sine) / count
    };
    ((1..=ordinates).map(power).sum::<f64>() / ordinates as f64).sqrt()
}

pub(super) fn mean_of(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Returns the sample standard deviation of `values`.
pub(super) fn deviation(values: &[f64]) -> f64 {
    let mean = mean_of(values);
    let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
    (squares / (values.len() as f64 - 1.0)).sqrt()
}

/// Returns whether the percentiles that the whole test can report are nearly the same in `later`, the later requests of
/// `all`. The whole test has `factor` times as many requests as `all`.
pub(super) fn percentiles_last(
    all: &LatencyHistogram,
    later: &LatencyHistogram,
    factor: f64,
) -> bool {
    PERCENTILES.iter().all(|&(percent, width)| {
        let beyond = all.count() as f64 * factor * (1.0 - percent / 100.0);
        let of = |latency: &LatencyHistogram| {
            latency.recorded_percentile_ns(percent).or_else(|| latency.max_ns())
        };
        match (of(all), of(later)) {
            (Some(of_all), Some(of_later)) if beyond >= BEYOND_MIN => {
                of_all.abs_diff(of_later) as f64 <= 2.0 * width * of_all as f64
            }
            _ => true,
        }
    })
}

/// Returns whether all percentiles that the whole test, of `factor` times as many requests, can report are known.
pub(super) fn percentiles_known(latency: &LatencyHistogram, factor: f64) -> bool {
    let count = latency.count() as f64;
    PERCENTILES.iter().all(|&(percent, width)| {
        let beyond = count * (1.0 - percent / 100.0);
        if beyond * factor < BEYOND_MIN {
            return true;
        }
        // Three deviations are used, because the latencies of consecutive requests are correlated.
        let margin = 3.0 * beyond.sqrt();
        if margin > beyond && beyond >= RULE_OF_THREE {
            let (Some(low), Some(high)) = (latency.recorded_percentile_ns(50.0), latency.max_ns())
            else {
                return false;
            };
            return (high - low) as f64 <= width * (high + low) as f64;
        }
        let percentile_beyond =
            |beyond: f64| latency.recorded_percentile_ns(100.0 * (1.0 - beyond / count));
        let (Some(low), Some(high)) =
            (percentile_beyond(beyond + margin), percentile_beyond(beyond - margin))
        else {
            return false;
        };
        (high - low) as f64 <= width * (high + low) as f64
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_schema::units::Duration;

    /// Returns times that `of` computes from their index.
    fn times(of: impl Fn(usize) -> f64) -> [f64; GROUPS] {
        let mut times = [0.0; GROUPS];
        times.iter_mut().enumerate().for_each(|(index, time)| *time = of(index));
        times
    }

    /// Returns the times of batches; every `period`-th batch is shorter.
    fn periodic(period: usize) -> [f64; GROUPS] {
        times(|index| if index % period == period - 1 { 0.8 } else { 1.0 })
    }

    /// Returns a histogram with these numbers of latencies, in microseconds.
    fn latencies(counts: &[(u64, u64)]) -> LatencyHistogram {
        let mut latency = LatencyHistogram::new();
        for &(microseconds, count) in counts {
            (0..count).for_each(|_| latency.record(Duration::from_microseconds(microseconds)));
        }
        latency
    }

    #[test]
    fn percentiles_that_only_the_first_requests_reach_do_not_last() {
        // The 40 slow requests are beyond p99.9 of all 20,000.
        let all = latencies(&[(100, 19_960), (120, 40)]);
        let of = |slow: u64| percentiles_last(&all, &latencies(&[(100, 9_980), (120, slow)]), 1.0);
        assert!(of(20) && !of(0) && !of(5));
        // Within the maximum difference, the change does not matter.
        let near = latencies(&[(100, 19_960), (104, 40)]);
        assert!(percentiles_last(&near, &latencies(&[(100, 10_000)]), 1.0));
        // A test of 8,000 requests does not report p99.9, and without later requests nothing can change.
        assert!(percentiles_last(&all, &latencies(&[(100, 10_000)]), 0.4));
        assert!(percentiles_last(&all, &LatencyHistogram::new(), 1.0));
    }

    #[test]
    fn independent_times_have_their_deviation() {
        // The second term is a multiplicative sequence that is spread evenly between 0 and 1.
        let spread: [f64; GROUPS] = times(|index| 1.0 + (index * index * 7 % 31) as f64 / 310.0);
        let seen = spectral_deviation(&spread, 15);
        let usual = deviation(&spread);
        assert!((seen / usual - 1.0).abs() < 0.1, "{seen} for {usual}");
    }

    #[test]
    fn times_that_alternate_vary_less_in_sum() {
        let alternating = periodic(4);
        let of = |estimate| rate_half_width(&alternating, estimate).unwrap();
        let independent = of(DeviationEstimate::Independent);
        let spectral = of(DeviationEstimate::Spectrum);
        assert!(independent > 0.03 && spectral < 1e-9, "{independent}, {spectral}");
        // Both methods detect a slow change.
        let slow: [f64; GROUPS] =
            times(|index| 1.0 + 0.1 * libm::sin(index as f64 * std::f64::consts::PI / 8.0));
        for estimate in [DeviationEstimate::Independent, DeviationEstimate::Spectrum] {
            assert!(rate_half_width(&slow, estimate).unwrap() > 0.02, "{estimate:?}");
        }
    }

    #[test]
    fn times_that_drift_lack_precision() {
        let drifting: [f64; GROUPS] =
            times(|index| 1.0 + index as f64 / 100.0 + if index % 4 == 3 { 0.01 } else { 0.0 });
        for estimate in [DeviationEstimate::Independent, DeviationEstimate::Spectrum] {
            assert_eq!(rate_half_width(&drifting, estimate), None, "{estimate:?}");
        }
    }
}

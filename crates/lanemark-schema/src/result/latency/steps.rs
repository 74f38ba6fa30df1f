//! A histogram in steps between stated percentiles, which views draw if only percentiles are known.

/// Returns bins in steps: all latencies between two percentiles are set to the upper percentile. A percentile's rank is
/// the smallest rank whose share of the requests reaches the percentile, as in
/// [`percentile_ns`](super::LatencyHistogram::percentile_ns). Without percentiles, all requests except for the minimum
/// and the maximum have the mean latency.
pub(super) fn steps(
    percentiles: &[(f64, u64)],
    count: u64,
    least: u64,
    mean: u64,
    most: u64,
) -> Vec<(u64, u64)> {
    let mut bins = vec![(least, u64::from(count > 0))];
    let mut counted: u64 = bins[0].1;
    for (percent, latency) in percentiles {
        // Rounding of the product must not increase a rank that matches the percentile exactly.
        let rank = (count as f64 * percent / 100.0 - 1e-6).ceil().max(0.0) as u64;
        let rank = rank.min(count.saturating_sub(1));
        bins.push(((*latency).clamp(least, most), rank.saturating_sub(counted)));
        counted = counted.max(rank);
    }
    let rest = if percentiles.is_empty() { mean } else { most };
    bins.push((rest, count.saturating_sub(1).saturating_sub(counted)));
    bins.push((most, u64::from(count > 1)));
    bins.retain(|(_, count)| *count > 0);
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_lie_at_the_percentile_that_their_rank_reaches() {
        for (percentiles, count, wanted) in [
            // One of the requests is the minimum, and another is the maximum.
            (&[(50.0, 300), (90.0, 700)][..], 10, &[(100, 1), (300, 4), (700, 4), (900, 1)][..]),
            (&[(50.0, 300)], 10, &[(100, 1), (300, 4), (900, 4), (900, 1)]),
            (&[(99.9, 800)], 1000, &[(100, 1), (800, 998), (900, 1)]),
            (&[(99.9, 800)], 100, &[(100, 1), (800, 98), (900, 1)]),
            // If a share ends between two requests, the next request reaches it.
            (&[(25.0, 200)], 10, &[(100, 1), (200, 2), (900, 6), (900, 1)]),
            // The percentile's requests include the minimum.
            (
                &[(0.0, 100), (10.0, 150), (20.0, 200)],
                10,
                &[(100, 1), (200, 1), (900, 7), (900, 1)],
            ),
            // Percentiles beyond the minimum or maximum are set to the minimum or maximum.
            (&[(50.0, 50), (90.0, 950)], 10, &[(100, 1), (100, 4), (900, 4), (900, 1)]),
            (&[], 10, &[(100, 1), (400, 8), (900, 1)]),
            (&[], 2, &[(100, 1), (900, 1)]),
            (&[(50.0, 300)], 1, &[(100, 1)]),
            (&[(50.0, 300)], 0, &[]),
        ] {
            let bins = steps(percentiles, count, 100, 400, 900);
            assert_eq!(bins, wanted, "{percentiles:?} of {count}");
            assert_eq!(bins.iter().map(|bin| bin.1).sum::<u64>(), count);
        }
    }
}

//! A histogram in steps between stated percentiles: the shape that views draw if only percentiles are known.

/// Returns bins in steps: all latencies between two percentiles equal the upper one. A percentile's rank is the
/// smallest rank whose share of the requests reaches the percentile, as in
/// [`percentile_ns`](super::LatencyHistogram::percentile_ns). Without percentiles all requests but the minimum and the
/// maximum have the mean latency.
pub(super) fn steps(
    percentiles: &[(f64, u64)],
    count: u64,
    (least, mean, most): (u64, u64, u64),
) -> Vec<(u64, u64)> {
    let mut bins = vec![(least, u64::from(count > 0))];
    let mut counted: u64 = bins[0].1;
    for (percent, latency) in percentiles {
        // Rounding of the product must not raise a rank that the percentile meets exactly.
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

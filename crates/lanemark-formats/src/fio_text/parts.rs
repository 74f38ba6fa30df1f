//! Functions that the readers of fio's normal and terse output share.

use lanemark_schema::result::{ErrorCount, ErrorKind, LatencyHistogram, RequestErrors, Sample};

use crate::fio_json::sampled;
use crate::stated::ReportedTest;

/// Maximum number of percentiles that are read; fio's own bound is 20.
const PERCENTILES_MAX: usize = 100;

/// Latencies of one kind, in ns.
#[derive(Clone, Debug, Default)]
pub(super) struct Latencies {
    /// Minimum, maximum and mean.
    pub(super) ends: Option<(f64, f64, f64)>,
    /// Percentiles, each as a percentage with its latency.
    pub(super) percentiles: Vec<(f64, f64)>,
}

impl Latencies {
    /// Returns whether the latencies were measured; fio prints zeros if they were not.
    pub(super) fn are_measured(&self) -> bool {
        self.ends.is_some_and(|(_, max, mean)| max > 0.0 && mean > 0.0)
    }

    /// Returns the histogram of `count` requests.
    pub(super) fn histogram(&self, count: u64) -> LatencyHistogram {
        let Some((min, max, mean)) = self.ends.filter(|_| self.are_measured()) else {
            return LatencyHistogram::unmeasured(count);
        };
        let min = min.min(mean).floor();
        let max = max.max(mean).ceil();
        let mut stated: Vec<(f64, u64)> =
            self.percentiles.iter().map(|(percent, ns)| (*percent, *ns as u64)).collect();
        stated.retain(|(percent, _)| *percent > 0.0 && *percent <= 100.0);
        stated.sort_by(|a, b| a.0.total_cmp(&b.0));
        stated.dedup_by(|later, first| (later.0 - first.0).abs() < 1e-9);
        stated.truncate(PERCENTILES_MAX);
        LatencyHistogram::from_percentiles(stated, count, mean, min as u64, max as u64)
    }
}

/// Returns the whole latency or the completion latency. A latency that has percentiles is preferred, and otherwise the
/// whole latency.
pub(super) fn preferred_latencies<'l>(
    whole: &'l Latencies,
    completion: &'l Latencies,
) -> &'l Latencies {
    let all = [whole, completion];
    let with_percentiles =
        all.iter().find(|latency| latency.are_measured() && !latency.percentiles.is_empty());
    with_percentiles
        .or_else(|| all.iter().find(|latency| latency.are_measured()))
        .unwrap_or(&completion)
}

/// Returns the mean time of submission, if completion latencies lack it although the whole latency is stated.
pub(super) fn submission_ns(whole: &Latencies, completion: &Latencies) -> Option<f64> {
    let mean = |latency: &Latencies| Some(latency.ends.filter(|_| latency.are_measured())?.2);
    Some(mean(whole)? - mean(completion)?).filter(|ns| *ns > 0.0)
}

/// The note about earlier figures of a run.
pub(super) const SNAPSHOTS: &str =
    "earlier figures of the same run (--status-interval) are omitted";

/// Returns the errors of a job that ended with the error number `errno`; there are no errors if it is 0.
pub(super) fn errors(errno: u32) -> RequestErrors {
    let mut errors = RequestErrors::default();
    if errno > 0 {
        let kind = ErrorKind::of_errno(errno);
        errors.add(ErrorCount { kind, errno: Some(errno), requests: 1 });
    }
    errors
}

/// Adds the figures of a clone to the figures of a test.
pub(super) fn add_clone(test: &mut ReportedTest, clone: &Sample) {
    sampled::add(&mut test.sample, clone);
    test.threads = Some(test.threads.unwrap_or(1).saturating_add(1));
}

/// Reads ` rwts: total=713,311,0,0 short=…`, or `: total=r=713/w=311/d=0, short=…` from version 2.
pub(super) fn parse_issued_counts(text: &str) -> Option<[f64; 4]> {
    let (_, total) = text.split_once("total=")?;
    let total = total.split_whitespace().next()?;
    let mut all = [0.0; 4];
    let mut found = 0;
    let is_separator = |letter: char| !letter.is_ascii_digit();
    for part in total.split(is_separator).filter(|part| !part.is_empty()).take(4) {
        all[found] = part.parse().ok()?;
        found += 1;
    }
    (found >= 3).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_rounded_outwards_to_whole_nanoseconds_and_include_the_mean() {
        for (ends, min, max) in [
            ((10.7, 20.2, 15.5), 10, 21),
            ((10.0, 20.0, 15.0), 10, 20),
            // fio rounds the minimum and the maximum more coarsely than the mean.
            ((16.0, 17.0, 15.5), 15, 17),
            ((10.0, 15.0, 15.5), 10, 16),
        ] {
            let latencies = Latencies { ends: Some(ends), percentiles: vec![(50.0, 14.0)] };
            let histogram = latencies.histogram(4);
            let found = (histogram.min_ns(), histogram.max_ns(), histogram.mean_known_ns());
            assert_eq!(found, (Some(min), Some(max), Some(ends.2)), "{ends:?}");
            assert_eq!((histogram.count(), histogram.stated()), (4, &[(50.0, 14)][..]), "{ends:?}");
        }
        for ends in [None, Some((0.0, 0.0, 0.0)), Some((0.0, 5.0, 0.0)), Some((0.0, 0.0, 5.0))] {
            let histogram = Latencies { ends, percentiles: Vec::new() }.histogram(4);
            assert_eq!((histogram.count(), histogram.is_measured()), (4, false), "{ends:?}");
        }
    }
}

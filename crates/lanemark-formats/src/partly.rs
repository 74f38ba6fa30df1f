//! Tests and latencies that a source describes only in part.

use lanemark_schema::result::{LatencyDetail, LatencyHistogram, Sample, Warning};
use lanemark_schema::units::{Bytes, Ratio};
use lanemark_schema::workload::{LoadKind, PartialRequests, Pattern, SyntheticRequests};

/// Returns the requests of a test in a closed loop. They are marked as completely stated if the source states both the
/// pattern and the depth.
pub(crate) fn load_kind(
    stated: (Option<Pattern>, Option<u32>),
    read_share: Ratio,
    alignment: Bytes,
) -> LoadKind {
    match stated {
        (Some(pattern), Some(queue_depth)) => LoadKind::Requests(SyntheticRequests {
            pattern,
            read_share,
            queue_depth,
            ..SyntheticRequests::aligned_to(alignment)
        }),
        (pattern, queue_depth) => {
            LoadKind::PartlyStated(PartialRequests { pattern, read_share, queue_depth, alignment })
        }
    }
}

/// Returns a warning about the latencies of a test if the source does not contain a full distribution.
pub(crate) fn latency_warning(test: &str, sample: &Sample, are_rates: bool) -> Option<Warning> {
    let sides = [&sample.reads, &sample.writes, &sample.unified, &sample.trims];
    let known: Vec<&LatencyHistogram> =
        sides.into_iter().flatten().map(|side| &side.latency).collect();
    let test = test.to_owned();
    if known.iter().any(|histogram| histogram.detail() == LatencyDetail::Count) {
        return Some(Warning::NoLatencies { test });
    }
    if known.iter().any(|histogram| histogram.detail() == LatencyDetail::Mean) {
        return (!are_rates).then_some(Warning::OnlyMeans { test });
    }
    let partly = known.iter().filter(|histogram| histogram.detail() == LatencyDetail::Percentiles);
    let known = partly.map(|histogram| histogram.stated().len() as u32).min()?;
    Some(Warning::FromPercentiles { test, known })
}

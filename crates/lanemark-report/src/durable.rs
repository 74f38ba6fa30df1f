//! The answer for tests that flush after every write: the duration of the flushes, compared with the limit that a
//! database's log requires.
//!
//! etcd requires a 99th percentile below 10 ms for the duration of `fdatasync` on its log (etcd's FAQ, "What does the
//! etcd warning `failed to send out heartbeat on time` mean?"). OpenShift's guide and other guides that check a disk
//! with such a test use the same bound. The percentile covers the flushes of all repeats together. A test with too few
//! flushes for the percentile is omitted.

use lanemark_schema::result::{LatencyHistogram, RunResult, TestResult};
use lanemark_schema::units::Ratio;

use crate::number::{LatencyUnit, significant};

/// The bound that etcd states, in ns.
const BOUND_NS: u64 = 10_000_000;
/// Minimum number of flushes: 1% of this number is one flush.
const FLUSHES_LEAST: u64 = 100;

/// Returns a sentence for each test of `run` that writes without reading and flushes after every write.
pub(crate) fn sentences(run: &RunResult) -> Vec<String> {
    let several = run.tests.len() > 1;
    let sentences = run.tests.iter().filter_map(|test| {
        let sentence = sentence(test)?;
        Some(if several { format!("{}: {sentence}", test.test.name) } else { sentence })
    });
    sentences.collect()
}

fn sentence(result: &TestResult) -> Option<String> {
    let test = &result.test;
    if test.mix().flush_every != Some(1) || test.reads() {
        return None;
    }
    let mut all = LatencyHistogram::new();
    for flushes in result.samples.iter().filter_map(|sample| sample.flushes.as_ref()) {
        all.merge(&flushes.latency);
    }
    let p99 = all.percentile_ns(99.0).filter(|_| all.count() >= FLUSHES_LEAST)?;
    let unit = LatencyUnit::fitting(std::iter::once(p99 as f64));
    let verdict = if p99 < BOUND_NS { "below" } else { "not below" };
    Some(format!(
        "99% of the flushes (fdatasync) took up to {} {}, {verdict} the 10 ms that etcd requires.",
        significant(unit.convert(p99 as f64)),
        unit.name()
    ))
}

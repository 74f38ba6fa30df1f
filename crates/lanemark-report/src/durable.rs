//! The answer for tests that flush after every write: the duration of flushes, compared with the requirement of a log.
//!
//! etcd requires that the 99th percentile of the duration of `fdatasync` on its log is below 10 ms ("What does the etcd
//! warning `failed to send out heartbeat on time` mean?", etcd's FAQ; OpenShift's guide and other guides that check a
//! disk with such a test use the same bound). The percentile covers all repeats together. Tests with fewer flushes than
//! a percentile needs are omitted.

use lanemark_schema::result::{LatencyHistogram, RunResult, TestResult};
use lanemark_schema::units::Ratio;

use crate::number::{LatencyUnit, significant};

/// The bound that etcd states, in ns.
const BOUND_NS: u64 = 10_000_000;
/// Minimum number of flushes: one per cent of them is at least one flush.
const FLUSHES_LEAST: u64 = 100;

/// Returns a sentence for each test of `run` that only writes and flushes after every write.
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
    if test.mix().flush_every != Some(1) || test.read_share() > Ratio::ZERO {
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
        "99% of the flushes (fdatasync) took at most {} {}, {verdict} the 10 ms that etcd requires.",
        significant(unit.of(p99 as f64)),
        unit.name()
    ))
}

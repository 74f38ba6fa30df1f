//! The answer for tests that write and flush: the duration of the flushes, and of a write; if each write is followed by
//! a flush, of both together, which is the time that fio's rate contains.
//!
//! A limit is named only if the test is the check for which it was published. etcd requires a 99th percentile below 10
//! ms for the duration of `fdatasync` on its log (etcd's FAQ, "What does the etcd warning `failed to send out heartbeat
//! on time` mean?"), and OpenShift's guide checks a disk with fio and the same limit: one thread writes small requests
//! in order through the page cache. The percentile covers the flushes of all repeats together. With too few flushes for
//! the percentile, the mean is stated.

use lanemark_schema::result::{
    DirectionResult, LatencyHistogram, RunResult, Sample, Target, TestResult,
};
use lanemark_schema::workload::LoadKind;

use crate::text::number::{LatencyUnit, significant};

/// The bound that etcd states, in ns.
const BOUND_NS: u64 = 10_000_000;
/// Minimum number of flushes: 1% of this number is one flush.
const FLUSHES_LEAST: u64 = 100;
/// Maximum mean length of the requests in a check of a log, in bytes. The published checks write 2,300 B, 4 or 8 KiB.
const LOG_MOST: f64 = 8192.0;

/// Returns a sentence for each test of `run` that writes without reading and flushes.
pub(crate) fn sentences(run: &RunResult) -> Vec<String> {
    let several = run.tests.len() > 1;
    // A result that does not state the use of the page cache comes from a program that uses it by default. A simulated
    // flush does not depend on the page cache.
    let is_buffered = match &run.target {
        Target::Measured(target) => target.direct != Some(true),
        Target::Simulated(_) => true,
        Target::Database(_) => false,
    };
    let sentences = run.tests.iter().filter_map(|test| {
        let sentence = sentence(test, is_buffered)?;
        Some(if several { format!("{}: {sentence}", test.test.name) } else { sentence })
    });
    sentences.collect()
}

/// Returns the sentence for a simulated test that writes without reading and flushes.
pub fn durable_sentence(result: &TestResult) -> Option<String> {
    sentence(result, true)
}

fn sentence(result: &TestResult, is_buffered: bool) -> Option<String> {
    let test = &result.test;
    let mix = test.mix();
    let every = mix.flush_every.or_else(|| counted(result)).filter(|_| !test.reads())?;
    let mut all = LatencyHistogram::new();
    let mut writes = LatencyHistogram::new();
    for sample in &result.samples {
        let parts = [(&mut all, &sample.flushes), (&mut writes, &sample.writes)];
        for (sum, part) in parts {
            sum.merge(&part.as_ref()?.latency);
        }
    }
    if all.count() == 0 {
        return None;
    }
    let p99 = all.recorded_percentile_ns(99.0).filter(|_| all.count() >= FLUSHES_LEAST);
    // Every percentile of a constant flush is the flush.
    let p99 = p99.or_else(|| all.is_constant().then(|| all.mean_ns() as u64));
    let flush = p99.map_or(all.mean_ns(), |p99| p99 as f64);
    let ratios =
        result.interval.as_ref().map(|known| [1.0 / known.high_ratio, 1.0 / known.low_ratio]);
    let ends = ratios.filter(|[low, high]| low < high).map(|ends| ends.map(|ratio| flush * ratio));
    let (calls, limit) = if is_log_check(result, is_buffered) {
        let limit = if p99.is_some() { compared(flush, ends) } else { interval_text(ends) };
        (" (fsync or fdatasync)", limit)
    } else {
        ("", interval_text(ends))
    };
    let flush = time_text(flush);
    let flushes = if all.is_constant() {
        format!("Each flush{calls} took {flush}{limit}")
    } else if p99.is_some() {
        format!("99% of the flushes{calls} took up to {flush}{limit}")
    } else {
        format!("A flush{calls} took {flush} on average{limit}")
    };
    // A flush that writes back its data contains the write.
    let write = match every {
        1 if mix.written_back => {
            format!("a write with its flush took {}", time_text(all.mean_ns()))
        }
        1 => format!("a write with its flush took {}", time_text(writes.mean_ns() + all.mean_ns())),
        _ => format!("a write took {}", time_text(writes.mean_ns())),
    };
    Some(format!("{flushes}; {write} on average."))
}

/// Returns the writes per flush that were counted, if the source does not state the requests of the test.
fn counted(result: &TestResult) -> Option<u32> {
    let LoadKind::PartlyStated(_) = result.test.asks else { return None };
    let count = |of: fn(&Sample) -> &Option<DirectionResult>| -> u64 {
        let parts = result.samples.iter().filter_map(|sample| of(sample).as_ref());
        parts.map(|part| part.latency.count()).sum()
    };
    let flushes = count(|sample| &sample.flushes);
    (flushes > 0).then(|| (count(|sample| &sample.writes) as f64 / flushes as f64).round() as u32)
}

/// Returns whether a test is the published check of a disk for etcd's log.
fn is_log_check(result: &TestResult, is_buffered: bool) -> bool {
    let test = &result.test;
    let Some(requests) = test.requests() else { return false };
    let is_buffered = requests.mix.written_back || is_buffered;
    let outstanding = test.threads * requests.queue_depth;
    requests.is_in_order() && outstanding == 1 && is_buffered && test.block_mean() <= LOG_MOST
}

/// Returns the comparison of a 99th percentile with etcd's limit. `ends` is the 80% interval of the percentile, if
/// known.
fn compared(p99: f64, ends: Option<[f64; 2]>) -> String {
    let bound = BOUND_NS as f64;
    let interval = interval_text(ends);
    match ends {
        Some([low, high]) if low < bound && bound <= high => {
            format!(
                ", not known well enough: {} contains the 10 ms that etcd requires",
                span_text([low, high])
            )
        }
        _ if p99 < bound => format!("{interval}, below the 10 ms that etcd requires"),
        _ => format!("{interval}, not below the 10 ms that etcd requires"),
    }
}

/// Returns a text such as ` (80% interval 0.300 to 4.00 ms)`; empty if there is no interval.
fn interval_text(ends: Option<[f64; 2]>) -> String {
    ends.map_or(String::new(), |ends| format!(" (80% interval {})", span_text(ends)))
}

/// Returns a time such as `616 µs`.
fn time_text(ns: f64) -> String {
    let unit = LatencyUnit::fitting(std::iter::once(ns));
    format!("{} {}", significant(unit.convert(ns)), unit.name())
}

/// Returns a range of times such as `0.300 to 4.10 ms`.
fn span_text([low, high]: [f64; 2]) -> String {
    let unit = LatencyUnit::fitting(std::iter::once(high));
    format!(
        "{} to {} {}",
        significant(unit.convert(low)),
        significant(unit.convert(high)),
        unit.name()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_contains_the_limit_decides_nothing() {
        let ms = |from: f64, to: f64| Some([from * 1e6, to * 1e6]);
        let below = ", below the 10 ms that etcd requires";
        assert_eq!(compared(9.99e6, None), below);
        assert_eq!(compared(10e6, None), format!(", not{}", &below[1..]));
        let unknown = compared(1e6, ms(0.3, 12.0));
        assert!(unknown.starts_with(", not known well enough: 0.300 to 12.0 ms"), "{unknown}");
        let known = compared(1e6, ms(0.3, 4.0));
        assert_eq!(known, format!(" (80% interval 0.300 to 4.00 ms){below}"));
        assert!(
            compared(20e6, ms(11.0, 40.0)).ends_with(", not below the 10 ms that etcd requires")
        );
    }
}

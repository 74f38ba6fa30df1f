//! Short versions of tests. The ratio between the rates of two short tests shows how a rate depends on a system's
//! values.

use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::Test;

/// Number of requests in a short test. A test with many outstanding requests contains more.
const REQUESTS: u64 = 2_000;
/// The maximum amount of data in a short test, in bytes, which limits tests with long requests.
const DATA: f64 = REQUESTS as f64 * 131_072.0;
/// The minimum number of requests in a short test.
const LEAST: f64 = 8.0;
/// The minimum number of requests in a brief test.
const LEAST_BRIEF: f64 = 2.0;
/// A short test with up to this number of requests ends with its last request; a longer test ends after its expected
/// time.
const FEW: f64 = 64.0;
/// The factor by which a brief test is shorter than a short test.
const BRIEF: f64 = 8.0;
/// Maximum difference between brief and short tests, in the logarithm of a ratio, with which brief tests are
/// sufficient. The minimum width of an interval is 10 times as much.
const NEGLIGIBLE: f64 = 0.01;
/// Maximum difference of this kind for a latency percentile. The minimum width of an interval is 4 times as much. A
/// percentile does not determine the length of the tests: if brief tests differ by more, it does not have an interval.
const TAIL_NEGLIGIBLE: f64 = 0.03;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ShortLength {
    /// A few thousand requests, which is sufficient to determine each rate.
    Short,
    /// An eighth of these requests. The ratio of two rates converges earlier than the rates themselves, because both
    /// tests draw the same requests.
    Brief,
}

/// Returns a short version of `test`, given the predicted rate of the whole test.
pub(super) fn shortened(test: &Test, requests_per_second: f64, length: ShortLength) -> Test {
    let mut short = test.clone();
    let outstanding = f64::from(test.issue_depth()) * f64::from(test.threads);
    let request_count = (REQUESTS as f64).min(DATA / test.block_mean());
    let request_count = match length {
        ShortLength::Short => request_count.max(4.0 * outstanding).max(LEAST),
        ShortLength::Brief => (request_count / BRIEF).max(2.0 * outstanding).max(LEAST_BRIEF),
    };
    let whole = test.volume.map_or(f64::INFINITY, |volume| volume.get() as f64 / test.block_mean());
    let requests = request_count.min(whole);
    let seconds = requests / requests_per_second.max(1e-3);
    let time = Duration::from_picoseconds((seconds * 1e12) as u64);
    short.ramp = test.ramp.min(time);
    if requests <= FEW && test.is_closed() && test.block_least() == test.block {
        // With few requests, a slightly slower system completes one request fewer in a fixed time: the count changes in
        // steps, but the rate does not. Counting to the end of the last request removes these steps from the rate.
        short.duration = None;
        short.volume = Some(Bytes((requests.ceil() as u64).max(1) * test.block.get()));
    } else {
        short.duration = Some(test.duration.map_or(time, |whole| whole.min(time)));
        short.volume = None;
    }
    short.rounds = None;
    short.interval = None;
    short
}

/// The rates of the same draws with tests of both lengths, each divided by the rate with the values in the files.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RatioByLength {
    pub(super) short: f64,
    pub(super) brief: f64,
}

/// Returns the length that the other draws need, given the ratios of a few `probes`.
pub(super) fn sufficient_length(probes: &[Option<RatioByLength>]) -> ShortLength {
    if ratios_agree(probes, NEGLIGIBLE) { ShortLength::Brief } else { ShortLength::Short }
}

/// Returns whether brief tests are sufficient for a latency percentile, given the ratios of a few `probes`.
pub(super) fn is_brief_enough_for_tail(probes: &[Option<RatioByLength>]) -> bool {
    ratios_agree(probes, TAIL_NEGLIGIBLE)
}

/// Returns whether the logarithms of the ratios of both lengths differ by up to `bound`.
fn ratios_agree(probes: &[Option<RatioByLength>], bound: f64) -> bool {
    let is_within_bound = |probe: &Option<RatioByLength>| {
        probe.is_some_and(|probe| libm::log(probe.brief / probe.short).abs() <= bound)
    };
    !probes.is_empty() && probes.iter().all(is_within_bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brief_tests_are_enough_where_each_probe_agrees() {
        let of = |short: f64, brief: f64| Some(RatioByLength { short, brief });
        let near = 0.5 * 0.0099_f64.exp();
        let far = 0.5 * 0.0101_f64.exp();
        for (probes, wanted) in [
            (vec![of(0.5, near), of(2.0, 2.0)], ShortLength::Brief),
            (vec![of(near, 0.5)], ShortLength::Brief),
            (vec![of(0.5, far), of(2.0, 2.0)], ShortLength::Short),
            (vec![of(2.0, 2.0), of(far, 0.5)], ShortLength::Short),
            (vec![of(2.0, 2.0), None], ShortLength::Short),
            // One of the tests did not complete a request.
            (vec![of(0.0, 2.0)], ShortLength::Short),
            (vec![of(0.0, 0.0)], ShortLength::Short),
            (vec![], ShortLength::Short),
        ] {
            assert_eq!(sufficient_length(&probes), wanted, "{probes:?}");
        }
        // The bound for a latency percentile is wider.
        let near = 0.5 * 0.0299_f64.exp();
        let far = 0.5 * 0.0301_f64.exp();
        assert!(is_brief_enough_for_tail(&[of(0.5, near), of(near, 0.5)]));
        for probes in [vec![of(0.5, far)], vec![of(far, 0.5)], vec![of(0.5, 0.5), None], vec![]] {
            assert!(!is_brief_enough_for_tail(&probes), "{probes:?}");
        }
    }

    /// Returns the requests of the shortened test at 1000 requests a second.
    fn requests(test: &Test, length: ShortLength) -> f64 {
        let short = shortened(test, 1000.0, length);
        match (short.duration, short.volume) {
            (Some(duration), None) => duration.as_seconds() * 1000.0,
            (None, Some(volume)) => volume.get() as f64 / test.block.get() as f64,
            other => panic!("one end, not {other:?}"),
        }
    }

    #[test]
    fn short_tests_have_enough_requests_for_their_depth_and_length() {
        let load = |block: Bytes, queue_depth: u32| {
            let test = Test::of_blocks(block).with(|requests| requests.queue_depth = queue_depth);
            Test { duration: Some(Duration::from_seconds(60)), volume: None, ..test }
        };
        for (block, depth, short, brief) in [
            (Bytes::kibi(4), 1, 2000.0, 250.0),
            (Bytes::kibi(4), 128, 2000.0, 256.0),
            (Bytes::kibi(4), 1000, 4000.0, 2000.0),
            (Bytes::kibi(128), 1, 2000.0, 250.0),
            (Bytes::mebi(1), 1, 250.0, 32.0),
            (Bytes::mebi(32), 1, 8.0, 2.0),
        ] {
            let test = load(block, depth);
            assert_eq!(requests(&test, ShortLength::Short), short, "{block:?} {depth}");
            assert_eq!(requests(&test, ShortLength::Brief), brief, "{block:?} {depth}");
        }
        let of_three =
            Test { duration: None, volume: Some(Bytes::mebi(96)), ..load(Bytes::mebi(32), 1) };
        assert_eq!(requests(&of_three, ShortLength::Short), 3.0);
        assert_eq!(requests(&of_three, ShortLength::Brief), 2.0);
    }
}

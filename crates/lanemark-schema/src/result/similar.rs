//! Samples of long tests that were simulated for a shorter time and on a smaller drive.

use serde::{Deserialize, Serialize};

use super::range::{RangeCheck, TIME_MAX_NS, ValuePath, check_within};
use super::series::{Series, SeriesPoint};
use crate::units::{Bytes, Duration};

/// A test that was simulated for 1/`factor` of its time, on a drive with the same proportions.
///
/// The counts, bytes and time of the sample describe the simulated part, so a percentile never depends on requests that
/// were not simulated. A series contains the times and counts of the whole test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScaledRun {
    /// Length of the whole test divided by the length of the simulated part.
    pub factor: u32,
    /// Size of the real drive divided by the size of the simulated drive; 1 for tests that only read.
    pub drive_factor: u32,
    /// Number of requests that the whole test would complete at this rate.
    pub requests: u64,
    /// Length of the whole test.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Duration,
}

impl ScaledRun {
    pub(super) fn check(&self, at: &ValuePath) -> RangeCheck {
        let at = at.key("similar");
        if self.factor == 0 || ![1, self.factor].contains(&self.drive_factor) {
            return at.key("drive_factor").fail(self.drive_factor, "1 or the factor".to_owned());
        }
        check_within(&at.key("elapsed_ns"), self.elapsed.nanoseconds() as f64, TIME_MAX_NS)
    }
}

impl Series {
    /// Returns the series of a test that is `factor` times longer and has `factor` times as many requests in each
    /// interval.
    #[must_use]
    pub fn times(self, factor: u32) -> Self {
        let longer = u64::from(factor);
        let multiplied = |bytes: Bytes| Bytes(bytes.get().saturating_mul(longer));
        let point = |point: SeriesPoint| SeriesPoint {
            reads: point.reads.saturating_mul(longer),
            writes: point.writes.saturating_mul(longer),
            read_bytes: multiplied(point.read_bytes),
            written_bytes: multiplied(point.written_bytes),
            latency_steps: point.latency_steps.times(longer),
            drive: point.drive.map(|drive| drive.times(longer)),
            ..point
        };
        Self {
            interval: self.interval * longer,
            last: self.last * longer,
            points: self.points.into_iter().map(point).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::DriveUse;
    use super::super::series::SeriesRecorder;
    use super::*;
    use crate::workload::Operation;

    #[test]
    fn a_longer_series_has_the_same_rates() {
        let mut recorder = SeriesRecorder::new(Duration::from_seconds(1), 10);
        recorder.begin(DriveUse::default());
        for ms in [100u64, 600, 1_100, 2_300] {
            let at = Duration::from_microseconds(ms * 1_000);
            let written = Bytes::kibi(8 * ms);
            let drive = DriveUse { host_written: written, moved: written, ..DriveUse::default() };
            if recorder.is_over(at) {
                recorder.close(at, Some(drive));
            }
            recorder.record(Operation::Write, Bytes::kibi(4), Duration::from_microseconds(50));
        }
        let end = DriveUse {
            host_written: Bytes::mebi(40),
            moved: Bytes::mebi(40),
            ..DriveUse::default()
        };
        let short = recorder.finish(Duration::from_microseconds(2_500_000), Some(end));
        let long = short.clone().times(16);
        assert_eq!(long.elapsed(), short.elapsed() * 16);
        for index in 0..short.points.len() {
            assert_eq!(long.iops(index), short.iops(index));
            assert_eq!(long.throughput(index), short.throughput(index));
            assert_eq!(long.start(index), short.start(index) * 16);
            let one = &long.points[index];
            let other = &short.points[index];
            assert_eq!(one.write_amplification(), other.write_amplification());
            assert_eq!(one.latency_mean_ns, other.latency_mean_ns);
            assert!(one.latency_steps.counts_all(one.requests()));
        }
    }
}

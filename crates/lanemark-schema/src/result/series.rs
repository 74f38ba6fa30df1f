//! A sample over time: the requests that completed in each of many equal intervals.
//!
//! The number of points is limited. If one more point would exceed the limit, each pair of neighbours is merged and the
//! interval doubles, so a run of any length takes the same memory. Counts, sums and maxima can be merged exactly;
//! percentiles cannot. Therefore a point contains the maximum latency and counts by latency step, but no percentiles.

use serde::{Deserialize, Serialize};

use super::direction::DirectionResult;
use super::drive_use::DriveUse;
use super::latency::LatencyHistogram;
use super::latency_steps::{LatencySteps, StepCounts};
use crate::units::{Bytes, Duration};
use crate::workload::{Operation, SeriesInterval, Test};

/// Maximum number of points of a series whose interval is automatic.
const POINTS_AUTOMATIC: usize = 1000;
/// Maximum number of points of a series whose interval was requested.
pub const POINTS_MAX: usize = 100_000;
/// Minimum length of a test for which a series is recorded without being requested.
pub const LONG: Duration = Duration::from_seconds(60);

/// A sample in equal intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Length of each interval except for the last.
    #[serde(rename = "interval_ns")]
    pub interval: Duration,
    /// Length of the last interval.
    #[serde(rename = "last_ns")]
    pub last: Duration,
    /// The intervals, in order of time.
    pub points: Vec<SeriesPoint>,
}

/// The requests that completed in one interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SeriesPoint {
    /// Completed reads.
    pub reads: u64,
    /// Completed writes.
    pub writes: u64,
    /// Data read.
    pub read_bytes: Bytes,
    /// Data written.
    pub written_bytes: Bytes,
    /// The mean latency of reads and writes; zero if there were no requests.
    pub latency_mean_ns: f64,
    /// Maximum latency of the requests, in ns.
    pub latency_max_ns: u64,
    /// Requests by latency; empty if they were not counted.
    #[serde(default, skip_serializing_if = "LatencySteps::is_empty")]
    pub latency_steps: LatencySteps,
    /// Writes to the drive's flash; known for simulated runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<DriveUse>,
}

impl SeriesPoint {
    /// Returns the number of reads and writes.
    pub fn requests(&self) -> u64 {
        self.reads + self.writes
    }

    /// Returns the amount of transferred data.
    pub fn bytes(&self) -> Bytes {
        self.read_bytes + self.written_bytes
    }

    /// Returns the bytes written to flash per byte that the host wrote, if they are known and the host wrote data.
    pub fn write_amplification(&self) -> Option<f64> {
        self.drive.and_then(|drive| drive.write_amplification())
    }

    /// Returns the sum of two points.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let requests = self.requests() + other.requests();
        let sum = |point: &Self| point.latency_mean_ns * point.requests() as f64;
        Self {
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            read_bytes: self.read_bytes + other.read_bytes,
            written_bytes: self.written_bytes + other.written_bytes,
            latency_mean_ns: match requests {
                0 => 0.0,
                requests => (sum(self) + sum(other)) / requests as f64,
            },
            latency_max_ns: self.latency_max_ns.max(other.latency_max_ns),
            latency_steps: self.latency_steps.with(&other.latency_steps),
            drive: match (self.drive, other.drive) {
                (Some(mut drive), Some(more)) => {
                    drive.add(&more);
                    Some(drive)
                }
                (known, None) | (None, known) => known,
            },
        }
    }
}

/// The requests during a steady part of a run.
#[derive(Clone, Debug)]
pub struct SteadyPart {
    /// The requests.
    requests: SeriesPoint,
    /// The length of the part.
    length: Duration,
}

impl SteadyPart {
    /// Returns the part with these requests, which took `length`, and these writes to flash.
    pub fn new(
        reads: &DirectionResult,
        writes: &DirectionResult,
        drive: DriveUse,
        length: Duration,
    ) -> Self {
        let mut both = LatencyHistogram::new();
        let mut steps = StepCounts::default();
        for direction in [reads, writes] {
            both.merge(&direction.latency);
            direction.latency.bins().for_each(|(ns, count)| steps.count_all(ns, count));
        }
        let requests = SeriesPoint {
            reads: reads.latency.count(),
            writes: writes.latency.count(),
            read_bytes: reads.bytes,
            written_bytes: writes.bytes,
            latency_mean_ns: both.mean_ns(),
            latency_max_ns: both.max_ns().unwrap_or(0),
            latency_steps: steps.take(),
            drive: Some(drive),
        };
        Self { requests, length }
    }

    /// Returns the requests that complete in `time` at the rates of the part.
    pub fn during(&self, time: Duration) -> SeriesPoint {
        let factor = time.as_seconds() / self.length.as_seconds();
        let scaled_count = |count: u64| (count as f64 * factor).round() as u64;
        let SeriesPoint { reads, writes, read_bytes, written_bytes, .. } = self.requests;
        let reads = scaled_count(reads);
        let writes = scaled_count(writes);
        SeriesPoint {
            reads,
            writes,
            read_bytes: Bytes(scaled_count(read_bytes.get())),
            written_bytes: Bytes(scaled_count(written_bytes.get())),
            latency_mean_ns: self.requests.latency_mean_ns,
            latency_max_ns: self.requests.latency_max_ns,
            latency_steps: self.requests.latency_steps.scaled_to(reads + writes),
            drive: self.requests.drive.map(|drive| drive.thinned(factor)),
        }
    }
}

impl Series {
    /// Returns the length of point `index`.
    pub fn length(&self, index: usize) -> Duration {
        if index + 1 == self.points.len() { self.last } else { self.interval }
    }

    /// Returns the start of point `index`, counted from the start of the sample.
    pub fn start(&self, index: usize) -> Duration {
        self.interval * index as u64
    }

    /// Returns the time that all points cover.
    pub fn elapsed(&self) -> Duration {
        match self.points.len() {
            0 => Duration::ZERO,
            count => self.start(count - 1) + self.last,
        }
    }

    /// Returns requests a second in point `index`.
    pub fn iops(&self, index: usize) -> f64 {
        per_second(self.points[index].requests() as f64, self.length(index))
    }

    /// Returns bytes a second in point `index`.
    pub fn throughput(&self, index: usize) -> f64 {
        per_second(self.points[index].bytes().get() as f64, self.length(index))
    }

    /// Returns the sum of all points from `from` up to `to`, and their total length.
    pub fn sum(&self, from: usize, to: usize) -> (SeriesPoint, Duration) {
        let point =
            self.points[from..to].iter().fold(SeriesPoint::default(), |sum, one| sum.with(one));
        (point, (from..to).map(|index| self.length(index)).sum())
    }

    /// Merges two series that cover the same time, such as the series of two threads. The result has the longer
    /// interval. If it is not a multiple of the shorter interval, each point of the finer series is counted in the
    /// interval that contains its start.
    #[must_use]
    pub fn beside(&self, other: &Self) -> Self {
        let (coarse, fine) =
            if self.interval >= other.interval { (self, other) } else { (other, self) };
        let mut sum = coarse.clone();
        let interval = sum.interval.picoseconds().max(1);
        for (index, point) in fine.points.iter().enumerate() {
            let slot = (fine.start(index).picoseconds() / interval) as usize;
            match sum.points.get_mut(slot) {
                Some(own) => *own = own.with(point),
                None => sum.points.push(point.clone()),
            }
        }
        sum
    }

    /// Returns the series with up to `count` points, each the sum of the same number of neighbours.
    #[must_use]
    pub fn condensed(&self, count: usize) -> Self {
        let points_per_group = self.points.len().div_ceil(count.max(1)).max(1);
        let points: Vec<SeriesPoint> = (0..self.points.len())
            .step_by(points_per_group)
            .map(|from| self.sum(from, (from + points_per_group).min(self.points.len())).0)
            .collect();
        let interval = self.interval * points_per_group as u64;
        let before = interval * points.len().saturating_sub(1) as u64;
        Self { interval, last: self.elapsed().saturating_sub(before), points }
    }
}

fn per_second(value: f64, time: Duration) -> f64 {
    if time == Duration::ZERO { 0.0 } else { value / time.as_seconds() }
}

/// Builds a series during a run.
#[derive(Clone, Debug)]
pub struct SeriesRecorder {
    interval: Duration,
    points_max: usize,
    points: Vec<SeriesPoint>,
    /// The counts of the current interval.
    current: SeriesPoint,
    latency_sum_ns: f64,
    latency_steps: StepCounts,
    end: Duration,
    drive: Option<DriveUse>,
}

impl SeriesRecorder {
    /// Creates a recorder for `test` if it requests a series or is long.
    pub fn for_test(test: &Test) -> Option<Self> {
        let length = match (test.duration, test.rounds) {
            (_, Some(rounds)) => Some(rounds.length * super::steady::ROUNDS_MAX as u64),
            (duration, None) => duration,
        };
        match test.interval {
            Some(SeriesInterval::Fixed { interval }) => Some(Self::new(interval, POINTS_MAX)),
            Some(SeriesInterval::Automatic) => Some(Self::automatic(length)),
            None if length.is_some_and(|length| length >= LONG) => Some(Self::automatic(length)),
            None => None,
        }
    }

    /// Creates a recorder whose points are `interval` long. The interval doubles whenever there are `points_max`
    /// points.
    pub fn new(interval: Duration, points_max: usize) -> Self {
        let interval = interval.max(Duration::from_picoseconds(1));
        Self {
            interval,
            points_max: points_max.next_multiple_of(2).max(2),
            points: Vec::new(),
            current: SeriesPoint::default(),
            latency_sum_ns: 0.0,
            latency_steps: StepCounts::default(),
            end: interval,
            drive: None,
        }
    }

    /// Creates a recorder with up to a thousand points of a round length, for a run of `length` if the length is known.
    fn automatic(length: Option<Duration>) -> Self {
        let least =
            length.map_or(0, |length| length.picoseconds().div_ceil(POINTS_AUTOMATIC as u64));
        // The length is 1, 2 or 5 times a power of ten, starting at a microsecond.
        let steps = (6..18u32).flat_map(|power| [1, 2, 5].map(|factor| factor * 10u64.pow(power)));
        let start = match length {
            Some(_) => steps.into_iter().find(|&step| step >= least).unwrap_or(least),
            None => Duration::from_microseconds(1000).picoseconds(),
        };
        Self::new(Duration::from_picoseconds(start), POINTS_AUTOMATIC)
    }

    /// Returns the current length of an interval.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Sets the number of bytes that the drive had written when the recording began.
    pub fn begin(&mut self, drive: DriveUse) {
        self.drive = Some(drive);
    }

    /// Returns whether a request that completes at `at`, counted from the start, belongs to a later interval.
    #[inline]
    pub fn is_over(&self, at: Duration) -> bool {
        at >= self.end
    }

    /// Closes all intervals that end at or before `at`; `drive` contains the drive's writes up to that time.
    pub fn close(&mut self, at: Duration, drive: Option<DriveUse>) {
        while self.end <= at {
            self.push(drive);
            self.merge_if_full();
            self.end = self.interval * (self.points.len() as u64 + 1);
        }
    }

    /// Counts a request in the current interval.
    #[inline]
    pub fn record(&mut self, operation: Operation, length: Bytes, latency: Duration) {
        let (count, bytes) = match operation {
            Operation::Read => (&mut self.current.reads, &mut self.current.read_bytes),
            Operation::Write => (&mut self.current.writes, &mut self.current.written_bytes),
            Operation::Flush | Operation::Trim => return,
        };
        *count += 1;
        *bytes += length;
        let latency_ns = latency.nanoseconds();
        self.latency_sum_ns += latency_ns as f64;
        self.latency_steps.count(latency_ns);
        self.current.latency_max_ns = self.current.latency_max_ns.max(latency_ns);
    }

    /// Returns the series of a run that took `elapsed` and during which the drive wrote `drive`.
    pub fn finish(mut self, elapsed: Duration, drive: Option<DriveUse>) -> Series {
        self.close(elapsed, drive);
        let rest = elapsed.saturating_sub(self.begun());
        let last = match rest {
            Duration::ZERO if self.current.requests() == 0 => self.interval,
            rest => {
                self.push(drive);
                rest
            }
        };
        Series { interval: self.interval, last, points: self.points }
    }

    /// Returns the series of a run that took `elapsed`. The run was recorded until `now`, and then continued at the
    /// rates of `steady`. `drive` is the drive's writes until `now`.
    pub fn finish_steady(
        mut self,
        now: Duration,
        drive: DriveUse,
        steady: &SteadyPart,
        elapsed: Duration,
    ) -> Series {
        self.close(now, Some(drive));
        if self.begun() < now {
            let rest = self.end.min(elapsed).saturating_sub(now);
            self.push(Some(drive));
            if let Some(point) = self.points.last_mut() {
                *point = point.with(&steady.during(rest));
            }
            self.merge_if_full();
        }
        while self.begun() < elapsed {
            let rest = elapsed.saturating_sub(self.begun());
            self.points.push(steady.during(rest.min(self.interval)));
            self.merge_if_full();
        }
        let before = self.interval * self.points.len().saturating_sub(1) as u64;
        let last = elapsed.saturating_sub(before);
        Series { interval: self.interval, last, points: self.points }
    }

    /// Returns the start of the current interval.
    fn begun(&self) -> Duration {
        self.interval * self.points.len() as u64
    }

    /// Merges neighbouring points if there is no space for another point.
    fn merge_if_full(&mut self) {
        if self.points.len() == self.points_max {
            self.points = self.points.chunks(2).map(|pair| pair[0].with(&pair[1])).collect();
            self.interval = self.interval * 2;
        }
    }

    fn push(&mut self, drive: Option<DriveUse>) {
        let mut point = std::mem::take(&mut self.current);
        if point.requests() > 0 {
            point.latency_mean_ns = self.latency_sum_ns / point.requests() as f64;
        }
        self.latency_sum_ns = 0.0;
        point.latency_steps = self.latency_steps.take();
        point.drive = drive.map(|now| now.since(&self.drive.unwrap_or_default()));
        self.drive = drive;
        self.points.push(point);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_microseconds(1000);
    const BLOCK: Bytes = Bytes::kibi(4);

    /// Returns the series of writes that complete at `times`, in ms; the n-th write has a latency of n us.
    fn recorded(mut recorder: SeriesRecorder, times: &[u64], elapsed: u64) -> Series {
        recorder.begin(DriveUse::default());
        let mut host_written = Bytes::ZERO;
        for (index, &at) in times.iter().enumerate() {
            let written = DriveUse { host_written, ..DriveUse::default() };
            if recorder.is_over(MS * at) {
                recorder.close(MS * at, Some(written));
            }
            let latency = Duration::from_microseconds(index as u64 + 1);
            recorder.record(Operation::Write, BLOCK, latency);
            host_written += BLOCK;
        }
        let written = DriveUse { host_written, ..DriveUse::default() };
        recorder.finish(MS * elapsed, Some(written))
    }

    fn writes(series: &Series) -> Vec<u64> {
        series.points.iter().map(|point| point.writes).collect()
    }

    #[test]
    fn a_request_at_the_edge_belongs_to_the_interval_that_begins_there() {
        let series = recorded(SeriesRecorder::new(MS * 10, 100), &[0, 9, 10, 19, 20, 25], 30);
        assert_eq!((writes(&series), series.last), (vec![2, 2, 2], MS * 10));
        assert_eq!(series.points[1].latency_mean_ns, 3500.0);
        assert_eq!(series.points[1].latency_max_ns, 4000);
        assert_eq!(series.iops(0), 200.0);
        let host: Vec<u64> = series
            .points
            .iter()
            .map(|point| point.drive.unwrap().host_written.get() / BLOCK.get())
            .collect();
        assert_eq!(host, [2, 2, 2]);
    }

    #[test]
    fn the_last_interval_may_be_shorter_and_empty_ones_are_there() {
        let series = recorded(SeriesRecorder::new(MS * 10, 100), &[1, 41, 42], 44);
        assert_eq!((writes(&series), series.last), (vec![1, 0, 0, 0, 2], MS * 4));
        assert_eq!((series.elapsed(), series.iops(4)), (MS * 44, 500.0));
        assert_eq!(series.points[2].write_amplification(), None);
        let series = recorded(SeriesRecorder::new(MS * 10, 100), &[], 20);
        assert_eq!((writes(&series), series.elapsed()), (vec![0, 0], MS * 20));
        let nothing = recorded(SeriesRecorder::new(MS * 10, 100), &[], 0);
        assert_eq!((nothing.points.len(), nothing.elapsed()), (0, Duration::ZERO));
    }

    /// Returns a recorder with one write per millisecond until 95 ms, the steady part that starts at 40 ms, and the
    /// drive's writes.
    fn steady(mut recorder: SeriesRecorder) -> (SeriesRecorder, SteadyPart, DriveUse) {
        recorder.begin(DriveUse::default());
        let drive = |writes: u64| DriveUse {
            host_written: BLOCK * writes,
            moved: BLOCK * (2 * writes),
            ..DriveUse::default()
        };
        let latency = Duration::from_microseconds(40);
        let mut writes = DirectionResult::new();
        for at in 0..95 {
            if recorder.is_over(MS * at) {
                recorder.close(MS * at, Some(drive(at)));
            }
            recorder.record(Operation::Write, BLOCK, latency);
            if at >= 40 {
                writes.record(BLOCK, latency);
            }
        }
        let part = SteadyPart::new(&DirectionResult::new(), &writes, drive(55), MS * 55);
        (recorder, part, drive(95))
    }

    #[test]
    fn a_steady_series_continues_at_its_rates() {
        let (recorder, part, drive) = steady(SeriesRecorder::new(MS * 10, 1000));
        let series = recorder.finish_steady(MS * 95, drive, &part, MS * 1_004);
        assert_eq!((series.points.len(), series.elapsed()), (101, MS * 1_004));
        assert_eq!(series.last, MS * 4);
        for (index, point) in series.points.iter().enumerate() {
            let count = if index == 100 { 4 } else { 10 };
            assert_eq!((point.reads, point.writes), (0, count), "{index}");
            assert_eq!(point.written_bytes, BLOCK * count);
            assert_eq!(point.write_amplification(), Some(3.0));
            assert!(point.latency_steps.counts_all(count));
            assert!((point.latency_mean_ns / 40_000.0 - 1.0).abs() < 0.01, "{index}");
        }
        // One run ends within the current interval, and the other run ends with it.
        for (elapsed, points) in [(97, 10), (100, 10)] {
            let (recorder, part, drive) = steady(SeriesRecorder::new(MS * 10, 1000));
            let series = recorder.finish_steady(MS * 95, drive, &part, MS * elapsed);
            assert_eq!((series.points.len(), series.elapsed()), (points, MS * elapsed));
            assert_eq!(series.points[points - 1].writes, elapsed - 90);
        }
    }

    #[test]
    fn a_steady_series_keeps_its_maximum_of_points() {
        let (recorder, part, drive) = steady(SeriesRecorder::new(MS, 100));
        let series = recorder.finish_steady(MS * 95, drive, &part, MS * 1_000);
        assert!(series.points.len() <= 100, "{} points", series.points.len());
        assert_eq!((series.interval, series.elapsed()), (MS * 16, MS * 1_000));
        assert_eq!(series.sum(0, series.points.len()).0.writes, 1_000);
    }

    #[test]
    fn doubling_the_interval_loses_nothing() {
        let times: Vec<u64> = (0..1000).map(|index| index * 3).collect();
        let fine = recorded(SeriesRecorder::new(MS, 10_000), &times, 3000);
        let coarse = recorded(SeriesRecorder::new(MS, 100), &times, 3000);
        assert!(coarse.points.len() <= 100, "{} points", coarse.points.len());
        assert_eq!(coarse.interval, MS * 32);
        assert_eq!(coarse.elapsed(), fine.elapsed());
        let all = coarse.sum(0, coarse.points.len()).0;
        let fine_all = fine.sum(0, 3000).0;
        assert_eq!((all.writes, all.latency_max_ns), (1000, 1_000_000));
        assert!((all.latency_mean_ns / fine_all.latency_mean_ns - 1.0).abs() < 1e-12);
        assert_eq!(all.drive, fine_all.drive);
        let (first, _) = fine.sum(0, 32);
        assert_eq!(first.writes, coarse.points[0].writes);
    }

    #[test]
    fn a_default_interval_is_round_and_gives_at_most_a_thousand_points() {
        for (length, interval) in [(86_400, 100_000), (60, 100), (1, 1), (3600, 5000)] {
            let recorder = SeriesRecorder::automatic(Some(Duration::from_seconds(length)));
            assert_eq!(recorder.interval, MS * interval, "{length} s");
        }
    }

    #[test]
    fn condensing_keeps_sums_and_length() {
        let times: Vec<u64> = (0..95).collect();
        let series = recorded(SeriesRecorder::new(MS * 10, 100), &times, 95);
        let short = series.condensed(4);
        assert_eq!((writes(&short), short.last), (vec![30, 30, 30, 5], MS * 5));
        assert_eq!(short.elapsed(), series.elapsed());
        assert_eq!(series.condensed(100), series);
    }

    #[test]
    fn json_brings_back_the_same_series() {
        let series = recorded(SeriesRecorder::new(MS * 10, 100), &[0, 9, 10, 19, 23], 25);
        let text = serde_json::to_string(&series).unwrap();
        assert_eq!(serde_json::from_str::<Series>(&text).unwrap(), series);
    }
}

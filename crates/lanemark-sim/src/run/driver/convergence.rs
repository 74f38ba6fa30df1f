//! The end of a run whose figures have converged.
//!
//! Rule: the procedure of Heidelberger and Welch ("Simulation run length control in the presence of an initial
//! transient", Operations Research 31, 1983, 1109-1144). Counted requests are grouped into batches. At checkpoints,
//! each 1.5 times as far from the start as the previous one, the run searches for the longest part that may be steady.
//! This part starts at a checkpoint and lasts so far, and its batches pass the Cramér-von Mises test of
//! stationarity. The run ends if in this part
//!
//! - the interval of the rate at 95% confidence has a half-width of [`RATE_HALF_WIDTH`] or less,
//! - the order statistics that bound the 99th and the 99.9th percentile are within [`precision::PERCENTILES`] of each
//!   other, and the percentiles do not change if the first of the part's segments is omitted,
//! - no reserve of the system (room in a buffer or cache, pseudo-SLC, erased flash, burst credits) will be used up
//!   before the test ends, and sequential reads will not cross the boundary of the pseudo-SLC cache,
//! - simulated collection has not moved data, because the state of the flash drifts while collection moves data.
//!
//! Otherwise the run continues, until the end of the test if necessary. The part before the steady part keeps the
//! weight that it has in the whole test.
//!
//! A long test on a smaller drive (`similar`) may end although collection moves data, if the writes of its steady part
//! have replaced all data of the test ([`Convergence::of_turnover`]).
//!
//! The following tests never converge: open loops, trims, rounds, requested series, faults (except a constant share of
//! repeated reads), sequential requests on hard disks (whose zones differ), mixed reads and writes on a purged drive
//! (whose data grows), traces, parallel tests. The long tests among these are simulated on a smaller drive, and all
//! others completely.

mod batches;
mod phases;
mod precision;
mod slow_states;
#[cfg(test)]
mod steady_run_tests;

use super::tally::Tally;
use crate::fault::standing_retries;
use crate::run::ceiling::ceilings;
use crate::run::energy::EnergyMetering;
use crate::run::path_use::{HopBusyTimes, busy_since};
use crate::simulator::power::PowerReading;
use crate::simulator::{Completion, Simulator};
use crate::spec::{DriveCondition, DriveSpec, MediaSpec, SystemSpec};
use batches::{Batch, BatchGroups};
use lanemark_schema::result::series::SteadyPart;
use lanemark_schema::result::{
    ConvergedTest, DirectionResult, DriveUse, LatencyHistogram, RatePhase,
};
use lanemark_schema::units::{Duration, Instant};
use lanemark_schema::workload::{Fault, Load, LoadKind, Test};
use precision::{DeviationEstimate, GROUPS, percentiles_known, percentiles_last, rate_half_width};

/// The maximum half-width of the rate's interval at 95% confidence, as a share of the rate.
const RATE_HALF_WIDTH: f64 = 0.005;
/// The maximum half-width for a test on a smaller drive, whose rate changes with each collected superblock.
const COLLECTING_HALF_WIDTH: f64 = 0.01;
/// Number of requests before the first checkpoint, and minimum number in a steady part. A long request consists of many
/// equal commands, so fewer requests are enough: the number that moves [`FIRST_DATA`], but [`GROUPS`] or more.
const FIRST_CHECK: u64 = 4096;
/// Amount of data that is enough before the first checkpoint, in bytes.
const FIRST_DATA: f64 = 64.0 * 1048576.0;
/// Number of batches at which adjacent batches are merged.
const BATCHES_MAX: usize = 2048;
/// Initial number of requests in a batch, for requests that are not long.
const BATCH: u64 = 4;
/// The figures that must have converged before a run may end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequiredFigures {
    /// The rate. In a closed loop, the mean latency follows from the rate (Little's law).
    Rate,
    /// The rate, and the percentiles of latency.
    RateAndPercentiles,
}

/// The point at which a run of requests may end before the test does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EarlyEnd {
    /// `None` if the whole test is simulated.
    Whole,
    /// Once the figures have converged.
    Converged(RequiredFigures),
    /// Once the figures have converged, if this is before the instant; only the steady part is counted.
    ConvergedBefore(RequiredFigures, Instant),
    /// Once the figures and the state of the flash have been steady for this number of writes.
    Settled(u64),
}

impl EarlyEnd {
    /// Returns whether a run that has not converged ends without a result at `now`.
    pub(super) fn gives_up(self, now: Instant) -> bool {
        matches!(self, Self::ConvergedBefore(_, until) if now > until)
    }
}

/// Returns whether a test of `spec` may end when its figures have converged.
pub fn may_converge(spec: &SystemSpec, test: &Test) -> bool {
    let plain = match &test.asks {
        LoadKind::Requests(requests) => {
            requests.load == Load::Closed && requests.mix.trim_share.is_zero()
        }
        LoadKind::Transactions(_) => true,
        LoadKind::Database(_) | LoadKind::Trace(_) | LoadKind::PartlyStated(_) => false,
    };
    let has_disk = spec.drive_specs().any(|drive| matches!(drive.media, MediaSpec::Disk(_)));
    // Reads of a purged drive encounter more and more of the data that the test writes.
    let purged = |drive: &DriveSpec| match &drive.media {
        MediaSpec::Flash(flash) => flash.condition == DriveCondition::Purged,
        MediaSpec::Disk(_) | MediaSpec::Cloud(_) => false,
    };
    let fills = test.reads() && test.writes() && spec.drive_specs().any(purged);
    // If a constant share of the reads is repeated, the load remains steady.
    let is_steady =
        |fault: &Fault| standing_retries(fault).is_some_and(|retries| retries.share.is_zero());
    plain
        && !fills
        && spec.faults.iter().all(is_steady)
        && test.rounds.is_none()
        && test.interval.is_none()
        && (test.duration.is_some() || test.volume.is_some())
        && !(has_disk && test.is_in_order())
        && is_long(spec, test)
}

/// Returns whether a test may have enough requests for an interval of its rate. Shorter tests rely on their repeats
/// instead.
fn is_long(spec: &SystemSpec, test: &Test) -> bool {
    if test.requests().is_none() {
        return true;
    }
    let seconds = test.duration.map_or(f64::INFINITY, |duration| duration.as_seconds());
    let rates = ceilings(spec, test).into_iter().filter_map(|ceiling| ceiling.rate);
    let rate = rates.min().map_or(f64::INFINITY, |rate| rate.0 as f64);
    let volume = test.volume.map_or(f64::INFINITY, |volume| volume.get() as f64);
    let bytes = volume.min(rate * seconds);
    // With few requests, the requests outstanding at the beginning and at the end affect the rate of a group.
    let outstanding = u64::from(test.issue_depth()) * u64::from(test.threads);
    let shortest = GROUPS as u64 * batch_size(first_check(test));
    let enough = shortest.max((GROUPS as u64 / 2 * outstanding).min(GROUPS as u64 * BATCH));
    bytes >= test.block_mean() * enough as f64
}

/// Returns the number of requests of `test` before the first checkpoint.
fn first_check(test: &Test) -> u64 {
    match test.requests() {
        Some(_) => ((FIRST_DATA / test.block_mean()) as u64).clamp(GROUPS as u64, FIRST_CHECK),
        None => FIRST_CHECK,
    }
}

/// Returns the initial number of requests in a batch of a run whose first checkpoint is after `first` requests.
fn batch_size(first: u64) -> u64 {
    (first / GROUPS as u64).clamp(1, BATCH)
}

/// The batches of a run and its parts between checkpoints.
pub(super) struct Convergence {
    requests: u64,
    batch: u64,
    /// Number of requests in the current batch.
    in_batch: u64,
    batches: Vec<Batch>,
    parts: Vec<RunSegment>,
    /// The minimum number of requests of a steady part.
    least: u64,
    check_at: u64,
    /// Number of writes after which the state of collected flash in a steady part is known to be steady; `None` if a
    /// run during which collection moves data may not end early.
    turnover: Option<u64>,
    /// Whether the test has rounds; the meters restart with each round.
    has_rounds: bool,
    /// Number of bytes that are written before a steady part can begin.
    first_pass: u64,
    /// Minimum number of bytes that a steady part writes.
    written_min: u64,
    /// Whether the rate oscillates slowly, because a disk sorts its buffered writes.
    has_disk_buffer: bool,
    figures: RequiredFigures,
    from: Instant,
}

/// The requests between two checkpoints.
struct RunSegment {
    tally: Tally,
    /// The end of the part; `requests` is the number of requests up to that point.
    end: Instant,
    requests: u64,
    busy: HopBusyTimes,
    drive: DriveUse,
    power: Option<Vec<PowerReading>>,
}

/// A run that has converged: its requests, weighted by part.
pub(super) struct SteadyRun {
    pub(super) tally: Tally,
    pub(super) elapsed: Duration,
    pub(super) busy: HopBusyTimes,
    pub(super) drive: DriveUse,
    pub(super) power: Option<Vec<PowerReading>>,
    pub(super) converged: ConvergedTest,
    pub(super) phases: Vec<RatePhase>,
    /// The requests of the steady part, from which the rest of a series is computed; `None` if the run needs no series.
    pub(super) part: Option<SteadyPart>,
}

impl Convergence {
    /// Creates the rule for `test`, which has `outstanding` requests at a time and is counted from `from`.
    pub(super) fn new(
        test: &Test,
        outstanding: u64,
        from: Instant,
        figures: RequiredFigures,
    ) -> Self {
        let first = first_check(test);
        Self {
            requests: 0,
            batch: batch_size(first),
            in_batch: 0,
            batches: Vec::new(),
            parts: Vec::new(),
            least: first.max(outstanding * GROUPS as u64 * 2),
            check_at: first,
            turnover: None,
            has_rounds: false,
            first_pass: 0,
            written_min: 0,
            has_disk_buffer: false,
            figures,
            from,
        }
    }

    /// Returns `rule` for a test with a series that may end once a steady part has `turnover` writes.
    pub(super) fn of_turnover(turnover: u64, has_rounds: bool, rule: Self) -> Self {
        Self { turnover: Some(turnover), has_rounds, ..rule }
    }

    /// Counts a request. Returns whether a checkpoint is due.
    #[inline]
    pub(super) fn count(&mut self, completion: &Completion, simulator: &Simulator) -> bool {
        self.count_at(completion.completed, simulator)
    }

    /// Counts a request, or a transaction, that ended at `end`. Returns whether a checkpoint is due.
    #[inline]
    pub(super) fn count_at(&mut self, end: Instant, simulator: &Simulator) -> bool {
        self.requests += 1;
        self.in_batch += 1;
        if self.in_batch < self.batch {
            return false;
        }
        self.in_batch = 0;
        self.batches.push(Batch {
            end,
            reserves: simulator.reserves(),
            collected: simulator.collected(),
        });
        if self.batches.len() == BATCHES_MAX {
            let mut index = 0;
            self.batches.retain(|_| {
                index += 1;
                index % 2 == 0
            });
            self.batch *= 2;
        }
        self.requests >= self.check_at
    }

    /// Ends a part at a checkpoint, and returns the steady part if the run has converged. `tally` contains the requests
    /// since the last checkpoint; `left` is the remaining time and data, if limited.
    pub(super) fn check(
        &mut self,
        tally: &mut Tally,
        now: Instant,
        simulator: &Simulator,
        metering: &EnergyMetering,
        left: (Option<Duration>, Option<u64>),
    ) -> Option<SteadyCandidate> {
        let done = std::mem::replace(tally, Tally::since(simulator));
        self.parts.push(RunSegment {
            end: now,
            requests: self.requests,
            busy: busy_since(simulator, &done.busy_before),
            drive: tally.drive_before.since(&done.drive_before),
            power: if self.has_rounds { None } else { metering.until(simulator, now) },
            tally: done,
        });
        self.check_at = self.requests * 3 / 2;
        (0..self.parts.len()).find_map(|first| self.steady(first, left))
    }

    /// Returns the steady part of a run that would continue for `left`, if there is such a part.
    pub(super) fn until(
        &self,
        candidate: &SteadyCandidate,
        left: (Option<Duration>, Option<u64>),
    ) -> Option<SteadyCandidate> {
        self.steady(candidate.first, left)
    }

    /// Returns a run that is steady from its beginning and may end now, `left` before the end of the test. The
    /// percentiles of `latency` must be known. If `left` is zero, the run has ended and must only be steady.
    pub(super) fn steady_run(
        &mut self,
        now: Instant,
        latency: &LatencyHistogram,
        left: Duration,
    ) -> Option<ConvergedTest> {
        self.check_at = self.requests * 3 / 2;
        let elapsed = now.since(self.from);
        let more = left.as_seconds() / elapsed.as_seconds();
        let groups = BatchGroups::group(&self.batches, self.from, self.from)?;
        let half_width = rate_half_width(&groups.times, DeviationEstimate::Independent)?;
        let lasting = !groups.collects && groups.reserves_last(more);
        let known = half_width <= RATE_HALF_WIDTH && self.percentiles_suffice(latency, 1.0 + more);
        let may_end = lasting && known && more >= 0.5;
        (may_end || left == Duration::ZERO).then(|| ConvergedTest {
            simulated: self.requests,
            requests: (self.requests as f64 * (1.0 + more)) as u64,
            elapsed: elapsed + left,
            steady_from: Duration::ZERO,
            half_width,
        })
    }

    /// Returns all requests of a run that did not converge, its phases, and the precision of its rate if the rate is
    /// known; `rest` contains the requests since the last checkpoint.
    pub(super) fn whole(self, rest: Tally) -> (Tally, Vec<RatePhase>, Option<ConvergedTest>) {
        let phases = self.phases(None);
        let precision = self.precision();
        (self.all(rest), phases, precision)
    }

    /// Returns the precision of a complete run's rate, if the run or a later part of the run is stationary.
    fn precision(&self) -> Option<ConvergedTest> {
        let last = self.batches.last()?;
        let starts = [0, self.batches.len() / 8, self.batches.len() / 4, self.batches.len() / 2];
        let half_width = starts.into_iter().find_map(|start| {
            let from = start.checked_sub(1).map_or(self.from, |before| self.batches[before].end);
            rate_half_width(
                &BatchGroups::group(&self.batches, self.from, from)?.times,
                DeviationEstimate::Independent,
            )
        })?;
        Some(ConvergedTest {
            simulated: self.requests,
            requests: self.requests,
            elapsed: last.end.since(self.from),
            steady_from: Duration::ZERO,
            half_width: half_width.min(1.0),
        })
    }

    fn all(self, rest: Tally) -> Tally {
        let mut parts = self.parts.into_iter().map(|part| part.tally);
        let Some(first) = parts.next() else { return rest };
        parts.chain([rest]).fold(first, |sum, part| sum.and_then(&part))
    }

    /// Returns the candidate that begins with the part `first`, if the run is steady from there on.
    fn steady(
        &self,
        first: usize,
        left: (Option<Duration>, Option<u64>),
    ) -> Option<SteadyCandidate> {
        let (from, earlier) = match first.checked_sub(1) {
            Some(last) => (self.parts[last].end, self.parts[last].requests),
            None => (self.from, 0),
        };
        let requests = self.requests - earlier;
        if requests < self.least {
            return None;
        }
        let written = |part: &RunSegment| part.tally.writes.bytes.get();
        let (before, since) = self.parts.split_at(first);
        if before.iter().map(written).sum::<u64>() < self.first_pass
            || since.iter().map(written).sum::<u64>() < self.written_min
        {
            return None;
        }
        let now = self.parts.last()?.end;
        let all = now.since(from).as_seconds();
        let bytes: u64 = self.parts[first..].iter().map(|part| part.tally.bytes().get()).sum();
        let of_time = left.0.map(|left| left.as_seconds());
        let of_data = left.1.map(|left| left as f64 / bytes.max(1) as f64 * all);
        let left = of_time.into_iter().chain(of_data).reduce(f64::min)?;
        // If the rest of the test is short, it is simulated.
        if all <= 0.0 || left < all / 2.0 {
            return None;
        }
        let groups = BatchGroups::group(&self.batches, self.from, from)?;
        let more = left / all;
        let half_width = rate_half_width(&groups.times, self.estimate())?;
        let lasting = self.is_settled(first, groups.collects, more) && groups.reserves_last(more);
        let most = match self.turnover {
            None => RATE_HALF_WIDTH,
            Some(_) => COLLECTING_HALF_WIDTH,
        };
        if half_width > most || !lasting {
            return None;
        }
        let total = requests as f64 * (1.0 + more);
        self.percentiles_known_from(first, total / requests as f64).then_some(SteadyCandidate {
            first,
            from,
            half_width,
            more,
        })
    }

    /// Returns whether the percentiles of reads and of writes are known from the part `first` onward, and do not change
    /// if the first of these parts is omitted. The whole test has `factor` times as many requests.
    fn percentiles_known_from(&self, first: usize, factor: f64) -> bool {
        let is_known = |of: fn(&Tally) -> &DirectionResult| {
            let merged = |parts: &[RunSegment]| {
                let mut sum = LatencyHistogram::new();
                parts.iter().for_each(|part| sum.merge(&of(&part.tally).latency));
                sum
            };
            let all = merged(&self.parts[first..]);
            let later = merged(&self.parts[first + 1..]);
            percentiles_known(&all, factor) && percentiles_last(&all, &later, factor)
        };
        self.figures == RequiredFigures::Rate
            || (is_known(|tally| &tally.reads) && is_known(|tally| &tally.writes))
    }

    /// Returns whether the percentiles of `latency` are known or not required. The whole test has `factor` times as
    /// many requests.
    fn percentiles_suffice(&self, latency: &LatencyHistogram, factor: f64) -> bool {
        self.figures == RequiredFigures::Rate || percentiles_known(latency, factor)
    }

    fn estimate(&self) -> DeviationEstimate {
        if self.turnover.is_some() || self.has_disk_buffer {
            DeviationEstimate::Spectrum
        } else {
            DeviationEstimate::Independent
        }
    }

    /// Returns whether the state of the flash is steady from the part `first` onward. `collects` states whether
    /// collection has moved data since then. The rest of the test is `more` times as long; if it is not longer than the
    /// steady part, it is assumed to continue in the same way.
    fn is_settled(&self, first: usize, collects: bool, more: f64) -> bool {
        let write_count = |part: &RunSegment| part.tally.writes.latency.count();
        match self.turnover {
            None => !collects,
            Some(turnover) => {
                more <= 1.0 || self.parts[first..].iter().map(write_count).sum::<u64>() >= turnover
            }
        }
    }

    pub(super) fn steady_part(&self, candidate: &SteadyCandidate) -> SteadyPart {
        let &SteadyCandidate { first, from, .. } = candidate;
        let length = self.parts.last().map_or(Duration::ZERO, |part| part.end.since(from));
        let mut reads = DirectionResult::new();
        let mut writes = DirectionResult::new();
        let mut drive = DriveUse::default();
        for part in &self.parts[first..] {
            for (sum, own) in [(&mut reads, &part.tally.reads), (&mut writes, &part.tally.writes)] {
                sum.bytes += own.bytes;
                sum.latency.merge(&own.latency);
            }
            drive.add(&part.drive);
        }
        SteadyPart::new(&reads, &writes, drive, length)
    }

    /// Returns the weighted run. If `keeps_all`, the run includes the parts before the steady part, as in the whole
    /// test.
    pub(super) fn weighted_run(
        &mut self,
        candidate: &SteadyCandidate,
        keeps_all: bool,
    ) -> Option<SteadyRun> {
        let &SteadyCandidate { first, from, half_width, more } = candidate;
        let now = self.parts[self.parts.len() - 1].end;
        let before = from.since(self.from);
        let steady = now.since(from);
        let weight = if keeps_all { 1.0 / (1.0 + more) } else { 0.0 };
        let earlier = match first.checked_sub(1) {
            Some(last) => self.parts[last].requests,
            None => 0,
        };
        let rest = (self.requests - earlier) as f64 * more;
        let phases = self.phases(Some(before + steady + steady.times(more)));
        let power = self.power(first, weight);
        let part = self.turnover.map(|_| self.steady_part(candidate));
        let mut sum: Option<(Tally, HopBusyTimes, DriveUse)> = None;
        for (number, mut part) in std::mem::take(&mut self.parts).into_iter().enumerate() {
            if number < first {
                part.tally = part.tally.thinned(weight);
                part.drive = part.drive.thinned(weight);
                part.busy.iter_mut().flatten().for_each(|time| *time = time.times(weight));
            }
            sum = Some(match sum {
                None => (part.tally, part.busy, part.drive),
                Some((tally, mut busy, mut drive)) => {
                    for (own, later) in busy.iter_mut().zip(part.busy) {
                        own.resize(own.len().max(later.len()), Duration::ZERO);
                        own.iter_mut().zip(later).for_each(|(own, later)| *own += later);
                    }
                    drive.add(&part.drive);
                    (tally.and_then(&part.tally), busy, drive)
                }
            });
        }
        let (tally, busy, drive) = sum?;
        Some(SteadyRun {
            tally,
            elapsed: steady + before.times(weight),
            busy,
            drive,
            power,
            converged: ConvergedTest {
                simulated: self.requests,
                requests: self.requests + rest as u64,
                elapsed: before + steady + steady.times(more),
                steady_from: before,
                half_width,
            },
            phases,
            part,
        })
    }

    fn power(&self, first: usize, weight: f64) -> Option<Vec<PowerReading>> {
        let last = self.parts.last()?.power.as_ref()?;
        let Some(before) = first.checked_sub(1) else { return Some(last.clone()) };
        let before = self.parts[before].power.as_ref()?;
        let paired_readings = last.iter().zip(before);
        Some(paired_readings.map(|(now, before)| now.since(before).plus(before, weight)).collect())
    }
}

/// A part of a run that may be steady: the number of its first segment, its beginning, the half-width of its rate, and
/// the length of the rest of the test as a multiple of this part.
pub(super) struct SteadyCandidate {
    first: usize,
    pub(super) from: Instant,
    half_width: f64,
    more: f64,
}

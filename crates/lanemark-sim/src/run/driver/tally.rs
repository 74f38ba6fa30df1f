//! The tally of a test: of the whole test, or by round; only the last five rounds are kept.

use std::collections::VecDeque;

use super::super::energy::EnergyMetering;
use crate::engine::budget::{BudgetSum, HOPS};
use crate::simulator::{Completion, Simulator};
use lanemark_schema::result::series::{SeriesPoint, SteadyPart};
use lanemark_schema::result::steady::{Round, SteadyState, WINDOW};
use lanemark_schema::result::{DirectionResult, DriveUse};
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::{Operation, RoundSettings};

/// Requests counted since an instant, and the work of hops and drives up to that instant.
pub(super) struct Tally {
    pub(super) reads: DirectionResult,
    pub(super) writes: DirectionResult,
    pub(super) flushes: DirectionResult,
    pub(super) trims: DirectionResult,
    /// The time budgets of reads and writes.
    pub(super) budget: BudgetSum,
    pub(super) busy_before: [Vec<Duration>; HOPS],
    pub(super) drive_before: DriveUse,
}

impl Tally {
    /// Creates an empty tally that begins at the current time of `simulator`.
    pub(super) fn since(simulator: &Simulator) -> Self {
        Self {
            reads: DirectionResult::new(),
            writes: DirectionResult::new(),
            flushes: DirectionResult::new(),
            trims: DirectionResult::new(),
            budget: BudgetSum::default(),
            busy_before: simulator.busy(),
            drive_before: simulator.drive_use(),
        }
    }

    pub(super) fn count(&mut self, completion: &Completion, latency: Duration) {
        let direction = match completion.access.operation {
            Operation::Read => &mut self.reads,
            Operation::Write => &mut self.writes,
            Operation::Flush => &mut self.flushes,
            Operation::Trim => &mut self.trims,
        };
        direction.record(completion.access.length, latency);
        if completion.access.operation.moves_data() {
            self.budget.add(&completion.budget, latency);
        }
    }

    pub(super) fn requests(&self) -> u64 {
        self.reads.latency.count() + self.writes.latency.count()
    }

    /// Returns the totals of reads and writes without their distributions. `drive` is the amount that the drive has
    /// written.
    pub(super) fn point(&self, drive: DriveUse) -> SeriesPoint {
        let mut latency = self.reads.latency.clone();
        latency.merge(&self.writes.latency);
        SeriesPoint {
            reads: self.reads.latency.count(),
            writes: self.writes.latency.count(),
            read_bytes: self.reads.bytes,
            written_bytes: self.writes.bytes,
            latency_mean_ns: latency.mean_ns(),
            drive: Some(drive.since(&self.drive_before)),
            ..SeriesPoint::default()
        }
    }

    /// Returns the maximum counted latency, if any request was counted.
    pub(super) fn longest(&self) -> Option<Duration> {
        let directions = [&self.reads, &self.writes, &self.flushes, &self.trims];
        let longest = directions.iter().filter_map(|direction| direction.latency.max_ns()).max();
        longest.map(Duration::from_nanoseconds)
    }

    pub(super) fn bytes(&self) -> Bytes {
        self.reads.bytes + self.writes.bytes
    }

    /// Returns the tally reduced to the share `factor`, from 0 to 1, of its requests.
    pub(super) fn thinned(&self, factor: f64) -> Self {
        Self {
            reads: self.reads.thinned(factor),
            writes: self.writes.thinned(factor),
            flushes: self.flushes.thinned(factor),
            trims: self.trims.thinned(factor),
            budget: self.budget.thinned(factor),
            busy_before: self.busy_before.clone(),
            drive_before: self.drive_before,
        }
    }

    /// Appends a later tally to this one.
    pub(super) fn and_then(mut self, later: &Self) -> Self {
        let pairs = [
            (&mut self.reads, &later.reads),
            (&mut self.writes, &later.writes),
            (&mut self.flushes, &later.flushes),
            (&mut self.trims, &later.trims),
        ];
        for (own, more) in pairs {
            own.bytes += more.bytes;
            own.latency.merge(&more.latency);
        }
        self.budget.merge(&later.budget);
        self
    }
}

pub(super) struct RoundsRun {
    rule: RoundSettings,
    state: SteadyState,
    end: Instant,
    /// The last rounds, up to the size of the window.
    window: VecDeque<Tally>,
}

impl RoundsRun {
    pub(super) fn new(rule: RoundSettings, start: Instant) -> Self {
        let state = SteadyState::new(rule);
        Self { rule, state, end: start + rule.length, window: VecDeque::new() }
    }

    /// Ends the rounds that end before `at`, with the requests that `tally` has counted, and returns whether the test
    /// has ended.
    #[inline]
    pub(super) fn is_over(
        &mut self,
        at: Instant,
        tally: &mut Tally,
        metering: &mut EnergyMetering,
        simulator: &Simulator,
    ) -> bool {
        while at >= self.end {
            let done = std::mem::replace(tally, Tally::since(simulator));
            let round = self.round(&done.point(tally.drive_before));
            if self.window.len() == WINDOW {
                self.window.pop_front();
            }
            self.window.push_back(done);
            if self.state.push(round) {
                return true;
            }
            self.end = self.end + self.rule.length;
            metering.go_on(simulator, self.end, WINDOW);
        }
        false
    }

    /// Returns the number of the first round after which the test may end.
    pub(super) fn first_end(&self) -> usize {
        (self.state.rounds.len() + 1).max(WINDOW)
    }

    /// Returns the time from `now` to the end of the first `rounds` rounds.
    pub(super) fn left(&self, rounds: usize, now: Instant) -> Duration {
        let more = rounds.saturating_sub(self.state.rounds.len() + 1) as u64;
        (self.end + self.rule.length * more).since_or_zero(now)
    }

    /// Returns the outcome of the test if its rates after `now` are the rates of `steady`, which begins at `from`. The
    /// current round contains the requests `until_now`. Returns `None` if the last rounds include time before `steady`.
    pub(super) fn outcome(
        &self,
        until_now: &SeriesPoint,
        steady: &SteadyPart,
        from: Instant,
        now: Instant,
    ) -> Option<SteadyState> {
        let later = steady.during(self.rule.length);
        let current = until_now.with(&steady.during(self.end.since_or_zero(now)));
        let mut state = self.state.clone();
        let mut is_over = state.push(self.round(&current));
        while !is_over {
            is_over = state.push(self.round(&later));
        }
        let rounds = state.rounds.len();
        // These are the times from the start of the test to the end of the current round and to the start of the
        // window.
        let until_end = self.rule.length * (self.state.rounds.len() as u64 + 1);
        let until_window = self.rule.length * rounds.saturating_sub(WINDOW) as u64;
        let is_steady = self.end + until_window >= from + until_end;
        (rounds <= WINDOW || is_steady).then_some(state)
    }

    /// Returns a round with the requests in `requests`.
    fn round(&self, requests: &SeriesPoint) -> Round {
        let seconds = self.rule.length.as_seconds();
        Round {
            iops: requests.requests() as f64 / seconds,
            throughput_bytes_per_second: requests.bytes().get() as f64 / seconds,
            latency_mean_ns: requests.latency_mean_ns,
            drive: requests.drive,
        }
    }

    /// Returns the last rounds as one tally, their length, the length of all rounds, and the outcome. If no round has
    /// ended, the tally is `rest` and the length is zero.
    pub(super) fn finish(self, rest: Tally) -> (Tally, Duration, Duration, SteadyState) {
        let length = self.rule.length;
        let elapsed = length * self.window.len() as u64;
        let all = length * self.state.rounds.len() as u64;
        let tally = self.window.into_iter().reduce(|sum, round| sum.and_then(&round));
        (tally.unwrap_or(rest), elapsed, all, self.state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_schema::workload::TrackedFigure;

    const SECOND: Duration = Duration::from_seconds(1);

    /// Returns a part of one second with this number of writes.
    fn part(writes: u64) -> SteadyPart {
        let mut all = DirectionResult::new();
        (0..writes).for_each(|_| all.record(Bytes::kibi(4), Duration::from_microseconds(10)));
        SteadyPart::new(&DirectionResult::new(), &all, DriveUse::default(), SECOND)
    }

    /// Returns the rounds of a test that has completed rounds of one second with these numbers of writes, and is in the
    /// middle of the next round.
    fn after(rounds: &[u64]) -> RoundsRun {
        let rule = RoundSettings { length: SECOND, tracked: TrackedFigure::Iops };
        let mut run = RoundsRun::new(rule, Instant::ZERO);
        for &writes in rounds {
            let round = run.round(&part(writes).during(SECOND));
            assert!(!run.state.push(round), "the test is not over");
            run.end = run.end + SECOND;
        }
        run
    }

    fn at(halves: u64) -> Instant {
        Instant::ZERO + SECOND * halves / 2
    }

    #[test]
    fn rounds_continue_at_the_steady_rate() {
        // The test has run for a round and a half. The half round had 60 writes.
        let run = after(&[100]);
        let half = SeriesPoint { writes: 60, ..SeriesPoint::default() };
        let outcome = run.outcome(&half, &part(100), at(0), at(3)).unwrap();
        let rates: Vec<f64> = outcome.rounds.iter().map(|round| round.iops).collect();
        assert_eq!(rates, [100.0, 110.0, 100.0, 100.0, 100.0]);
        assert_eq!((run.first_end(), run.left(5, at(3))), (5, SECOND * 7 / 2));
        // All rounds are among the last five, so a part may begin in any of them.
        assert!(run.outcome(&half, &part(100), at(2), at(3)).is_some());
    }

    #[test]
    fn faster_rounds_are_not_among_the_last() {
        let run = after(&[400, 400]);
        let half = SeriesPoint { writes: 50, ..SeriesPoint::default() };
        // The test ends after two fast and five slow rounds.
        let outcome = run.outcome(&half, &part(100), at(4), at(5)).unwrap();
        let rates: Vec<f64> = outcome.rounds.iter().map(|round| round.iops).collect();
        assert_eq!(rates, [400.0, 400.0, 100.0, 100.0, 100.0, 100.0, 100.0]);
        assert_eq!((run.first_end(), run.left(7, at(5))), (5, SECOND * 9 / 2));
        // If the first slow round is partly fast, a later part does not describe it.
        assert!(run.outcome(&half, &part(100), at(5), at(5)).is_none());
        let run = after(&[400, 100, 100, 100, 100, 400, 100]);
        assert_eq!(run.first_end(), 8);
    }
}

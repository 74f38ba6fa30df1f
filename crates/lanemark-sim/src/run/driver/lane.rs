//! A lane: the threads of one test on a system that other tests may share. The lane submits and counts the requests of
//! these threads.

mod burst;
mod submit;
mod tag;

use super::super::energy::{EnergyMetering, energy};
use super::convergence::{Convergence, EarlyEnd, RequiredFigures, SteadyRun, may_converge};
use super::open::OpenLoopArrivals;
use super::tally::{RoundsRun, Tally};
use super::unflushed::UnflushedWrites;
use crate::fault::RequestStatus;
use crate::run::path_use::{HopBusyTimes, busy_since, path_use, share_of_time};
use crate::run::progress::Progress;
use crate::simulator::{Completion, Simulator};
use crate::spec::{CheckedSystem, SystemSpec};
use crate::storage::Storage;
use burst::Bursts;
use lanemark_schema::result::series::SeriesRecorder;
use lanemark_schema::result::steady::{SteadyState, WINDOW};
use lanemark_schema::result::{
    ConvergedTest, DirectionResult, DriveUse, EnergyUse, RatePhase, RequestErrors,
    RequestsInFlight, Sample,
};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::{Accesses, SyntheticRequests, Test};
pub(super) use tag::LaneTag;

/// The position of a lane among the lanes of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LanePosition {
    /// Number of the lane, which its tags carry in their upper half.
    pub(super) number: u32,
    /// Number of threads of the previous lanes.
    pub(super) threads_before: u32,
    /// Time at which the lane's load begins.
    pub(super) from: Duration,
}

pub(super) struct TestLane {
    place: LanePosition,
    /// The threads of all drives, in the order of the drives.
    threads: Vec<Accesses>,
    targets: std::ops::Range<u16>,
    threads_per_target: u32,
    queue_depth: u32,
    /// The bursts of the threads, if they wait between bursts.
    bursts: Option<Bursts>,
    /// The times of requests in an open loop. A tag contains the number of a slot in an open loop, and the number of a
    /// thread otherwise.
    open: Option<OpenLoopArrivals>,
    /// The start of the source and the start of the destination, if the test writes the data that it has read.
    copied: Option<(Bytes, Bytes)>,
    unflushed: UnflushedWrites,
    counting_from: Instant,
    /// Instant at which counting must end.
    deadline: Instant,
    /// Volume that has not been submitted yet, in bytes; the ramp does not count.
    volume_left: u64,
    /// Number of requests submitted so far, including the ramp.
    submitted: u64,
    /// Number of submitted requests that have not completed.
    outstanding: u64,
    /// Number of bytes that all lanes had moved when counting began.
    moved_before: u64,
    last: Instant,
    /// Counted requests, either since the first counted request or in the current round.
    tally: Option<Tally>,
    /// The phases of the whole test, once it has ended.
    phases: Vec<RatePhase>,
    /// The precision of the rate of the whole test, after its end.
    precision: Option<ConvergedTest>,
    rounds: Option<RoundsRun>,
    /// Whether only the steady part of a converged run is counted.
    counts_steady_only: bool,
    /// Whether a test with rounds may end early; in this case `beside_rounds` contains the requests since the last
    /// checkpoint.
    may_settle: bool,
    beside_rounds: Option<Tally>,
    /// The outcome of the rounds, if the test ended early.
    outcome: Option<SteadyState>,
    series: Option<SeriesRecorder>,
    errors: RequestErrors,
}

impl TestLane {
    /// Creates the test, without submitted requests.
    pub(super) fn new(
        spec: &CheckedSystem,
        test: &Test,
        requests: &SyntheticRequests,
        key: StreamKey,
        place: LanePosition,
    ) -> Self {
        let counting_from = Instant::ZERO + place.from + test.ramp;
        let deadline = test.duration.map(|duration| counting_from + duration);
        let targets = spec.targets();
        let count = targets.len() as u64;
        let threads = test.threads * count as u32;
        Self {
            place,
            unflushed: UnflushedWrites::new(requests, threads),
            threads: (0..threads).map(|thread| stream(test, requests, thread, key)).collect(),
            targets,
            threads_per_target: test.threads,
            queue_depth: requests.queue_depth,
            bursts: Bursts::new(requests, threads),
            open: OpenLoopArrivals::for_test(test, threads, key, place.from),
            copied: requests.mix.copy_to.map(|to| (test.offset, to)),
            counting_from,
            deadline: deadline.unwrap_or(Instant::from_picoseconds(u64::MAX)),
            volume_left: test.volume.map_or(u64::MAX, |volume| volume.get() * count),
            submitted: 0,
            outstanding: 0,
            moved_before: 0,
            last: counting_from,
            tally: None,
            phases: Vec::new(),
            precision: None,
            rounds: test.rounds.map(|rounds| RoundsRun::new(rounds, counting_from)),
            counts_steady_only: false,
            may_settle: false,
            beside_rounds: None,
            outcome: None,
            series: SeriesRecorder::for_test(test),
            errors: RequestErrors::default(),
        }
    }

    /// Returns the meters for a run that consists of only this test.
    pub(super) fn metering(&self, spec: &SystemSpec, test: &Test) -> EnergyMetering {
        let timed = test.duration.map(|_| self.deadline);
        let until = timed.or(test.rounds.map(|rounds| self.counting_from + rounds.length));
        EnergyMetering::new(spec, self.counting_from, until)
    }

    /// Returns whether the test has submitted its whole volume.
    pub(super) fn asks_no_more(&self) -> bool {
        self.volume_left == 0
    }

    /// Records that a request, counted or not, is complete. Returns whether it was the test's last request.
    pub(super) fn is_done_after_one(&mut self) -> bool {
        self.outstanding -= 1;
        self.outstanding == 0 && self.volume_left == 0
    }

    /// Returns the progress of the test at `now`: by its time or by its volume, whichever has progressed further.
    pub(super) fn progress(&self, now: Instant, test: &Test) -> Progress {
        let of_time = test
            .duration
            .map(|duration| share_of_time(now, self.place.from + test.ramp + duration));
        let of_volume = test.volume.map(|volume| {
            let total_volume = volume.get() * self.targets.len() as u64;
            1.0 - self.volume_left as f64 / total_volume.max(1) as f64
        });
        let share = of_time.into_iter().chain(of_volume).reduce(f64::max);
        Progress { requests: self.submitted, now, share }
    }

    /// Begins to count, unless counting has already begun.
    fn begin(&mut self, simulator: &Simulator, moved: u64) {
        if self.tally.is_some() {
            return;
        }
        self.moved_before = moved;
        let mut tally = Tally::since(simulator);
        if self.counting_from == Instant::ZERO {
            // The work for the first request also counts.
            tally.busy_before = Default::default();
            tally.drive_before = DriveUse::default();
        }
        if let Some(series) = &mut self.series {
            series.begin(tally.drive_before);
        }
        self.tally = Some(tally);
        self.beside_rounds = self.may_settle.then(|| Tally::since(simulator));
    }

    /// Ends the rounds that end before `at`. Returns whether the test ends before `at`.
    pub(super) fn is_over(
        &mut self,
        at: Instant,
        simulator: &Simulator,
        metering: &mut EnergyMetering,
    ) -> bool {
        if self.rounds.is_some() && at >= self.counting_from {
            self.begin(simulator, 0);
        }
        match (&mut self.rounds, &mut self.tally) {
            (Some(rounds), Some(tally)) => rounds.is_over(at, tally, metering, simulator),
            _ => self.is_past(at),
        }
    }

    /// Returns whether the test's duration ends before `at`.
    pub(super) fn is_past(&self, at: Instant) -> bool {
        at > self.deadline
    }

    /// Counts a request of the test, if counting has begun; all lanes have moved `moved` bytes before this request.
    pub(super) fn count(&mut self, completion: &mut Completion, simulator: &Simulator, moved: u64) {
        if let RequestStatus::Failed(kind) = completion.status {
            self.errors.record(kind);
        }
        let slot = LaneTag::decode(completion.tag).slot;
        let thread = self.open.as_ref().map_or(slot, |open| open.thread(slot));
        let written_since = self.unflushed.beginning_of(completion, thread);
        if completion.completed < self.counting_from {
            return;
        }
        self.begin(simulator, moved);
        if let Some(open) = &mut self.open {
            let late = open.lateness(slot, completion.submitted);
            open.count(late);
            open.begin_when_due(slot, completion);
        }
        let Some(tally) = &mut self.tally else { return };
        self.last = completion.completed;
        if completion.status != RequestStatus::Good {
            return;
        }
        let latency = completion.completed.since(completion.submitted);
        debug_assert_eq!(completion.budget.total(), latency, "the stages must sum to the latency");
        let latency = written_since.map_or(latency, |since| completion.completed.since(since));
        tally.count(completion, latency);
        if let Some(all) = &mut self.beside_rounds {
            all.count(completion, latency);
        }
        if let Some(series) = &mut self.series {
            let at = completion.completed.since(self.counting_from);
            if series.is_over(at) {
                series.close(at, Some(simulator.drive_use()));
            }
            series.record(completion.access.operation, completion.access.length, latency);
        }
    }

    /// Returns the rule by which the test may end before `end`, if there is one.
    pub(super) fn convergence(
        &mut self,
        spec: &SystemSpec,
        test: &Test,
        end: EarlyEnd,
    ) -> Option<Convergence> {
        let outstanding = self.threads.len() as u64 * u64::from(self.queue_depth);
        let rule = |figures| {
            let rule = Convergence::new(test, outstanding, self.counting_from, figures);
            Convergence::with_slow_states(spec, test, rule)
        };
        match end {
            EarlyEnd::Whole => None,
            EarlyEnd::Converged(figures) => may_converge(spec, test).then(|| rule(figures)),
            EarlyEnd::ConvergedBefore(figures, _) => {
                let rule = rule(figures);
                self.counts_steady_only = true;
                Some(rule)
            }
            EarlyEnd::Settled(turnover) => {
                let rule = rule(RequiredFigures::RateAndPercentiles);
                self.may_settle = self.rounds.is_some();
                Some(Convergence::of_turnover(turnover, self.may_settle, rule))
            }
        }
    }

    /// Passes a completion to `rule`, and returns the run if it has converged.
    #[inline]
    pub(super) fn converges(
        &mut self,
        rule: &mut Convergence,
        completion: &Completion,
        simulator: &Simulator,
        metering: &EnergyMetering,
    ) -> Option<SteadyRun> {
        let tally = self.tally.as_mut()?;
        if !rule.count(completion, simulator) {
            return None;
        }
        let now = completion.completed;
        if let (Some(rounds), Some(all)) = (&self.rounds, &mut self.beside_rounds) {
            let rounds_left = |count: usize| (Some(rounds.left(count, now)), None);
            let found =
                rule.check(all, now, simulator, metering, rounds_left(rounds.first_end()))?;
            let part = rule.steady_part(&found);
            let until_now = tally.point(simulator.drive_use());
            let outcome = rounds.outcome(&until_now, &part, found.from, now)?;
            let count = outcome.rounds.len();
            let found = rule.until(&found, rounds_left(count))?;
            self.outcome = Some(outcome);
            return rule.weighted_run(&found, count <= WINDOW);
        }
        let timed = self.deadline < Instant::from_picoseconds(u64::MAX);
        let time = timed.then(|| self.deadline.since_or_zero(now));
        // The volume of a copy is the data that it reads; it writes the same amount.
        let of_read = if self.copied.is_some() { 2 } else { 1 };
        let data = (self.volume_left < u64::MAX / 2).then(|| self.volume_left * of_read);
        let found = rule.check(tally, now, simulator, metering, (time, data))?;
        rule.weighted_run(&found, !self.counts_steady_only)
    }

    /// Counts the whole test, because it has not converged.
    pub(super) fn is_whole(&mut self, rule: Convergence, simulator: &Simulator) {
        if self.rounds.is_some() {
            return;
        }
        let rest = self.tally.take().unwrap_or_else(|| Tally::since(simulator));
        let (tally, phases, precision) = rule.whole(rest);
        (self.tally, self.phases, self.precision) = (Some(tally), phases, precision);
    }

    /// Returns the requests that are in flight at `end`. `past` is the first completion after `end`, which is no longer
    /// in flight in `storage`. `tally` contains the counted requests.
    fn in_flight(
        &mut self,
        storage: &Storage,
        past: Option<&Completion>,
        end: Instant,
        tally: &Tally,
    ) -> Option<RequestsInFlight> {
        let past = past.map(|completion| (completion.tag, completion.submitted));
        let own_requests = storage.in_flight().into_iter().chain(past);
        let own_requests =
            own_requests.filter(|(tag, _)| LaneTag::decode(*tag).lane == self.place.number);
        let ages = own_requests.filter_map(|(tag, submitted)| {
            let began = match &self.open {
                Some(open) => open.due(LaneTag::decode(tag).slot),
                None => submitted,
            };
            (began <= end).then(|| end.since(began))
        });
        let mut ages: Vec<Duration> = ages.collect();
        if let Some(open) = &mut self.open
            && self.volume_left > 0
        {
            ages.extend(open.unsubmitted(end));
        }
        RequestsInFlight::from_ages(&ages, tally.longest())
    }

    /// Returns the sample of the test, which has ended. `moved` is the amount of data that all lanes have moved, if
    /// there are other lanes; `past` is a completion after the end of the test, which is not counted.
    pub(super) fn end(
        mut self,
        spec: &SystemSpec,
        test: &Test,
        storage: &Storage,
        past: Option<&Completion>,
        moved: Option<u64>,
        energy: Option<EnergyUse>,
    ) -> Sample {
        let simulator = storage.simulator();
        let end = if test.duration.is_some() && self.last < self.deadline && self.volume_left > 0 {
            self.deadline
        } else {
            self.last
        };
        let tally = self.tally.take().unwrap_or_else(|| Tally::since(simulator));
        let drive = simulator.drive_use();
        let all = end.since(self.counting_from);
        let (tally, elapsed, all, steady) = match self.rounds.take() {
            Some(rounds) => {
                let (tally, elapsed, all, steady) = rounds.finish(tally);
                (tally, elapsed, all, Some(steady))
            }
            None => (tally, all, all, None),
        };
        let in_flight = self.in_flight(storage, past, self.counting_from + all, &tally);
        let phases = std::mem::take(&mut self.phases);
        let converged = self.precision;
        let counted = CountedRequests {
            elapsed,
            busy: busy_since(simulator, &tally.busy_before),
            drive: drive.since(&tally.drive_before),
            energy,
            tally,
        };
        // The hops carried the data of all lanes.
        let carried = moved.map(|moved| Bytes(moved - self.moved_before));
        let series = self.series.take().map(|series| series.finish(all, Some(drive)));
        Sample {
            in_flight,
            series,
            steady,
            phases,
            converged,
            ..self.sample(spec, simulator, counted, carried)
        }
    }

    /// Returns the sample of a test that has converged. `of_rounds` is the energy of its rounds, if it has rounds.
    pub(super) fn end_converged(
        mut self,
        spec: &SystemSpec,
        storage: &Storage,
        steady: SteadyRun,
        of_rounds: Option<EnergyUse>,
    ) -> Sample {
        let SteadyRun { tally, elapsed, busy, drive, power, converged, phases, part } = steady;
        let in_flight = self.in_flight(storage, None, self.last, &tally);
        let energy = match power {
            Some(power) => energy(spec, power.into_iter(), elapsed),
            None => of_rounds,
        };
        let now = self.last.since(self.counting_from);
        let whole = match &self.outcome {
            Some(outcome) => outcome.rule.length * outcome.rounds.len() as u64,
            None => self.deadline.since(self.counting_from),
        };
        let written = storage.simulator().drive_use();
        let series = self.series.take().zip(part);
        let series = series.map(|(series, part)| series.finish_steady(now, written, &part, whole));
        let steady = self.outcome.take();
        let counted = CountedRequests { tally, elapsed, busy, drive, energy };
        let sample = self.sample(spec, storage.simulator(), counted, None);
        Sample { in_flight, converged: Some(converged), phases, series, steady, ..sample }
    }

    /// Returns the sample of `counted` requests. The hops have carried the data of these requests, or `carried` bytes
    /// if that is given.
    fn sample(
        self,
        spec: &SystemSpec,
        simulator: &Simulator,
        counted: CountedRequests,
        carried: Option<Bytes>,
    ) -> Sample {
        let CountedRequests { tally, elapsed, busy, drive, energy } = counted;
        let carried = carried.unwrap_or_else(|| tally.bytes());
        let requests = tally.requests();
        let path = path_use(spec, simulator, &busy, &tally.budget, requests, carried, elapsed);
        let if_counted =
            |direction: DirectionResult| (direction.latency.count() > 0).then_some(direction);
        Sample {
            elapsed,
            drive: Some(drive),
            reads: if_counted(tally.reads),
            writes: if_counted(tally.writes),
            flushes: if_counted(tally.flushes),
            trims: if_counted(tally.trims),
            punctuality: self.open.map(OpenLoopArrivals::finish),
            path: Some(path),
            energy,
            errors: self.errors,
            faults: simulator.fault_uses(),
            credits: simulator.credits(),
            ..Sample::empty()
        }
    }
}

/// The counted requests of a test, and the use of hops, the use of drives, and the energy during the same period.
struct CountedRequests {
    tally: Tally,
    elapsed: Duration,
    busy: HopBusyTimes,
    drive: DriveUse,
    energy: Option<EnergyUse>,
}

/// Returns the accesses of a thread, counted over all drives. Sequential threads divide their drive's span.
fn stream(test: &Test, requests: &SyntheticRequests, thread: u32, key: StreamKey) -> Accesses {
    let thread_of_test = thread % test.threads;
    if requests.is_in_order() {
        Accesses::for_thread(test, requests, StreamKey { thread: thread_of_test, ..key })
    } else {
        Accesses::for_thread(test, requests, StreamKey { thread, ..key })
    }
}

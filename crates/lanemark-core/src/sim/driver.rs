//! A test in closed or open loop on a simulated system.
//!
//! In a closed loop each thread keeps its queue depth outstanding; in an open one its requests have times of their own
//! (`open`); a database's users ask for transactions, which need several (`transactions`). Counting begins after the ramp and ends with the
//! volume or the duration, whichever comes first; requests that are under way at the end of the
//! duration are not counted, as in a real run. A test of rounds goes on without a gap from one to the next, ends
//! when their figures are steady, and reports the last five.

mod open;
mod tally;
mod transactions;

use super::Progress;
use super::budget::{BudgetSum, HOPS};
use super::energy::Metering;
use super::fault::Status;
use super::hops;
use super::simulator::{Completion, SimError, Simulator};
use super::spec::{CheckedSystem, Content, SystemSpec};
use super::storage::Storage;
use super::target::Target;
use crate::result::series::Recorder;
use crate::result::{DirectionResult, DriveUse, HopUse, PathUse, RequestErrors, Sample};
use crate::rng::StreamKey;
use crate::units::{Bytes, BytesPerSecond, Duration, Instant};
use crate::workload::{Accesses, Asks, CheckedTest, Requests, Test};
use open::Open;
use tally::{RoundsRun, Tally};

/// Interval at which [`run_test_watched`] tells how far it is, in events of the simulator: every few milliseconds.
const WATCH_EVENTS: u64 = 4096;

/// Runs one repeat of `test` in the volume of `spec`, or in each namespace of each drive at once, with the random
/// streams of `key` (whose thread is ignored). The span of the test lies written in each namespace of a fresh drive
/// when it begins, with whatever is before the last one's; the rest of the drive is erased.
///
/// # Errors
/// [`SimError`] where the test does not fit the drive.
pub fn run_test(
    spec: &CheckedSystem,
    test: &CheckedTest,
    key: StreamKey,
) -> Result<Sample, SimError> {
    run_test_watched(spec, test, key, &mut |_| true)
}

/// Runs one repeat of `test` as [`run_test`] does, and tells `watch` every few thousand events how far it is. `watch`
/// ends the run by returning false.
///
/// # Errors
/// As [`run_test`], and [`SimError::Cancelled`] where `watch` ended it.
pub fn run_test_watched(
    spec: &CheckedSystem,
    test: &CheckedTest,
    key: StreamKey,
    watch: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Sample, SimError> {
    if test.start.beside {
        return Err(SimError::NotSimulated { what: "a test beside another one" });
    }
    let requests = match &test.asks {
        Asks::Requests(requests) => requests,
        Asks::Transactions(load) => return transactions::run(spec, test, load, key, watch),
        // A checked test is neither.
        Asks::Database(_) => return Err(SimError::NotSimulated { what: "a real database" }),
        Asks::Trace(_) => return Err(SimError::NotSimulated { what: "a trace without its file" }),
    };
    let mut run = Run::new(spec, test, requests, key);
    run.fill_queues()?;
    let mut watched = 0;
    while let Some(mut completion) = run.metering.advance(&mut run.storage) {
        let events = run.storage.simulator().events();
        if events >= watched {
            watched = events + WATCH_EVENTS;
            if !watch(&run.progress(completion.completed, test)) {
                return Err(SimError::Cancelled);
            }
        }
        if run.is_over(&completion) {
            break;
        }
        completion.check_end()?;
        run.count(&mut completion);
        run.submit_next(&completion)?;
        if run.storage.simulator().outstanding() == 0 {
            run.metering.end(run.storage.simulator(), completion.completed);
        }
    }
    Ok(run.end(spec, test))
}

struct Run {
    storage: Storage,
    metering: Metering,
    /// The threads of the first namespace of the first drive, then those of the next.
    threads: Vec<Accesses>,
    targets: Vec<Target>,
    threads_per_target: u32,
    queue_depth: u32,
    think: Duration,
    /// The times of requests, where the loop is open; then a tag is a slot, and else a thread.
    open: Option<Open>,
    /// Instants at which counting begins, and at which it must end.
    counting_from: Instant,
    deadline: Instant,
    /// Data not yet submitted; the ramp does not use it up.
    volume_left: u64,
    /// Requests submitted so far, with those of the ramp.
    submitted: u64,
    /// Instant at which the last request was counted.
    last: Instant,
    /// Counted requests, from the first one on that counts, or of the present round.
    tally: Option<Tally>,
    rounds: Option<RoundsRun>,
    series: Option<Recorder>,
    errors: RequestErrors,
}

impl Run {
    fn new(spec: &CheckedSystem, test: &Test, requests: &Requests, key: StreamKey) -> Self {
        let counting_from = Instant::ZERO + test.ramp;
        let deadline = test.duration.map(|duration| counting_from + duration);
        let targets = spec.targets();
        let count = targets.len() as u64;
        Self {
            storage: Storage::new(spec, Content::of(test), key),
            metering: Metering::new(
                spec,
                counting_from,
                deadline.or(test.rounds.map(|rounds| counting_from + rounds.length)),
            ),
            threads: (0..test.threads * count as u32)
                .map(|thread| stream(test, requests, thread, key))
                .collect(),
            targets,
            threads_per_target: test.threads,
            queue_depth: requests.queue_depth,
            think: requests.think,
            open: Open::of(test, test.threads * count as u32, key),
            counting_from,
            deadline: deadline.unwrap_or(Instant::from_picoseconds(u64::MAX)),
            volume_left: test.volume.map_or(u64::MAX, |volume| volume.get() * count),
            submitted: 0,
            last: counting_from,
            tally: None,
            rounds: test.rounds.map(|rounds| RoundsRun::new(rounds, counting_from)),
            series: Recorder::of(test),
            errors: RequestErrors::default(),
        }
    }

    fn fill_queues(&mut self) -> Result<(), SimError> {
        for slot in 0..self.queue_depth {
            for thread in 0..self.threads.len() as u32 {
                match self.open {
                    Some(_) => {
                        self.submit_when_due(Instant::ZERO, thread * self.queue_depth + slot)?;
                    }
                    None => self.submit(Instant::ZERO, thread, thread)?,
                }
            }
        }
        Ok(())
    }

    fn submit_next(&mut self, completion: &Completion) -> Result<(), SimError> {
        let tag = completion.tag as u32;
        match self.open {
            Some(_) => self.submit_when_due(completion.completed, tag),
            None => self.submit(completion.completed + self.think, tag, tag),
        }
    }

    /// Submits the request that is due next to a slot that is free from `free` on.
    fn submit_when_due(&mut self, free: Instant, slot: u32) -> Result<(), SimError> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let thread = open.thread(slot);
        let at = match self.threads[thread as usize].is_flush_next() {
            true => open.at_once(slot, free),
            false => open.next(slot, free),
        };
        self.submit(at, thread, slot)
    }

    /// Submits a thread's next request, where the volume has one left.
    fn submit(&mut self, at: Instant, thread: u32, tag: u32) -> Result<(), SimError> {
        if self.volume_left == 0 {
            return Ok(());
        }
        self.submitted += 1;
        let access = self.threads[thread as usize].next_access();
        if at >= self.counting_from {
            self.volume_left = self.volume_left.saturating_sub(access.length.get());
        }
        let target = self.targets[(thread / self.threads_per_target) as usize];
        self.storage.submit(at, target, access, thread, tag.into())
    }

    /// Returns the progress of the test at `now`: by its time or by its volume, whichever is further.
    fn progress(&self, now: Instant, test: &Test) -> Progress {
        let of_time = test.duration.map(|duration| share_of_time(now, test.ramp + duration));
        let of_volume = test.volume.map(|volume| {
            let all = volume.get() * self.targets.len() as u64;
            1.0 - self.volume_left as f64 / all.max(1) as f64
        });
        let share = of_time.into_iter().chain(of_volume).reduce(f64::max);
        Progress { requests: self.submitted, now, share }
    }

    /// Begins to count, where that has not begun.
    fn begin(&mut self) {
        if self.tally.is_some() {
            return;
        }
        let mut tally = Tally::since(self.storage.simulator());
        if self.counting_from == Instant::ZERO {
            // The work for the first request counts too.
            tally.busy_before = Default::default();
            tally.drive_before = DriveUse::default();
        }
        if let Some(series) = &mut self.series {
            series.begin(tally.drive_before);
        }
        self.tally = Some(tally);
    }

    /// Whether the test ends before `completion`. Ends the rounds that do.
    fn is_over(&mut self, completion: &Completion) -> bool {
        if self.rounds.is_some() && completion.completed >= self.counting_from {
            self.begin();
        }
        match (&mut self.rounds, &mut self.tally) {
            (Some(rounds), Some(tally)) => {
                let (metering, simulator) = (&mut self.metering, self.storage.simulator());
                rounds.is_over(completion.completed, tally, metering, simulator)
            }
            _ => completion.completed > self.deadline,
        }
    }

    fn count(&mut self, completion: &mut Completion) {
        if let Status::Failed(kind) = completion.status {
            self.errors.count(kind);
        }
        if completion.completed < self.counting_from {
            return;
        }
        self.begin();
        if let Some(open) = &mut self.open {
            let late = open.lateness(completion.tag as u32, completion.submitted);
            open.count(late);
            open.begin_when_due(completion);
        }
        let Some(tally) = &mut self.tally else { return };
        self.last = completion.completed;
        if completion.status != Status::Good {
            return;
        }
        let latency = completion.completed.since(completion.submitted);
        debug_assert_eq!(completion.budget.total(), latency, "stages must sum to the latency");
        tally.count(completion, latency);
        if let Some(series) = &mut self.series {
            let at = completion.completed.since(self.counting_from);
            if series.is_over(at) {
                series.close(at, Some(self.storage.simulator().drive_use()));
            }
            series.record(completion.access.operation, completion.access.length, latency);
        }
    }

    fn end(self, spec: &SystemSpec, test: &Test) -> Sample {
        let end = if test.duration.is_some() && self.last < self.deadline && self.volume_left > 0 {
            self.deadline
        } else {
            self.last
        };
        let tally = self.tally.unwrap_or_else(|| Tally::since(self.storage.simulator()));
        let drive = self.storage.simulator().drive_use();
        let all = end.since(self.counting_from);
        let (tally, elapsed, all, steady) = match self.rounds {
            Some(rounds) => {
                let (tally, elapsed, all, steady) = rounds.finish(tally);
                (tally, elapsed, all, Some(steady))
            }
            None => (tally, all, all, None),
        };
        let counted = (tally.requests(), tally.bytes(), elapsed);
        let path =
            path_use(spec, self.storage.simulator(), &tally.busy_before, &tally.budget, counted);
        let counted =
            |direction: DirectionResult| (direction.latency.count() > 0).then_some(direction);
        Sample {
            elapsed,
            drive: Some(drive.since(&tally.drive_before)),
            reads: counted(tally.reads),
            writes: counted(tally.writes),
            cpu: None,
            evidence: None,
            flushes: counted(tally.flushes),
            trims: counted(tally.trims),
            punctuality: self.open.map(Open::finish),
            path: Some(path),
            energy: self.metering.energy(spec),
            errors: self.errors,
            faults: self.storage.simulator().fault_uses(),
            replay: None,
            series: self.series.map(|series| series.finish(all, Some(drive))),
            steady,
            transactions: None,
            complete: true,
        }
    }
}

/// Returns the share of `all` that is over at `now`.
fn share_of_time(now: Instant, all: Duration) -> f64 {
    let passed = now.since(Instant::ZERO).picoseconds() as f64;
    (passed / all.picoseconds().max(1) as f64).min(1.0)
}

/// Returns the use of each hop in `elapsed`, in which `requests` moved so many bytes and spent `budget`. `before` holds
/// the busy times of the hops at its beginning.
pub(super) fn path_use(
    spec: &SystemSpec,
    simulator: &Simulator,
    before: &[Vec<Duration>; HOPS],
    budget: &BudgetSum,
    (requests, bytes, elapsed): (u64, Bytes, Duration),
) -> PathUse {
    let throughput = bytes / elapsed;
    let busy = simulator.busy();
    let per_request = |total_ns: f64| total_ns / requests.max(1) as f64;
    let hops: Vec<HopUse> = hops::order(spec)
        .into_iter()
        .map(|id| {
            let hop = hops::place(id);
            let utilisation = utilisation(&busy[hop], &before[hop], elapsed);
            HopUse {
                id,
                name: hops::name(spec, id),
                utilisation,
                ceiling: ceiling(throughput, utilisation),
                wait_ns: per_request(budget.wait_ns(hop)),
                service_ns: per_request(budget.service_ns(hop)),
            }
        })
        .filter(|hop| hop.utilisation > 0.0 || hop.wait_ns > 0.0 || hop.service_ns > 0.0)
        .collect();
    PathUse::new(hops, simulator.events())
}

/// The stream of a thread, counted over all namespaces. Sequential threads share the span of their own.
fn stream(test: &Test, requests: &Requests, thread: u32, key: StreamKey) -> Accesses {
    let own = thread % test.threads;
    match requests.is_in_order() {
        true => Accesses::of(test, requests, StreamKey { thread: own, ..key }),
        false => Accesses::of(test, requests, StreamKey { thread, ..key }),
    }
}

/// The mean busy share over those parts of a hop that did anything.
fn utilisation(busy: &[Duration], before: &[Duration], elapsed: Duration) -> f64 {
    let shares: Vec<f64> = busy
        .iter()
        .enumerate()
        .map(|(part, total)| {
            let earlier = before.get(part).copied().unwrap_or_default();
            total.saturating_sub(earlier).as_seconds()
        })
        .filter(|&seconds| seconds > 0.0)
        .collect();
    if shares.is_empty() || elapsed == Duration::ZERO {
        return 0.0;
    }
    // A service that was booked but not over at the end may push the share past one.
    (shares.iter().sum::<f64>() / shares.len() as f64 / elapsed.as_seconds()).min(1.0)
}

/// The utilisation law, X = U / D: what the hop would carry if it alone were busy all the time.
fn ceiling(throughput: BytesPerSecond, utilisation: f64) -> Option<BytesPerSecond> {
    (utilisation > 0.0).then(|| BytesPerSecond((throughput.0 as f64 / utilisation) as u64))
}

//! A recorded trace replayed on a simulated system.
//!
//! In open loop a request is submitted at its recorded time, divided by the speed, whether or not those
//! before it are complete, and its latency counts from that time. At most [`OUTSTANDING_MAX`] requests are
//! outstanding; behind them the trace waits, and that waiting is part of the latency and a hop of its own
//! in the path. As fast as possible means closed loop: the next request is submitted when one of those
//! outstanding is complete, and times do not count.
//!
//! The trace is pulled one request at a time, so what is held does not grow with it. A request before
//! its predecessor comes with it.
//!
//! Not modelled: what the recorded requests waited for. A trace does not tell that a request was issued
//! only because another had ended, so a slower system gets in open loop what its users would not have asked.

use std::str::FromStr;

use super::budget::BudgetSum;
use super::driver::path_use;
use super::simulator::{Completion, SimError, Simulator};
use super::spec::SystemSpec;
use crate::result::{DirectionResult, HopUse, ReplayUse, Sample};
use crate::units::{Bytes, Duration, Instant, Ratio};
use crate::workload::{
    Access, Arrival, BLOCK_MAX, Operation, Pattern, QUEUE_DEPTH_MAX, SECTOR, Test,
};

/// The most requests outstanding in open loop: as many as the deepest queue of a test.
pub const OUTSTANDING_MAX: u32 = QUEUE_DEPTH_MAX;
/// Wrapped requests stay aligned to this.
const WRAP_ALIGNMENT: u64 = 4096;
/// How many requests are replayed between two looks at whether to go on.
const WATCH_EVERY: u64 = 1 << 14;
/// Behind everything that happens.
const NEVER: Instant = Instant::from_picoseconds(u64::MAX);

/// How a trace is replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replay {
    /// When requests are submitted.
    pub pace: Pace,
    /// Requests behind the end of their drive are moved into it, by the remainder of their offset.
    pub wrap: bool,
    /// How much of each drive, from its start, lies written when the replay begins.
    pub laid_out: Bytes,
}

/// When the requests of a trace are submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// At their recorded times, made faster or slower.
    Recorded(Speed),
    /// When there is room.
    AsFastAsPossible {
        /// Requests outstanding.
        queue_depth: u32,
    },
}

/// How many times as fast as recorded, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Speed(u64);

/// How far a replay is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Requests submitted.
    pub requests: u64,
    /// The simulated time.
    pub now: Instant,
}

/// What came out of a replay.
#[derive(Clone, Debug)]
pub struct ReplayRun {
    /// The figures.
    pub sample: Sample,
    /// What the trace was, summed up as a test.
    pub test: Test,
    /// What the drive that wrote most wrote to flash.
    pub written: Bytes,
}

/// Why a replay cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayError<E> {
    /// The trace cannot be read.
    Trace(E),
    /// A request cannot be submitted.
    Request {
        /// Its line in the trace.
        line: u64,
        /// What is wrong with it.
        fault: RequestFault,
    },
    /// The system cannot go on.
    Sim(SimError),
}

/// Why a request of a trace cannot be submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestFault {
    /// It has no time, and times count.
    #[error("the request has no time")]
    Untimed,
    /// It comes later than can be told.
    #[error("at this speed the request comes later than 200 days after the first")]
    TooLate,
    /// It is of a device that no drive stands for.
    #[error("the request is of the trace's device number {}, and the system has {drives}", device + 1)]
    NoDrive {
        /// The device, from 0.
        device: u32,
        /// Drives of the system.
        drives: usize,
    },
    /// It ends behind the end of its drive.
    #[error("a request at {offset} of {length} ends behind the drive's {capacity}")]
    OutOfRange {
        /// Where it begins.
        offset: Bytes,
        /// How long it is.
        length: Bytes,
        /// What the drive holds.
        capacity: Bytes,
    },
    /// It is longer than any request may be.
    #[error("a request of {length} is longer than {}", BLOCK_MAX)]
    TooLong {
        /// How long it is.
        length: Bytes,
    },
}

impl Speed {
    /// As recorded.
    pub const RECORDED: Self = Self(1_000_000);

    /// The factor.
    pub fn factor(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// `at` at this speed, where it can be told.
    fn scale(self, at: Instant) -> Option<Instant> {
        // Beyond this the replay itself would run over the end of simulated time.
        const LATEST: u64 = 200 * 86_400 * 1_000_000_000_000;
        let scaled = u128::from(at.picoseconds()) * 1_000_000 / u128::from(self.0);
        let scaled = u64::try_from(scaled).ok().filter(|&scaled| scaled <= LATEST)?;
        Some(Instant::from_picoseconds(scaled))
    }
}

impl FromStr for Speed {
    type Err = String;

    /// Reads a factor and an x, `2x` or `0.5x`.
    fn from_str(text: &str) -> Result<Self, String> {
        let fail = || "write it as a factor from 0.001x to 1000000x, such as 2x or 0.5x".to_owned();
        let factor = text.strip_suffix('x').ok_or_else(fail)?;
        let (whole, fraction) = factor.split_once('.').unwrap_or((factor, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        if !digits(whole) || !digits(fraction) || fraction.len() > 6 || whole.len() > 7 {
            return Err(fail());
        }
        let millionths = format!("{whole}{fraction:0<6}").parse().map_err(|_| fail())?;
        if !(1_000..=1_000_000_000_000).contains(&millionths) {
            return Err(fail());
        }
        Ok(Self(millionths))
    }
}

/// Replays `arrivals` on `spec`, device i of the trace on drive i. `watch` sees now and then how far it is,
/// and ends the replay by returning false; what was complete by then is the result.
///
/// # Errors
/// [`ReplayError`] at the first request that cannot be read or submitted, or where the system cannot go on.
pub fn replay<E>(
    spec: &SystemSpec,
    plan: &Replay,
    arrivals: impl IntoIterator<Item = Result<Arrival, E>>,
    watch: &mut dyn FnMut(&Progress) -> bool,
) -> Result<ReplayRun, ReplayError<E>> {
    let mut run = Run::new(spec, plan);
    let mut complete = true;
    for arrival in arrivals {
        let arrival = arrival.map_err(ReplayError::Trace)?;
        run.submit(&arrival)?;
        let progress = Progress { requests: run.requests, now: run.simulator.now() };
        if run.requests.is_multiple_of(WATCH_EVERY) && !watch(&progress) {
            complete = false;
            break;
        }
    }
    while complete && run.outstanding > 0 && run.complete_one(NEVER)? {}
    Ok(run.end(spec, complete))
}

struct Run {
    simulator: Simulator,
    plan: Replay,
    capacities: Vec<Bytes>,
    outstanding_limit: u64,
    /// Requests submitted, and those that are not complete.
    requests: u64,
    outstanding: u64,
    outstanding_max: u64,
    /// Requests that had come and were not complete, times picoseconds, up to `counted_to`.
    request_time: u128,
    counted_to: Instant,
    /// The time of the last request.
    scheduled: Instant,
    /// What requests waited to be submitted, in picoseconds.
    held_time: u128,
    held_back: u64,
    wrapped: u64,
    empty: u64,
    end: Bytes,
    reads: DirectionResult,
    writes: DirectionResult,
    flushes: DirectionResult,
    trims: DirectionResult,
    budget: BudgetSum,
    completed: Instant,
}

impl Run {
    fn new(spec: &SystemSpec, plan: &Replay) -> Self {
        let siblings = spec.siblings.iter().map(|sibling| sibling.drive.capacity);
        let outstanding_limit = match plan.pace {
            Pace::Recorded(_) => OUTSTANDING_MAX,
            Pace::AsFastAsPossible { queue_depth } => queue_depth.max(1),
        };
        Self {
            simulator: Simulator::new(spec, plan.laid_out),
            plan: *plan,
            capacities: std::iter::once(spec.drive.capacity).chain(siblings).collect(),
            outstanding_limit: outstanding_limit.into(),
            requests: 0,
            outstanding: 0,
            outstanding_max: 0,
            request_time: 0,
            counted_to: Instant::ZERO,
            scheduled: Instant::ZERO,
            held_time: 0,
            held_back: 0,
            wrapped: 0,
            empty: 0,
            end: Bytes::ZERO,
            reads: DirectionResult::new(),
            writes: DirectionResult::new(),
            flushes: DirectionResult::new(),
            trims: DirectionResult::new(),
            budget: BudgetSum::default(),
            completed: Instant::ZERO,
        }
    }

    /// Submits a request at its time or when there is room, after all that is complete before.
    fn submit<E>(&mut self, arrival: &Arrival) -> Result<(), ReplayError<E>> {
        let fail = |fault| ReplayError::Request { line: arrival.line, fault };
        let scheduled = match self.plan.pace {
            Pace::AsFastAsPossible { .. } => None,
            Pace::Recorded(speed) => {
                let at = arrival.at.ok_or(fail(RequestFault::Untimed))?;
                let at = speed.scale(at).ok_or(fail(RequestFault::TooLate))?;
                self.scheduled = self.scheduled.max(at);
                Some(self.scheduled)
            }
        };
        let Some((drive, access)) = self.placed(arrival).map_err(fail)? else {
            self.empty += 1;
            return Ok(());
        };
        if let Some(scheduled) = scheduled {
            while self.complete_one(scheduled)? {}
        }
        while self.outstanding >= self.outstanding_limit && self.complete_one(NEVER)? {}
        let now = self.simulator.now();
        let at = scheduled.map_or(now, |scheduled| scheduled.max(now));
        let scheduled = scheduled.unwrap_or(at);
        self.count_to(at);
        if at > scheduled {
            self.held_back += 1;
            self.request_time += u128::from(at.since(scheduled).picoseconds());
        }
        self.simulator
            .submit(at, drive, access, arrival.thread, scheduled.picoseconds())
            .map_err(ReplayError::Sim)?;
        self.requests += 1;
        self.outstanding += 1;
        self.outstanding_max = self.outstanding_max.max(self.outstanding);
        Ok(())
    }

    /// The drive of a request and what is asked of it; `None` where it asks for nothing.
    fn placed(&mut self, arrival: &Arrival) -> Result<Option<(u16, Access)>, RequestFault> {
        let Arrival { device, access, .. } = *arrival;
        let drives = self.capacities.len();
        let Some(&capacity) = self.capacities.get(device as usize) else {
            return Err(RequestFault::NoDrive { device, drives });
        };
        let drive = device as u16;
        let Access { operation, mut offset, length } = access;
        if operation == Operation::Flush {
            let nowhere = Access { operation, offset: Bytes::ZERO, length: Bytes::ZERO };
            return Ok(Some((drive, nowhere)));
        }
        if length == Bytes::ZERO {
            return Ok(None);
        }
        if operation != Operation::Trim && length > BLOCK_MAX {
            return Err(RequestFault::TooLong { length });
        }
        if offset.get().checked_add(length.get()).is_none_or(|end| end > capacity.get()) {
            if !self.plan.wrap || length > capacity {
                return Err(RequestFault::OutOfRange { offset, length, capacity });
            }
            offset = wrapped(offset, length, capacity);
            self.wrapped += 1;
        }
        self.end = self.end.max(offset + length);
        Ok(Some((drive, Access { operation, offset, length })))
    }

    /// Goes on to the next completion up to `limit` and counts it; false where there is none.
    fn complete_one<E>(&mut self, limit: Instant) -> Result<bool, ReplayError<E>> {
        match self.simulator.advance_until(limit).map_err(ReplayError::Sim)? {
            Some(completion) => {
                self.count(&completion);
                Ok(true)
            }
            None => Ok(false),
        }
    }

    fn count(&mut self, completion: &Completion) {
        let Completion { tag, access, submitted, completed, budget } = completion;
        self.count_to(*completed);
        self.outstanding -= 1;
        self.completed = *completed;
        let scheduled = Instant::from_picoseconds(*tag);
        let latency = completed.since(scheduled);
        match access.operation {
            Operation::Read => self.reads.record(access.length, latency),
            Operation::Write => self.writes.record(access.length, latency),
            Operation::Flush => return self.flushes.record(access.length, latency),
            Operation::Trim => return self.trims.record(access.length, latency),
        }
        // The budget explains the latency of reads and writes, which is what every view shows.
        self.held_time += u128::from(submitted.since(scheduled).picoseconds());
        self.budget.add(budget);
    }

    /// Adds the time that those outstanding have spent up to `now`.
    fn count_to(&mut self, now: Instant) {
        let passed = now.since(self.counted_to).picoseconds();
        self.request_time += u128::from(passed) * u128::from(self.outstanding);
        self.counted_to = now;
    }

    fn end(self, spec: &SystemSpec, complete: bool) -> ReplayRun {
        let elapsed = self.completed.since(Instant::ZERO);
        let operations = self.reads.latency.count() + self.writes.latency.count();
        let bytes = self.reads.bytes + self.writes.bytes;
        let idle = Default::default();
        let mut path =
            path_use(spec, &self.simulator, &idle, &self.budget, (operations, bytes, elapsed));
        if self.held_back > 0 {
            let waited_ns = self.held_time as f64 / 1e3 / operations.max(1) as f64;
            path.hops.insert(0, not_yet_submitted(waited_ns));
        }
        let test = self.summary(operations, bytes);
        let written = self.simulator.written();
        let known =
            |direction: DirectionResult| (direction.latency.count() > 0).then_some(direction);
        let (speed, queue_depth, span) = match self.plan.pace {
            Pace::Recorded(speed) => {
                (Some(speed.factor()), None, Some(self.scheduled.since(Instant::ZERO)))
            }
            Pace::AsFastAsPossible { queue_depth } => (None, Some(queue_depth), None),
        };
        let time = elapsed.picoseconds().max(1) as f64;
        let replay = ReplayUse {
            requests: self.requests,
            speed,
            queue_depth,
            span,
            outstanding_mean: self.request_time as f64 / time,
            outstanding_max: self.outstanding_max,
            held_back: self.held_back,
            wrapped: self.wrapped,
            empty: self.empty,
            flushes: known(self.flushes),
            trims: known(self.trims),
        };
        let sample = Sample {
            elapsed,
            reads: known(self.reads),
            writes: known(self.writes),
            cpu: None,
            path: Some(path),
            replay: Some(replay),
            complete,
        };
        ReplayRun { sample, test, written }
    }

    /// The trace as a test: what it asked for on average, and how far it reached.
    fn summary(&self, operations: u64, bytes: Bytes) -> Test {
        let reads = self.reads.latency.count();
        let read_share = Ratio::new(reads as f64 / operations.max(1) as f64).unwrap_or_default();
        Test {
            name: "trace".to_owned(),
            block: Bytes(bytes.get() / operations.max(1)),
            pattern: Pattern::Trace,
            read_share,
            queue_depth: self.outstanding_max.clamp(1, OUTSTANDING_MAX.into()) as u32,
            threads: 1,
            span: self.end,
            offset: Bytes::ZERO,
            alignment: SECTOR,
            volume: Some(bytes),
            duration: None,
            ramp: Duration::ZERO,
            think: Duration::ZERO,
            compressibility: Ratio::ZERO,
        }
    }
}

/// The waiting of requests that had come before there was room to submit them.
fn not_yet_submitted(wait_ns: f64) -> HopUse {
    let name = "not yet submitted".to_owned();
    HopUse { name, utilisation: 0.0, ceiling: None, wait_ns, service_ns: 0.0 }
}

/// `offset` brought into a drive of `capacity` that holds `length`, with its alignment up to 4 KiB.
fn wrapped(offset: Bytes, length: Bytes, capacity: Bytes) -> Bytes {
    let whole = capacity.get() / WRAP_ALIGNMENT * WRAP_ALIGNMENT;
    let inside = match whole {
        0 => 0,
        whole => offset.get() % whole,
    };
    let last = capacity.get() - length.get();
    if inside <= last { Bytes(inside) } else { Bytes(last / WRAP_ALIGNMENT * WRAP_ALIGNMENT) }
}

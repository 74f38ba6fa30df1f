//! A running replay: it submits requests, counts completions, and returns the results.
//!
//! A request's tag is its arrival time in picoseconds, from which its latency counts. The time that requests spend in
//! the system is accumulated as it passes, separately from their latencies, so that Little's law can be tested with
//! both values.

use super::{
    OUTSTANDING_BYTES_MAX, OUTSTANDING_MAX, Pace, ReplayError, ReplayRun, ReplaySettings,
    ReplayedRequest, RequestRefusal,
};
use crate::engine::budget::BudgetSum;
use crate::fault::RequestStatus;
use crate::run::energy::energy;
use crate::run::path_use::path_use;
use crate::run::progress::Progress;
use crate::simulator::Completion;
use crate::spec::submission::Submission;
use crate::spec::{CheckedSystem, SystemSpec};
use crate::storage::Storage;
use lanemark_schema::result::{
    DirectionResult, HopId, HopUse, ReplayCounts, RequestErrors, Sample,
};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Instant, Ratio};
use lanemark_schema::workload::bound::BLOCK;
use lanemark_schema::workload::{
    Access, LoadKind, Operation, SECTOR, Test, TraceArrival, TraceSummary,
};

/// Alignment that wrapped requests keep, in bytes.
const WRAP_ALIGNMENT: u64 = 4096;
/// An instant later than all events.
const NEVER: Instant = Instant::from_picoseconds(u64::MAX);

pub(super) struct RunningReplay<'e> {
    /// Receives every request when it has ended.
    each: &'e mut dyn FnMut(&ReplayedRequest),
    storage: Storage,
    plan: ReplaySettings,
    /// Targets on which the devices of the trace are replayed, each with its capacity.
    targets: Vec<(u16, Bytes)>,
    outstanding_limit: u64,
    bytes_limit: u64,
    /// Number of submitted requests.
    requests: u64,
    /// Number of submitted requests that have not completed.
    outstanding: u64,
    outstanding_bytes: u64,
    outstanding_max: u64,
    /// Time that requests have spent in the system up to `counted_to`, summed over requests, in picoseconds.
    request_time: u128,
    counted_to: Instant,
    /// The time of the last request.
    scheduled: Instant,
    /// Time that requests waited to be submitted, in picoseconds.
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
    errors: RequestErrors,
}

impl<'e> RunningReplay<'e> {
    pub(super) fn new(
        spec: &CheckedSystem,
        plan: &ReplaySettings,
        each: &'e mut dyn FnMut(&ReplayedRequest),
    ) -> Self {
        let (outstanding_limit, bytes_limit) = match plan.pace {
            Pace::Recorded(_) => (OUTSTANDING_MAX, OUTSTANDING_BYTES_MAX.get()),
            Pace::AsFastAsPossible { queue_depth } => (queue_depth.max(1), u64::MAX),
        };
        Self {
            each,
            storage: Storage::new(spec, plan.laid_out.into(), StreamKey::from_seed(plan.seed)),
            plan: *plan,
            targets: spec.targets().zip(spec.capacities()).collect(),
            outstanding_limit: outstanding_limit.into(),
            bytes_limit,
            requests: 0,
            outstanding: 0,
            outstanding_bytes: 0,
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
            errors: RequestErrors::default(),
        }
    }

    /// Submits a request at its time, or later when there is room, after all earlier completions.
    pub(super) fn submit<E>(&mut self, arrival: &TraceArrival) -> Result<(), ReplayError<E>> {
        let fail = |fault| ReplayError::Request { line: arrival.line, fault };
        let scheduled = match self.plan.pace {
            Pace::AsFastAsPossible { .. } => None,
            Pace::Recorded(speed) => {
                let at = arrival.at.ok_or(fail(RequestRefusal::Untimed))?;
                let at = speed.scale(at).ok_or(fail(RequestRefusal::TooLate))?;
                self.scheduled = self.scheduled.max(at);
                Some(self.scheduled)
            }
        };
        let Some((target, access)) = self.target_access(arrival).map_err(fail)? else {
            self.empty += 1;
            return Ok(());
        };
        if let Some(scheduled) = scheduled {
            while self.complete_one(scheduled)? {}
        }
        while self.is_full(access.length) && self.complete_one(NEVER)? {}
        let now = self.storage.now();
        let at = scheduled.map_or(now, |scheduled| scheduled.max(now));
        let scheduled = scheduled.unwrap_or(at);
        self.count_to(at);
        if at > scheduled {
            self.held_back += 1;
            self.request_time += u128::from(at.since(scheduled).picoseconds());
        }
        self.storage
            .submit(
                Submission::new(at, access)
                    .to(target)
                    .by(arrival.thread)
                    .tagged(scheduled.picoseconds()),
            )
            .map_err(ReplayError::Sim)?;
        self.requests += 1;
        self.outstanding += 1;
        self.outstanding_bytes += access.length.get();
        self.outstanding_max = self.outstanding_max.max(self.outstanding);
        Ok(())
    }

    /// Returns whether a request of `length` must wait for submission; a request never waits if no other is
    /// outstanding.
    fn is_full(&self, length: Bytes) -> bool {
        let bytes = self.outstanding_bytes.saturating_add(length.get());
        self.outstanding >= self.outstanding_limit
            || (self.outstanding > 0 && bytes > self.bytes_limit)
    }

    /// Returns the target and the access of a request, or `None` if the request is empty.
    fn target_access(
        &mut self,
        arrival: &TraceArrival,
    ) -> Result<Option<(u16, Access)>, RequestRefusal> {
        let TraceArrival { device, access, .. } = *arrival;
        let drives = self.targets.len();
        let Some(&(target, capacity)) = self.targets.get(device as usize) else {
            return Err(RequestRefusal::NoDrive { device, drives });
        };
        let Access { operation, mut offset, length } = access;
        if operation == Operation::Flush {
            let nowhere = Access { operation, offset: Bytes::ZERO, length: Bytes::ZERO };
            return Ok(Some((target, nowhere)));
        }
        if length == Bytes::ZERO {
            return Ok(None);
        }
        if operation != Operation::Trim && length > BLOCK.max {
            return Err(RequestRefusal::TooLong { length });
        }
        if offset.get().checked_add(length.get()).is_none_or(|end| end > capacity.get()) {
            if !self.plan.wrap || length > capacity {
                return Err(RequestRefusal::OutOfRange { offset, length, capacity });
            }
            offset = wrapped_offset(offset, length, capacity);
            self.wrapped += 1;
        }
        self.end = self.end.max(offset + length);
        Ok(Some((target, Access { operation, offset, length })))
    }

    /// Advances to the next completion up to `limit` and counts it; returns false if there is no such completion.
    fn complete_one<E>(&mut self, limit: Instant) -> Result<bool, ReplayError<E>> {
        let Some(completion) = self.storage.advance_until(limit) else { return Ok(false) };
        completion.check_end().map_err(ReplayError::Sim)?;
        self.record(&completion);
        Ok(true)
    }

    fn record(&mut self, completion: &Completion) {
        let Completion { tag, access, submitted, completed, status, budget } = completion;
        self.count_to(*completed);
        self.outstanding -= 1;
        self.outstanding_bytes -= access.length.get();
        self.completed = *completed;
        let scheduled = Instant::from_picoseconds(*tag);
        let latency = completed.since(scheduled);
        let is_done = !matches!(status, RequestStatus::Failed(_));
        let ended =
            ReplayedRequest { at: scheduled, access: *access, latency: is_done.then_some(latency) };
        (self.each)(&ended);
        if let RequestStatus::Failed(kind) = status {
            return self.errors.record(*kind);
        }
        match access.operation {
            Operation::Read => self.reads.record(access.length, latency),
            Operation::Write => self.writes.record(access.length, latency),
            Operation::Flush => return self.flushes.record(access.length, latency),
            Operation::Trim => return self.trims.record(access.length, latency),
        }
        // The budget explains the latency of reads and writes, which all views show.
        self.held_time += u128::from(submitted.since(scheduled).picoseconds());
        self.budget.add(budget, completed.since(*submitted));
    }

    /// Advances until all requests are complete.
    pub(super) fn drain<E>(&mut self) -> Result<(), ReplayError<E>> {
        while self.outstanding > 0 && self.complete_one(NEVER)? {}
        Ok(())
    }

    pub(super) fn check_memory<E>(&self) -> Result<(), ReplayError<E>> {
        self.storage.check_memory().map_err(ReplayError::Sim)
    }

    pub(super) fn progress(&self) -> Progress {
        Progress { requests: self.requests, now: self.storage.now(), share: None }
    }

    /// Adds the time that outstanding requests have spent in the system up to `now`.
    fn count_to(&mut self, now: Instant) {
        let passed = now.since(self.counted_to).picoseconds();
        self.request_time += u128::from(passed) * u128::from(self.outstanding);
        self.counted_to = now;
    }

    pub(super) fn end(self, spec: &SystemSpec, complete: bool) -> ReplayRun {
        let elapsed = self.completed.since(Instant::ZERO);
        let operations = self.reads.latency.count() + self.writes.latency.count();
        let bytes = self.reads.bytes + self.writes.bytes;
        let busy = self.storage.simulator().busy();
        let mut path = path_use(
            spec,
            self.storage.simulator(),
            &busy,
            &self.budget,
            operations,
            bytes,
            elapsed,
        );
        if self.held_back > 0 {
            let waited_ns = self.held_time as f64 / 1e3 / operations.max(1) as f64;
            path.hops.insert(0, not_yet_submitted(waited_ns));
        }
        let test = self.summary(operations, bytes);
        let if_counted =
            |direction: DirectionResult| (direction.latency.count() > 0).then_some(direction);
        let (speed, queue_depth, span) = match self.plan.pace {
            Pace::Recorded(speed) => {
                (Some(speed.factor()), None, Some(self.scheduled.since(Instant::ZERO)))
            }
            Pace::AsFastAsPossible { queue_depth } => (None, Some(queue_depth), None),
        };
        let time = elapsed.picoseconds().max(1) as f64;
        let replay = ReplayCounts {
            requests: self.requests,
            speed,
            queue_depth,
            span,
            outstanding_mean: self.request_time as f64 / time,
            outstanding_max: self.outstanding_max,
            held_back: self.held_back,
            wrapped: self.wrapped,
            empty: self.empty,
            flushes: if_counted(self.flushes),
            trims: if_counted(self.trims),
        };
        let now = self.storage.now();
        let readings = self.storage.simulator().power(now);
        let sample = Sample {
            elapsed,
            reads: if_counted(self.reads),
            writes: if_counted(self.writes),
            unified: None,
            cpu: None,
            evidence: None,
            flushes: None,
            trims: None,
            in_flight: None,
            punctuality: None,
            path: Some(path),
            drive: Some(self.storage.simulator().drive_use()),
            energy: readings
                .and_then(|readings| energy(spec, readings.into_iter(), now.since(Instant::ZERO))),
            errors: self.errors,
            faults: self.storage.simulator().fault_uses(),
            converged: None,
            similar: None,
            phases: Vec::new(),
            credits: self.storage.simulator().credits(),
            live: None,
            replay: Some(replay),
            series: None,
            steady: None,
            transactions: None,
            complete,
        };
        ReplayRun { sample, test }
    }

    /// Returns a summary of the trace as a test with the mean request size and the highest end offset.
    fn summary(&self, operations: u64, bytes: Bytes) -> Test {
        let reads = self.reads.latency.count();
        let read_share = Ratio::new(reads as f64 / operations.max(1) as f64).unwrap_or_default();
        let queue_depth = self.outstanding_max.clamp(1, OUTSTANDING_MAX.into()) as u32;
        Test {
            name: "trace".to_owned(),
            span: self.end,
            volume: Some(bytes),
            asks: LoadKind::Trace(TraceSummary { read_share, queue_depth, alignment: SECTOR }),
            ..Test::of_blocks(Bytes(bytes.get() / operations.max(1)))
        }
    }
}

/// Returns a hop for the wait of requests that arrived before there was room to submit them.
fn not_yet_submitted(wait_ns: f64) -> HopUse {
    HopUse {
        id: HopId::Unsubmitted,
        name: "not yet submitted".to_owned(),
        utilisation: 0.0,
        ceiling: None,
        wait_ns,
        service_ns: 0.0,
    }
}

/// Returns `offset` wrapped into a drive of `capacity` so that `length` fits. Alignment up to 4 KiB is preserved.
fn wrapped_offset(offset: Bytes, length: Bytes, capacity: Bytes) -> Bytes {
    let whole = capacity.get() / WRAP_ALIGNMENT * WRAP_ALIGNMENT;
    let inside = match whole {
        0 => 0,
        whole => offset.get() % whole,
    };
    let last = capacity.get() - length.get();
    if inside <= last { Bytes(inside) } else { Bytes(last / WRAP_ALIGNMENT * WRAP_ALIGNMENT) }
}

//! The loop of one thread: up to `queue_depth` outstanding requests, each from the stream of the test.
//!
//! A turn of the loop takes all available completions, and queues the next requests. Requests are submitted to the
//! kernel in small batches; the call that submits the last batch also waits for the next completion. The loop allocates
//! no memory.
//!
//! **A closed loop** submits the next request after each completion and the think time. **An open loop** has a due time
//! for each request; if the queue depth is reached, the request waits for the next completion.
//!
//! **Latency** begins at the stamp before the call that submits the request, or in an open loop at the request's due
//! time. It ends at the stamp after the call that returned the completion. The requests of a batch share stamps, which
//! does not bias them. The program submits a batch with one call, so a request that the kernel processes late in the
//! batch really waits. One call returns all available completions. The time that a completion waits while the program
//! handles the previous batch counts as latency, as it would in any program. The time to prepare requests (to draw
//! offsets and stamp data) is not counted.
//!
//! **The window** ([`CountingWindow`]) in which requests are counted opens when the ramp ends. It closes with the last
//! request of the thread's volume, or with the last completion after the end of the duration or a stop. The thread
//! waits for the requests that are outstanding at the end of the duration, and counts them. The window lasts until
//! their completion, so a stall at the end does not make the drive look faster or smoother. For up to [`OVERDUE_NS`],
//! an open loop also submits requests that were due before the end but did not have a free slot; requests that still
//! wait after that are reported. The volume is split evenly over the threads beforehand, so that the requests of a
//! thread do not depend on the speed of the other threads; each share is rounded up to whole requests. A test that runs
//! in rounds has consecutive windows without gaps, and requests that are outstanding after the last round are not
//! counted.
//!
//! **The number of outstanding requests** is integrated over time. According to Little's law, throughput times latency
//! equals the mean number of outstanding requests; if it does not in a sample, there is a warning.
//!
//! **A failed request** counts towards neither throughput nor latency ([`crate::failures`] counts it and decides
//! whether the run continues); its slot takes the next request.
//!
//! The thread waits for a request that the device never completes, even if the run is stopped: until the completion,
//! the buffer of the request belongs to the kernel.
//!
//! With a think time, a thread waits after each burst until all its requests are complete, and then for the think time.

mod answers;

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lanemark_schema::result::series::SeriesRecorder;
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{Operation, Test};

use crate::clock::{Clock, CpuTime, ThreadClock};
use crate::engine::{Engine, EngineRequest, batch_size};
use crate::error::MeasureError;
use crate::failures::{FailureAction, RequestFailures};
use crate::kernel_threads::KernelThreads;
use crate::payload::PayloadGenerator;
use crate::settings::ErrorReaction;
use crate::source::RequestSource;
use crate::tally::{CountedRequest, ThreadCounts, WindowCounts, record};
use crate::window::{ByteQuota, CountingWindow, ThreadPhase, quota};

/// Maximum time that a thread waits before it checks whether the run was stopped.
pub const POLL_NS: u64 = 50_000_000;
/// An open loop does not sleep if its next request is due within this time, because waking up takes as long.
const SPIN_NS: u64 = 60_000;
/// Time after the end of the duration during which an open loop still submits requests that were due before the end.
const OVERDUE_NS: u64 = 1_000_000_000;

/// The state that all threads of a test share.
pub(crate) struct TestState<'a, C = Clock> {
    pub(crate) path: &'a Path,
    pub(crate) test: &'a Test,
    pub(crate) clock: C,
    /// Set when the user stops the run.
    pub(crate) stop: &'a AtomicBool,
    /// Set when a thread failed, or when a request failed that ends the run.
    pub(crate) abort: &'a AtomicBool,
    /// Set when the rounds are over.
    pub(crate) over: AtomicBool,
    pub(crate) on_error: ErrorReaction,
}

/// The progress of one thread while it runs, on separate cache lines.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct ThreadProgress {
    pub(crate) requests: AtomicU64,
    pub(crate) bytes: AtomicU64,
}

pub(crate) struct Worker<'a, E, C = Clock> {
    shared: &'a TestState<'a, C>,
    progress: &'a ThreadProgress,
    engine: E,
    source: RequestSource,
    /// Whether requests have due times.
    open: bool,
    payload: PayloadGenerator,
    slots: Box<[RequestSlot]>,
    /// Slots without a request, each with the start or the end of its rest.
    resting: VecDeque<(u64, u32)>,
    failures: RequestFailures,
    /// Slots whose request is new in the batch that is being prepared, in contrast to resubmitted requests.
    prepared: Vec<u32>,
    /// Maximum number of requests that one call submits.
    batch: usize,
    quota: ByteQuota,
    /// The current burst, if the thread waits between bursts.
    burst: Option<Burst>,
    begun_ns: u64,
    window: CountingWindow,
    /// Function that receives the counts of each round, and the number of the current round.
    rounds: Option<(&'a dyn Fn(usize, WindowCounts), usize)>,
    tally: WindowCounts,
    series: Option<SeriesRecorder>,
    complete: bool,
    /// Time of the last counted request.
    counted_ns: u64,
    /// Number of outstanding requests.
    level: u64,
    /// Time of the last change of `level`.
    level_since_ns: u64,
    /// Bytes of all completed requests, including the ramp.
    moved: u64,
    /// Time of the last reading of the processor time, at the start of a window or round.
    cpu_opened_ns: u64,
    cpu_opened: CpuTime,
    kernel_opened: KernelThreads,
}

/// The requests between two waits of a thread.
#[derive(Clone, Copy, Debug)]
struct Burst {
    think_ns: u64,
    length: u32,
    /// Number of requests that have not been submitted.
    left: u32,
    /// Time from which requests may be submitted.
    from_ns: u64,
}

impl Burst {
    /// Returns the first burst of a thread; `None` if the thread does not wait.
    fn new(test: &Test) -> Option<Self> {
        let requests = test.requests().filter(|requests| requests.think > Duration::ZERO)?;
        let length = requests.burst;
        Some(Self { think_ns: requests.think.nanoseconds(), length, left: length, from_ns: 0 })
    }

    /// Records a submitted request. Flushes do not count.
    fn submit(&mut self, operation: Operation) {
        if operation != Operation::Flush {
            self.left -= 1;
        }
    }

    /// Begins the next burst, after all requests of the last burst were complete at `now`.
    fn begin_next(&mut self, now: u64) {
        (self.left, self.from_ns) = (self.length, now + self.think_ns);
    }
}

/// The outstanding request of a slot.
#[derive(Clone, Copy, Debug)]
struct RequestSlot {
    operation: Operation,
    offset: u64,
    length: u32,
    /// Bytes moved so far.
    done: u32,
    /// Start of the request's latency.
    asked_ns: u64,
    /// Time when the slot became free for the request.
    free_ns: u64,
}

/// An engine's answer to a request.
enum EngineAnswer {
    Whole,
    /// Only a part of the data was moved; the rest must be requested again.
    Part,
    /// The request failed, with an error number, or without one (`None`) if it did not move data.
    Failed(Option<u32>),
}

impl<'a, E: Engine, C: ThreadClock> Worker<'a, E, C> {
    /// Creates a thread that is ready to start; `engine` has a slot for each outstanding request.
    pub(crate) fn new(
        shared: &'a TestState<'a, C>,
        progress: &'a ThreadProgress,
        mut engine: E,
        key: StreamKey,
        source: RequestSource,
        rounds: Option<&'a dyn Fn(usize, WindowCounts)>,
    ) -> Self {
        let test = shared.test;
        let mut payload = PayloadGenerator::new(key, test.compressibility);
        if test.writes() {
            (0..test.issue_depth()).for_each(|slot| payload.fill(engine.buffer_mut(slot)));
        }
        let idle = RequestSlot {
            operation: Operation::Read,
            offset: 0,
            length: 0,
            done: 0,
            asked_ns: 0,
            free_ns: 0,
        };
        Self {
            shared,
            progress,
            engine,
            open: source.is_open(),
            payload,
            slots: vec![idle; test.issue_depth() as usize].into(),
            resting: (0..test.issue_depth()).map(|slot| (0, slot)).collect(),
            failures: RequestFailures::new(shared.on_error),
            prepared: Vec::with_capacity(batch_size(test.issue_depth())),
            batch: batch_size(test.issue_depth()),
            quota: ByteQuota {
                bytes: quota(test, key.thread),
                counted: 0,
                outstanding: 0,
                requests: 0,
            },
            burst: Burst::new(test),
            begun_ns: 0,
            window: CountingWindow::default(),
            rounds: rounds.map(|send| (send, 0)),
            tally: WindowCounts::for_test(test, source.is_open()),
            source,
            series: SeriesRecorder::for_test(test),
            complete: true,
            counted_ns: 0,
            level: 0,
            level_since_ns: 0,
            moved: 0,
            cpu_opened_ns: 0,
            cpu_opened: CpuTime::default(),
            kernel_opened: KernelThreads::default(),
        }
    }

    /// Runs until the thread's limit or a stop; the load of the test begins at `begin_ns`.
    pub(crate) fn run(mut self, begin_ns: u64) -> Result<ThreadCounts, MeasureError> {
        let test = self.shared.test;
        self.begun_ns = begin_ns;
        self.window.opens_ns = begin_ns.saturating_add(test.ramp.nanoseconds());
        let length = test.duration.or(test.rounds.map(|rounds| rounds.length));
        self.window.closes_ns = length
            .map_or(u64::MAX, |length| self.window.opens_ns.saturating_add(length.nanoseconds()));
        let mut now = self.wait_until(begin_ns);
        self.turn_window(now);
        loop {
            if self.window.state != ThreadPhase::Closed {
                self.issue(now)?;
            }
            if self.engine.outstanding() == 0 {
                if self.window.state == ThreadPhase::Draining {
                    self.close(self.window.closes_ns.max(self.counted_ns));
                }
                if self.window.state == ThreadPhase::Closed {
                    return Ok(self.finish());
                }
            }
            let timeout = self.timeout(now);
            self.engine.submit_and_wait(timeout).map_err(|source| self.engine_error(source))?;
            now = self.shared.clock.now_ns();
            self.turn_window(now);
            self.reap(now);
        }
    }

    /// Sleeps until a staggered test begins or the run is stopped.
    fn wait_until(&self, begin_ns: u64) -> u64 {
        loop {
            let now = self.shared.clock.now_ns();
            let left = begin_ns.saturating_sub(now).min(POLL_NS);
            if left == 0 || self.stopped() {
                return now;
            }
            self.shared.clock.sleep(left);
        }
    }

    fn stopped(&self) -> bool {
        self.shared.stop.load(Ordering::Relaxed) || self.shared.abort.load(Ordering::Relaxed)
    }

    fn finish(self) -> ThreadCounts {
        ThreadCounts {
            tally: self.tally,
            series: self.series,
            closed_ns: self.window.closes_ns,
            moved: self.moved,
            complete: self.complete,
            refusal: self.engine.refusal().map(str::to_owned),
            errors: self.failures.errors,
            failure: self.failures.ended_by,
        }
    }

    /// Opens or closes the window when this is due.
    fn turn_window(&mut self, now: u64) {
        if self.window.state == ThreadPhase::Closed {
            return;
        }
        if self.stopped() {
            self.complete = false;
            match self.window.state {
                ThreadPhase::Open => self.drain(now.min(self.window.closes_ns)),
                ThreadPhase::Draining => {}
                ThreadPhase::Ramp | ThreadPhase::Closed => {
                    self.close(now.min(self.window.closes_ns));
                }
            }
            return;
        }
        if self.window.state == ThreadPhase::Ramp && now >= self.window.opens_ns {
            self.window.state = ThreadPhase::Open;
            self.window.since_ns = self.window.opens_ns;
            self.level_since_ns = self.level_since_ns.max(self.window.opens_ns);
            self.read_cpu();
            if self.quota.bytes == 0 {
                self.close(self.window.opens_ns);
            }
        }
        if self.shared.over.load(Ordering::Relaxed) {
            self.close(now.min(self.window.closes_ns));
        }
        while self.window.state == ThreadPhase::Open && now >= self.window.closes_ns {
            match self.rounds {
                Some(_) => self.end_round(),
                None => self.drain(self.window.closes_ns),
            }
        }
    }

    /// Records the processor time at the start of a window.
    fn read_cpu(&mut self) {
        self.cpu_opened_ns = self.shared.clock.now_ns();
        (self.cpu_opened, self.kernel_opened) = self.shared.clock.used();
    }

    /// Adds the processor time since the last reading to the tally.
    fn use_cpu(&mut self) {
        let length_ns = self.shared.clock.now_ns().saturating_sub(self.cpu_opened_ns);
        let (cpu, kernel) = self.shared.clock.used();
        self.tally.set_processor_time(cpu.since(self.cpu_opened), length_ns);
        self.tally.kernel = kernel.since(self.kernel_opened);
    }

    /// Integrates the number of outstanding requests until `now`.
    fn integrate_outstanding(&mut self, now: u64) {
        if self.window.counts() {
            self.tally.outstanding_ns += self.level * now.saturating_sub(self.level_since_ns);
        }
        self.level_since_ns = self.level_since_ns.max(now);
    }

    /// Delivers a round, and begins the next round at its end.
    fn end_round(&mut self) {
        self.integrate_outstanding(self.window.closes_ns);
        self.use_cpu();
        self.read_cpu();
        let Some((send, number)) = &mut self.rounds else { return };
        let length_ns = self.window.closes_ns - self.window.since_ns;
        send(
            *number,
            std::mem::replace(&mut self.tally, WindowCounts::for_test(self.shared.test, self.open)),
        );
        *number += 1;
        self.window.since_ns = self.window.closes_ns;
        self.window.closes_ns += length_ns;
    }

    /// Ends the duration of the window; outstanding requests are still counted.
    fn drain(&mut self, at_ns: u64) {
        self.window.state = ThreadPhase::Draining;
        self.window.closes_ns = at_ns;
    }

    fn close(&mut self, at_ns: u64) {
        if self.window.counts() {
            self.integrate_outstanding(at_ns);
            self.use_cpu();
            self.tell_unsubmitted();
        }
        self.window.state = ThreadPhase::Closed;
        self.window.closes_ns = at_ns;
    }

    /// Counts the requests of an open loop that were due before the end but were never submitted.
    fn tell_unsubmitted(&mut self) {
        let end_ns = self.window.closes_ns;
        let timed = self.open && self.shared.test.duration.is_some() && self.complete;
        while timed && self.quota_left() {
            let due_ns = self.source.due_ns(self.begun_ns, 0);
            if due_ns.is_none_or(|due_ns| due_ns >= end_ns) {
                break;
            }
            let Some(access) = self.source.take() else { break };
            if let Some(kept) = &mut self.tally.punctuality {
                kept.unsubmitted += u64::from(access.operation.moves_data());
            }
        }
    }

    /// Queues due requests, as far as free slots and the quota allow.
    fn issue(&mut self, now: u64) -> Result<(), MeasureError> {
        while let Some(slot) = self.failures.next_rested_slot(now) {
            self.resting.push_front((if self.open { now } else { 0 }, slot));
        }
        while let Some(&(rested_ns, slot)) = self.resting.front() {
            if !self.quota_left() {
                break;
            }
            let Some(free_ns) = self.free_ns(rested_ns) else { break };
            let Some(due_ns) = self.source.due_ns(self.begun_ns, free_ns) else {
                if self.engine.outstanding() == 0 {
                    self.close(now);
                }
                break;
            };
            if due_ns > now || !self.may_issue(due_ns, now) {
                break;
            }
            if self.prepared.len() == self.batch {
                self.stamp_prepared();
                self.engine.submit().map_err(|source| self.engine_error(source))?;
            }
            self.resting.pop_front();
            let Some(access) = self.source.take() else { break };
            if let Some(burst) = &mut self.burst {
                burst.submit(access.operation);
            }
            // A test must not write outside its range.
            assert!(access.offset + access.length <= self.shared.test.end());
            if access.operation == Operation::Write {
                let buffer = self.engine.buffer_mut(slot);
                self.payload.stamp(&mut buffer[..access.length.get() as usize]);
            }
            self.slots[slot as usize] = RequestSlot {
                operation: access.operation,
                offset: access.offset.get(),
                length: access.length.get() as u32,
                done: 0,
                asked_ns: due_ns,
                free_ns: rested_ns,
            };
            self.quota.outstanding += access.length.get();
            self.push(slot);
            self.prepared.push(slot);
        }
        self.stamp_prepared();
        Ok(())
    }

    /// Returns the time from which a slot may be used; `None` until the requests of the burst are complete.
    fn free_ns(&self, rested_ns: u64) -> Option<u64> {
        match &self.burst {
            None => Some(rested_ns),
            Some(burst) if burst.left > 0 => Some(rested_ns.max(burst.from_ns)),
            Some(_) => None,
        }
    }

    /// Returns whether a due request may still be submitted. After the end of the duration, only an open loop submits
    /// requests, and only requests that were due before the end.
    fn may_issue(&self, due_ns: u64, now: u64) -> bool {
        let end_ns = self.window.closes_ns;
        let overdue = || due_ns < end_ns && now < end_ns.saturating_add(OVERDUE_NS);
        self.window.state != ThreadPhase::Draining || (self.open && self.complete && overdue())
    }

    /// Records the submission time of the requests that the next call submits.
    fn stamp_prepared(&mut self) {
        if self.prepared.is_empty() {
            return;
        }
        let submitted_ns = self.shared.clock.now_ns();
        let counts = self.window.counts();
        self.integrate_outstanding(submitted_ns);
        self.level += self.prepared.len() as u64;
        for slot in self.prepared.drain(..) {
            let slot = &mut self.slots[slot as usize];
            match &mut self.tally.punctuality {
                None => slot.asked_ns = submitted_ns,
                Some(kept) if counts => {
                    kept.lateness.record_ns(submitted_ns.saturating_sub(slot.asked_ns));
                    let could_ns = slot.asked_ns.max(slot.free_ns);
                    kept.own_lateness.record_ns(submitted_ns.saturating_sub(could_ns));
                    kept.held_back += u64::from(slot.free_ns > slot.asked_ns);
                }
                Some(_) => {}
            }
        }
    }

    fn engine_error(&self, source: io::Error) -> MeasureError {
        MeasureError::System {
            path: self.shared.path.to_owned(),
            action: "submit requests to",
            source,
        }
    }

    /// Returns whether one more request could be counted. The quota does not limit the load during a ramp.
    fn quota_left(&self) -> bool {
        self.window.state == ThreadPhase::Ramp
            || self.quota.counted.saturating_add(self.quota.outstanding) < self.quota.bytes
    }

    /// Queues the rest of a slot's request.
    fn push(&mut self, slot: u32) {
        let RequestSlot { operation, offset, length, done, .. } = self.slots[slot as usize];
        let offset = offset + u64::from(done);
        self.engine
            .push(slot, EngineRequest { operation, offset, skip: done, length: length - done });
    }

    /// Returns the maximum wait after which an event other than a completion must be handled. Returns `None` if a
    /// completion will arrive first, or if a late reaction is harmless, because a window closes at its exact time even
    /// if the loop detects this later.
    fn timeout(&mut self, now: u64) -> Option<u64> {
        let due_ns = match self.resting.front() {
            Some(&(rested_ns, _)) if !self.window.is_over() && self.quota_left() => {
                let free_ns = self.free_ns(rested_ns);
                free_ns.and_then(|free_ns| self.source.due_ns(self.begun_ns, free_ns))
            }
            _ => None,
        };
        let due_ns = match self.failures.rest_until() {
            Some(until_ns) if !self.window.is_over() => {
                Some(due_ns.map_or(until_ns, |due_ns| due_ns.min(until_ns)))
            }
            _ => due_ns,
        };
        let due_ns = match due_ns {
            Some(due_ns) => due_ns,
            None if self.engine.outstanding() > 0 => return None,
            _ => u64::MAX,
        };
        let turn_ns = match self.window.state {
            ThreadPhase::Ramp => self.window.opens_ns,
            ThreadPhase::Open => self.window.closes_ns,
            ThreadPhase::Draining | ThreadPhase::Closed => return Some(POLL_NS),
        };
        let wait = turn_ns.min(due_ns).saturating_sub(now).min(POLL_NS);
        Some(if self.open && wait < SPIN_NS { 0 } else { wait })
    }
}

#[cfg(test)]
#[path = "worker_tests.rs"]
mod tests;

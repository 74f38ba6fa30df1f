//! The closed loop of one thread: `queue_depth` requests outstanding, each completion answered by the
//! next request of the stream.
//!
//! A turn of the loop takes all completions that are there and queues a request for each. They go to the
//! kernel in small batches, the last of them with the same call that waits for the next completion.
//! Nothing is allocated in it.
//!
//! **Latency** goes from the stamp before the call that submits a request to the stamp after the call
//! that brought its completion. Both stamps are shared by the batch, and neither is biased by that: the
//! program asks the kernel for a whole batch with one call, so a request that the kernel reaches late in
//! the batch has waited, and it learns of all completions that are there when one call returns. What a
//! completion waits while the program handles the batch before it counts as latency, as it would in any
//! program. Preparing requests (drawing offsets, stamping data) is not counted.
//!
//! **The window** in which requests are counted opens when the ramp ends and closes with the last
//! request of the thread's volume, with the end of the duration, or when the run is stopped. A request
//! counts if its completion was taken inside. The volume is split evenly over the threads beforehand, so
//! that each thread's stream of requests is the same however fast the others are; it is rounded up to
//! whole requests. A window that time closed lasts to its end and not to its last completion: a drive
//! that stalls at the end must not look faster for it.
//!
//! A request that the device never completes is waited for, also when the run is stopped: until then its
//! buffer is the kernel's.
//!
//! Think time is a queue of resting slots, first in first out, because all rest equally long.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lanemark_core::result::DirectionResult;
use lanemark_core::rng::StreamKey;
use lanemark_core::units::Bytes;
use lanemark_core::workload::{Accesses, Operation, Test};

use crate::clock::{CpuTime, now_ns};
use crate::error::MeasureError;
use crate::payload::Payload;
use crate::ring::{Ring, Transfer};

/// The longest that a thread waits before it looks whether the run was stopped.
pub(crate) const POLL_NS: u64 = 50_000_000;

/// The most requests that one call submits: an eighth of the queue depth, from 4 to 16.
///
/// Submitting all at once lets a fast drive run dry meanwhile, and drive and program take turns; one by
/// one costs a call each. 4 KiB random reads at queue depth 32 on a virtio disk: 74,000 to 84,000 a
/// second in batches of up to 8, 64,000 to 74,000 in batches of 32; 4.4 us of processor time each one by
/// one, 3.3 to 4.0 in batches of 4. At queue depth 128 on a loop device 298,000 to 421,000 a second in
/// batches of 4, 348,000 to 465,000 in batches of 8, 369,000 to 483,000 in batches of 16.
fn batch(queue_depth: u32) -> usize {
    (queue_depth / 8).clamp(4, 16) as usize
}

/// What all threads of a sample share.
pub(crate) struct Shared<'a> {
    pub(crate) path: &'a Path,
    pub(crate) test: &'a Test,
    /// Set by a person.
    pub(crate) stop: &'a AtomicBool,
    /// Set when another thread failed.
    pub(crate) abort: &'a AtomicBool,
}

/// What one thread counted.
#[derive(Debug)]
pub(crate) struct Tally {
    pub(crate) reads: Option<DirectionResult>,
    pub(crate) writes: Option<DirectionResult>,
    /// When the window closed, on the monotonic clock.
    pub(crate) closed_ns: u64,
    pub(crate) cpu: CpuTime,
    /// False where the thread was stopped before its limit.
    pub(crate) complete: bool,
    /// Why something was not registered that should be.
    pub(crate) refusal: Option<String>,
}

/// One thread of a sample.
pub(crate) struct Worker<'a> {
    shared: &'a Shared<'a>,
    /// Requests counted so far, for whoever looks on.
    progress: &'a AtomicU64,
    ring: Ring<'a>,
    accesses: Accesses,
    payload: Payload,
    slots: Box<[Slot]>,
    /// Slots without a request, and when each may have its next.
    resting: VecDeque<(u64, u32)>,
    /// Slots whose first submission is in the batch being prepared.
    prepared: Vec<u32>,
    /// The most that are submitted by one call.
    batch: usize,
    /// How many requests are to be counted, where a volume limits the test.
    quota: u64,
    counted: u64,
    think_ns: u64,
    window: Window,
    tally: Tally,
    cpu_opened: CpuTime,
}

/// The request that a slot has outstanding.
#[derive(Clone, Copy, Debug)]
struct Slot {
    operation: Operation,
    offset: u64,
    /// What has been moved of it.
    done: u32,
    submitted_ns: u64,
}

/// When requests are counted, on the monotonic clock.
#[derive(Clone, Copy, Debug)]
struct Window {
    opens_ns: u64,
    closes_ns: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ramp,
    Open,
    Closed,
}

/// The requests of thread `thread` when `volume` is split over all threads of `test`.
pub(crate) fn quota(test: &Test, thread: u32) -> u64 {
    let Some(volume) = test.volume else { return u64::MAX };
    let (requests, threads) = (volume.get().div_ceil(test.block.get()), u64::from(test.threads));
    requests / threads + u64::from(u64::from(thread) < requests % threads)
}

impl<'a> Worker<'a> {
    /// A thread that is ready to start; `ring` has a slot for each request outstanding.
    pub(crate) fn new(
        shared: &'a Shared<'a>,
        progress: &'a AtomicU64,
        mut ring: Ring<'a>,
        key: StreamKey,
    ) -> Self {
        let test = shared.test;
        let mut payload = Payload::new(key, test.compressibility);
        if test.writes() {
            (0..test.queue_depth).for_each(|slot| payload.fill(ring.buffer_mut(slot)));
        }
        let idle = Slot { operation: Operation::Read, offset: 0, done: 0, submitted_ns: 0 };
        let depth = test.queue_depth as usize;
        let tally = Tally {
            reads: test.reads().then(DirectionResult::new),
            writes: test.writes().then(DirectionResult::new),
            closed_ns: 0,
            cpu: CpuTime::default(),
            complete: true,
            refusal: ring.refusal().map(str::to_owned),
        };
        Self {
            shared,
            progress,
            ring,
            accesses: Accesses::new(test, key),
            payload,
            slots: vec![idle; depth].into(),
            resting: (0..test.queue_depth).map(|slot| (0, slot)).collect(),
            prepared: Vec::with_capacity(batch(test.queue_depth)),
            batch: batch(test.queue_depth),
            quota: quota(test, key.thread),
            counted: 0,
            think_ns: test.think.nanoseconds(),
            window: Window { opens_ns: 0, closes_ns: 0, state: State::Ramp },
            tally,
            cpu_opened: CpuTime::default(),
        }
    }

    /// Runs to the thread's limit or until stopped; all threads of a sample started at `started_ns`.
    pub(crate) fn run(mut self, started_ns: u64) -> Result<Tally, MeasureError> {
        let test = self.shared.test;
        self.window.opens_ns = started_ns.saturating_add(test.ramp.nanoseconds());
        self.window.closes_ns = test
            .duration
            .map_or(u64::MAX, |length| self.window.opens_ns.saturating_add(length.nanoseconds()));
        let mut now = now_ns();
        self.turn_window(now);
        loop {
            if self.window.state != State::Closed {
                self.issue(now)?;
            } else if self.ring.outstanding() == 0 {
                return Ok(self.tally);
            }
            let timeout = self.timeout(now);
            self.ring.submit_and_wait(timeout).map_err(|source| self.ring_error(source))?;
            now = now_ns();
            self.turn_window(now);
            self.reap(now)?;
        }
    }

    /// Opens or closes the window where its time has come.
    fn turn_window(&mut self, now: u64) {
        if self.window.state == State::Closed {
            return;
        }
        if self.shared.stop.load(Ordering::Relaxed) || self.shared.abort.load(Ordering::Relaxed) {
            self.tally.complete = false;
            self.close(now.min(self.window.closes_ns));
            return;
        }
        if self.window.state == State::Ramp && now >= self.window.opens_ns {
            self.window.state = State::Open;
            self.cpu_opened = CpuTime::of_this_thread();
            if self.quota == 0 {
                self.close(self.window.opens_ns);
            }
        }
        if self.window.state == State::Open && now >= self.window.closes_ns {
            self.close(self.window.closes_ns);
        }
    }

    fn close(&mut self, at_ns: u64) {
        if self.window.state == State::Open {
            self.tally.cpu = CpuTime::of_this_thread().since(self.cpu_opened);
        }
        self.window.state = State::Closed;
        self.tally.closed_ns = at_ns;
    }

    /// Queues a request for each slot that has rested, as far as the quota goes.
    fn issue(&mut self, now: u64) -> Result<(), MeasureError> {
        while let Some(&(due_ns, slot)) = self.resting.front() {
            if due_ns > now || !self.quota_left() {
                break;
            }
            if self.prepared.len() == self.batch {
                self.stamp_prepared();
                self.ring.submit().map_err(|source| self.ring_error(source))?;
            }
            self.resting.pop_front();
            let access = self.accesses.next_access();
            // What lies outside is not ours to write.
            assert!(access.offset + access.length <= self.shared.test.end());
            if access.operation == Operation::Write {
                self.payload.stamp(self.ring.buffer_mut(slot));
            }
            let entry = &mut self.slots[slot as usize];
            entry.operation = access.operation;
            entry.offset = access.offset.get();
            entry.done = 0;
            self.push(slot);
            self.prepared.push(slot);
        }
        self.stamp_prepared();
        Ok(())
    }

    /// Notes the time of submission of the requests that the next call submits.
    fn stamp_prepared(&mut self) {
        if self.prepared.is_empty() {
            return;
        }
        let submitted_ns = now_ns();
        for slot in self.prepared.drain(..) {
            self.slots[slot as usize].submitted_ns = submitted_ns;
        }
    }

    fn ring_error(&self, source: io::Error) -> MeasureError {
        let (path, action) = (self.shared.path.to_owned(), "submit requests to");
        MeasureError::System { path, action, source }
    }

    /// Whether one more request could be counted. The load of a ramp has no end of its own.
    fn quota_left(&self) -> bool {
        self.window.state == State::Ramp
            || self.counted + u64::from(self.ring.outstanding()) < self.quota
    }

    /// Queues what is left of a slot's request.
    fn push(&mut self, slot: u32) {
        let Slot { operation, offset, done, .. } = self.slots[slot as usize];
        let length = self.shared.test.block.get() as u32 - done;
        let transfer = Transfer { operation, offset: offset + u64::from(done), skip: done, length };
        self.ring.push(slot, transfer);
    }

    /// The longest wait after which something other than a completion must be seen to.
    fn timeout(&self, now: u64) -> u64 {
        let turn_ns = match self.window.state {
            State::Ramp => self.window.opens_ns,
            State::Open => self.window.closes_ns,
            State::Closed => return POLL_NS,
        };
        let due_ns = match self.resting.front() {
            Some(&(due_ns, _)) if self.quota_left() => due_ns,
            _ => u64::MAX,
        };
        turn_ns.min(due_ns).saturating_sub(now).min(POLL_NS)
    }

    /// Takes the completions that are there and counts those that fall into the window.
    fn reap(&mut self, now: u64) -> Result<(), MeasureError> {
        while let Some((slot, result)) = self.ring.next_completion() {
            if self.is_whole(slot, result)? {
                self.count(slot, now);
                let due_ns = if self.think_ns == 0 { 0 } else { now + self.think_ns };
                self.resting.push_back((due_ns, slot));
            } else {
                self.push(slot);
            }
        }
        self.progress.store(self.counted, Ordering::Relaxed);
        Ok(())
    }

    fn count(&mut self, slot: u32, now: u64) {
        if self.window.state != State::Open {
            return;
        }
        let Slot { operation, submitted_ns, .. } = self.slots[slot as usize];
        let direction = match operation {
            Operation::Read => &mut self.tally.reads,
            Operation::Write => &mut self.tally.writes,
            // A test asks for neither.
            Operation::Flush | Operation::Trim => return,
        };
        if let Some(direction) = direction {
            direction.bytes += self.shared.test.block;
            direction.latency.record_ns(now - submitted_ns);
        }
        self.counted += 1;
        if self.counted == self.quota {
            self.close(now);
        }
    }

    /// Whether a slot's request is done, or what is left of it must be asked for again.
    fn is_whole(&mut self, slot: u32, result: i32) -> Result<bool, MeasureError> {
        let length = self.shared.test.block;
        let entry = &mut self.slots[slot as usize];
        let (path, operation) = (self.shared.path, entry.operation);
        let offset = Bytes(entry.offset);
        match u32::try_from(result) {
            Ok(0) => Err(MeasureError::Ended { path: path.to_owned(), operation, offset }),
            Ok(moved) => {
                entry.done += moved;
                Ok(u64::from(entry.done) >= length.get())
            }
            // The kernel was disturbed or short of memory and moved nothing.
            Err(_) if matches!(-result, libc::EINTR | libc::EAGAIN) => Ok(false),
            Err(_) => {
                let source = io::Error::from_raw_os_error(-result);
                let path = path.to_owned();
                Err(MeasureError::Request { path, operation, offset, length, source })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_core::units::{Duration, Ratio};
    use lanemark_core::workload::{Load, Mix, Pattern, Start};

    #[test]
    fn the_volume_is_split_to_the_last_request_and_rounded_up() {
        let test = Test {
            name: "split".to_owned(),
            block: Bytes(4096),
            pattern: Pattern::Uniform,
            read_share: Ratio::ONE,
            queue_depth: 1,
            threads: 3,
            span: Bytes::mebi(1),
            offset: Bytes::ZERO,
            alignment: Bytes(4096),
            volume: Some(Bytes(4096 * 10 - 512)),
            duration: None,
            rounds: None,
            interval: None,
            ramp: Duration::ZERO,
            think: Duration::ZERO,
            compressibility: Ratio::ZERO,
            mix: Mix::default(),
            load: Load::Closed,
            start: Start::default(),
        };
        assert_eq!([0, 1, 2].map(|thread| quota(&test, thread)), [4, 3, 3]);
        let endless = Test { volume: None, ..test };
        assert_eq!(quota(&endless, 0), u64::MAX);
    }
}

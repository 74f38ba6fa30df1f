//! One repeat of one test: its threads start together, and what they counted is added up.
//!
//! Each thread makes its own ring and buffers first and then waits at a gate, so that nothing of the
//! setting up falls into the measurement. Time runs from the first thread past the gate to the moment
//! at which the last thread's window closed. When a thread fails, the others are told to stop, finish
//! what they have outstanding, and the first error is the sample's.

use std::any::Any;
use std::io;
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;

use lanemark_core::result::{CpuUse, DirectionResult, Sample};
use lanemark_core::rng::StreamKey;
use lanemark_core::units::Duration;

use crate::arena::Arena;
use crate::clock::now_ns;
use crate::error::MeasureError;
use crate::ring::{Ring, open_uring};
use crate::worker::{Shared, Tally, Worker};

/// How often whoever looks on hears of progress.
pub(crate) const PROGRESS_INTERVAL: std::time::Duration = std::time::Duration::from_millis(200);

/// One repeat of one test, about to run.
pub(crate) struct SampleRun<'a> {
    pub(crate) shared: Shared<'a>,
    pub(crate) file: BorrowedFd<'a>,
    /// The key of the first thread.
    pub(crate) key: StreamKey,
    /// Whether to register buffers and file with the kernel.
    pub(crate) register: bool,
}

/// What a thread tells the one that started it.
enum Message {
    Ready,
    Ended(Box<End>),
}

/// How a thread ended: with what it counted (nothing, if it never started), an error or a panic.
type End = thread::Result<Result<Option<Tally>, MeasureError>>;

/// Where threads wait until all are ready.
struct Gate {
    /// Whether to start, once that is known.
    go: OnceLock<bool>,
    /// When the first thread started.
    started_ns: OnceLock<u64>,
}

/// A thread's counter of requests, alone on its cache lines.
#[repr(align(128))]
struct Progress(AtomicU64);

/// Tells all threads to stop when dropped, so that a panic does not wait for a test to end.
struct AbortOnDrop<'a>(&'a AtomicBool);

impl Drop for AbortOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl SampleRun<'_> {
    /// Runs the sample. `on` hears the time since counting began and the requests counted.
    ///
    /// Gives the sample, and why buffers or file were not registered where they were not.
    pub(crate) fn run(
        &self,
        on: &mut dyn FnMut(Duration, u64),
    ) -> Result<(Sample, Option<String>), MeasureError> {
        let threads = self.shared.test.threads;
        let progress: Vec<Progress> = (0..threads).map(|_| Progress(AtomicU64::new(0))).collect();
        let gate = Gate { go: OnceLock::new(), started_ns: OnceLock::new() };
        let tallies = thread::scope(|scope| {
            let _abort = AbortOnDrop(self.shared.abort);
            let (sender, receiver) = mpsc::channel();
            let mut outcome = Gathered::default();
            for (thread, progress) in (0..threads).zip(&progress) {
                let (sender, gate) = (sender.clone(), &gate);
                let builder = thread::Builder::new().name(format!("measure-{thread}"));
                let spawned = builder.spawn_scoped(scope, move || {
                    let ran = AssertUnwindSafe(|| self.thread(thread, gate, &progress.0, &sender));
                    let ended = catch_unwind(ran);
                    if !matches!(ended, Ok(Ok(_))) {
                        self.shared.abort.store(true, Ordering::Relaxed);
                    }
                    // Nobody listens any more only where the starting thread panicked.
                    let _ = sender.send(Message::Ended(Box::new(ended)));
                });
                match spawned {
                    Ok(_) => outcome.running += 1,
                    Err(source) => {
                        outcome.fail(self.start_error("start a thread", source));
                        break;
                    }
                }
            }
            drop(sender);
            outcome.wait_until_ready(&receiver);
            // An early end is a failure, and then none starts.
            let all = outcome.error.is_none() && outcome.ready == threads;
            let _ = gate.go.set(all);
            outcome.gather(&receiver, &mut || {
                let counted = progress.iter().map(|own| own.0.load(Ordering::Relaxed)).sum();
                on(self.counting_since(&gate), counted);
            });
            outcome.finish()
        })?;
        let opened_ns = gate.started_ns.get().map_or(0, |started| started + self.ramp_ns());
        Ok((sample(&tallies, opened_ns), tallies.into_iter().find_map(|tally| tally.refusal)))
    }

    /// The life of one thread.
    fn thread(
        &self,
        thread: u32,
        gate: &Gate,
        progress: &AtomicU64,
        sender: &Sender<Message>,
    ) -> Result<Option<Tally>, MeasureError> {
        let test = self.shared.test;
        // Think times below the default slack of 50 us would be lost in it. A kernel that refuses
        // leaves them late, which the latencies do not contain.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let arena = Arena::new(test.queue_depth, test.block.get() as usize)
            .map_err(|source| self.start_error("map its buffers", source))?;
        let mut uring =
            open_uring(test.queue_depth).map_err(|source| MeasureError::Ring { source })?;
        let ring = Ring::new(&mut uring, self.file, arena, self.register);
        let worker = Worker::new(&self.shared, progress, ring, StreamKey { thread, ..self.key });
        let _ = sender.send(Message::Ready);
        if !gate.go.wait() {
            return Ok(None);
        }
        worker.run(*gate.started_ns.get_or_init(now_ns)).map(Some)
    }

    fn start_error(&self, action: &'static str, source: io::Error) -> MeasureError {
        MeasureError::Start { test: self.shared.test.name.clone(), action, source }
    }

    fn ramp_ns(&self) -> u64 {
        self.shared.test.ramp.nanoseconds()
    }

    fn counting_since(&self, gate: &Gate) -> Duration {
        let started_ns = gate.started_ns.get().copied().unwrap_or(u64::MAX);
        let opened_ns = started_ns.saturating_add(self.ramp_ns());
        Duration::from_nanoseconds(now_ns().saturating_sub(opened_ns))
    }
}

/// What came from the threads so far.
#[derive(Default)]
struct Gathered {
    running: u32,
    ready: u32,
    tallies: Vec<Tally>,
    error: Option<MeasureError>,
    panic: Option<Box<dyn Any + Send>>,
}

impl Gathered {
    fn fail(&mut self, error: MeasureError) {
        self.error.get_or_insert(error);
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Ready => self.ready += 1,
            Message::Ended(ended) => {
                self.running -= 1;
                match *ended {
                    Ok(Ok(tally)) => self.tallies.extend(tally),
                    Ok(Err(error)) => self.fail(error),
                    Err(panic) => self.panic = Some(panic),
                }
            }
        }
    }

    /// Waits until each thread is ready or one has ended early.
    fn wait_until_ready(&mut self, receiver: &Receiver<Message>) {
        let started = self.running;
        while self.ready < started && self.running == started {
            match receiver.recv() {
                Ok(message) => self.take(message),
                Err(_) => break,
            }
        }
    }

    /// Waits until all threads have ended.
    fn gather(&mut self, receiver: &Receiver<Message>, on: &mut dyn FnMut()) {
        while self.running > 0 {
            match receiver.recv_timeout(PROGRESS_INTERVAL) {
                Ok(message) => self.take(message),
                Err(RecvTimeoutError::Timeout) => on(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    }

    fn finish(self) -> Result<Vec<Tally>, MeasureError> {
        if let Some(panic) = self.panic {
            resume_unwind(panic);
        }
        self.error.map_or(Ok(self.tallies), Err)
    }
}

/// Adds up what the threads counted since `opened_ns`.
fn sample(tallies: &[Tally], opened_ns: u64) -> Sample {
    let closed_ns = tallies.iter().map(|tally| tally.closed_ns).max().unwrap_or(0);
    let reads = direction(tallies.iter().map(|tally| &tally.reads));
    let writes = direction(tallies.iter().map(|tally| &tally.writes));
    let requests: u64 = [&reads, &writes].into_iter().flatten().map(|d| d.latency.count()).sum();
    let per_request =
        |ns: fn(&Tally) -> u64| tallies.iter().map(ns).sum::<u64>() as f64 / requests as f64;
    let cpu = (requests > 0).then(|| CpuUse {
        user_ns_per_request: per_request(|tally| tally.cpu.user_ns),
        system_ns_per_request: per_request(|tally| tally.cpu.system_ns),
    });
    Sample {
        series: None,
        steady: None,
        elapsed: Duration::from_nanoseconds(closed_ns.saturating_sub(opened_ns)),
        reads,
        writes,
        cpu,
        evidence: None,
        flushes: None,
        trims: None,
        punctuality: None,
        path: None,
        drive: None,
        energy: None,
        replay: None,
        complete: tallies.iter().all(|tally| tally.complete),
    }
}

/// One direction of all threads; absent where nothing was counted.
fn direction<'a>(
    parts: impl Iterator<Item = &'a Option<DirectionResult>>,
) -> Option<DirectionResult> {
    let mut sum: Option<DirectionResult> = None;
    for part in parts.flatten().filter(|part| part.latency.count() > 0) {
        match &mut sum {
            None => sum = Some(part.clone()),
            Some(sum) => {
                sum.bytes += part.bytes;
                sum.latency.merge(&part.latency);
            }
        }
    }
    sum
}

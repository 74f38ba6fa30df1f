//! Takes the sample of one repeat of concurrent tests: starts their threads together, and adds up their counts.
//!
//! Each thread first creates its engine and buffers and then waits at a gate, so that the measurement does not include
//! the set-up. The time of a test begins after the gate, the delay and the ramp, and ends when the last window of its
//! threads closes. When a thread fails, all other threads stop after their outstanding requests, and the sample returns
//! the first error. A failed request that ends the run also stops all threads; the sample contains the counts until
//! that request.

use std::any::Any;
use std::io;
use std::os::fd::BorrowedFd;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, OnceLock};
use std::thread;

use lanemark_schema::result::series::Series;
use lanemark_schema::result::{
    CpuUse, Evidence, OutstandingRequests, RequestErrors, Sample, ThreadUse,
};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration};

use crate::arena::Arena;
use crate::engine::{EngineKind, NullEngine, Ring, RingOptions, SynchronousEngine, open_uring};
use crate::error::MeasureError;
use crate::pin::pin;
use crate::rounds::RoundsRun;
use crate::settings::MeasureSettings;
use crate::source::{RequestSource, TraceSource};
use crate::tally::{ThreadCounts, WindowCounts, if_counted};
use crate::worker::{TestState, ThreadProgress, Worker};

/// Interval between reports of the progress.
pub const PROGRESS_INTERVAL: std::time::Duration = std::time::Duration::from_millis(200);

/// A test that runs concurrently with other tests.
pub(crate) struct ConcurrentTest<'a> {
    pub(crate) shared: TestState<'a>,
    /// Key of the job's first thread.
    pub(crate) key: StreamKey,
    /// The requests of a replay, which the job's only thread takes.
    pub(crate) trace: Mutex<Option<TraceSource>>,
}

/// One repeat of concurrent tests, ready to run.
pub(crate) struct SampleRun<'a> {
    pub(crate) jobs: &'a [ConcurrentTest<'a>],
    pub(crate) file: BorrowedFd<'a>,
    pub(crate) settings: &'a MeasureSettings,
    /// The processors to pin threads to, in turn; empty if threads are not pinned.
    pub(crate) processors: &'a [usize],
}

/// The progress of a sample while it runs.
pub(crate) struct SampleProgress {
    /// Time for which requests of the first test have been counted.
    pub(crate) elapsed: Duration,
    pub(crate) requests: u64,
    pub(crate) bytes: Bytes,
}

/// A sample, with additional facts about it.
pub(crate) struct TakenSample {
    pub(crate) sample: Sample,
    /// Reason why a requested registration is missing.
    pub(crate) refusal: Option<String>,
    /// Bytes of all requests, including the ramp.
    pub(crate) moved: Bytes,
    /// The failed request that ended the run.
    pub(crate) failure: Option<MeasureError>,
}

/// A message from a thread to its starter.
enum ThreadMessage {
    Ready,
    /// A thread ended a round of its test.
    Round(usize, Box<WindowCounts>),
    Ended(usize, Box<ThreadEnd>),
}

/// The end of a thread: its counts (`None` if it never started), an error or a panic.
type ThreadEnd = thread::Result<Result<Option<ThreadCounts>, MeasureError>>;

/// The gate at which threads wait until all threads are ready.
struct StartGate {
    /// Whether the threads start; unset until this is decided.
    go: OnceLock<bool>,
    /// Start time of the first thread.
    started_ns: OnceLock<u64>,
}

/// Stops all threads when this value is dropped, so that a panic does not wait until a test ends.
struct AbortOnDrop<'a>(&'a AtomicBool);

impl Drop for AbortOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl SampleRun<'_> {
    /// Runs the tests, and returns one sample per test. Calls `on` with the progress during the run.
    pub(crate) fn run(
        &self,
        on: &mut dyn FnMut(SampleProgress),
    ) -> Result<Vec<TakenSample>, MeasureError> {
        let abort = self.jobs[0].shared.abort;
        let threads: Vec<(usize, u32)> = (self.jobs.iter().enumerate())
            .flat_map(|(job, one)| (0..one.shared.test.threads).map(move |thread| (job, thread)))
            .collect();
        let progress: Vec<ThreadProgress> =
            threads.iter().map(|_| ThreadProgress::default()).collect();
        let gate = StartGate { go: OnceLock::new(), started_ns: OnceLock::new() };
        let rounds = self.jobs[0].shared.test.rounds;
        let mut outcome = ThreadResults {
            ended: self.jobs.iter().map(|_| Vec::new()).collect(),
            rounds: rounds.map(|rule| RoundsRun::new(rule, self.jobs[0].shared.test.threads)),
            ..ThreadResults::default()
        };
        thread::scope(|scope| {
            let _abort = AbortOnDrop(abort);
            let (sender, receiver) = mpsc::channel();
            for (number, (&(job, thread), progress)) in threads.iter().zip(&progress).enumerate() {
                let sender = sender.clone();
                let gate = &gate;
                let builder = thread::Builder::new().name(format!("measure-{number}"));
                let spawned = builder.spawn_scoped(scope, move || {
                    let one = SampleThread { run: self, job, thread, number, gate, progress };
                    let ended = catch_unwind(AssertUnwindSafe(|| one.live(&sender)));
                    if !matches!(ended, Ok(Ok(_))) {
                        abort.store(true, Ordering::Relaxed);
                    }
                    // The receiver is gone only if the starting thread panicked.
                    let _ = sender.send(ThreadMessage::Ended(job, Box::new(ended)));
                });
                match spawned {
                    Ok(_) => outcome.running += 1,
                    Err(source) => {
                        outcome.fail(start_error(&self.jobs[job], "start a thread", source));
                        break;
                    }
                }
            }
            drop(sender);
            let over = &self.jobs[0].shared.over;
            outcome.wait_until_ready(&receiver, over);
            // If a thread has already ended, it has failed, and no thread starts.
            let all_ready = outcome.error.is_none() && outcome.ready as usize == threads.len();
            let _ = gate.go.set(all_ready);
            outcome.gather(&receiver, over, &mut || on(self.look(&gate, &progress)));
        });
        let started_ns = gate.started_ns.get().copied().unwrap_or(0);
        outcome.finish(self.jobs, started_ns)
    }

    fn look(&self, gate: &StartGate, progress: &[ThreadProgress]) -> SampleProgress {
        let job = &self.jobs[0];
        let opened_ns = gate.started_ns.get().map_or(u64::MAX, |&at_ns| job.opens_ns(at_ns));
        SampleProgress {
            elapsed: Duration::from_nanoseconds(
                job.shared.clock.now_ns().saturating_sub(opened_ns),
            ),
            requests: progress.iter().map(|thread| thread.requests.load(Ordering::Relaxed)).sum(),
            bytes: Bytes(progress.iter().map(|thread| thread.bytes.load(Ordering::Relaxed)).sum()),
        }
    }
}

impl ConcurrentTest<'_> {
    /// Returns the time when the job's load begins, if the gate opened at `started_ns`.
    fn begins_ns(&self, started_ns: u64) -> u64 {
        started_ns.saturating_add(self.shared.test.start.delay.nanoseconds())
    }

    /// Returns the time when the job's requests begin to count.
    fn opens_ns(&self, started_ns: u64) -> u64 {
        self.begins_ns(started_ns).saturating_add(self.shared.test.ramp.nanoseconds())
    }
}

struct SampleThread<'a> {
    run: &'a SampleRun<'a>,
    job: usize,
    /// Number of the thread in its test.
    thread: u32,
    /// Number of the thread among all threads.
    number: usize,
    gate: &'a StartGate,
    progress: &'a ThreadProgress,
}

impl SampleThread<'_> {
    fn live(&self, sender: &Sender<ThreadMessage>) -> Result<Option<ThreadCounts>, MeasureError> {
        let job = &self.run.jobs[self.job];
        let test = job.shared.test;
        let settings = self.run.settings;
        if let Some(&processor) =
            self.run.processors.get(self.number % self.run.processors.len().max(1))
        {
            pin(processor).map_err(|source| start_error(job, "pin a thread", source))?;
        }
        // The default slack of 50 µs would extend short think times. If the kernel does not change the slack, requests
        // begin late, but latencies do not include the delay.
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        // The thread that uses the pages touches them first, so that they are in the memory of that thread's node.
        let arena = Arena::new(test.issue_depth(), test.block.get() as usize)
            .map_err(|source| start_error(job, "map its buffers", source))?;
        match settings.engine {
            EngineKind::IoUring => {
                let options = RingOptions {
                    register: settings.register,
                    submission_polled: settings.submission_polled,
                    completion_polled: settings.completion_polled,
                };
                let uring = open_uring(test.issue_depth(), options);
                let mut uring = uring.map_err(|source| MeasureError::Ring { source })?;
                let ring = Ring::new(&mut uring, self.run.file, arena, options.register);
                self.work(ring, sender)
            }
            EngineKind::Synchronous => {
                let polled = settings.completion_polled;
                self.work(SynchronousEngine::new(self.run.file, arena, polled), sender)
            }
            EngineKind::Null => self.work(NullEngine::new(arena), sender),
        }
    }

    fn work<E: crate::engine::Engine>(
        &self,
        engine: E,
        sender: &Sender<ThreadMessage>,
    ) -> Result<Option<ThreadCounts>, MeasureError> {
        let job = &self.run.jobs[self.job];
        let key = StreamKey { thread: self.thread, ..job.key };
        let send = |number, tally| drop(sender.send(ThreadMessage::Round(number, Box::new(tally))));
        let rounds: Option<&dyn Fn(usize, WindowCounts)> = match job.shared.test.rounds {
            Some(_) => Some(&send),
            None => None,
        };
        let trace = job.trace.lock().ok().and_then(|mut trace| trace.take());
        let source = match trace {
            Some(trace) => RequestSource::Trace(trace),
            None => RequestSource::of_test(job.shared.test, key)?,
        };
        let worker = Worker::new(&job.shared, self.progress, engine, key, source, rounds);
        let _ = sender.send(ThreadMessage::Ready);
        if !self.gate.go.wait() {
            return Ok(None);
        }
        let started_ns = *self.gate.started_ns.get_or_init(|| job.shared.clock.now_ns());
        worker.run(job.begins_ns(started_ns)).map(Some)
    }
}

fn start_error(job: &ConcurrentTest<'_>, action: &'static str, source: io::Error) -> MeasureError {
    MeasureError::Start { test: job.shared.test.name.clone(), action, source }
}

/// The results of the threads so far.
#[derive(Default)]
struct ThreadResults {
    running: u32,
    ready: u32,
    /// The counts of the threads that have ended, by test.
    ended: Vec<Vec<ThreadCounts>>,
    rounds: Option<RoundsRun>,
    error: Option<MeasureError>,
    panic: Option<Box<dyn Any + Send>>,
}

impl ThreadResults {
    fn fail(&mut self, error: MeasureError) {
        self.error.get_or_insert(error);
    }

    fn take(&mut self, message: ThreadMessage, over: &AtomicBool) {
        match message {
            ThreadMessage::Ready => self.ready += 1,
            ThreadMessage::Round(number, tally) => {
                if self.rounds.as_mut().is_some_and(|rounds| rounds.is_over_with(number, *tally)) {
                    over.store(true, Ordering::Relaxed);
                }
            }
            ThreadMessage::Ended(job, ended) => {
                self.running -= 1;
                match *ended {
                    Ok(Ok(ended)) => self.ended[job].extend(ended),
                    Ok(Err(error)) => self.fail(error),
                    Err(panic) => self.panic = Some(panic),
                }
            }
        }
    }

    /// Waits until all threads are ready or a thread has ended early.
    fn wait_until_ready(&mut self, receiver: &Receiver<ThreadMessage>, over: &AtomicBool) {
        let started = self.running;
        while self.ready < started && self.running == started {
            match receiver.recv() {
                Ok(message) => self.take(message, over),
                Err(_) => break,
            }
        }
    }

    /// Waits until all threads have ended.
    fn gather(
        &mut self,
        receiver: &Receiver<ThreadMessage>,
        over: &AtomicBool,
        on: &mut dyn FnMut(),
    ) {
        while self.running > 0 {
            match receiver.recv_timeout(PROGRESS_INTERVAL) {
                Ok(message) => self.take(message, over),
                Err(RecvTimeoutError::Timeout) => on(),
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
    }

    fn finish(
        self,
        jobs: &[ConcurrentTest<'_>],
        started_ns: u64,
    ) -> Result<Vec<TakenSample>, MeasureError> {
        if let Some(panic) = self.panic {
            resume_unwind(panic);
        }
        if let Some(error) = self.error {
            return Err(error);
        }
        let mut rounds = self.rounds;
        let take_sample = |(job, mut ended): (&ConcurrentTest<'_>, Vec<ThreadCounts>)| {
            let refusal = ended.iter().find_map(|one| one.refusal.clone());
            let moved = Bytes(ended.iter().map(|one| one.moved).sum());
            let failure = ended.iter_mut().find_map(|one| one.failure.take());
            let sample = sample(ended, job.opens_ns(started_ns), rounds.take());
            TakenSample { sample, refusal, moved, failure }
        };
        Ok(jobs.iter().zip(self.ended).map(take_sample).collect())
    }
}

/// Adds up the counts of a test's threads since `opened_ns`.
fn sample(threads: Vec<ThreadCounts>, opened_ns: u64, rounds: Option<RoundsRun>) -> Sample {
    let closed_ns = threads.iter().map(|thread| thread.closed_ns).max().unwrap_or(0);
    let stopped = threads.iter().any(|thread| !thread.complete);
    let whole = Duration::from_nanoseconds(closed_ns.saturating_sub(opened_ns));
    let mut tally = WindowCounts::default();
    let mut series = None;
    let mut errors = RequestErrors::default();
    for thread in threads {
        errors.merge(&thread.errors);
        tally.merge(thread.tally);
        if let Some(finished) = thread.series.map(|recorder| recorder.finish(whole, None)) {
            series =
                Some(series.map_or_else(|| finished.clone(), |sum: Series| sum.beside(&finished)));
        }
    }
    let (tally, elapsed, steady) = match rounds {
        Some(rounds) => rounds.finish(tally, whole),
        None => (tally, whole, None),
    };
    let requests = tally.requests()
        + [&tally.flushes, &tally.trims]
            .into_iter()
            .flatten()
            .map(|thread| thread.latency.count())
            .sum::<u64>();
    let per_request = |ns: u64| ns as f64 / requests as f64;
    let cpu = (requests > 0).then(|| CpuUse {
        user_ns_per_request: per_request(tally.cpu.user_ns),
        system_ns_per_request: per_request(tally.cpu.system_ns + tally.kernel.cpu_ns),
    });
    let threads = ThreadUse {
        busiest: tally.busiest,
        switches_voluntary: tally.cpu.switches_voluntary,
        switches_involuntary: tally.cpu.switches_involuntary,
        core_wait: tally.core_wait,
    };
    let in_time = |request_ns: f64| request_ns / (elapsed.picoseconds() as f64 / 1e3).max(1.0);
    let outstanding = (requests > 0).then(|| OutstandingRequests {
        mean: in_time(tally.outstanding_ns as f64),
        accounted: in_time(tally.accounted_ns()),
    });
    let rule_ended = steady.as_ref().is_none_or(|steady| {
        steady.reached() || steady.rounds.len() >= lanemark_schema::result::steady::ROUNDS_MAX
    });
    Sample {
        series,
        steady,
        transactions: None,
        elapsed,
        reads: if_counted(tally.reads),
        writes: if_counted(tally.writes),
        unified: None,
        flushes: if_counted(tally.flushes),
        trims: if_counted(tally.trims),
        errors,
        faults: Vec::new(),
        in_flight: None,
        punctuality: tally.punctuality.map(|kept| *kept),
        cpu,
        evidence: Some(Evidence {
            threads: Some(threads),
            outstanding,
            punted: (tally.kernel.punting > 0).then_some(tally.kernel.punting),
            ..Evidence::default()
        }),
        path: None,
        drive: None,
        energy: None,
        converged: None,
        similar: None,
        phases: Vec::new(),
        credits: Vec::new(),
        live: None,
        replay: None,
        complete: !stopped && rule_ended,
    }
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::DirectionResult;

    use super::*;
    use crate::clock::CpuTime;
    use crate::kernel_threads::KernelThreads;

    fn direction(count: u64, latency_ns: u64) -> Option<Box<DirectionResult>> {
        let mut direction = DirectionResult::new();
        for _ in 0..count {
            direction.record(Bytes::kibi(4), Duration::from_nanoseconds(latency_ns));
        }
        Some(Box::new(direction))
    }

    fn thread(tally: WindowCounts, closed_ns: u64) -> ThreadCounts {
        ThreadCounts {
            tally,
            series: None,
            closed_ns,
            moved: 0,
            complete: true,
            refusal: None,
            errors: RequestErrors::default(),
            failure: None,
        }
    }

    fn cpu(user_ns: u64, system_ns: u64, switches: (u64, u64)) -> CpuTime {
        let (switches_voluntary, switches_involuntary) = switches;
        CpuTime { user_ns, system_ns, switches_voluntary, switches_involuntary, ready_ns: Some(5) }
    }

    /// Returns two threads. The first made three reads of 4 ms and one write of 8 ms; the second made one read of 4 ms,
    /// two flushes and a trim of 1 ms.
    fn threads() -> Vec<ThreadCounts> {
        let one = WindowCounts {
            reads: direction(3, 4_000_000),
            writes: direction(1, 8_000_000),
            flushes: direction(0, 0),
            cpu: cpu(700, 1_000, (5, 1)),
            kernel: KernelThreads { punting: 2, cpu_ns: 300 },
            busiest: 0.25,
            core_wait: Some(0.5),
            outstanding_ns: 20_000_000,
            ..WindowCounts::default()
        };
        let other = WindowCounts {
            reads: direction(1, 4_000_000),
            flushes: direction(2, 1_000_000),
            trims: direction(1, 1_000_000),
            cpu: cpu(900, 500, (7, 2)),
            kernel: KernelThreads { punting: 1, cpu_ns: 200 },
            busiest: 0.75,
            core_wait: Some(0.125),
            outstanding_ns: 10_000_000,
            failed_ns: 3_000_000,
            ..WindowCounts::default()
        };
        vec![thread(one, 12_000_000), thread(other, 15_000_000)]
    }

    #[test]
    fn a_sample_adds_up_its_threads_until_the_last_one_closed() {
        let sample = sample(threads(), 5_000_000, None);
        let ms = |time: u64| Duration::from_microseconds(time * 1_000);
        assert_eq!((sample.elapsed, sample.complete), (ms(10), true));
        assert_eq!(sample.reads, direction(4, 4_000_000).map(|reads| *reads));
        assert_eq!(sample.writes, direction(1, 8_000_000).map(|writes| *writes));
        assert_eq!(sample.flushes, direction(2, 1_000_000).map(|flushes| *flushes));
        assert_eq!(sample.trims, direction(1, 1_000_000).map(|trims| *trims));
        // The processor time of eight requests, which includes the kernel threads.
        let wanted = CpuUse { user_ns_per_request: 200.0, system_ns_per_request: 250.0 };
        assert_eq!(sample.cpu, Some(wanted));
        let evidence = sample.evidence.unwrap();
        let wanted = ThreadUse {
            busiest: 0.75,
            switches_voluntary: 12,
            switches_involuntary: 3,
            core_wait: Some(0.5),
        };
        assert_eq!((evidence.threads, evidence.punted), (Some(wanted), Some(3)));
        // There are 30 ms of outstanding requests in 10 ms, and 16 + 8 + 2 + 1 + 3 ms of latencies.
        let outstanding = evidence.outstanding.unwrap();
        assert!((outstanding.mean - 3.0).abs() < 1e-9, "{}", outstanding.mean);
        assert!((outstanding.accounted - 3.0).abs() < 1e-9, "{}", outstanding.accounted);
    }

    #[test]
    fn a_stopped_thread_makes_a_sample_incomplete() {
        let mut stopped = threads();
        stopped[1].complete = false;
        assert!(!sample(stopped, 0, None).complete);
        let nothing = sample(Vec::new(), 7, None);
        assert_eq!((nothing.elapsed, nothing.cpu, nothing.reads), (Duration::ZERO, None, None));
        let evidence = nothing.evidence.unwrap();
        assert_eq!((evidence.punted, evidence.outstanding), (None, None));
        let flushes = WindowCounts {
            flushes: direction(2, 9),
            cpu: cpu(8, 6, (0, 0)),
            ..WindowCounts::default()
        };
        let cpu = sample(vec![thread(flushes, 9)], 0, None).cpu.unwrap();
        assert_eq!((cpu.user_ns_per_request, cpu.system_ns_per_request), (4.0, 3.0));
    }
}

//! Measures a workload on a real target: all tests with all repeats, and events for the caller.

mod host;
mod probe;

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use lanemark_schema::result::{Evidence, MeasuredTarget, Sample, TestResult, Warning};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{Test, TraceArrival, Workload};
use rustix::fs::Advice;

use crate::arena::Arena;
use crate::awake::AwakeProcessors;
use crate::clock::Clock;
use crate::engine::EngineKind;
use crate::error::{MeasureError, RING_ENTRIES_MAX};
use crate::event::{Event, MeasureOutcome, SampleInProgress};
use crate::evidence::CounterReading;
use crate::layout::{FileFill, LAYOUT_BLOCK};
use crate::limits::{SampleRates, ThreadLimits};
use crate::machine::memory_available;
use crate::pin::processors;
use crate::plan::{ConcurrentRun, SamplePlan};
use crate::purge::PurgeMethod;
use crate::sample::{ConcurrentTest, SampleProgress, SampleRun, TakenSample};
use crate::settings::{MeasureSettings, Preconditioning};
use crate::source::{self, TraceSource};
use crate::target::{OverwritePermission, Target};
use crate::temperature::TemperatureRecorder;
use crate::warnings::{self, SampleConditions, TargetTraits};
use crate::worker::TestState;

/// A sample shorter than this consists mostly of its start and end.
const SHORT_SAMPLE: Duration = Duration::from_microseconds(100_000);
/// Block size of SNIA's workload-independent preconditioning.
const PRECONDITION_BLOCK: u32 = 128 << 10;
/// Block size of the random writes that precondition.
const RANDOM_BLOCK: u32 = 4 << 10;
/// Number of passes of SNIA's workload-independent preconditioning.
const PRECONDITION_PASSES: u64 = 2;
/// Minimum number of repeats that show a spread.
const FEW_REPEATS: u32 = 3;

/// A measurement of one workload on one real target.
#[derive(Clone, Copy, Debug)]
pub struct Bench<'a> {
    /// A file or block device, or a folder or path at which a file is created for the run.
    pub path: &'a Path,
    /// Workload of the run. Each test must have passed [`Test::check`].
    pub workload: &'a Workload,
    /// Seed of all random numbers.
    pub seed: u64,
    /// An existing file whose content may be lost; it must be the target.
    pub overwrite: Option<&'a Path>,
    /// A block device whose data may all be lost; it must be the target.
    pub offered: Option<&'a Path>,
    /// Method that restores an offered device to its state as new before the run.
    pub purge: Option<PurgeMethod<'a>>,
    pub settings: MeasureSettings,
    /// Stops the run early when set to true.
    pub stop: &'a AtomicBool,
}

impl<'a> Bench<'a> {
    /// Creates a run with default settings, which is not allowed to destroy existing data.
    pub fn new(path: &'a Path, workload: &'a Workload, seed: u64, stop: &'a AtomicBool) -> Self {
        let settings = MeasureSettings::default();
        Self { path, workload, seed, overwrite: None, offered: None, purge: None, settings, stop }
    }

    /// Replays a trace as the only test of the workload. The test's block is the longest request, its span ends at the
    /// last accessed byte, and its queue depth limits the outstanding requests. `arrivals` are the requests in order,
    /// within that block and span. They arrive `speed` times as fast as recorded; without `speed`, as fast as possible.
    ///
    /// # Errors
    /// Returns the errors of [`Bench::run`].
    pub fn replay(
        &self,
        arrivals: impl Iterator<Item = TraceArrival> + Send,
        speed: Option<f64>,
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<MeasureOutcome, MeasureError> {
        self.check(true)?;
        let _awake = self.settings.no_idle.then(AwakeProcessors::hold).transpose()?;
        let allowed = OverwritePermission { overwrite: self.overwrite, offered: self.offered };
        let target = Target::open(self.path, self.workload, allowed, self.settings.buffered)?;
        let mut outcome = MeasureOutcome {
            target: self.measured_target(&target),
            tests: Vec::new(),
            complete: false,
            warnings: self.warnings_before(&target),
            failure: None,
        };
        if self.lay_out(&target, on)? {
            let (sender, source) = source::trace_channel(speed);
            let turn = ConcurrentRun { first: 0, count: 1, repeat: 0 };
            let tests = &self.workload.tests;
            let (taken, history) = std::thread::scope(|scope| {
                // The thread ends when the trace ends or the receiver is dropped.
                scope.spawn(move || {
                    for arrival in arrivals {
                        if sender.send(arrival).is_err() {
                            break;
                        }
                    }
                });
                self.samples(&target, tests, &turn, (0, 1), Some(source), on)
            })?;
            self.take_down(&target, &mut outcome, turn, taken, &history);
        }
        target.finish()?;
        Ok(self.complete_outcome(outcome))
    }

    /// Runs all tests. Calls `on` with events a few times a second, on this thread.
    ///
    /// A stop is not an error: the outcome is marked as incomplete. A failed request is not an error either: the
    /// outcome contains the samples until the failure.
    ///
    /// # Errors
    /// Returns the errors that [`MeasureError`] lists. A file that was created for the run is then removed.
    pub fn run(&self, on: &mut dyn FnMut(Event<'_>)) -> Result<MeasureOutcome, MeasureError> {
        self.check(false)?;
        let _awake = self.settings.no_idle.then(AwakeProcessors::hold).transpose()?;
        let allowed = OverwritePermission { overwrite: self.overwrite, offered: self.offered };
        let open = || Target::open(self.path, self.workload, allowed, self.settings.buffered);
        let mut target = open()?;
        if let Some(purge) = self.purge {
            if !target.device || target.layout.is_none() {
                target.finish()?;
                return Err(MeasureError::NothingToPurge { path: self.path.to_owned() });
            }
            purge.discard(self.path, &target, target.size)?;
            drop(target);
            purge.command(self.path)?;
            target = open()?;
        }
        let mut outcome = MeasureOutcome {
            target: self.measured_target(&target),
            tests: Vec::new(),
            complete: false,
            warnings: self.warnings_before(&target),
            failure: None,
        };
        if self.lay_out(&target, on)? {
            let begun = std::time::Instant::now();
            self.run_tests(&target, &mut outcome, on)?;
            let taken = begun.elapsed();
            if self.settings.probe && outcome.failure.is_none() {
                self.probe(&target, &mut outcome, on)?;
            }
            outcome.target.host = self.measured_host(&target, &outcome, taken, on);
        }
        target.finish()?;
        Ok(self.complete_outcome(outcome))
    }

    /// Completes the outcome of a finished run.
    fn complete_outcome(&self, mut outcome: MeasureOutcome) -> MeasureOutcome {
        outcome.complete = outcome.failure.is_none() && !self.stopped(&outcome);
        if !outcome.complete && outcome.failure.is_none() {
            outcome.warnings.push(Warning::Interrupted);
        }
        outcome
    }

    /// Rejects an invalid run before any access to the target. If `replays` is set, the requests come from a trace.
    fn check(&self, replays: bool) -> Result<(), MeasureError> {
        if self.workload.tests.is_empty() || self.workload.repeats == 0 {
            return Err(MeasureError::NothingToRun { workload: self.workload.id.clone() });
        }
        let tests = &self.workload.tests;
        let beside = |index: usize| tests.get(index).is_some_and(|test| test.start.beside);
        for (index, test) in tests.iter().enumerate() {
            if test.rounds.is_some() && (test.start.beside || beside(index + 1)) {
                return Err(MeasureError::RoundsBeside { test: test.name.clone() });
            }
            if test.mix().copy_to.is_some() {
                return Err(MeasureError::Copies { test: test.name.clone() });
            }
            if test.requests().is_none() && !(replays && test.is_trace()) {
                return Err(MeasureError::unasked(test));
            }
        }
        let available = memory_available().unwrap_or(u64::MAX);
        for test in &self.workload.tests {
            let most = match self.settings.engine {
                EngineKind::IoUring => RING_ENTRIES_MAX,
                EngineKind::Synchronous => 1,
                EngineKind::Null => u32::MAX,
            };
            if test.issue_depth() > most {
                return Err(MeasureError::QueueDepth {
                    test: test.name.clone(),
                    queue_depth: test.issue_depth(),
                    engine: self.settings.engine.name(),
                    most,
                });
            }
            let needed = Arena::size(test.issue_depth(), test.block.get())
                .saturating_mul(u64::from(test.threads));
            if needed > available {
                return Err(MeasureError::Memory {
                    test: test.name.clone(),
                    needed: Bytes(needed),
                    available: Bytes(available),
                });
            }
        }
        Ok(())
    }

    fn measured_target(&self, target: &Target) -> MeasuredTarget {
        MeasuredTarget {
            path: self.path.display().to_string(),
            device: Some(target.device),
            size_bytes: Some(Bytes(target.size)),
            file_system: target.file_system.clone(),
            block_device: target.block_device.clone(),
            engine: self.settings.engine.name().to_owned(),
            direct: Some(target.page_cache.is_none()),
            served: None,
            host: None,
        }
    }

    /// Returns the warnings that are known before the first request.
    fn warnings_before(&self, target: &Target) -> Vec<Warning> {
        let repeats = self.workload.repeats;
        let page_cache =
            target.page_cache.as_ref().map(|reason| Warning::PageCache { reason: reason.clone() });
        let few_repeats = (repeats < FEW_REPEATS).then_some(Warning::FewRepeats { repeats });
        let reads = self.workload.tests.iter().filter(|test| test.reads());
        let (from, to) = reads.fold((u64::MAX, 0), |(from, to), test| {
            (from.min(test.offset.get()), to.max(test.end().get()))
        });
        let traits = TargetTraits {
            block_device: target.block_device.as_deref(),
            read_as_found: (from < to && target.layout.is_none()).then_some((from, to)),
            device: target.device,
        };
        let written = self.workload.tests.iter().filter(|test| test.writes());
        let written = written.map(|test| test.volume.unwrap_or(test.span).get()).sum::<u64>();
        let fresh = target.device
            && target.layout.is_some()
            && self.settings.precondition.is_none()
            && written < 2 * target.size;
        let unwritten = self.workload.precondition.filter(|_| self.settings.precondition.is_none());
        let fresh = match unwritten {
            Some(precondition) => Some(Warning::NotPreconditioned { precondition }),
            None => fresh.then_some(Warning::Fresh {
                written_bytes: Bytes(written * u64::from(repeats)),
                capacity_bytes: Bytes(target.size),
            }),
        };
        let engine = self.settings.engine != EngineKind::Null;
        let traits =
            if engine { warnings::warnings_before_run(&traits, target) } else { Vec::new() };
        page_cache.into_iter().chain(few_repeats).chain(fresh).chain(traits).collect()
    }

    /// Writes the target in full if this is necessary. Returns false if the run was stopped.
    fn lay_out(
        &self,
        target: &Target,
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<bool, MeasureError> {
        let Some(size) = target.layout else { return Ok(true) };
        let (size, block, passes, spare) = match self.settings.precondition {
            None => (size, LAYOUT_BLOCK, 1, None),
            Some(Preconditioning::Snia) => {
                (target.size, PRECONDITION_BLOCK, PRECONDITION_PASSES, None)
            }
            Some(Preconditioning::Fast { spare_percent }) => {
                (target.size, RANDOM_BLOCK, 1, Some(f64::from(spare_percent) / 100.0))
            }
        };
        let layout = FileFill {
            path: self.path,
            file: target.as_fd(),
            size,
            block,
            spare,
            seed: self.seed,
            stop: self.stop,
        };
        let total = Bytes(layout.written() * passes);
        for pass in 0..passes {
            let before = Bytes(layout.size * pass);
            if !layout.run(&mut |done| on(Event::LayingOut { done: before + done, total }))? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn run_tests(
        &self,
        target: &Target,
        outcome: &mut MeasureOutcome,
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), MeasureError> {
        let plan = SamplePlan::for_workload(self.workload, self.seed);
        let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); self.workload.tests.len()];
        for (done, turn) in plan.turns.iter().enumerate() {
            if self.stop.load(Ordering::Relaxed) || outcome.failure.is_some() {
                break;
            }
            let looked = (done, plan.turns.len());
            let (taken, history) =
                self.samples(target, &self.workload.tests, turn, looked, None, on)?;
            for (index, sample) in self.judged_samples(target, outcome, *turn, taken, &history) {
                samples[index].push(sample);
            }
            outcome.tests = (self.workload.tests.iter().zip(&samples))
                .filter(|(_, samples)| !samples.is_empty())
                .map(|(test, samples)| TestResult::new(self.workload, test, samples.clone()))
                .collect();
            on(Event::SampleEnded { outcome });
        }
        Ok(())
    }

    /// Returns the usable samples of a turn with the indices of the tests, and adds their warnings to the outcome.
    fn judged_samples(
        &self,
        target: &Target,
        outcome: &mut MeasureOutcome,
        turn: ConcurrentRun,
        taken: Vec<TakenSample>,
        history: &RequestHistory,
    ) -> Vec<(usize, Sample)> {
        let mut kept = Vec::new();
        let moved = taken.iter().fold(Bytes::ZERO, |sum, one| sum + one.moved);
        let flash_read_least = target
            .block_device
            .as_deref()
            .and_then(|name| warnings::flash_read_least(Path::new("/sys/class/block"), name));
        for (index, TakenSample { sample, refusal, failure, .. }) in turn.tests().zip(taken) {
            outcome.failure = outcome.failure.take().or(failure);
            let test = &self.workload.tests[index];
            let taking = SampleConditions {
                test,
                engine: self.settings.engine,
                direct: target.page_cache.is_none(),
                moved,
                flash_read_least,
                history,
            };
            for warning in warnings::warnings_after_sample(&taking, &sample) {
                note(&mut outcome.warnings, warning);
            }
            if let Some(reason) = refusal {
                note(&mut outcome.warnings, Warning::NotRegistered { reason });
            }
            if sample.complete && sample.elapsed < SHORT_SAMPLE {
                note(
                    &mut outcome.warnings,
                    Warning::ShortSample { test: test.name.clone(), elapsed: sample.elapsed },
                );
            }
            if let Some(warning) = sample.steady.as_ref().and_then(|one| one.warning(&test.name)) {
                note(&mut outcome.warnings, warning);
            }
            if sample.complete || sample.operations() > 0 || !sample.errors.is_empty() {
                kept.push((index, sample));
            }
        }
        kept
    }

    /// Adds the single sample of a replay to the outcome.
    fn take_down(
        &self,
        target: &Target,
        outcome: &mut MeasureOutcome,
        turn: ConcurrentRun,
        taken: Vec<TakenSample>,
        history: &RequestHistory,
    ) {
        let samples = self.judged_samples(target, outcome, turn, taken, history);
        let samples: Vec<Sample> = samples.into_iter().map(|(_, sample)| sample).collect();
        if !samples.is_empty() {
            let test = &self.workload.tests[0];
            outcome.tests.push(TestResult::new(self.workload, test, samples));
        }
    }

    /// Takes one sample of each test in `tests`, which run concurrently in this turn.
    fn samples(
        &self,
        target: &Target,
        tests: &[Test],
        turn: &ConcurrentRun,
        samples: (usize, usize),
        mut trace: Option<TraceSource>,
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<(Vec<TakenSample>, RequestHistory), MeasureError> {
        let all = tests;
        let tests = || turn.tests().map(|index| (index, &all[index]));
        if target.page_cache.is_some()
            && !self.settings.buffered
            && tests().any(|(_, test)| test.reads())
        {
            self.forget_pages(target)?;
        }
        let clock = Clock::new();
        let abort = AtomicBool::new(false);
        let jobs: Vec<ConcurrentTest<'_>> = tests()
            .map(|(index, test)| ConcurrentTest {
                shared: TestState {
                    path: self.path,
                    test,
                    clock,
                    stop: self.stop,
                    abort: &abort,
                    over: AtomicBool::new(false),
                    on_error: self.settings.on_error,
                },
                key: StreamKey {
                    seed: self.seed,
                    test: index as u32,
                    repeat: turn.repeat,
                    thread: 0,
                },
                trace: Mutex::new(trace.take()),
            })
            .collect();
        let device = target.block_device.as_deref();
        let processors = if self.settings.pinned { processors(device) } else { Vec::new() };
        let run = SampleRun {
            jobs: &jobs,
            file: target.as_fd(),
            settings: &self.settings,
            processors: &processors,
        };
        let before = CounterReading::take(clock, device);
        let limits = ThreadLimits::read(device);
        let mut history = RequestHistory::new();
        let mut temperatures = TemperatureRecorder::new(device);
        let mut taken = run.run(&mut |look| {
            history.push((look.elapsed, look.requests));
            temperatures.take(look.elapsed);
            let index = turn.first;
            let test = &all[turn.first];
            let SampleProgress { elapsed, requests, bytes } = look;
            let repeat = turn.repeat;
            on(Event::Running(&SampleInProgress {
                test,
                index,
                repeat,
                samples,
                elapsed,
                bytes,
                requests,
            }));
        })?;
        let mut between = before.until_now();
        between.temperatures = temperatures.finish();
        if self.settings.engine != EngineKind::Null {
            between.limits =
                limits.met(SampleRates::from_samples(&taken, &between), before.elapsed());
        }
        add_evidence(&mut taken, &between);
        Ok((taken, history))
    }

    /// Drops the target's pages from the page cache, after writing dirty pages to the target (posix_fadvise(2)).
    fn forget_pages(&self, target: &Target) -> Result<(), MeasureError> {
        rustix::fs::fdatasync(target)
            .and_then(|()| rustix::fs::fadvise(target, 0, None, Advice::DontNeed))
            .map_err(|error| MeasureError::System {
                path: self.path.to_owned(),
                action: "empty the page cache of",
                source: error.into(),
            })
    }

    /// Returns whether a part of the outcome is missing because the run was stopped.
    fn stopped(&self, outcome: &MeasureOutcome) -> bool {
        let whole = |result: &TestResult| {
            result.samples.len() == self.workload.repeats as usize
                && result.samples.iter().all(|sample| sample.complete)
        };
        outcome.tests.len() < self.workload.tests.len() || !outcome.tests.iter().all(whole)
    }
}

/// Times and the number of requests counted until each time, recorded a few times a second.
type RequestHistory = Vec<(Duration, u64)>;

/// Adds the machine's readings, which cannot be separated by sample, to samples that were taken concurrently.
fn add_evidence(taken_samples: &mut [TakenSample], between: &Evidence) {
    for TakenSample { sample, .. } in taken_samples {
        let Evidence { threads, outstanding, punted, .. } =
            sample.evidence.take().unwrap_or_default();
        sample.evidence = Some(Evidence { threads, outstanding, punted, ..between.clone() });
    }
}

/// Adds a warning unless the same test already has a warning of this kind. The warning of the first repeat represents
/// all repeats, except that failed requests are added up.
fn note(warnings: &mut Vec<Warning>, warning: Warning) {
    if let Warning::Failed { errors: more, .. } = &warning
        && let Some(Warning::Failed { errors, .. }) =
            warnings.iter_mut().find(|known| known.is_about_the_same(&warning))
    {
        errors.merge(more);
    } else if !warnings.iter().any(|known| known.is_about_the_same(&warning)) {
        warnings.push(warning);
    }
}

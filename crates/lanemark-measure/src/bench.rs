//! One workload on one real target: all tests with all repeats, and what a caller hears meanwhile.

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use lanemark_core::result::{
    DeviceUse, Evidence, LatencyHistogram, MeasuredTarget, Sample, TestResult, Warning,
};
use lanemark_core::rng::StreamKey;
use lanemark_core::units::{Bytes, Duration};
use lanemark_core::workload::{Test, Workload};
use rustix::fs::Advice;

use crate::arena::Arena;
use crate::clock::Clock;
use crate::doubts::{self, Place, Taking};
use crate::engine::EngineKind;
use crate::error::{MeasureError, RING_ENTRIES_MAX};
use crate::evidence::Reading;
use crate::layout::{LAYOUT_BLOCK, Layout};
use crate::machine::memory_available;
use crate::pin::processors;
use crate::plan::{Plan, Turn};
use crate::purge::Purge;
use crate::sample::{Job, Look, SampleRun, Taken};
use crate::target::{Allowed, Target};
use crate::worker::Shared;

/// Below this a sample is mostly start and end.
const SHORT_SAMPLE: Duration = Duration::from_microseconds(100_000);
/// The block and the passes of SNIA's workload-independent preconditioning.
const PRECONDITION_BLOCK: u32 = 128 << 10;
const PRECONDITION_PASSES: u64 = 2;
/// Below this no spread can be told.
const FEW_REPEATS: u32 = 3;

/// How requests are made, whatever the workload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How requests reach the kernel.
    pub engine: EngineKind,
    /// Whether to go through the page cache on purpose.
    pub buffered: bool,
    /// Whether to register buffers and file with the kernel.
    pub register: bool,
    /// Whether a thread of the kernel takes submissions (`SQPOLL`).
    pub submission_polled: bool,
    /// Whether completions are looked for and not announced (`IOPOLL`).
    pub completion_polled: bool,
    /// Whether all of a target that is written is written twice over first, as SNIA's specification asks for.
    pub precondition: bool,
    /// Whether each thread keeps to one processor, those beside the device first.
    pub pinned: bool,
    /// Whether [`Event::Running`] tells latencies.
    pub watched: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            engine: EngineKind::IoUring,
            buffered: false,
            register: true,
            submission_polled: false,
            completion_polled: false,
            precondition: false,
            pinned: false,
            watched: false,
        }
    }
}

/// One workload on one real target.
#[derive(Clone, Copy, Debug)]
pub struct Bench<'a> {
    /// A file or block device, or a folder or path where a file is to be made for the run.
    pub path: &'a Path,
    /// What is asked. Each test must have passed [`Test::check`].
    pub workload: &'a Workload,
    /// Where all random numbers come from.
    pub seed: u64,
    /// The existing file whose content may be lost; it must be the file that `path` names.
    pub overwrite: Option<&'a Path>,
    /// The block device whose data may all be lost; it must be the one that `path` names.
    pub offered: Option<&'a Path>,
    /// How an offered device is brought back to new before the run.
    pub purge: Option<Purge<'a>>,
    /// How requests are made.
    pub settings: Settings,
    /// Set to end the run early.
    pub stop: &'a AtomicBool,
}

/// What a caller hears while a run goes on.
#[derive(Debug)]
pub enum Event<'a> {
    /// The file is being written full.
    LayingOut {
        /// How much of it is written.
        done: Bytes,
        /// How much is to be.
        total: Bytes,
    },
    /// A sample is being taken.
    Running(&'a Running<'a>),
    /// A sample was taken, or cut short.
    SampleEnded {
        /// The outcome so far.
        outcome: &'a Outcome,
    },
}

/// How a sample goes on.
#[derive(Debug)]
pub struct Running<'a> {
    /// The first of the tests that run side by side.
    pub test: &'a Test,
    /// Its place among the tests, from 0.
    pub index: usize,
    /// The repeat, from 0.
    pub repeat: u32,
    /// Samples that ended, and how many there will be.
    pub samples: (usize, usize),
    /// How long requests have been counted; zero during the ramp.
    pub elapsed: Duration,
    /// Data moved by the requests counted.
    pub bytes: Bytes,
    /// Requests counted.
    pub requests: u64,
    /// How long they took, where [`Settings::watched`].
    pub latency: Option<LatencyHistogram>,
    /// The device since the sample began, where [`Settings::watched`] and known.
    pub device: Option<DeviceUse>,
}

/// What came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What was measured.
    pub target: MeasuredTarget,
    /// The tests with the samples that were taken, and the one that was cut short if it counted anything.
    pub tests: Vec<TestResult>,
    /// False while the run goes on, and for good when it was cut short.
    pub complete: bool,
    /// Doubts about the data.
    pub warnings: Vec<Warning>,
}

impl<'a> Bench<'a> {
    /// A run that may lose nothing, with the usual settings.
    pub fn new(path: &'a Path, workload: &'a Workload, seed: u64, stop: &'a AtomicBool) -> Self {
        let settings = Settings::default();
        Self { path, workload, seed, overwrite: None, offered: None, purge: None, settings, stop }
    }

    /// Runs all tests. `on` hears of it, on this thread, a few times a second.
    ///
    /// Being stopped is not an error: the outcome then is not complete, and says so.
    ///
    /// # Errors
    /// What [`MeasureError`] lists. A file that was made for the run is gone then, too.
    pub fn run(&self, on: &mut dyn FnMut(Event<'_>)) -> Result<Outcome, MeasureError> {
        self.check()?;
        let allowed = Allowed { overwrite: self.overwrite, offered: self.offered };
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
        let mut outcome = Outcome {
            target: self.measured_target(&target),
            tests: Vec::new(),
            complete: false,
            warnings: self.warnings_before(&target),
        };
        if self.lay_out(&target, on)? {
            self.run_tests(&target, &mut outcome, on)?;
        }
        target.finish()?;
        outcome.complete = !self.stopped(&outcome);
        if !outcome.complete {
            outcome.warnings.push(Warning::Interrupted);
        }
        Ok(outcome)
    }

    /// Refuses what can be refused before anything is touched.
    fn check(&self) -> Result<(), MeasureError> {
        if self.workload.tests.is_empty() || self.workload.repeats == 0 {
            return Err(MeasureError::NothingToRun { workload: self.workload.id.clone() });
        }
        let tests = &self.workload.tests;
        let beside = |index: usize| tests.get(index).is_some_and(|test| test.start.beside);
        for (index, test) in tests.iter().enumerate() {
            if test.rounds.is_some() && (test.start.beside || beside(index + 1)) {
                return Err(MeasureError::RoundsBeside { test: test.name.clone() });
            }
        }
        let available = memory_available().unwrap_or(u64::MAX);
        for test in &self.workload.tests {
            let most = match self.settings.engine {
                EngineKind::IoUring => RING_ENTRIES_MAX,
                EngineKind::Synchronous => 1,
                EngineKind::Null => u32::MAX,
            };
            if test.queue_depth > most {
                let (test, queue_depth) = (test.name.clone(), test.queue_depth);
                let engine = self.settings.engine.name();
                return Err(MeasureError::QueueDepth { test, queue_depth, engine, most });
            }
            let needed = Arena::size(test.queue_depth, test.block.get())
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
            device: target.device,
            size_bytes: Bytes(target.size),
            file_system: target.file_system.clone(),
            block_device: target.block_device.clone(),
            engine: self.settings.engine.name().to_owned(),
            direct: target.page_cache.is_none(),
        }
    }

    /// The doubts that are there before the first request.
    fn warnings_before(&self, target: &Target) -> Vec<Warning> {
        let repeats = self.workload.repeats;
        let page_cache =
            target.page_cache.as_ref().map(|reason| Warning::PageCache { reason: reason.clone() });
        let few_repeats = (repeats < FEW_REPEATS).then_some(Warning::FewRepeats { repeats });
        let reads = self.workload.tests.iter().filter(|test| test.reads());
        let (from, to) = reads.fold((u64::MAX, 0), |(from, to), test| {
            (from.min(test.offset.get()), to.max(test.end().get()))
        });
        let place = Place {
            block_device: target.block_device.as_deref(),
            read_as_found: (from < to && target.layout.is_none()).then_some((from, to)),
            device: target.device,
        };
        let written = self.workload.tests.iter().filter(|test| test.writes());
        let written = written.map(|test| test.volume.unwrap_or(test.span).get()).sum::<u64>();
        let fresh = target.device
            && target.layout.is_some()
            && !self.settings.precondition
            && written < 2 * target.size;
        let fresh = fresh.then_some(Warning::Fresh {
            written_bytes: Bytes(written * u64::from(repeats)),
            capacity_bytes: Bytes(target.size),
        });
        let engine = self.settings.engine != EngineKind::Null;
        let place = if engine { doubts::before(&place, target) } else { Vec::new() };
        page_cache.into_iter().chain(few_repeats).chain(fresh).chain(place).collect()
    }

    /// Writes the target full where it needs that. False when stopped.
    fn lay_out(
        &self,
        target: &Target,
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<bool, MeasureError> {
        let Some(size) = target.layout else { return Ok(true) };
        let precondition = self.settings.precondition;
        let layout = Layout {
            path: self.path,
            file: target.as_fd(),
            size: if precondition { target.size } else { size },
            block: if precondition { PRECONDITION_BLOCK } else { LAYOUT_BLOCK },
            seed: self.seed,
            stop: self.stop,
        };
        let passes = if precondition { PRECONDITION_PASSES } else { 1 };
        let total = Bytes(layout.size * passes);
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
        outcome: &mut Outcome,
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), MeasureError> {
        let plan = Plan::of(self.workload, self.seed);
        let mut samples: Vec<Vec<Sample>> = vec![Vec::new(); self.workload.tests.len()];
        for (done, turn) in plan.turns.iter().enumerate() {
            if self.stop.load(Ordering::Relaxed) {
                break;
            }
            let looked = (done, plan.turns.len());
            let (taken, history) = self.samples(target, turn, looked, on)?;
            let asked = taken.iter().fold(Bytes::ZERO, |sum, (sample, _)| sum + sample.bytes());
            for (index, (sample, refusal)) in turn.tests().zip(taken) {
                let test = &self.workload.tests[index];
                let taking = Taking {
                    test,
                    engine: self.settings.engine,
                    direct: target.page_cache.is_none(),
                    asked,
                    history: &history,
                };
                for doubt in doubts::after(&taking, &sample) {
                    note(&mut outcome.warnings, doubt);
                }
                if let Some(reason) = refusal {
                    note(&mut outcome.warnings, Warning::NotRegistered { reason });
                }
                if sample.complete && sample.elapsed < SHORT_SAMPLE {
                    let (test, elapsed) = (test.name.clone(), sample.elapsed);
                    note(&mut outcome.warnings, Warning::ShortSample { test, elapsed });
                }
                if let Some(doubt) = sample.steady.as_ref().and_then(|one| one.doubt(&test.name)) {
                    note(&mut outcome.warnings, doubt);
                }
                if sample.complete || sample.operations() > 0 {
                    samples[index].push(sample);
                }
            }
            outcome.tests = (self.workload.tests.iter().zip(&samples))
                .filter(|(_, samples)| !samples.is_empty())
                .map(|(test, samples)| TestResult::new(self.workload, test, samples.clone()))
                .collect();
            on(Event::SampleEnded { outcome });
        }
        Ok(())
    }

    /// Takes one sample of each test that has its turn.
    fn samples(
        &self,
        target: &Target,
        turn: &Turn,
        samples: (usize, usize),
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<(Vec<Taken>, History), MeasureError> {
        let tests = || turn.tests().map(|index| (index, &self.workload.tests[index]));
        if target.page_cache.is_some()
            && !self.settings.buffered
            && tests().any(|(_, test)| test.reads())
        {
            self.forget_pages(target)?;
        }
        let (clock, abort) = (Clock::new(), AtomicBool::new(false));
        let jobs: Vec<Job<'_>> = tests()
            .map(|(index, test)| Job {
                shared: Shared {
                    path: self.path,
                    test,
                    clock,
                    stop: self.stop,
                    abort: &abort,
                    over: AtomicBool::new(false),
                    watched: self.settings.watched,
                },
                key: StreamKey {
                    seed: self.seed,
                    test: index as u32,
                    repeat: turn.repeat,
                    thread: 0,
                },
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
        let before = Reading::take(clock, device);
        let mut history = History::new();
        let mut taken = run.run(&mut |look| {
            history.push((look.elapsed, look.requests));
            let (index, test) = (turn.first, &self.workload.tests[turn.first]);
            let Look { elapsed, requests, bytes, latency } = look;
            let watched = self.settings.watched;
            let device = watched.then(|| before.until_now().device).flatten();
            let repeat = turn.repeat;
            on(Event::Running(&Running {
                test,
                index,
                repeat,
                samples,
                elapsed,
                bytes,
                requests,
                latency,
                device,
            }));
        })?;
        add_evidence(&mut taken, &before.until_now());
        Ok((taken, history))
    }

    /// Has the page cache give up the target's pages, written ones first (posix_fadvise(2)).
    fn forget_pages(&self, target: &Target) -> Result<(), MeasureError> {
        rustix::fs::fdatasync(target)
            .and_then(|()| rustix::fs::fadvise(target, 0, None, Advice::DontNeed))
            .map_err(|error| MeasureError::System {
                path: self.path.to_owned(),
                action: "empty the page cache of",
                source: error.into(),
            })
    }

    /// Whether something is missing that a stop prevented.
    fn stopped(&self, outcome: &Outcome) -> bool {
        let whole = |result: &TestResult| {
            result.samples.len() == self.workload.repeats as usize
                && result.samples.iter().all(|sample| sample.complete)
        };
        outcome.tests.len() < self.workload.tests.len() || !outcome.tests.iter().all(whole)
    }
}

/// The time and the requests counted so far, a few times a second.
type History = Vec<(Duration, u64)>;

/// Adds what the machine showed while samples were taken side by side: their requests cannot be told apart there.
fn add_evidence(taken: &mut [Taken], between: &Evidence) {
    for (sample, _) in taken {
        let own = sample.evidence.take().unwrap_or_default();
        let (threads, punted) = (own.threads, own.punted);
        sample.evidence = Some(Evidence { threads, punted, ..between.clone() });
    }
}

/// Adds a doubt where there is none of its kind about the same test yet: the first repeat speaks for all.
fn note(warnings: &mut Vec<Warning>, warning: Warning) {
    if !warnings.iter().any(|known| known.is_about_the_same(&warning)) {
        warnings.push(warning);
    }
}

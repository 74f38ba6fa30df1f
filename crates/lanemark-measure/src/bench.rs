//! One workload on one real target: all tests with all repeats, and what a caller hears meanwhile.

use std::os::fd::AsFd;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use lanemark_core::result::{MeasuredTarget, Sample, TestResult, Warning};
use lanemark_core::rng::StreamKey;
use lanemark_core::units::{Bytes, Duration};
use lanemark_core::workload::{Test, Workload};
use rustix::fs::Advice;

use crate::arena::Arena;
use crate::error::{MeasureError, RING_ENTRIES_MAX};
use crate::layout::Layout;
use crate::location::Location;
use crate::machine::memory_available;
use crate::sample::SampleRun;
use crate::target::Target;
use crate::worker::Shared;

/// Below this a sample is mostly start and end.
const SHORT_SAMPLE: Duration = Duration::from_microseconds(100_000);
/// Below this no spread can be told.
const FEW_REPEATS: u32 = 3;

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
    Running {
        /// The test.
        test: &'a Test,
        /// Its place among the tests, from 0.
        index: usize,
        /// The repeat, from 0.
        repeat: u32,
        /// How long requests have been counted; zero during the ramp.
        elapsed: Duration,
        /// Data moved by the requests counted.
        bytes: Bytes,
        /// Requests counted.
        operations: u64,
    },
    /// A test's repeats ended or were cut short.
    TestEnded {
        /// The outcome so far.
        outcome: &'a Outcome,
    },
}

/// What came out.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// What was measured.
    pub target: MeasuredTarget,
    /// The tests that ended, and the one that was cut short if it counted anything.
    pub tests: Vec<TestResult>,
    /// False while the run goes on, and for good when it was cut short.
    pub complete: bool,
    /// Doubts about the data.
    pub warnings: Vec<Warning>,
}

impl Bench<'_> {
    /// Runs all tests. `on` hears of it, on this thread, a few times a second.
    ///
    /// Being stopped is not an error: the outcome then is not complete, and says so.
    ///
    /// # Errors
    /// What [`MeasureError`] lists. A file that was made for the run is gone then, too.
    pub fn run(&self, on: &mut dyn FnMut(Event<'_>)) -> Result<Outcome, MeasureError> {
        self.check()?;
        let target = Target::open(self.path, self.workload, self.overwrite)?;
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
        let available = memory_available().unwrap_or(u64::MAX);
        for test in &self.workload.tests {
            if test.rounds.is_some() {
                return Err(MeasureError::Rounds { test: test.name.clone() });
            }
            if test.queue_depth > RING_ENTRIES_MAX {
                let (test, queue_depth) = (test.name.clone(), test.queue_depth);
                return Err(MeasureError::QueueDepth { test, queue_depth });
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
        let location = Location::of(target);
        MeasuredTarget {
            path: self.path.display().to_string(),
            device: target.device,
            size_bytes: Bytes(target.size),
            file_system: location.file_system,
            block_device: location.block_device,
            engine: "io_uring".to_owned(),
            direct: target.page_cache.is_none(),
        }
    }

    /// The doubts that are there before the first request.
    fn warnings_before(&self, target: &Target) -> Vec<Warning> {
        let repeats = self.workload.repeats;
        let page_cache =
            target.page_cache.as_ref().map(|reason| Warning::PageCache { reason: reason.clone() });
        let few_repeats = (repeats < FEW_REPEATS).then_some(Warning::FewRepeats { repeats });
        page_cache.into_iter().chain(few_repeats).collect()
    }

    /// Writes the target full where it needs that. False when stopped.
    fn lay_out(
        &self,
        target: &Target,
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<bool, MeasureError> {
        let Some(size) = target.layout else { return Ok(true) };
        let layout = Layout {
            path: self.path,
            file: target.as_fd(),
            size,
            seed: self.seed,
            stop: self.stop,
        };
        layout.run(&mut |done| on(Event::LayingOut { done, total: Bytes(size) }))
    }

    fn run_tests(
        &self,
        target: &Target,
        outcome: &mut Outcome,
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<(), MeasureError> {
        for (index, test) in self.workload.tests.iter().enumerate() {
            let mut samples = Vec::new();
            for repeat in 0..self.workload.repeats {
                if self.stop.load(Ordering::Relaxed) {
                    break;
                }
                let (sample, refusal) = self.sample(target, test, index, repeat, on)?;
                if let Some(reason) = refusal {
                    note(&mut outcome.warnings, Warning::NotRegistered { reason });
                }
                if sample.complete || sample.operations() > 0 {
                    samples.push(sample);
                }
            }
            let short = samples.iter().find(|one| one.complete && one.elapsed < SHORT_SAMPLE);
            if let Some(sample) = short {
                let (test, elapsed) = (test.name.clone(), sample.elapsed);
                note(&mut outcome.warnings, Warning::ShortSample { test, elapsed });
            }
            if !samples.is_empty() {
                outcome.tests.push(TestResult::new(self.workload, test, samples));
                on(Event::TestEnded { outcome });
            }
        }
        Ok(())
    }

    fn sample(
        &self,
        target: &Target,
        test: &Test,
        index: usize,
        repeat: u32,
        on: &mut dyn FnMut(Event<'_>),
    ) -> Result<(Sample, Option<String>), MeasureError> {
        if target.page_cache.is_some() && test.reads() {
            self.forget_pages(target)?;
        }
        let abort = AtomicBool::new(false);
        let run = SampleRun {
            shared: Shared { path: self.path, test, stop: self.stop, abort: &abort },
            file: target.as_fd(),
            key: StreamKey { seed: self.seed, test: index as u32, repeat, thread: 0 },
            register: true,
        };
        run.run(&mut |elapsed, operations| {
            let bytes = test.block * operations;
            on(Event::Running { test, index, repeat, elapsed, bytes, operations });
        })
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

/// Adds a doubt that is not there yet.
fn note(warnings: &mut Vec<Warning>, warning: Warning) {
    if !warnings.contains(&warning) {
        warnings.push(warning);
    }
}

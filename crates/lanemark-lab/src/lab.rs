//! Runs on modelled systems, in parallel on all cores.
//!
//! A repeat of a test, or of tests that run together, is independent of every other repeat, so each is a separate piece
//! of work. Results are assembled by number and are identical to the byte for any number of threads. If several repeats
//! fail, the reported error is the first in the order of runs, tests and repeats, as in a sequential run.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use lanemark_schema::result::{ParameterOverride, Provenance, RunResult, Sample, Warning};
use lanemark_schema::units::{Bytes, Instant};
use lanemark_schema::workload::{Fault, Workload};
use lanemark_sim::{MEMORY, Progress, RunLength};
use lanemark_study::document::Context;
use lanemark_study::library::LibraryKind;
use lanemark_study::platform::Platform;
use lanemark_study::system::{NameLocations, SystemName};
use lanemark_study::{Ledger, Library, Location, Overrides, StudyError, System};

use crate::cancel::CancelFlag;
use crate::clock::Stopwatch;
use crate::error::LabError;
use crate::event::{Event, EventObserver, TestPosition};
use crate::pool::Pool;

/// Interval at which a repeat reports its progress.
const TELL_EVERY: Duration = Duration::from_millis(100);

/// The laboratory: its number of threads and its cancellation flag.
#[derive(Clone, Debug, Default)]
pub struct Lab {
    /// The threads that run tests.
    pub pool: Pool,
    /// The flag that cancels running work.
    pub cancel: CancelFlag,
    /// The simulated part of each test. A test that converges runs once, regardless of the workload's repeats.
    pub length: RunLength,
    /// Maximum memory of all simulations that run at the same time; `None` for [`MEMORY`], or [`MEMORY_EACH`] for each
    /// thread if that is more.
    pub memory: Option<Bytes>,
}

/// Memory of each of many simulations that run at the same time, if no maximum is set.
pub const MEMORY_EACH: Bytes = Bytes(64_000_000);

/// A workload and its system.
#[derive(Clone, Copy, Debug)]
pub struct LabRun<'w> {
    /// The system that runs the workload.
    pub system: &'w System,
    /// The workload to run.
    pub workload: &'w Workload,
}

/// A message from a thread about its repeat.
enum RepeatMessage {
    Begun,
    Advanced(Progress),
    /// The samples of a test and of the tests that run in parallel with it.
    Sampled(Vec<Sample>),
    Failed(StudyError),
}

/// Opens the library in `folder`, or in `./library` if no folder is given. If neither exists, returns the built-in
/// library.
///
/// # Errors
/// Returns an error if `folder` does not contain a library.
pub fn open_library(folder: Option<&Path>) -> Result<Library, LabError> {
    match folder {
        Some(folder) => Ok(Library::in_folder(folder)?),
        None if Path::new("library/drives").is_dir() => {
            Ok(Library::in_folder(Path::new("library"))?)
        }
        None => Ok(Library::built_in()),
    }
}

/// Assembles the system named `drive@platform:port`, with library values replaced by `settings`.
///
/// # Errors
/// Returns an error if the library does not contain a name, or if the parts do not fit together.
pub fn assemble(
    library: &Library,
    name: &str,
    settings: &[(ParameterOverride, Location)],
) -> Result<System, LabError> {
    let parts = SystemName::parse(name).map_err(|error| without_port(library, name, error))?;
    let named_at = NameLocations::all(&Location::file(name));
    Ok(System::assemble(library, &parts, &named_at, name, settings)?)
}

/// Returns the error for a system without a port, `drive@platform`, extended by the ports that the drive fits. Other
/// errors are returned unchanged.
fn without_port(library: &Library, name: &str, error: StudyError) -> LabError {
    let Some((drive, platform)) = name.split_once('@') else { return error.into() };
    if platform.is_empty() || platform.contains([':', '+', '|']) || drive.contains(':') {
        return error.into();
    }
    let ports = match platform_ports(library, platform) {
        Ok(ports) => ports,
        Err(error) => return error.into(),
    };
    if let Err(error) = library.open(LibraryKind::Drive, drive) {
        return error.into();
    }
    let is_valid_port = |port: &String| assemble(library, &format!("{name}:{port}"), &[]).is_ok();
    let fitting: Vec<String> = ports.into_iter().filter(is_valid_port).collect();
    let message = format!("`{name}` does not name a port");
    LabError::input(message).hint(match fitting.as_slice() {
        [] => format!("no port of {platform} fits {drive}; use a different platform"),
        ports => {
            let systems: Vec<String> = ports.iter().map(|port| format!("{name}:{port}")).collect();
            format!("the drive fits: {}", systems.join(", "))
        }
    })
}

fn platform_ports(library: &Library, platform: &str) -> Result<Vec<String>, StudyError> {
    let context = Context { ledger: &Ledger::default(), overrides: &Overrides::default() };
    let platform = Platform::read(&library.open(LibraryKind::Platform, platform)?, context)?;
    Ok(platform.ports.into_iter().map(|port| port.name).collect())
}

/// Parses a setting, `parameter=value`.
///
/// # Errors
/// Returns an error if `text` has a different form.
pub fn setting(text: &str) -> Result<(ParameterOverride, Location), LabError> {
    let Some((parameter, value)) = text.split_once('=') else {
        return Err(LabError::input(format!("--set {text}: expected PARAMETER=VALUE"))
            .hint("for example --set drive.flash.read=\"60 us\""));
    };
    let calibration = ParameterOverride {
        parameter: parameter.trim().to_owned(),
        value: value.trim().to_owned(),
        figure: None,
        reason: None,
    };
    Ok((calibration, Location::file(format!("--set {text}"))))
}

/// Parses settings, each like [`setting`].
///
/// # Errors
/// Returns the error of the first text that is not a setting.
pub fn settings(texts: &[String]) -> Result<Vec<(ParameterOverride, Location)>, LabError> {
    texts.iter().map(|text| setting(text)).collect()
}

impl Lab {
    /// Returns the maximum memory of each of `count` simulations. As many of them as there are threads run at the same
    /// time and share the memory.
    pub fn memory_of_each(&self, count: usize) -> Bytes {
        let at_once = self.pool.threads().min(count).max(1) as u64;
        let all = self.memory.unwrap_or(MEMORY.max(MEMORY_EACH * at_once));
        Bytes(all.get() / at_once)
    }

    /// Runs all tests of `workload` on `system`. If the run is cancelled, the result contains the tests that have ended
    /// and is not complete.
    ///
    /// # Errors
    /// Returns an error if a test does not fit the system.
    pub fn run(
        &self,
        system: &System,
        workload: &Workload,
        provenance: &Provenance,
        watch: &mut EventObserver<'_>,
    ) -> Result<RunResult, LabError> {
        let mut runs = self.run_all(&[LabRun { system, workload }], provenance, watch)?;
        Ok(runs.swap_remove(0))
    }

    /// Returns the number of samples that a workload produces on a system.
    pub fn samples(&self, work: &LabRun<'_>) -> usize {
        (0..work.workload.tests.len()).map(|test| self.repeats(work, test) as usize).sum()
    }

    fn repeats(&self, work: &LabRun<'_>, test: usize) -> u32 {
        let converges = self.length != RunLength::Whole;
        if converges && work.system.may_converge(work.workload, test) {
            work.workload.repeats.min(1)
        } else {
            work.workload.repeats
        }
    }

    /// Returns the repeats of each group of parallel tests, which are the pieces of work.
    fn pieces(&self, works: &[LabRun<'_>]) -> Vec<TestPosition> {
        let mut pieces = Vec::new();
        for (run, work) in works.iter().enumerate() {
            for group in work.workload.groups() {
                let test = group.start;
                let repeats = 0..self.repeats(work, test);
                pieces.extend(repeats.map(|repeat| TestPosition { run, test, repeat }));
            }
        }
        pieces
    }

    /// Runs several workloads, each on its system, and returns their results in the order of `works`.
    ///
    /// # Errors
    /// Returns an error if a test does not fit its system.
    pub fn run_all(
        &self,
        works: &[LabRun<'_>],
        provenance: &Provenance,
        watch: &mut EventObserver<'_>,
    ) -> Result<Vec<RunResult>, LabError> {
        check_blocks(works)?;
        let pieces = self.pieces(works);
        let memory = self.memory_of_each(pieces.len());
        let systems: Vec<System> =
            works.iter().map(|work| work.system.with_memory(memory)).collect();
        // The results, indexed by run, test and repeat.
        let mut samples: Vec<Vec<Vec<Option<Sample>>>> = works
            .iter()
            .map(|work| {
                let tests = 0..work.workload.tests.len();
                tests.map(|test| vec![None; self.repeats(work, test) as usize]).collect()
            })
            .collect();
        let result = |run: usize, samples: &[Vec<Option<Sample>>]| {
            let whole = samples.iter().map(|test| test.iter().cloned().collect());
            works[run].system.result(works[run].workload, provenance.clone(), whole)
        };
        // The first piece that failed. Pieces after it need not finish.
        let failed = AtomicUsize::new(usize::MAX);
        let mut failure = None;
        self.pool.run_pieces(
            pieces.len(),
            || (),
            |(), piece, tell| {
                let TestPosition { run, test, repeat } = pieces[piece];
                let is_wanted =
                    || !self.cancel.is_cancelled() && piece < failed.load(Ordering::Relaxed);
                if !is_wanted() || !tell(RepeatMessage::Begun) {
                    return;
                }
                let work = &works[run];
                let mut last = None::<Stopwatch>;
                let mut watch = |progress: &Progress| {
                    let due = last.is_none_or(|last| last.elapsed() >= TELL_EVERY);
                    if due {
                        last = Some(Stopwatch::start());
                    }
                    is_wanted() && (!due || tell(RepeatMessage::Advanced(*progress)))
                };
                let workload = work.workload;
                let seed = provenance.seed;
                let length = self.length;
                let system = &systems[run];
                let outcome = system.samples(workload, test, repeat, seed, length, &mut watch);
                match outcome {
                    Ok(Some(samples)) => tell(RepeatMessage::Sampled(samples)),
                    // The piece was cancelled.
                    Ok(None) => return,
                    Err(error) => {
                        failed.fetch_min(piece, Ordering::Relaxed);
                        tell(RepeatMessage::Failed(error))
                    }
                };
            },
            |piece, told| {
                let at = pieces[piece];
                match told {
                    RepeatMessage::Begun => watch(Event::Begun(at)),
                    RepeatMessage::Advanced(progress) => watch(Event::Advanced(at, progress)),
                    RepeatMessage::Sampled(group) => {
                        for (test, sample) in (at.test..).zip(group) {
                            let at = TestPosition { test, ..at };
                            watch(Event::Sampled(at, &sample));
                            let run_samples = &mut samples[at.run];
                            run_samples[at.test][at.repeat as usize] = Some(sample);
                            if run_samples[at.test].iter().all(Option::is_some) {
                                watch(Event::TestEnded {
                                    at,
                                    so_far: &|| result(at.run, run_samples),
                                });
                            }
                        }
                    }
                    RepeatMessage::Failed(error) => {
                        if failure.as_ref().is_none_or(|(first, _)| piece < *first) {
                            failure = Some((piece, error));
                        }
                    }
                }
                true
            },
        );
        if let Some((_, error)) = failure {
            return Err(error.into());
        }
        let results = samples.iter().enumerate().map(|(run, samples)| {
            let mut result = result(run, samples);
            if !result.complete {
                result.warnings.push(Warning::Interrupted);
            }
            result
        });
        let results: Vec<RunResult> = results.collect();
        results.iter().filter(|result| result.complete).try_for_each(check_faults)?;
        Ok(results)
    }
}

/// Checks that each fault began in one of the tests.
///
/// # Errors
/// Returns an error about the first fault that begins after the end of all tests.
pub fn check_faults(result: &RunResult) -> Result<(), LabError> {
    let samples = || result.tests.iter().flat_map(|test| &test.samples);
    let began =
        |text: &str| samples().flat_map(|sample| &sample.faults).any(|one| one.fault == text);
    let ends = result
        .tests
        .iter()
        .flat_map(|test| test.samples.iter().map(|sample| test.test.ramp + sample.elapsed));
    let Some(longest) = ends.max() else { return Ok(()) };
    let is_after =
        |fault: &&Fault| fault.at > Instant::ZERO + longest && !began(&fault.to_string());
    match result.workload.faults.iter().find(is_after) {
        Some(fault) => Err(LabError::input(format!(
            "the fault `{fault}` did not begin: the longest test ended after {longest}"
        ))
        .hint("state an earlier `at`, or a longer test")),
        None => Ok(()),
    }
}

/// Checks that no test requires the page cache, which is not simulated.
fn check_blocks(works: &[LabRun<'_>]) -> Result<(), LabError> {
    let mut tests = works.iter().flat_map(|work| &work.workload.tests);
    let Some(test) = tests.find(|test| test.needs_page_cache()) else { return Ok(()) };
    let message = format!("test `{}`: block = {}: a multiple of 512 B", test.name, test.block);
    Err(LabError::input(message).hint(
        "only the page cache accepts requests of this size: simulate a fio job file, or \
         round the size",
    ))
}

//! A test on a system in steps: a first answer from a few requests, then each repeat of the test, then the interval.
//!
//! `lanemark sim` runs the same repeats with the workload file that the page offers to copy ([`command::workload`]), so
//! the figures are equal to the digit. A test that converges has one repeat.

use lanemark_lab::clock::Stopwatch;
use lanemark_lab::interval::DrawnSystem;
use lanemark_lab::{Lab, LabError, LabRun, RunLength};
use lanemark_report::durable_sentence;
use lanemark_schema::result::{Provenance, RunResult, Sample, TestResult};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{Test, Workload};
use lanemark_sim::{Progress, SimError, run_length_watched};
use lanemark_study::Library;
use serde::Serialize;

use crate::command;
use crate::figures::{CurvePoint, PagePrediction, TestFigures};
use crate::request::{AssembledSystem, SystemRequest, TestRequest};

/// The seed of all simulations, which is the command line's default.
pub const SEED: u64 = 1;
const FIRST_REQUESTS: f64 = 400.0;
/// Maximum amount of data in a first answer, for long requests.
const FIRST_DATA: f64 = 32.0 * 1_048_576.0;
/// Maximum wall-clock time of one step.
const STEP_MAX: std::time::Duration = std::time::Duration::from_secs(60);

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "stage")]
pub enum StepReport {
    /// The figures up to now.
    Figures {
        /// The number of the test, if several are requested.
        index: usize,
        figures: Box<TestFigures>,
    },
    /// A point of a curve over queue depth.
    Point { point: CurvePoint },
    /// The end of the simulation; no report follows it.
    Done {
        /// The result that `lanemark sim` saves, as its text, without the machine and the times of the run. A curve has
        /// no result.
        result: Option<String>,
    },
}

impl StepReport {
    /// Reports the figures of the test with the number `index`.
    pub fn figures(index: usize, figures: TestFigures) -> Self {
        Self::Figures { index, figures: Box::new(figures) }
    }

    /// Reports the end of a simulation.
    pub fn done(result: Option<RunResult>) -> Self {
        Self::Done { result: result.and_then(|result| serde_json::to_string(&result).ok()) }
    }
}

/// A simulation in progress: a test on a system.
#[derive(Debug)]
pub struct Simulation {
    assembled: AssembledSystem,
    workload: Workload,
    repeats: u32,
    samples: Vec<Sample>,
    stage: SimulationStage,
    /// The result with its interval, after the step that computes the interval.
    result: Option<RunResult>,
}

/// The next step of a simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SimulationStage {
    First,
    Repeats,
    Interval,
    Done,
}

impl Simulation {
    /// Creates a simulation of a page's test on a page's system.
    ///
    /// # Errors
    /// Returns an error if the system or the test is invalid.
    pub fn new(
        library: &Library,
        lab: &Lab,
        system: &SystemRequest,
        test: &TestRequest,
    ) -> Result<Self, LabError> {
        let assembled = system.assemble(library)?;
        let workload = command::workload(test, &assembled.faults)?;
        let repeats = repeats(lab, &assembled, &workload, 0);
        let stage = SimulationStage::First;
        Ok(Self { assembled, workload, repeats, samples: Vec::new(), stage, result: None })
    }

    /// Runs a step. Returns `None` if the simulation was cancelled.
    ///
    /// # Errors
    /// Returns an error if the test does not fit the system, or takes too long.
    pub fn step(&mut self, library: &Library, lab: &Lab) -> Result<Option<StepReport>, LabError> {
        match self.stage {
            SimulationStage::First => {
                self.stage = SimulationStage::Repeats;
                let test = &self.workload.tests[0];
                let Some(sample) = first_sample(&self.assembled, test, lab)? else {
                    return Ok(None);
                };
                Ok(Some(StepReport::figures(0, self.figures(vec![sample], true)?)))
            }
            SimulationStage::Repeats => {
                let repeat = self.samples.len() as u32;
                let sample = sample(&self.assembled, &self.workload, 0, repeat, lab)?;
                let Some(sample) = sample else { return Ok(None) };
                self.samples.push(sample);
                if self.samples.len() as u32 == self.repeats {
                    self.stage = SimulationStage::Interval;
                }
                Ok(Some(StepReport::figures(0, self.figures(self.samples.clone(), false)?)))
            }
            SimulationStage::Interval => {
                self.stage = SimulationStage::Done;
                self.refine(library, lab)
            }
            SimulationStage::Done => Ok(Some(StepReport::done(self.result.take()))),
        }
    }

    /// Returns the result of all repeats, without an interval.
    fn result(&self) -> RunResult {
        self.assembled.result(&self.workload, vec![self.samples.clone()])
    }

    /// Reports the figures with their interval or, for a test with faults, with the rate without them.
    fn refine(&mut self, library: &Library, lab: &Lab) -> Result<Option<StepReport>, LabError> {
        let mut result = self.result();
        lab.add_intervals(&self.assembled.drawn(library), &mut result, &mut |_| ())?;
        if lab.cancel.is_cancelled() {
            return Ok(None);
        }
        let mut figures = self.figures(self.samples.clone(), false)?;
        if !self.workload.faults.is_empty() {
            let whole = Workload { faults: Vec::new(), ..self.workload.clone() };
            let sample = sample(&self.assembled, &whole, 0, 0, lab)?;
            let Some(sample) = sample else { return Ok(None) };
            figures.iops_without_faults = Some(sample.iops());
        }
        let test = result.tests[0].clone();
        self.result = Some(result);
        figures.durable = durable_sentence(&test);
        let TestResult { test, interval, drawn, .. } = test;
        figures.interval = interval;
        let target = self.assembled.system.target.clone();
        let path = self.samples.first().and_then(|sample| sample.path.clone());
        figures.prediction = drawn.map(|drawn| PagePrediction { target, test, drawn, path });
        Ok(Some(StepReport::figures(0, figures)))
    }

    fn figures(&self, samples: Vec<Sample>, is_first: bool) -> Result<TestFigures, LabError> {
        TestFigures::compute(&self.assembled, &self.workload, 0, samples, is_first)
    }
}

impl AssembledSystem {
    /// Returns the result of a workload with the samples of its tests, without intervals.
    pub fn result(&self, workload: &Workload, samples: Vec<Vec<Sample>>) -> RunResult {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let provenance = Provenance { version, seed: SEED, ..Provenance::default() };
        self.system.result(workload, provenance, samples.into_iter().map(Some))
    }

    /// Returns the system as one whose values can be drawn.
    pub fn drawn<'s>(&'s self, library: &'s Library) -> DrawnSystem<'s> {
        let name = self.system.target.system.as_str();
        DrawnSystem { library, name, settings: &self.settings, ranges: &[] }
    }
}

/// Returns the number of repeats of a test of `workload` to run: one if the test converges.
pub fn repeats(lab: &Lab, assembled: &AssembledSystem, workload: &Workload, test: usize) -> u32 {
    let one = Workload { tests: vec![workload.tests[test].clone()], ..workload.clone() };
    lab.samples(&LabRun { system: &assembled.system, workload: &one }) as u32
}

/// Simulates a repeat of a test of `workload`. Returns `None` if the simulation was cancelled.
///
/// # Errors
/// Returns an error if the test does not fit the system, or takes too long.
pub fn sample(
    assembled: &AssembledSystem,
    workload: &Workload,
    test: usize,
    repeat: u32,
    lab: &Lab,
) -> Result<Option<Sample>, LabError> {
    let mut limit = StepLimit::start(lab);
    let mut watch = |_: &Progress| limit.is_running();
    let length = RunLength::Converged;
    let taken = assembled.system.samples(workload, test, repeat, SEED, length, &mut watch)?;
    match taken {
        Some(samples) => Ok(samples.into_iter().next()),
        None => limit.cancelled(&workload.tests[test]),
    }
}

/// Simulates the first requests of a test. Returns `None` if the simulation was cancelled.
fn first_sample(
    assembled: &AssembledSystem,
    test: &Test,
    lab: &Lab,
) -> Result<Option<Sample>, LabError> {
    let to_error =
        |error: &dyn std::fmt::Display| LabError::input(format!("test `{}`: {error}", test.name));
    let checked = first_test(test).checked().map_err(|error| to_error(&error))?;
    let key = StreamKey { seed: SEED, test: 0, repeat: 0, thread: 0 };
    let mut limit = StepLimit::start(lab);
    let mut watch = |_: &Progress| limit.is_running();
    let length = RunLength::Converged;
    match run_length_watched(&assembled.spec, &checked, key, length, &mut watch) {
        Ok(sample) => Ok(Some(sample)),
        Err(SimError::Cancelled) => limit.cancelled(test),
        Err(error) => Err(to_error(&error)),
    }
}

/// Returns a test that ends after the requests of a first answer.
pub fn first_test(test: &Test) -> Test {
    let bytes = (first_requests(test) as f64 * test.block_mean()).max(1.0);
    let mut test = test.clone();
    (test.duration, test.rounds, test.ramp) = (None, None, Duration::ZERO);
    test.volume = Some(Bytes(bytes as u64));
    test
}

/// Returns the number of requests for a first answer: enough for each outstanding request, but few if the requests are
/// long.
fn first_requests(test: &Test) -> u64 {
    let by_data = FIRST_DATA / test.block_mean();
    FIRST_REQUESTS.min(by_data).max(8.0).max(2.0 * test.population() as f64) as u64
}

/// The wall-clock time of a step, which is limited.
struct StepLimit<'l> {
    lab: &'l Lab,
    began: Stopwatch,
    is_late: bool,
}

impl<'l> StepLimit<'l> {
    fn start(lab: &'l Lab) -> Self {
        Self { lab, began: Stopwatch::start(), is_late: false }
    }

    fn is_running(&mut self) -> bool {
        self.is_late = self.began.elapsed() > STEP_MAX;
        !self.is_late && !self.lab.cancel.is_cancelled()
    }

    /// Returns the outcome of a step that ended before its simulation.
    fn cancelled(&self, test: &Test) -> Result<Option<Sample>, LabError> {
        if !self.is_late {
            return Ok(None);
        }
        let seconds = STEP_MAX.as_secs();
        let name = &test.name;
        Err(LabError::run(format!("test `{name}` takes more than {seconds} s to simulate"))
            .hint("use fewer outstanding requests, smaller blocks, or `lanemark sim`"))
    }
}

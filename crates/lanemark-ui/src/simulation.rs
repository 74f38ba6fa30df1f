//! A simulation in steps: a first answer from a few requests, then a test of one minute, then the 80% interval.
//!
//! The test of one minute ends when its figures have converged, as with `lanemark sim`. A test that cannot end early
//! runs in short repeats instead. Each step is short, so that many pages can share the machine's cores and an abandoned
//! page costs little.

use std::time::{Duration as WallTime, Instant};

use lanemark_lab::interval::DrawnSystem;
use lanemark_lab::{CancelFlag, Lab, LabError, Pool};
use lanemark_schema::result::{FILLING_MAX, Sample};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::Duration;
use lanemark_schema::workload::Test;
use lanemark_sim::{Progress, RunLength, SimError, may_converge, run_length_watched};
use lanemark_study::Library;
use serde::Serialize;

use crate::figures::{CurvePoint, TestFigures};
use crate::request::{AssembledSystem, TestEnd, test_with_end};

/// The seed of all simulations, which is the command line's default.
const SEED: u64 = 1;
const FIRST_REQUESTS: f64 = 400.0;
/// Maximum amount of data in a first answer, for long requests.
const FIRST_DATA: f64 = 32.0 * 1_048_576.0;
/// Length of a test that may end when its figures have converged.
const WHOLE: Duration = Duration::from_seconds(60);
/// Maximum number of requests in such a test.
const WHOLE_REQUESTS: f64 = 3e6;
/// Number of requests in a short repeat.
const REQUESTS: f64 = 20_000.0;
/// Maximum amount of data in a short repeat.
const DATA: f64 = 1024.0 * 1_048_576.0;
/// Number of short repeats after the first answer.
pub const REPEATS: usize = 5;
/// Maximum wall-clock time of one step.
const STEP_MAX: WallTime = WallTime::from_secs(20);

/// Wall-clock time below which a repeat may be extended.
const LONGER_BELOW: WallTime = WallTime::from_millis(80);
/// Maximum simulated time of an extended repeat.
const LONGEST: Duration = Duration::from_seconds(600);

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "stage")]
pub enum StepReport {
    /// The figures up to now.
    Figures {
        /// The number of the test, if several are requested.
        index: usize,
        figures: Box<TestFigures>,
        /// Wall-clock time since the simulation began.
        elapsed_ms: f64,
    },
    /// A point of a curve over queue depth.
    Point { point: CurvePoint },
    /// The end of the simulation; no report follows it.
    Done {
        /// Wall-clock time since the simulation began.
        elapsed_ms: f64,
    },
    /// An error; no report follows it.
    Failed {
        message: String,
        /// Advice on how to proceed.
        hint: Option<String>,
    },
}

impl From<LabError> for StepReport {
    fn from(error: LabError) -> Self {
        Self::Failed { message: error.message, hint: error.hint }
    }
}

/// A simulation in progress: a test on a system.
#[derive(Debug)]
pub struct Simulation {
    assembled: AssembledSystem,
    test: Test,
    cancel: CancelFlag,
    began: Instant,
    /// Simulated time of a repeat, based on the rate of the first answer. It is longer while a buffer is still filling.
    time: Option<Duration>,
    /// Number of repeats: one if the test may end when its figures have converged.
    repeats: usize,
    samples: Vec<Sample>,
    figures: Option<TestFigures>,
}

impl Simulation {
    /// Creates a simulation of `test` on a system; `cancel` ends it.
    pub fn new(assembled: AssembledSystem, test: Test, cancel: CancelFlag, began: Instant) -> Self {
        let repeats = if converges(&assembled, &test) { 1 } else { REPEATS };
        Self {
            assembled,
            test,
            cancel,
            began,
            time: None,
            repeats,
            samples: Vec::new(),
            figures: None,
        }
    }

    /// Returns whether the next step computes the interval, which uses all free cores.
    pub fn is_at_interval(&self) -> bool {
        self.samples.len() == self.repeats
    }

    /// Returns whether only the end of the simulation remains.
    fn is_over(&self) -> bool {
        self.figures.as_ref().is_some_and(|figures| figures.interval.is_some())
            || self.samples.len() > self.repeats
    }

    /// Runs a step. Returns `None` if the simulation was cancelled.
    ///
    /// # Errors
    /// Returns an error if the test does not fit the system, or takes too long.
    pub fn step(&mut self, library: &Library, pool: Pool) -> Result<Option<StepReport>, LabError> {
        if self.cancel.is_cancelled() {
            return Ok(None);
        }
        let elapsed_ms = |began: Instant| began.elapsed().as_secs_f64() * 1e3;
        let Some(time) = self.time else {
            let Some(sample) = self.run(TestEnd::Requests(first_requests(&self.test)), 0)? else {
                return Ok(None);
            };
            let time = time_of(self.repeats, &self.test, sample.iops());
            self.time = Some(time.max(self.assembled.faults_end()));
            let figures = TestFigures::compute(&self.assembled, &self.test, &[sample], true)?;
            return Ok(Some(self.figures_step(figures)));
        };
        if self.is_over() {
            return Ok(Some(StepReport::Done { elapsed_ms: elapsed_ms(self.began) }));
        }
        if self.samples.len() < self.repeats {
            let began = Instant::now();
            let end = end_of(self.repeats, time);
            let Some(sample) = self.run(end, self.samples.len() as u32)? else {
                return Ok(None);
            };
            let longer = longer_duration(&sample, time, began.elapsed());
            self.samples.push(sample);
            let figures = TestFigures::compute(&self.assembled, &self.test, &self.samples, false)?;
            if longer.is_some() {
                self.time = longer;
                self.samples.clear();
            }
            return Ok(Some(self.figures_step(figures)));
        }
        let interval = self.interval(library, pool)?;
        match (interval, self.figures.clone()) {
            _ if self.cancel.is_cancelled() => Ok(None),
            (Some(interval), Some(figures)) => {
                Ok(Some(self.figures_step(TestFigures { interval: Some(interval), ..figures })))
            }
            _ => Ok(Some(StepReport::Done { elapsed_ms: elapsed_ms(self.began) })),
        }
    }

    /// Simulates the test up to an end. Returns `None` if the simulation was cancelled.
    fn run(&self, end: TestEnd, repeat: u32) -> Result<Option<Sample>, LabError> {
        run(&self.assembled, &self.test, end, repeat, &self.cancel)
    }

    fn figures_step(&mut self, figures: TestFigures) -> StepReport {
        self.figures = Some(figures.clone());
        let elapsed_ms = self.began.elapsed().as_secs_f64() * 1e3;
        StepReport::Figures { index: 0, figures: Box::new(figures), elapsed_ms }
    }

    /// Returns the 80% interval of the figures; `None` if there are faults, or if the ranges contradict the system.
    fn interval(
        &self,
        library: &Library,
        pool: Pool,
    ) -> Result<Option<lanemark_schema::result::PredictionInterval>, LabError> {
        let rate = self.figures.as_ref().map_or(0.0, |figures| figures.iops);
        if !self.assembled.faults.is_empty() || rate <= 0.0 {
            return Ok(None);
        }
        let lab = Lab { pool, cancel: self.cancel.clone(), ..Lab::default() };
        let name = self.assembled.system.target.system.as_str();
        let subject =
            DrawnSystem { library, name, settings: &self.assembled.settings, ranges: &[] };
        let test = Test { duration: Some(repeat_time(&self.test, rate)), ..self.test.clone() };
        let intervals = lab.intervals(&subject, &[(test, rate)], SEED)?;
        Ok(intervals.into_iter().next().flatten())
    }
}

/// Simulates one test up to an end. Returns `None` if the simulation was cancelled.
///
/// # Errors
/// Returns an error if the test does not fit the system, or takes too long.
pub fn run(
    assembled: &AssembledSystem,
    test: &Test,
    end: TestEnd,
    repeat: u32,
    cancel: &CancelFlag,
) -> Result<Option<Sample>, LabError> {
    let checked = test_with_end(test, end)?;
    let key = StreamKey { seed: SEED, test: 0, repeat, thread: 0 };
    let began = Instant::now();
    let mut is_late = false;
    let mut watch = |_: &Progress| {
        is_late = began.elapsed() > STEP_MAX;
        !is_late && !cancel.is_cancelled()
    };
    let length = RunLength::Converged;
    match run_length_watched(&assembled.spec, &checked, key, length, &mut watch) {
        Ok(sample) => Ok(Some(sample)),
        Err(SimError::Cancelled) if is_late => Err(LabError::run(format!(
            "test `{}` takes more than {} s to simulate",
            test.name,
            STEP_MAX.as_secs()
        ))
        .hint("use fewer outstanding requests, smaller blocks, or `lanemark sim`")),
        Err(SimError::Cancelled) => Ok(None),
        Err(error) => Err(LabError::input(format!("test `{}`: {error}", test.name))),
    }
}

/// Returns whether `test` may end when its figures have converged.
pub fn converges(assembled: &AssembledSystem, test: &Test) -> bool {
    may_converge(&assembled.spec, &Test { duration: Some(WHOLE), rounds: None, ..test.clone() })
}

/// Returns the simulated time of each of `repeats`, based on the requests a second. A single repeat is a test that may
/// end when its figures have converged.
fn time_of(repeats: usize, test: &Test, rate: f64) -> Duration {
    if repeats == 1 { whole_time(test, rate) } else { repeat_time(test, rate) }
}

/// Returns the end of each of `repeats` after `time`. If there are several short repeats, their beginnings are not
/// counted. A test that may end when its figures have converged finds its steady part itself.
fn end_of(repeats: usize, time: Duration) -> TestEnd {
    if repeats == 1 { TestEnd::Whole(time) } else { TestEnd::Time(time) }
}

/// Returns the length of a test that may end when its figures have converged, based on the requests a second.
pub fn whole_time(test: &Test, rate: f64) -> Duration {
    let seconds = (WHOLE_REQUESTS / rate.max(1e-3)).min(WHOLE.as_seconds());
    Duration::from_picoseconds((seconds * 1e12) as u64).max(repeat_time(test, rate).min(WHOLE))
}

/// Returns a longer time for a test that mostly filled a write buffer, if the test took a short wall-clock time.
pub fn longer_duration(sample: &Sample, time: Duration, wall_time: WallTime) -> Option<Duration> {
    let filling = sample.drive.map_or(0.0, |drive| drive.filling());
    let is_quick = wall_time < LONGER_BELOW && time < LONGEST;
    (filling > FILLING_MAX && is_quick)
        .then(|| Duration::from_picoseconds(time.picoseconds().saturating_mul(4)).min(LONGEST))
}

/// Returns the number of requests for a first answer: enough for each outstanding request, but few if the requests are
/// long.
pub fn first_requests(test: &Test) -> u64 {
    let by_data = FIRST_DATA / test.block_mean();
    FIRST_REQUESTS.min(by_data).max(8.0).max(2.0 * test.population() as f64) as u64
}

/// Returns the simulated time of a repeat, based on the requests a second.
pub fn repeat_time(test: &Test, rate: f64) -> Duration {
    let requests = REQUESTS.min(DATA / test.block_mean()).max(4.0 * test.population() as f64);
    let seconds = (requests.max(32.0) / rate.max(1e-3)).clamp(1e-4, 600.0);
    Duration::from_picoseconds((seconds * 1e12) as u64)
}

#[cfg(test)]
mod tests {
    use lanemark_schema::units::Bytes;

    use super::*;
    use crate::request::{OffsetOrder, SystemRequest, TestRequest};

    #[test]
    fn a_test_that_may_converge_is_one_long_repeat_and_others_are_several_short_ones() {
        let test = Test::of_blocks(Bytes(4096));
        // At 10,000 requests a second, the test takes a minute, or the time of 20,000 requests.
        let minute = Duration::from_seconds(60);
        let short = Duration::from_seconds(2);
        assert_eq!(time_of(1, &test, 1e4), minute);
        assert_eq!(end_of(1, minute), TestEnd::Whole(minute));
        for repeats in [2, REPEATS] {
            assert_eq!(time_of(repeats, &test, 1e4), short);
            assert_eq!(end_of(repeats, short), TestEnd::Time(short));
        }
    }

    #[test]
    fn a_repeat_that_fills_a_buffer_is_extended_if_possible() {
        let name = "samsung-950-pro-512gb@workstation-z170:m2".to_owned();
        let system = SystemRequest { system: name, set: Vec::new(), faults: Vec::new() };
        let assembled = system.assemble(&Library::built_in()).unwrap();
        let test = TestRequest {
            block: "4 KiB".to_owned(),
            pattern: OffsetOrder::Random,
            read_percent: 0.0,
            queue_depth: 1,
            threads: 1,
            span: "1 GiB".to_owned(),
        };
        let end = TestEnd::Requests(100);
        let test = test.read().unwrap();
        let mut sample = run(&assembled, &test, end, 0, &CancelFlag::default()).unwrap().unwrap();
        let drive = sample.drive.as_mut().unwrap();
        (drive.host_written, drive.buffered) = (Bytes(1000), Bytes(500));
        let time = Duration::from_seconds(1);
        let quick = WallTime::ZERO;
        let slow = LONGER_BELOW;
        assert_eq!(longer_duration(&sample, time, quick), Some(Duration::from_seconds(4)));
        assert_eq!(longer_duration(&sample, time, slow), None);
        assert_eq!(longer_duration(&sample, Duration::from_seconds(599), quick), Some(LONGEST));
        assert_eq!(longer_duration(&sample, LONGEST, quick), None);
        sample.drive.as_mut().unwrap().buffered = Bytes(10);
        assert_eq!(longer_duration(&sample, time, quick), None);
    }
}

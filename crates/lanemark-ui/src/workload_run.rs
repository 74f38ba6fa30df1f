//! Several tests on a system, such as CrystalDiskMark's eight: each is simulated as `lanemark sim` does, in order. The
//! intervals of all tests follow, and then the figures of each test again.

use std::collections::VecDeque;

use lanemark_lab::{Lab, LabError};
use lanemark_schema::result::{RunResult, Sample};
use lanemark_schema::workload::{AverageMethod, Test, TestOrder, Workload};
use lanemark_study::Library;
use lanemark_study::library::LibraryKind;
use lanemark_study::{Location, StudyError, workload};

use crate::figures::TestFigures;
use crate::request::{AssembledSystem, is_quick};
use crate::simulation::{StepReport, first_test, repeats, sample};

const TESTS_MAX: usize = 32;

/// A workload in progress on a system.
#[derive(Debug)]
pub struct WorkloadRun {
    assembled: AssembledSystem,
    workload: Workload,
    /// The samples of the tests that have ended.
    samples: Vec<Vec<Sample>>,
    /// The figures of the tests that have ended and whose intervals are not yet reported.
    figures: VecDeque<TestFigures>,
    /// The result with intervals, after the step that computes them.
    result: Option<RunResult>,
}

/// Returns the workload `name` of the library, if it can be simulated for a page.
///
/// # Errors
/// Returns an error if there is no such workload, or if it contains tests that take too long for a page.
pub fn open(library: &Library, name: &str) -> Result<Workload, LabError> {
    let names = library.names(LibraryKind::Workload);
    if !names.iter().any(|known| known == name) {
        let location = Location::file("the library");
        let known = names.iter().map(String::as_str);
        let name: String = name.chars().take(80).collect();
        return Err(StudyError::unknown(location, "workload", &name, known).into());
    }
    let workload = workload::open(library, name)?;
    let is_plain = |(index, test): (usize, &Test)| {
        test.requests().is_some() && workload.is_alone(index) && is_quick(test)
    };
    if workload.tests.len() <= TESTS_MAX && workload.tests.iter().enumerate().all(is_plain) {
        Ok(workload)
    } else {
        Err(LabError::input(format!("{name} is too large for the page"))
            .hint(format!("to run it, use: lanemark sim SYSTEM {name}")))
    }
}

/// Returns tests from a result file as a workload. Simulated repeats differ only in their offsets, so each test runs
/// once.
///
/// # Errors
/// Returns an error if there are too many tests, or if a page cannot simulate one of them.
pub fn workload_of(tests: Vec<Test>) -> Result<Workload, LabError> {
    if tests.is_empty() || tests.len() > TESTS_MAX {
        let count = tests.len();
        return Err(LabError::input(format!("{count} tests: expected from 1 to {TESTS_MAX}")));
    }
    for test in &tests {
        can_simulate(test)?;
    }
    let mut workload = Workload {
        id: "result".to_owned(),
        name: "tests of a result".to_owned(),
        repeats: 1,
        average: AverageMethod::Mean,
        order: TestOrder::Listed,
        precondition: None,
        faults: Vec::new(),
        tests,
    };
    workload.take_pages();
    Ok(workload)
}

/// Checks that a page can simulate a test.
///
/// # Errors
/// Returns an error that states the reason.
pub fn can_simulate(test: &Test) -> Result<(), LabError> {
    let name: String = test.name.chars().take(80).collect();
    if test.requests().is_none() {
        return Err(LabError::input(format!(
            "the requests of test `{name}` are not fully known, or come from a database or a trace"
        )));
    }
    if !is_quick(test) {
        return Err(LabError::input(format!("test `{name}` is too large for the page"))
            .hint("use `lanemark sim` to run it"));
    }
    let checked = first_test(test).checked();
    checked.map(drop).map_err(|error| LabError::input(format!("test `{name}`: {error}")))
}

impl WorkloadRun {
    /// Creates a run of `workload` on a system.
    pub fn new(assembled: AssembledSystem, workload: Workload) -> Self {
        // A page's faults apply to all tests, as with `lanemark sim --fault`.
        let faults = assembled.faults.clone();
        let workload = Workload { faults, ..workload };
        Self { assembled, workload, samples: Vec::new(), figures: VecDeque::new(), result: None }
    }

    /// Runs the next test. Returns `None` if the run was cancelled.
    ///
    /// # Errors
    /// Returns an error if the test does not fit the system, or takes too long.
    pub fn step(&mut self, library: &Library, lab: &Lab) -> Result<Option<StepReport>, LabError> {
        let index = self.samples.len();
        if index >= self.workload.tests.len() {
            return self.refine(library, lab);
        }
        let mut samples = Vec::new();
        for repeat in 0..repeats(lab, &self.assembled, &self.workload, index) {
            let taken = sample(&self.assembled, &self.workload, index, repeat, lab)?;
            let Some(taken) = taken else { return Ok(None) };
            samples.push(taken);
        }
        self.samples.push(samples.clone());
        let figures = TestFigures::compute(&self.assembled, &self.workload, index, samples, false)?;
        self.figures.push_back(figures.clone());
        Ok(Some(StepReport::figures(index, figures)))
    }

    /// Computes the intervals of all tests once, and reports the figures of the next test with its interval.
    fn refine(&mut self, library: &Library, lab: &Lab) -> Result<Option<StepReport>, LabError> {
        if self.result.is_none() {
            let mut result = self.assembled.result(&self.workload, self.samples.clone());
            lab.add_intervals(&self.assembled.drawn(library), &mut result, &mut |_| ())?;
            if lab.cancel.is_cancelled() {
                return Ok(None);
            }
            self.result = Some(result);
        }
        let tests = self.result.as_ref().map_or(&[][..], |result| &result.tests);
        let index = tests.len() - self.figures.len().min(tests.len());
        let Some(mut figures) = self.figures.pop_front() else {
            return Ok(Some(StepReport::done(self.result.take())));
        };
        figures.interval = tests[index].interval.clone();
        Ok(Some(StepReport::figures(index, figures)))
    }
}

//! Several tests on a system, such as CrystalDiskMark's eight: each is simulated as `lanemark sim` does, in order.

use lanemark_lab::{Lab, LabError};
use lanemark_schema::result::Sample;
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
        Self { assembled, workload: Workload { faults, ..workload }, samples: Vec::new() }
    }

    /// Runs the next test. Returns `None` if the run was cancelled.
    ///
    /// # Errors
    /// Returns an error if the test does not fit the system, or takes too long.
    pub fn step(&mut self, lab: &Lab) -> Result<Option<StepReport>, LabError> {
        let index = self.samples.len();
        if index >= self.workload.tests.len() {
            let samples = std::mem::take(&mut self.samples);
            let result = self.assembled.result(&self.workload, samples);
            return Ok(Some(StepReport::done(Some(result))));
        }
        let mut samples = Vec::new();
        for repeat in 0..repeats(lab, &self.assembled, &self.workload, index) {
            let taken = sample(&self.assembled, &self.workload, index, repeat, lab)?;
            let Some(taken) = taken else { return Ok(None) };
            samples.push(taken);
        }
        self.samples.push(samples.clone());
        let figures = TestFigures::compute(&self.assembled, &self.workload, index, samples, false)?;
        Ok(Some(StepReport::Figures { index, figures: Box::new(figures) }))
    }
}

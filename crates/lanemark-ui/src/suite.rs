//! A workload of the library on a system, such as CrystalDiskMark's eight tests: each test runs briefly, in order.

use std::time::Instant;

use lanemark_lab::{CancelFlag, LabError};
use lanemark_schema::result::Sample;
use lanemark_schema::workload::{Test, Workload};
use lanemark_study::Library;
use lanemark_study::library::LibraryKind;
use lanemark_study::{Location, StudyError, workload};

use crate::figures::TestFigures;
use crate::request::{AssembledSystem, TestEnd, is_quick, test_with_end};
use crate::simulation::{
    StepReport, converges, first_requests, longer_duration, repeat_time, run, whole_time,
};

const TESTS_MAX: usize = 32;

/// A workload in progress on a system.
#[derive(Debug)]
pub struct WorkloadRun {
    assembled: AssembledSystem,
    tests: Vec<Test>,
    cancel: CancelFlag,
    began: Instant,
    next: usize,
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

/// Checks tests from a result file that a page sent.
///
/// # Errors
/// Returns an error if there are too many tests, or if a page cannot simulate one of them.
pub fn checked_tests(tests: Vec<Test>) -> Result<Vec<Test>, LabError> {
    if tests.is_empty() || tests.len() > TESTS_MAX {
        let count = tests.len();
        return Err(LabError::input(format!("{count} tests: expected from 1 to {TESTS_MAX}")));
    }
    for test in &tests {
        can_simulate(test)?;
    }
    Ok(tests)
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
    test_with_end(test, TestEnd::Requests(first_requests(test))).map(drop)
}

/// Simulates a test until its figures have converged. A test that cannot end early is simulated for as long as a repeat
/// on a page, and longer while a write buffer is still filling. Returns `None` if the simulation was cancelled.
///
/// # Errors
/// Returns an error if the test does not fit the system, or takes too long.
pub fn converged_sample(
    assembled: &AssembledSystem,
    test: &Test,
    cancel: &CancelFlag,
) -> Result<Option<Sample>, LabError> {
    let sample_until = |end| run(assembled, test, end, 0, cancel);
    let Some(first) = sample_until(TestEnd::Requests(first_requests(test)))? else {
        return Ok(None);
    };
    let converges = converges(assembled, test);
    let time = if converges { whole_time } else { repeat_time };
    let mut time = time(test, first.iops());
    loop {
        let began = Instant::now();
        let end = if converges { TestEnd::Whole(time) } else { TestEnd::Time(time) };
        let Some(sample) = sample_until(end)? else { return Ok(None) };
        match longer_duration(&sample, time, began.elapsed()) {
            Some(more) => time = more,
            None => return Ok(Some(sample)),
        }
    }
}

impl WorkloadRun {
    /// Creates a run of tests on a system; `cancel` ends it.
    pub fn new(
        assembled: AssembledSystem,
        tests: Vec<Test>,
        cancel: CancelFlag,
        began: Instant,
    ) -> Self {
        Self { assembled, tests, cancel, began, next: 0 }
    }

    /// Runs the next test. Returns `None` if the run was cancelled.
    ///
    /// # Errors
    /// Returns an error if the test does not fit the system, or takes too long.
    pub fn step(&mut self) -> Result<Option<StepReport>, LabError> {
        let elapsed_ms = |began: Instant| began.elapsed().as_secs_f64() * 1e3;
        let Some(test) = self.tests.get(self.next) else {
            return Ok(Some(StepReport::Done { elapsed_ms: elapsed_ms(self.began) }));
        };
        let Some(sample) = converged_sample(&self.assembled, test, &self.cancel)? else {
            return Ok(None);
        };
        let figures = TestFigures::compute(&self.assembled, test, &[sample], false)?;
        let index = self.next;
        self.next += 1;
        let elapsed_ms = elapsed_ms(self.began);
        Ok(Some(StepReport::Figures { index, figures: Box::new(figures), elapsed_ms }))
    }
}

//! A workload of the library on a system, such as CrystalDiskMark's eight tests: each test runs briefly, in order.

use std::time::Instant;

use lanemark_lab::{Cancel, LabError};
use lanemark_schema::workload::{Test, Workload};
use lanemark_study::Library;
use lanemark_study::library::LibraryKind;
use lanemark_study::{Location, StudyError, workload};

use crate::asked::{Asked, End, is_quick};
use crate::figures::Figures;
use crate::simulation::{Told, converges, first_requests, longer, repeat_time, run, whole_time};

/// Maximum number of tests.
const TESTS_MAX: usize = 32;

/// A workload in progress on a system.
#[derive(Debug)]
pub struct Suite {
    asked: Asked,
    tests: Vec<Test>,
    cancel: Cancel,
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
        let (location, known) = (Location::file("the library"), names.iter().map(String::as_str));
        let name: String = name.chars().take(80).collect();
        return Err(StudyError::unknown(location, "workload", &name, known).into());
    }
    let workload = workload::open(library, name)?;
    let is_plain = |(place, test): (usize, &Test)| {
        test.requests().is_some() && workload.is_alone(place) && is_quick(test)
    };
    match workload.tests.len() <= TESTS_MAX && workload.tests.iter().enumerate().all(is_plain) {
        true => Ok(workload),
        false => Err(LabError::input(format!("{name}: is too large for the page"))
            .hint(format!("lanemark sim SYSTEM {name} runs it"))),
    }
}

impl Suite {
    /// Creates the run of a workload's tests on a system, which `cancel` ends.
    pub fn new(asked: Asked, workload: Workload, cancel: Cancel, began: Instant) -> Self {
        Self { asked, tests: workload.tests, cancel, began, next: 0 }
    }

    /// Runs the next test. Returns `None` if it was cancelled.
    ///
    /// # Errors
    /// Returns an error if the test does not fit the system, or takes too long.
    pub fn step(&mut self) -> Result<Option<Told>, LabError> {
        let elapsed_ms = |began: Instant| began.elapsed().as_secs_f64() * 1e3;
        let Some(test) = self.tests.get(self.next) else {
            return Ok(Some(Told::Done { elapsed_ms: elapsed_ms(self.began) }));
        };
        let one = |end| run(&self.asked, test, end, 0, &self.cancel);
        let Some(first) = one(End::Requests(first_requests(test)))? else { return Ok(None) };
        let converges = converges(&self.asked, test);
        let time = if converges { whole_time } else { repeat_time };
        let mut time = time(test, first.iops());
        let sample = loop {
            let began = Instant::now();
            let end = if converges { End::Whole(time) } else { End::Time(time) };
            let Some(sample) = one(end)? else { return Ok(None) };
            match longer(&sample, time, began.elapsed()) {
                Some(more) if !converges => time = more,
                _ => break sample,
            }
        };
        let figures = Figures::of(&self.asked.system, test, &[sample], false)?;
        let index = self.next;
        self.next += 1;
        let elapsed_ms = elapsed_ms(self.began);
        Ok(Some(Told::Figures { index, figures: Box::new(figures), elapsed_ms }))
    }
}

//! A workload on two systems: both side by side, and how far a fitted drive may be off.

use lanemark_core::result::{
    Calibration, FittedDrive, Outlook, Provenance, RunResult, Standing, TestResult, WhatIf,
    WhatIfTest,
};
use lanemark_core::workload::Workload;
use lanemark_study::{Library, Location, System};

use crate::error::LabError;
use crate::event::Watch;
use crate::lab::{Lab, Work, assemble, setting};

/// A system with the tests that it runs, and what they are called together.
#[derive(Clone, Debug)]
pub struct Side {
    /// Name for people.
    pub name: String,
    /// System of the side.
    pub system: System,
    /// The tests; both sides have the same by name.
    pub workload: Workload,
}

/// A fitted value with the systems that have it at either end of its interval.
type Ends = [System; 2];

/// A what-if before it is run.
#[derive(Clone, Debug)]
pub struct WhatIfJob<'j> {
    /// The system that there is.
    pub present: Side,
    /// The system that might be instead.
    pub other: Side,
    /// The other system at both ends of each value that a fit knows, one value at a time; see [`ends`].
    pub ends: Option<Vec<Ends>>,
    /// A measured result of the present one, with the name of its file.
    pub measured: Option<(&'j str, &'j RunResult)>,
    /// The seed of all random numbers.
    pub seed: u64,
}

impl Side {
    /// Refuses tests that reach beyond what they run on.
    ///
    /// # Errors
    /// The first of them.
    pub fn check_places(&self) -> Result<(), LabError> {
        let capacity = self.system.spec.capacities().into_iter().min().unwrap_or_default();
        let Some(test) = self.workload.tests.iter().find(|test| test.end() > capacity) else {
            return Ok(());
        };
        let (end, name) = (test.end(), &self.name);
        Err(LabError::input(format!("{name}: test `{}` reaches to {end} of {capacity}", test.name))
            .hint("use a smaller --size"))
    }

    fn work(&self) -> Work<'_> {
        Work { system: &self.system, workload: &self.workload }
    }
}

/// The system `name` with `settings` and each fitted value that is known at both of its ends, one at a time.
///
/// # Errors
/// A value that the system does not have.
pub fn ends(
    library: &Library,
    name: &str,
    settings: &[(Calibration, Location)],
    fit: &FittedDrive,
) -> Result<Vec<Ends>, LabError> {
    let mut all = Vec::new();
    let known = fit.parameters.iter().filter(|one| one.standing == Standing::Identified);
    for parameter in known {
        let Some((low, high)) = &parameter.interval_95 else { continue };
        let at = |end: &str| {
            let mut set = settings.to_vec();
            set.push(setting(&format!("{}={end}", parameter.parameter))?);
            assemble(library, name, &set)
        };
        all.push([at(low)?, at(high)?]);
    }
    Ok(all)
}

impl Lab {
    /// Runs both sides and compares; none where that is cancelled.
    ///
    /// # Errors
    /// Where a test does not fit a system.
    pub fn what_if(
        &self,
        job: &WhatIfJob<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<Option<WhatIf>, LabError> {
        let WhatIfJob { present, other, ends, measured, seed } = job;
        let mut works = vec![present.work(), other.work()];
        let systems = ends.iter().flatten().flatten();
        works.extend(systems.map(|system| Work { system, workload: &other.workload }));
        let provenance = Provenance { seed: *seed, ..Provenance::default() };
        let runs = self.run_all(&works, &provenance, watch)?;
        let [before, after, at_ends @ ..] = runs.as_slice() else { return Ok(None) };
        if !runs.iter().all(|run| run.complete) {
            return Ok(None);
        }
        let spread = ends.as_ref().map(|_| uncertainty(after, at_ends));
        let tests = before.tests.iter().zip(&after.tests).enumerate();
        let tests = tests.map(|(place, (one, two))| WhatIfTest {
            test: one.test.name.clone(),
            measured: measured.and_then(|(_, run)| run.test(&one.test.name)).map(Outlook::of),
            present: Outlook::of(one),
            other: Outlook::of(two),
            uncertainty: spread.as_ref().map(|spread| spread[place]),
        });
        Ok(Some(WhatIf {
            present: present.name.clone(),
            other: other.name.clone(),
            measured: measured.map(|(file, _)| file.to_owned()),
            tests: tests.collect(),
        }))
    }
}

/// Computes the uncertainty of each test of `base`: every fitted value at both ends of its interval, one at a time, and
/// the greater of both deviations added in squares. `at_ends` has the runs at the ends in pairs.
fn uncertainty(base: &RunResult, at_ends: &[RunResult]) -> Vec<f64> {
    let mut squares = vec![0.0; base.tests.len()];
    for pair in at_ends.chunks(2) {
        let mut worst = vec![0.0f64; squares.len()];
        for run in pair {
            for ((off, one), was) in worst.iter_mut().zip(&run.tests).zip(&base.tests) {
                let rate = |test: &TestResult| test.throughput_bytes_per_second.value;
                *off = off.max((rate(one) / rate(was) - 1.0).abs());
            }
        }
        squares.iter_mut().zip(worst).for_each(|(sum, off)| *sum += off * off);
    }
    squares.into_iter().map(f64::sqrt).collect()
}

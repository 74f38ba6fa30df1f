//! Studies: all systems of one, side by side.

use lanemark_core::result::{Provenance, StudyOutcome};
use lanemark_study::{Library, Study};

use crate::error::LabError;
use crate::event::Watch;
use crate::interval::Subject;
use crate::lab::{Lab, Work};

/// Answers that are wanted of each test of a study beside its figures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extras<'l> {
    /// The hops that limit it.
    pub bottleneck: bool,
    /// Its 80% interval, of values that this library has within ranges.
    pub intervals: Option<&'l Library>,
}

impl Lab {
    /// Runs all tests of `study`, and asks of each what `extras` names. Where that is cancelled the outcome has what had ended
    /// by then, in systems that are not complete.
    ///
    /// # Errors
    /// Where a test does not fit a drive.
    pub fn study(
        &self,
        study: &Study,
        provenance: &Provenance,
        extras: Extras<'_>,
        watch: &mut Watch<'_>,
    ) -> Result<StudyOutcome, LabError> {
        let works: Vec<Work<'_>> =
            study.systems().map(|(_, system, workload)| Work { system, workload }).collect();
        let mut runs = self.run_all(&works, provenance, watch)?;
        if let Some(library) = extras.intervals {
            for (run, (name, settings)) in runs.iter_mut().zip(study.made_of()) {
                self.add_intervals(&Subject { library, name, settings, ranges: &[] }, run)?;
            }
        }
        if extras.bottleneck {
            for (run, work) in runs.iter_mut().zip(&works) {
                self.bottleneck(&work.system.spec, run, watch)?;
            }
        }
        Ok(study.outcome(provenance, runs))
    }
}

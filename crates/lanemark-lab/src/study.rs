//! Studies: all systems of one, side by side.

use lanemark_core::result::{Provenance, StudyOutcome};
use lanemark_study::{Library, Study};

use crate::error::LabError;
use crate::event::{Event, Watch};
use crate::interval::{Subject, draws_of};
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
            // Counted over all systems.
            let total: usize = runs.iter().map(draws_of).sum();
            let mut before = 0;
            for (run, (name, settings)) in runs.iter_mut().zip(study.made_of()) {
                let own = draws_of(run);
                let subject = Subject { library, name, settings, ranges: &[] };
                self.add_intervals(&subject, run, &mut |event| match event {
                    Event::Drawn { ended, .. } => {
                        watch(Event::Drawn { ended: before + ended, total });
                    }
                    event => watch(event),
                })?;
                before += own;
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

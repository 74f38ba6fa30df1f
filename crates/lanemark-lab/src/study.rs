//! Studies: all systems of a study, in parallel.

use lanemark_schema::result::{Provenance, StudyOutcome};
use lanemark_study::{Library, Study};

use crate::error::LabError;
use crate::event::{Event, EventObserver};
use crate::interval::{DrawnSystem, draws_of};
use crate::lab::{Lab, LabRun};

/// The additional results for each test of a study.
#[derive(Clone, Copy, Debug, Default)]
pub struct AdditionalResults<'l> {
    /// Whether to find the hops that limit the test.
    pub bottleneck: bool,
    /// The library whose ranges determine the 80% intervals; `None` computes no intervals.
    pub intervals: Option<&'l Library>,
}

impl Lab {
    /// Runs all tests of `study`, and computes the additional results that `extras` requests. If the run is cancelled,
    /// the outcome contains the tests that have ended, in results that are marked as incomplete.
    ///
    /// # Errors
    /// Returns an error if a test does not fit a drive.
    pub fn study(
        &self,
        study: &Study,
        provenance: &Provenance,
        extras: AdditionalResults<'_>,
        watch: &mut EventObserver<'_>,
    ) -> Result<StudyOutcome, LabError> {
        let works: Vec<LabRun<'_>> =
            study.systems().map(|(_, system, workload)| LabRun { system, workload }).collect();
        let mut runs = self.run_all(&works, provenance, watch)?;
        if let Some(library) = extras.intervals {
            // The count covers all systems.
            let total: usize = runs.iter().map(draws_of).sum();
            let mut before = 0;
            for (run, (name, settings)) in runs.iter_mut().zip(study.made_of()) {
                let own_draws = draws_of(run);
                let subject = DrawnSystem { library, name, settings, ranges: &[] };
                self.add_intervals(&subject, run, &mut |event| match event {
                    Event::Drawn { ended, .. } => {
                        watch(Event::Drawn { ended: before + ended, total });
                    }
                    event => watch(event),
                })?;
                before += own_draws;
            }
        }
        if extras.bottleneck {
            for (run, work) in runs.iter_mut().zip(&works) {
                self.add_sensitivity(&work.system.spec, run, watch)?;
            }
        }
        Ok(study.outcome(provenance, runs))
    }
}

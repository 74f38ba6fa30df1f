//! Studies: all systems of one, side by side.

use lanemark_core::result::{Provenance, StudyOutcome};
use lanemark_study::Study;

use crate::error::LabError;
use crate::event::Watch;
use crate::lab::{Lab, Work};

impl Lab {
    /// Runs all tests of `study`, and with `bottleneck` asks of each what would help. Where that is cancelled the
    /// outcome has what had ended by then, in systems that are not complete.
    ///
    /// # Errors
    /// Where a test does not fit a drive.
    pub fn study(
        &self,
        study: &Study,
        provenance: &Provenance,
        bottleneck: bool,
        watch: &mut Watch<'_>,
    ) -> Result<StudyOutcome, LabError> {
        let works: Vec<Work<'_>> =
            study.systems().map(|(_, system, workload)| Work { system, workload }).collect();
        let mut runs = self.run_all(&works, provenance, watch)?;
        if bottleneck {
            for (run, work) in runs.iter_mut().zip(&works) {
                self.bottleneck(&work.system.spec, run, watch)?;
            }
        }
        Ok(study.outcome(provenance, runs))
    }
}

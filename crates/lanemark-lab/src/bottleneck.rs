//! Sensitivity of each test's throughput: every test runs again, each time with one hop at twice its speed.

use lanemark_schema::result::{RunResult, Sample};
use lanemark_schema::rng::StreamKey;
use lanemark_sim::sensitivity::{ChangedSystem, compute_sensitivity, variants};
use lanemark_sim::{CheckedSystem, Progress, SimError};

use crate::error::LabError;
use crate::event::{Event, EventObserver};
use crate::lab::Lab;

/// A variant to run, with the number of its test.
struct VariantRun {
    test: usize,
    variant: ChangedSystem,
}

impl Lab {
    /// Computes the sensitivity of every test of `result`, which ran on `spec`. The variants use the random streams of
    /// the test's first repeat. The sensitivity of a test is absent if the run is cancelled, or if another test ran in
    /// parallel with it.
    ///
    /// # Errors
    /// Returns an error if a variant does not run to its end.
    pub fn add_sensitivity(
        &self,
        spec: &CheckedSystem,
        result: &mut RunResult,
        watch: &mut EventObserver<'_>,
    ) -> Result<(), LabError> {
        let spec = spec.with_faults(&result.workload.faults);
        let spec = &spec.map_err(|errors| LabError::run(errors[0].to_string()))?;
        let mut jobs = Vec::new();
        for (test, one) in result.tests.iter().enumerate() {
            let Some(base) = one.samples.first() else { continue };
            if !result.workload.runs_alone(&one.test) {
                continue;
            }
            let asked = one.test.clone().checked();
            let asked = asked.map_err(|error| LabError::run(error.to_string()))?;
            let variants = variants(spec, &asked, base);
            jobs.extend(variants.into_iter().map(|variant| VariantRun { test, variant }));
        }
        let seed = result.provenance.seed;
        let key =
            |job: &VariantRun| StreamKey { seed, test: job.test as u32, repeat: 0, thread: 0 };
        let mut outcomes: Vec<Option<Result<Sample, SimError>>> =
            jobs.iter().map(|_| None).collect();
        let mut ended = 0;
        self.pool.each(
            jobs.len(),
            || (),
            |(), place, tell| {
                let go_on = &mut |_: &Progress| !self.cancel.is_cancelled();
                if !self.cancel.is_cancelled() {
                    tell(jobs[place].variant.run_watched(key(&jobs[place]), self.length, go_on));
                }
            },
            |place, outcome| {
                if outcome != Err(SimError::Cancelled) {
                    outcomes[place] = Some(outcome);
                    ended += 1;
                    watch(Event::SensitivityRun { ended, total: jobs.len() });
                }
                true
            },
        );
        let mut pairs: Vec<_> = jobs.into_iter().zip(outcomes).collect();
        for (test, one) in result.tests.iter_mut().enumerate() {
            let others = pairs.split_off(pairs.partition_point(|(job, _)| job.test <= test));
            let own_pairs = std::mem::replace(&mut pairs, others);
            let Some(base) = one.samples.first() else { continue };
            let (mut asked, mut told) = (Vec::new(), Vec::new());
            let whole = own_pairs.iter().all(|(_, outcome)| outcome.is_some());
            for (job, outcome) in own_pairs {
                let Some(outcome) = outcome else { continue };
                let to_error = |error| {
                    LabError::run(format!(
                        "test `{}`, {}: {error}",
                        one.test.name, job.variant.change
                    ))
                };
                told.push(outcome.map_err(to_error)?);
                asked.push(job.variant);
            }
            one.sensitivity =
                (whole && !asked.is_empty()).then(|| compute_sensitivity(base, &asked, &told));
        }
        Ok(())
    }
}

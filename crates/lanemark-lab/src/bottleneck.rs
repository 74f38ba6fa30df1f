//! Sensitivity of each test's throughput: every test runs again, each time with one hop at twice its speed.
//!
//! If the figures of a test did not converge, the test and its variants are compared in a short version, provided that
//! the short version has the same rate, latency and utilisations as the whole test.

use lanemark_schema::result::{HopUse, RunResult, Sample};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::Duration;
use lanemark_schema::workload::{CheckedTest, Test};
use lanemark_sim::sensitivity::{ChangedSystem, compute_sensitivity, variants};
use lanemark_sim::{CheckedSystem, Progress, RunLength, SimError, run_test_watched};

use crate::error::LabError;
use crate::event::{Event, EventObserver};
use crate::lab::Lab;

/// Numbers of requests in short versions, from the shortest.
const SHORT_REQUESTS: [u64; 2] = [65_536, 262_144];
/// The minimum length of a whole test, as a multiple of its short version.
const SHORTER: u64 = 4;
/// The share of a short version that its ramp takes, as a divisor.
const RAMP_PARTS: u64 = 4;
/// Maximum relative difference in rate and mean latency, and maximum difference in utilisation, between a whole test
/// and a short version that represents it.
const ALIKE: f64 = 0.03;

/// A test whose variants run, and the sample with which they are compared.
struct ComparedTest {
    /// The number of the test in the result.
    test: usize,
    asked: CheckedTest,
    base: Sample,
}

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
        let compared = self.compared_tests(spec, result)?;
        let jobs: Vec<VariantRun> = compared
            .iter()
            .flat_map(|one| {
                let variants = variants(spec, &one.asked, &one.base);
                variants.into_iter().map(|variant| VariantRun { test: one.test, variant })
            })
            .collect();
        let seed = result.provenance.seed;
        let mut outcomes: Vec<Option<Result<Sample, SimError>>> =
            jobs.iter().map(|_| None).collect();
        let mut ended = 0;
        self.pool.each(
            jobs.len(),
            || (),
            |(), place, tell| {
                let go_on = &mut |_: &Progress| !self.cancel.is_cancelled();
                if !self.cancel.is_cancelled() {
                    let VariantRun { test, variant } = &jobs[place];
                    // A gain is computed from rates and mean latencies only.
                    let length = self.length.without_percentiles();
                    tell(variant.run_watched(stream_of(seed, *test), length, go_on));
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
        for ComparedTest { test, base, .. } in compared {
            let one = &mut result.tests[test];
            let others = pairs.split_off(pairs.partition_point(|(job, _)| job.test <= test));
            let own_pairs = std::mem::replace(&mut pairs, others);
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
                (whole && !asked.is_empty()).then(|| compute_sensitivity(&base, &asked, &told));
        }
        Ok(())
    }

    /// Returns the tests of `result` that did not run in parallel with others.
    fn compared_tests(
        &self,
        spec: &CheckedSystem,
        result: &RunResult,
    ) -> Result<Vec<ComparedTest>, LabError> {
        let alone = result.tests.iter().enumerate().filter_map(|(test, one)| {
            let base = one.samples.first()?;
            result.workload.runs_alone(&one.test).then_some((test, &one.test, base))
        });
        let alone: Vec<(usize, &Test, &Sample)> = alone.collect();
        let compared = self.pool.map(alone.len(), |place| {
            let (test, asked, base) = alone[place];
            let key = stream_of(result.provenance.seed, test);
            if let Some(short) = self.short_version(spec, asked, base, key) {
                return Ok(ComparedTest { test, ..short });
            }
            let asked = asked.clone().checked();
            let asked = asked.map_err(|error| LabError::run(error.to_string()))?;
            Ok(ComparedTest { test, asked, base: base.clone() })
        });
        compared.into_iter().collect()
    }

    /// Returns a short version of `test` that represents its whole run, `base`, if the whole run is long and such a
    /// version exists.
    fn short_version(
        &self,
        spec: &CheckedSystem,
        test: &Test,
        base: &Sample,
        key: StreamKey,
    ) -> Option<ComparedTest> {
        let has_converged =
            base.converged.as_ref().is_some_and(|part| part.simulated < part.requests);
        if self.length == RunLength::Whole || has_converged || base.similar.is_some() {
            return None;
        }
        let base_requests = base.latency().count();
        SHORT_REQUESTS.into_iter().find_map(|requests| {
            if base_requests < SHORTER * requests || self.cancel.is_cancelled() {
                return None;
            }
            let asked = shortened(test, requests as f64 / base.iops()).checked().ok()?;
            let go_on = &mut |_: &Progress| !self.cancel.is_cancelled();
            let short = run_test_watched(spec, &asked, key, go_on).ok()?;
            // The utilisations are taken from the whole run, which the result also states.
            is_alike(base, &short).then(|| ComparedTest {
                test: 0,
                asked,
                base: Sample { path: base.path.clone(), ..short },
            })
        })
    }
}

/// Returns the random streams of the first repeat of a test.
fn stream_of(seed: u64, test: usize) -> StreamKey {
    StreamKey { seed, test: test as u32, repeat: 0, thread: 0 }
}

/// Returns a version of `test` that takes `seconds`.
fn shortened(test: &Test, seconds: f64) -> Test {
    let time = Duration::from_picoseconds((seconds * 1e12) as u64);
    let ramp = test.ramp.min(time / RAMP_PARTS);
    Test { ramp, duration: Some(time - ramp), volume: None, rounds: None, ..test.clone() }
}

/// Returns whether `short` has the same rate, mean latency and utilisations as `whole`, within [`ALIKE`].
fn is_alike(whole: &Sample, short: &Sample) -> bool {
    let is_near = |one: f64, other: f64| (one - other).abs() <= ALIKE * one.max(other);
    let latency = |sample: &Sample| sample.latency().mean_ns();
    let hops = whole.path.as_ref().map_or(&[][..], |path| &path.hops);
    let is_used_alike = |hop: &HopUse| {
        let other = short.path.as_ref().and_then(|path| path.hop(hop.id));
        (other.map_or(0.0, |other| other.utilisation) - hop.utilisation).abs() <= ALIKE
    };
    is_near(whole.iops(), short.iops())
        && is_near(latency(whole), latency(short))
        && hops.iter().all(is_used_alike)
}

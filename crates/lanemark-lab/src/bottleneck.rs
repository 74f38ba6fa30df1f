//! Sensitivity of each test's throughput: every test runs again, each time with one hop at twice its speed.
//!
//! If the figures of a test converge late or never, the test and its variants are compared in a short version, provided
//! that the short version has the same rate, latency and utilisations as the whole test.

use lanemark_schema::result::{HopUse, RunResult, Sample};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::Duration;
use lanemark_schema::workload::{CheckedTest, Test};
use lanemark_sim::sensitivity::{ChangedSystem, compute_sensitivity, variants};
use lanemark_sim::{CheckedSystem, Progress, RunLength, SimError, run_test_watched};

use crate::error::LabError;
use crate::event::{Event, EventObserver};
use crate::lab::Lab;

/// Numbers of requests after the ramp in short versions, from the shortest.
const SHORT_REQUESTS: [f64; 2] = [65_536.0, 262_144.0];
/// The minimum number of requests in a run, including its ramp, as a multiple of its short version.
const SHORTER: f64 = 2.0;
/// Maximum relative difference in rate and mean latency, and maximum difference in utilisation, between a whole test
/// and a short version that represents it. A gain compares two runs of equal length, in which the rates drift alike.
const ALIKE: f64 = 0.05;

/// A test whose variants run, and the sample with which they are compared.
struct ComparedTest {
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
        let spec = spec.map_err(|errors| LabError::run(errors[0].to_string()))?;
        let spec = &spec.with_memory(self.memory_of_each(usize::MAX));
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
        self.pool.run_pieces(
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
            let mut asked = Vec::new();
            let mut told = Vec::new();
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

    /// Returns a short version of `test` that represents its run, `base`, if `base` has many requests and such a
    /// version exists.
    fn short_version(
        &self,
        spec: &CheckedSystem,
        test: &Test,
        base: &Sample,
        key: StreamKey,
    ) -> Option<ComparedTest> {
        if self.length == RunLength::Whole || base.similar.is_some() {
            return None;
        }
        let rate = base.iops();
        let ramp = test.ramp.as_seconds();
        let simulated = rate * ramp + base.latency().count() as f64;
        SHORT_REQUESTS.into_iter().find_map(|requests| {
            if simulated < SHORTER * (rate * ramp + requests) || self.cancel.is_cancelled() {
                return None;
            }
            let asked = shortened(test, requests / rate).checked().ok()?;
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

/// Returns a version of `test` that counts for `seconds` after its ramp.
fn shortened(test: &Test, seconds: f64) -> Test {
    let duration = Duration::from_picoseconds((seconds * 1e12) as u64);
    Test { duration: Some(duration), volume: None, rounds: None, ..test.clone() }
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

#[cfg(test)]
mod tests {
    use lanemark_schema::result::{DirectionResult, HopId, PathUse};
    use lanemark_schema::units::Bytes;

    use super::*;

    /// Returns a sample of `count` reads of `us` each in a second; the media is busy for `utilisation` of the time.
    fn sample(count: u64, us: f64, utilisation: f64) -> Sample {
        let mut reads = DirectionResult::new();
        let latency = Duration::from_nanoseconds((us * 1e3) as u64);
        (0..count).for_each(|_| reads.record(Bytes::kibi(4), latency));
        let media = HopUse {
            id: HopId::Media,
            name: String::new(),
            utilisation,
            ceiling: None,
            wait_ns: 0.0,
            service_ns: 1.0,
        };
        Sample {
            elapsed: Duration::from_seconds(1),
            reads: Some(reads),
            path: Some(PathUse::new(vec![media], 1)),
            ..Sample::empty()
        }
    }

    #[test]
    fn a_short_version_must_be_like_the_whole_test_in_each_figure() {
        let whole = sample(1_000, 100.0, 0.50);
        for (count, us, utilisation, wanted) in [
            (1_000, 100.0, 0.50, true),
            (955, 100.0, 0.50, true),
            (1_050, 100.0, 0.50, true),
            (945, 100.0, 0.50, false),
            (1_060, 100.0, 0.50, false),
            (1_000, 94.0, 0.50, false),
            (1_000, 96.0, 0.50, true),
            (1_000, 106.0, 0.50, false),
            (1_000, 100.0, 0.44, false),
            (1_000, 100.0, 0.46, true),
            (1_000, 100.0, 0.56, false),
        ] {
            let short = sample(count, us, utilisation);
            assert_eq!(is_alike(&whole, &short), wanted, "{count}/s, {us} us, {utilisation}");
        }
        let without_path = Sample { path: None, ..sample(1_000, 100.0, 0.50) };
        assert!(!is_alike(&whole, &without_path));
    }

    #[test]
    fn a_short_version_keeps_the_ramp_and_counts_for_its_own_time() {
        let test = Test {
            ramp: Duration::from_seconds(3),
            duration: Some(Duration::from_seconds(60)),
            volume: Some(Bytes::mebi(9)),
            ..Test::of_blocks(Bytes::kibi(4))
        };
        let short = shortened(&test, 0.25);
        assert_eq!(short.ramp, test.ramp);
        assert_eq!(
            (short.duration, short.volume),
            (Some(Duration::from_microseconds(250_000)), None)
        );
        assert_eq!(Test { duration: test.duration, volume: test.volume, ..short }, test);
    }
}

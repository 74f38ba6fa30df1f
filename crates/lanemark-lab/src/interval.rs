//! The interval of a prediction: what it would be with other values where the model's are known only within a range.
//!
//! Every uncertain value of a system is drawn from its range many times, all at once and each for itself, and a short
//! version of each test is simulated with each draw. What these tests bring, over what a short test with the values of the
//! files brings, is the spread of the prediction. What the model leaves out widens it by a factor, which was measured on drives
//! that the library does not have (METHOD.md).

use lanemark_core::result::{
    Calibration, HopId, HopUse, PredictionInterval, RunResult, Sample, TestResult, Widest,
};
use lanemark_core::rng::{Rng, StreamKey};
use lanemark_core::sim::run_test;
use lanemark_core::sim::spec::MediaSpec;
use lanemark_core::units::Duration;
use lanemark_core::workload::{Asks, Test};
use lanemark_study::{Library, Location, System, Uncertain};

use crate::error::LabError;
use crate::lab::{Lab, assemble, setting};

/// Draws of the uncertain values. Ends of an 80% interval lie near the fourth from either end.
pub const DRAWS: usize = 32;
/// Requests of a short test, and as many before it counts for each that may be outstanding.
const REQUESTS: u64 = 2_000;
/// The share of predictions that an interval holds.
pub const SHARE: f64 = 0.8;

/// A test cut to some thousand requests, given what the whole test brought.
fn shortened(test: &Test, requests_per_second: f64) -> Test {
    let mut short = test.clone();
    let outstanding = u64::from(test.queue_depth()) * u64::from(test.threads);
    let seconds = (REQUESTS.max(4 * outstanding)) as f64 / requests_per_second.max(1e-3);
    let time = Duration::from_picoseconds((seconds * 1e12) as u64);
    short.ramp = test.ramp.min(time);
    short.duration = Some(test.duration.map_or(time, |whole| whole.min(time)));
    short.volume = None;
    short.rounds = None;
    short.interval = None;
    short
}

impl Lab {
    /// Gives each test of a simulated `result` the interval of its figures. Tests with faults, with a database's users or
    /// with a trace have none, and neither has a result whose computing was cancelled.
    ///
    /// # Errors
    /// Where the system cannot be assembled.
    pub fn add_intervals(
        &self,
        library: &Library,
        name: &str,
        settings: &[(Calibration, Location)],
        result: &mut RunResult,
    ) -> Result<(), LabError> {
        if !result.workload.faults.is_empty() {
            return Ok(());
        }
        let asked = |test: &&mut TestResult| {
            !matches!(test.test.asks, Asks::Database(_)) && test.iops.value > 0.0
        };
        let mut tests: Vec<&mut TestResult> = result.tests.iter_mut().filter(asked).collect();
        let predicted: Vec<(Test, f64)> =
            tests.iter().map(|test| (test.test.clone(), test.iops.value)).collect();
        let seed = result.provenance.seed;
        let intervals = self.intervals(library, name, settings, &predicted, seed)?;
        for (test, interval) in tests.iter_mut().zip(intervals) {
            test.interval = interval;
        }
        Ok(())
    }

    /// Returns the interval of each test on the system `name` with `settings`, given the requests a second that each was
    /// predicted to bring; none of a test where computing was cancelled.
    ///
    /// # Errors
    /// Where the system cannot be assembled.
    pub fn intervals(
        &self,
        library: &Library,
        name: &str,
        settings: &[(Calibration, Location)],
        predicted: &[(Test, f64)],
        seed: u64,
    ) -> Result<Vec<Option<PredictionInterval>>, LabError> {
        let base = assemble(library, name, settings)?;
        let key = |draw: u32| StreamKey { seed, test: u32::MAX, repeat: draw, thread: 0 };
        // A row of deviations for each draw, a column for each value; those of a draw are taken back by the next, so that
        // the middle of the draws is the prediction.
        let deviations: Vec<Vec<f64>> = (0..DRAWS as u32)
            .map(|draw| {
                let mut rng = Rng::new(key(draw / 2));
                let sign = if draw % 2 == 0 { 1.0 } else { -1.0 };
                base.uncertain.iter().map(|_| sign * normal(&mut rng)).collect()
            })
            .collect();
        let mut systems = Vec::with_capacity(DRAWS);
        for row in &deviations {
            systems.push(drawn(library, name, settings, &base.uncertain, row)?);
        }
        let tests: Vec<Test> =
            predicted.iter().map(|(test, rate)| shortened(test, *rate)).collect();
        let per_test = DRAWS + 1;
        let runs = self.pool.map(tests.len() * per_test, |piece| {
            if self.cancel.is_cancelled() {
                return None;
            }
            let (test, draw) = (&tests[piece / per_test], piece % per_test);
            let system = draw.checked_sub(1).map_or(Some(&base), |draw| systems[draw].as_ref())?;
            let key = StreamKey { seed, test: (piece / per_test) as u32, repeat: 0, thread: 0 };
            let test = test.clone().checked().ok()?;
            let sample = run_test(&system.spec, &test, key).ok()?;
            Some((sample.iops(), left_out(system, &test, &sample)))
        });
        let interval = |runs: &[Option<(f64, f64)>]| {
            let (middle, left_out) = runs[0]?;
            let middle = middle.max(1e-12);
            let drawn = runs[1..].iter().zip(&deviations);
            let drawn = drawn.filter_map(|(run, row)| Some(((*run)?.0.max(1e-9) / middle, row)));
            let drawn: Vec<(f64, &Vec<f64>)> = drawn.collect();
            (!self.cancel.is_cancelled()).then(|| summary(&drawn, &base.uncertain, left_out))
        };
        Ok(runs.chunks(per_test).map(interval).collect())
    }
}

/// The system with each uncertain value so many deviations from its middle; none where such a system cannot be.
fn drawn(
    library: &Library,
    name: &str,
    settings: &[(Calibration, Location)],
    uncertain: &[Uncertain],
    deviations: &[f64],
) -> Result<Option<System>, LabError> {
    let mut all = settings.to_vec();
    for (value, deviations) in uncertain.iter().zip(deviations) {
        all.push(setting(&format!("{}={}", value.parameter, value.at(*deviations)))?);
    }
    Ok(assemble(library, name, &all).ok())
}

/// A number of the standard normal distribution (the sum of twelve uniform ones, less six; tails end at six).
fn normal(rng: &mut Rng) -> f64 {
    (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0
}

/// The interval of what draws brought relative to the middle, each with its deviations, widened by what the model leaves
/// out.
fn summary(
    drawn: &[(f64, &Vec<f64>)],
    uncertain: &[Uncertain],
    left_out: f64,
) -> PredictionInterval {
    let logs: Vec<f64> = drawn.iter().map(|(ratio, _)| ratio.ln()).collect();
    let count = logs.len().max(1) as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / count;
    let mut sorted = logs.clone();
    sorted.sort_by(f64::total_cmp);
    let quantile = |share: f64| {
        let at = share * (sorted.len().saturating_sub(1)) as f64;
        let (low, part) = (at.floor() as usize, at.fract());
        let next = sorted.get(low + 1).or(sorted.get(low));
        sorted.get(low).zip(next).map_or(0.0, |(one, two)| one + part * (two - one))
    };
    let (low, high) = (quantile((1.0 - SHARE) / 2.0), quantile((1.0 + SHARE) / 2.0));
    let share = |column: usize| {
        let covariance: f64 =
            drawn.iter().zip(&logs).map(|((_, row), log)| row[column] * (log - mean)).sum::<f64>()
                / count;
        let own: f64 = drawn.iter().map(|(_, row)| row[column].powi(2)).sum::<f64>() / count;
        covariance.powi(2) / (own * variance).max(1e-30)
    };
    let widest = (variance > 1e-6)
        .then(|| (0..uncertain.len()).map(|column| (column, share(column))))
        .and_then(|shares| shares.max_by(|one, two| one.1.total_cmp(&two.1)))
        .map(|(column, share)| Widest {
            parameter: uncertain[column].parameter.clone(),
            share: share.min(1.0),
        });
    let widened = |end: f64, sign: f64| (sign * end.hypot(left_out.ln()).max(end.abs())).exp();
    let (low_ratio, high_ratio) = (widened(low.min(0.0), -1.0), widened(high.max(0.0), 1.0));
    PredictionInterval { low_ratio, high_ratio, widest }
}

/// Factors that 80% of predictions are within for what the model leaves out, by what is asked. Those of drives of their
/// ratings alone are what drives of the development half of the corpus were off by, each drive once (METHOD.md).
const LINK_LEFT_OUT: f64 = 1.15;
const DISK_LEFT_OUT: f64 = 1.6;
const MIX_LEFT_OUT: f64 = 2.6;
const READS_LEFT_OUT: f64 = 1.6;
const WRITES_LEFT_OUT: f64 = 2.0;
/// The factor of a drive whose file was made for it.
const OWN_LEFT_OUT: f64 = 1.15;
/// A hop that is busy for that share of the time is the limit.
const FULL: f64 = 0.95;

/// The factor that 80% of predictions like this one are within, for what the model leaves out.
fn left_out(system: &System, test: &Test, sample: &Sample) -> f64 {
    let hops = sample.path.as_ref().map_or(&[][..], |path| &path.hops);
    let is_link = |id: &HopId| matches!(id, HopId::Link(_) | HopId::SecondLink(_));
    let is_full = |hop: &HopUse| hop.utilisation >= FULL && is_link(&hop.id);
    let is_disk = matches!(system.spec.first().drive.media, MediaSpec::Disk(_));
    let share = test.read_share().get();
    match () {
        () if hops.iter().any(is_full) => LINK_LEFT_OUT,
        () if !system.is_rated => OWN_LEFT_OUT,
        () if is_disk => DISK_LEFT_OUT,
        () if share > 0.0 && share < 1.0 => MIX_LEFT_OUT,
        () if share >= 1.0 => READS_LEFT_OUT,
        () => WRITES_LEFT_OUT,
    }
}

//! The engine of a fit, which simulates the figures of trials for given values of the free parameters, on all cores.
//!
//! Every simulation of a trial uses the same random stream (common random numbers), so that results for two sets of
//! values differ only because of the values. The result does not depend on the number of threads.

use std::sync::atomic::{AtomicU64, Ordering};

use lanemark_lab::{CancelFlag, Pool};
use lanemark_schema::result::FigureKind;
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::Test;
use lanemark_sim::run_test_watched;
use lanemark_sim::spec::{CheckedSystem, DriveSpec, SystemSpec};

use super::budget::WorkBudget;
use super::parameter::{AffectedTests, PRIOR_SD, Parameter, flash};
use super::trials::{Trial, figure};
use crate::PredictError;

/// The residual, in standard deviations, above which the loss is linear instead of quadratic (Huber loss).
const HUBER: f64 = 3.0;
/// The number of units per die in a simulated buffer.
const STRIPES: u64 = 4;

/// The model and its trials.
pub(super) struct TrialSimulator {
    /// The system with the template's values, or with the geometry that is being tested.
    pub(super) base: SystemSpec,
    pub(super) trials: Vec<Trial>,
    pub(super) parameters: Vec<Parameter>,
    /// The middle of the prior of each parameter.
    pub(super) priors: Vec<f64>,
    /// Indices of the parameters that are fixed at the template's values, because other parameters explain their
    /// effect.
    pub(super) held: Vec<usize>,
    seed: u64,
    pool: Pool,
    cancel: CancelFlag,
    simulations: AtomicU64,
    pub(super) budget: WorkBudget,
}

/// The model's values for the figures of a trial; `None` if too few requests were counted.
pub(super) type ModelFigures = Vec<Option<f64>>;

impl TrialSimulator {
    pub(super) fn new(
        base: SystemSpec,
        trials: Vec<Trial>,
        parameters: Vec<Parameter>,
        seed: u64,
        pool: Pool,
        cancel: CancelFlag,
        work_max: u64,
    ) -> Self {
        let fastest = |reads: bool| {
            let those =
                trials.iter().filter(|trial| if reads { trial.reads() } else { trial.writes() });
            those.map(Trial::throughput).fold(1e7, f64::max) / 1e6
        };
        let prior = |parameter: &Parameter| {
            // If the template does not state a limit, the prior of the limit is high enough not to limit any test.
            let rate_without_limit = || 4.0 * fastest(parameter.shows != AffectedTests::Writes);
            parameter
                .log(parameter.get(&base.attachments[0].drive).unwrap_or_else(rate_without_limit))
        };
        let priors = parameters.iter().map(prior).collect();
        Self {
            base,
            trials,
            parameters,
            priors,
            held: Vec::new(),
            seed,
            pool,
            cancel,
            simulations: AtomicU64::new(0),
            budget: WorkBudget::new(work_max),
        }
    }

    /// Returns the number of simulations so far.
    pub(super) fn simulations(&self) -> u64 {
        self.simulations.load(Ordering::Relaxed)
    }

    /// Returns the system with the values whose logarithms are `logs`.
    pub(super) fn system(&self, logs: &[f64]) -> SystemSpec {
        let mut system = self.base.clone();
        for (parameter, &log) in self.parameters.iter().zip(logs) {
            parameter.set(&mut system.attachments[0].drive, log);
        }
        system.attachments[0].drive.buffer = busy_buffer_bytes(&system.attachments[0].drive);
        system
    }

    /// Simulates several jobs in parallel; each job is a system and a trial.
    pub(super) fn tell(
        &self,
        systems: &[SystemSpec],
        jobs: &[(usize, usize)],
    ) -> Result<Vec<ModelFigures>, PredictError> {
        let systems = systems.iter().map(|system| system.clone().checked());
        let systems: Vec<CheckedSystem> = systems
            .collect::<Result<_, _>>()
            .map_err(|error| PredictError::Unfit(error.to_string()))?;
        let figures = self.pool.map(jobs.len(), |job| {
            let (system, trial) = jobs[job];
            self.simulate(&systems[system], trial)
        });
        figures.into_iter().collect()
    }

    /// Simulates one trial. If too few requests ended because the model is much slower than the measurement, the trial
    /// is simulated for a longer time.
    fn simulate(&self, system: &CheckedSystem, trial: usize) -> Result<ModelFigures, PredictError> {
        let index = trial as u32;
        let trial = &self.trials[trial];
        let key = StreamKey { seed: self.seed, test: index, repeat: 0, thread: 0 };
        let mut short = trial.short.clone();
        for _ in 0..4 {
            self.simulations.fetch_add(1, Ordering::Relaxed);
            let unfit = |error| PredictError::Unfit(format!("test `{}`: {error}", short.name));
            let test = short.clone().checked().map_err(unfit)?;
            let go_on = &mut |_: &_| !self.cancel.is_cancelled();
            let sample = run_test_watched(system, &test, key, go_on)
                .map_err(|error| PredictError::Refused { test: trial.test.name.clone(), error })?;
            self.budget.add(simulated_requests(sample.operations(), &short));
            if sample.operations() >= 20 {
                let kinds = trial.figures.iter().map(|measured| measured.kind);
                return Ok(kinds.map(|kind| figure(&sample, kind)).collect());
            }
            short.duration = short.duration.map(|duration| duration * 8);
        }
        // Too few requests ended even in the longer time, so the rate is assumed to be one request in this time.
        let seconds = short.duration.map_or(1.0, |duration| duration.as_seconds());
        let slowest = trial.test.block_mean() / seconds;
        Ok(trial
            .figures
            .iter()
            .map(|measured| match measured.kind {
                FigureKind::Throughput => Some(slowest),
                _ => Some(seconds * 1e9),
            })
            .collect())
    }

    /// Returns the residuals of the trial with the index `trial` in standard deviations, with reduced outliers.
    pub(super) fn residuals(&self, trial: usize, modelled: &ModelFigures) -> Vec<f64> {
        let figures = self.trials[trial].figures.iter().zip(modelled);
        figures
            .map(|(measured, modelled)| {
                modelled.map_or(0.0, |modelled| {
                    drawn_in((modelled / measured.value).ln() / measured.sd)
                })
            })
            .collect()
    }

    /// Returns the residuals of `trials` at `logs`.
    pub(super) fn residuals_at(
        &self,
        logs: &[f64],
        trials: &[usize],
    ) -> Result<Vec<f64>, PredictError> {
        let jobs: Vec<(usize, usize)> = trials.iter().map(|&trial| (0, trial)).collect();
        let modelled = self.tell(&[self.system(logs)], &jobs)?;
        Ok(trials
            .iter()
            .zip(&modelled)
            .flat_map(|(&trial, modelled)| self.residuals(trial, modelled))
            .collect())
    }

    /// Returns the sum of squares of the residuals of `trials`, and of the priors, at `logs`.
    pub(super) fn cost(&self, logs: &[f64], trials: &[usize]) -> Result<f64, PredictError> {
        Ok(self.cost_of(logs, &self.residuals_at(logs, trials)?))
    }

    /// Returns the sum of squares of `residuals`, and of the priors at `logs`.
    pub(super) fn cost_of(&self, logs: &[f64], residuals: &[f64]) -> f64 {
        let squares = residuals.iter().map(|residual| residual * residual);
        squares.sum::<f64>() + self.prior_cost(logs)
    }

    /// Returns the cost that the priors add.
    pub(super) fn prior_cost(&self, logs: &[f64]) -> f64 {
        let pairs = logs.iter().zip(&self.priors);
        pairs.map(|(log, prior)| ((log - prior) / PRIOR_SD).powi(2)).sum()
    }

    /// Returns the trials for which `wanted` is true.
    pub(super) fn trials_of(&self, wanted: impl Fn(&Trial) -> bool) -> Vec<usize> {
        (0..self.trials.len()).filter(|&trial| wanted(&self.trials[trial])).collect()
    }

    /// Returns the parameters that are not fixed.
    pub(super) fn free_parameters(&self) -> Vec<usize> {
        (0..self.parameters.len()).filter(|index| !self.held.contains(index)).collect()
    }

    /// Returns the index of the parameter with this name.
    pub(super) fn index_of(&self, name: &str) -> Option<usize> {
        self.parameters.iter().position(|parameter| parameter.name == name)
    }

    /// Returns whether a parameter affects a trial.
    pub(super) fn shows(&self, parameter: usize, trial: usize) -> bool {
        match self.parameters[parameter].shows {
            AffectedTests::Reads => self.trials[trial].reads(),
            AffectedTests::Writes => self.trials[trial].writes(),
            AffectedTests::Both => true,
        }
    }
}

/// Returns the number of requests of a simulation including the ramp, computed from the number of counted requests.
fn simulated_requests(counted: u64, test: &Test) -> u64 {
    let seconds = test.duration.map_or(0.0, Duration::as_seconds);
    let share = (seconds + test.ramp.as_seconds()) / seconds.max(1e-12);
    (counted as f64 * share) as u64
}

/// Returns the amount of buffered data that keeps all dies of a drive busy, in bytes. A measured test runs long enough
/// that the buffer, if it fills, is full for nearly all of the time, so a short test must fill the buffer quickly. A
/// disk needs its whole buffer, because the arm chooses among the buffered writes.
pub(super) fn busy_buffer_bytes(drive: &DriveSpec) -> Bytes {
    let Some(flash) = flash(drive) else { return drive.buffer };
    let stripe = flash.unit() * flash.dies();
    drive.buffer.min((stripe * STRIPES).max(Bytes::mebi(4)))
}

/// Returns the residual whose square is twice the Huber loss.
fn drawn_in(residual: f64) -> f64 {
    let size = residual.abs();
    if size <= HUBER {
        return residual;
    }
    residual.signum() * (HUBER * (2.0 * size - HUBER)).sqrt()
}

#[cfg(test)]
pub(super) mod tests {
    use std::num::NonZeroUsize;

    use lanemark_study::Library;

    use super::*;

    /// Returns an engine for a library drive, without trials.
    pub(in super::super) fn engine(drive: &str) -> TrialSimulator {
        let name = format!("{drive}@workstation-z170:m2");
        let system = lanemark_lab::assemble(&Library::built_in(), &name, &[]).unwrap();
        let base = system.spec.into_spec();
        let parameters = Parameter::list_for(&base.attachments[0].drive);
        let pool = Pool::new(NonZeroUsize::MIN);
        TrialSimulator::new(base, Vec::new(), parameters, 1, pool, CancelFlag::default(), u64::MAX)
    }

    #[test]
    fn priors_cost_the_square_of_each_distance() {
        let engine = engine("samsung-950-pro-512gb");
        assert_eq!(engine.prior_cost(&engine.priors), 0.0);
        for (index, distance) in [(0, PRIOR_SD), (1, -2.0 * PRIOR_SD), (2, 0.5 * PRIOR_SD)] {
            let mut logs = engine.priors.clone();
            logs[index] += distance;
            let wanted = (distance / PRIOR_SD).powi(2);
            assert!((engine.prior_cost(&logs) - wanted).abs() < 1e-9, "{index}: {distance}");
        }
    }

    #[test]
    fn a_cost_is_the_sum_of_all_squares() {
        let engine = engine("samsung-950-pro-512gb");
        assert_eq!(engine.cost_of(&engine.priors, &[]), 0.0);
        assert_eq!(engine.cost_of(&engine.priors, &[1.0, -2.0]), 5.0);
        let mut logs = engine.priors.clone();
        logs[0] += 2.0 * PRIOR_SD;
        assert!((engine.cost_of(&logs, &[1.0, -2.0]) - 9.0).abs() < 1e-9);
        assert!((engine.cost_of(&logs, &[]) - 4.0).abs() < 1e-9);
    }

    #[test]
    fn every_value_is_free_unless_another_value_explains_it() {
        let mut engine = engine("samsung-950-pro-512gb");
        let count = engine.parameters.len();
        assert!(count > 4);
        assert_eq!(engine.free_parameters(), (0..count).collect::<Vec<_>>());
        engine.held = vec![count - 1, 0, 2];
        let free = engine.free_parameters();
        assert_eq!(free.len(), count - 3);
        assert!(free.iter().all(|index| !engine.held.contains(index)) && free.is_sorted());
    }

    #[test]
    fn a_residual_is_drawn_in_to_twice_hubers_loss() {
        for size in [0.0, 0.5, HUBER, HUBER + 1e-9, 3.5, 5.0, 100.0] {
            // The Huber loss is a parabola that continues as its tangent.
            let loss = if size <= HUBER {
                size * size / 2.0
            } else {
                HUBER * HUBER / 2.0 + HUBER * (size - HUBER)
            };
            for residual in [size, -size] {
                let bounded = drawn_in(residual);
                assert!(
                    (bounded * bounded - 2.0 * loss).abs() < 1e-9 * (1.0 + loss),
                    "{residual}: {bounded}"
                );
                assert!(
                    bounded * residual >= 0.0 && bounded.abs() <= size + 1e-12,
                    "{residual}: {bounded}"
                );
            }
        }
    }
}

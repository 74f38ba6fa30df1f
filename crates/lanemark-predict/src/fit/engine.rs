//! The fitted model at work: figures of trials for values of the free parameters, on all cores.
//!
//! Every simulation of a trial draws from the same random stream (common random numbers), so that two sets of values
//! differ by what they do and not by chance. What comes out does not depend on the number of threads.

use std::sync::atomic::{AtomicU64, Ordering};

use lanemark_core::result::FigureKind;
use lanemark_core::rng::StreamKey;
use lanemark_core::sim::run_test_watched;
use lanemark_core::sim::spec::{CheckedSystem, DriveSpec, SystemSpec};
use lanemark_core::units::Bytes;
use lanemark_lab::{Cancel, Pool};

use super::measured::{Trial, figure};
use super::parameter::{PRIOR_SD, Parameter, Shows, flash};
use crate::PredictError;

/// Residual, in standard deviations, from which on it counts by its size and no longer by its square (Huber).
const HUBER: f64 = 3.0;
/// Number of units of every die that a simulated buffer holds.
const STRIPES: u64 = 4;

/// The model with its trials.
pub(super) struct Engine {
    /// The system with the template's values, or those of the geometry that is tried.
    pub(super) base: SystemSpec,
    pub(super) trials: Vec<Trial>,
    pub(super) parameters: Vec<Parameter>,
    /// The middle of each parameter's prior.
    pub(super) priors: Vec<f64>,
    /// Places of parameters that stay at the template's values, because others explain what they would.
    pub(super) held: Vec<usize>,
    seed: u64,
    pool: Pool,
    cancel: Cancel,
    simulations: AtomicU64,
}

/// The model's values for the figures of a trial; none where too little was counted.
pub(super) type Told = Vec<Option<f64>>;

impl Engine {
    pub(super) fn new(
        base: SystemSpec,
        trials: Vec<Trial>,
        parameters: Vec<Parameter>,
        seed: u64,
        (pool, cancel): (Pool, Cancel),
    ) -> Self {
        let fastest = |reads: bool| {
            let those =
                trials.iter().filter(|trial| if reads { trial.reads() } else { trial.writes() });
            those.map(Trial::throughput).fold(1e7, f64::max) / 1e6
        };
        let prior = |parameter: &Parameter| {
            // A limit that the template does not have lies, before anything is known, where it is none.
            let none = || 4.0 * fastest(parameter.shows != Shows::Writes);
            parameter.log(parameter.get(&base.attachments[0].drive).unwrap_or_else(none))
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
        }
    }

    /// Simulations so far.
    pub(super) fn simulations(&self) -> u64 {
        self.simulations.load(Ordering::Relaxed)
    }

    /// The system with the values whose logarithms are `logs`.
    pub(super) fn system(&self, logs: &[f64]) -> SystemSpec {
        let mut system = self.base.clone();
        for (parameter, &log) in self.parameters.iter().zip(logs) {
            parameter.set(&mut system.attachments[0].drive, log);
        }
        system.attachments[0].drive.buffer = enough(&system.attachments[0].drive);
        system
    }

    /// Simulates trials for several systems at once: each job is a system and a trial.
    pub(super) fn tell(
        &self,
        systems: &[SystemSpec],
        jobs: &[(usize, usize)],
    ) -> Result<Vec<Told>, PredictError> {
        let systems = systems.iter().map(|system| system.clone().checked());
        let systems: Vec<CheckedSystem> = systems
            .collect::<Result<_, _>>()
            .map_err(|error| PredictError::Unfit(error.to_string()))?;
        let told = self.pool.map(jobs.len(), |job| {
            let (system, trial) = jobs[job];
            self.simulate(&systems[system], trial)
        });
        told.into_iter().collect()
    }

    /// Simulates one trial. Where it is so much slower than what was measured that nothing ended in time, it has more
    /// time.
    fn simulate(&self, system: &CheckedSystem, trial: usize) -> Result<Told, PredictError> {
        let (index, trial) = (trial as u32, &self.trials[trial]);
        let key = StreamKey { seed: self.seed, test: index, repeat: 0, thread: 0 };
        let mut short = trial.short.clone();
        for _ in 0..4 {
            self.simulations.fetch_add(1, Ordering::Relaxed);
            let unfit = |error| PredictError::Unfit(format!("test `{}`: {error}", short.name));
            let test = short.clone().checked().map_err(unfit)?;
            let go_on = &mut |_: &_| !self.cancel.is_cancelled();
            let sample = run_test_watched(system, &test, key, go_on)
                .map_err(|error| PredictError::Refused { test: trial.test.name.clone(), error })?;
            if sample.operations() >= 20 {
                let kinds = trial.figures.iter().map(|measured| measured.kind);
                return Ok(kinds.map(|kind| figure(&sample, kind)).collect());
            }
            short.duration = short.duration.map(|duration| duration * 8);
        }
        // Not one in so long a time: as slow as that.
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

    /// The residuals of trial `trial` in standard deviations, drawn in where they are far out.
    pub(super) fn residuals(&self, trial: usize, told: &Told) -> Vec<f64> {
        let figures = self.trials[trial].figures.iter().zip(told);
        figures
            .map(|(measured, told)| {
                told.map_or(0.0, |told| drawn_in((told / measured.value).ln() / measured.sd))
            })
            .collect()
    }

    /// The residuals of `trials` at `logs`.
    pub(super) fn residuals_at(
        &self,
        logs: &[f64],
        trials: &[usize],
    ) -> Result<Vec<f64>, PredictError> {
        let jobs: Vec<(usize, usize)> = trials.iter().map(|&trial| (0, trial)).collect();
        let told = self.tell(&[self.system(logs)], &jobs)?;
        Ok(trials
            .iter()
            .zip(&told)
            .flat_map(|(&trial, told)| self.residuals(trial, told))
            .collect())
    }

    /// The sum of squares of the residuals of `trials` and of the priors, at `logs`.
    pub(super) fn cost(&self, logs: &[f64], trials: &[usize]) -> Result<f64, PredictError> {
        let residuals = self.residuals_at(logs, trials)?;
        Ok(residuals.iter().map(|one| one * one).sum::<f64>() + self.prior_cost(logs))
    }

    /// Returns the cost that the priors add.
    pub(super) fn prior_cost(&self, logs: &[f64]) -> f64 {
        let pairs = logs.iter().zip(&self.priors);
        pairs.map(|(log, prior)| ((log - prior) / PRIOR_SD).powi(2)).sum()
    }

    /// The trials of which `wanted` is true.
    pub(super) fn trials_of(&self, wanted: impl Fn(&Trial) -> bool) -> Vec<usize> {
        (0..self.trials.len()).filter(|&trial| wanted(&self.trials[trial])).collect()
    }

    /// The place of a parameter by its name.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.parameters.iter().position(|parameter| parameter.name == name)
    }

    /// Whether a parameter shows in a trial.
    pub(super) fn shows(&self, parameter: usize, trial: usize) -> bool {
        match self.parameters[parameter].shows {
            Shows::Reads => self.trials[trial].reads(),
            Shows::Writes => self.trials[trial].writes(),
            Shows::Both => true,
        }
    }
}

/// Returns the share of a drive's write buffer that keeps its dies busy, in bytes. A measured test runs for so long
/// that the buffer is full for nearly all of it, if it ever is; a short one must fill it in a short time. A disk's is all of
/// it, since the arm chooses among what is in there.
pub(super) fn enough(drive: &DriveSpec) -> Bytes {
    let Some(flash) = flash(drive) else { return drive.buffer };
    let stripe = flash.unit() * flash.dies();
    drive.buffer.min((stripe * STRIPES).max(Bytes::mebi(4)))
}

/// A residual whose square is twice Huber's loss.
fn drawn_in(residual: f64) -> f64 {
    let size = residual.abs();
    if size <= HUBER {
        return residual;
    }
    residual.signum() * (HUBER * (2.0 * size - HUBER)).sqrt()
}

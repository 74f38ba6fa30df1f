//! The Levenberg-Marquardt method over the free parameters, with the crate `levenberg-marquardt`, a port of MINPACK.
//!
//! Each unknown is the logarithm of a parameter minus the middle of its prior, divided by the deviation of the prior.
//! The priors are additional residuals. The Jacobian consists of differences over a few per cent, which is wide enough
//! to make the random error of a short simulation negligible.

use std::cell::RefCell;
use std::collections::BTreeMap;

use levenberg_marquardt::{LeastSquaresProblem, LevenbergMarquardt};
use nalgebra::storage::Owned;
use nalgebra::{DMatrix, DVector, Dyn};

use super::engine::TrialSimulator;
use super::parameter::PRIOR_SD;
use crate::PredictError;

/// The step of the differences during the search, in logarithms.
const STEP: f64 = 0.04;
/// The step of the differences that determine the precision of a value, in logarithms.
const STEP_BOTH: f64 = 0.1;

/// A search over some parameters that compares the model with some trials.
struct ParameterSearch<'e> {
    engine: &'e TrialSimulator,
    /// Logarithms of all parameters; parameters that are not free do not change.
    logs: Vec<f64>,
    free: Vec<usize>,
    trials: Vec<usize>,
    unknowns: DVector<f64>,
    /// The smallest cost so far, with its unknowns. If its budget is used up, a search returns these.
    best: RefCell<Option<(f64, DVector<f64>)>>,
    error: RefCell<Option<PredictError>>,
}

/// The final state of a search.
#[derive(Clone, Debug)]
pub(super) struct SearchResult {
    /// Logarithms of all parameters.
    pub(super) logs: Vec<f64>,
    /// The sum of squares of the figures' residuals and of the priors.
    pub(super) cost: f64,
}

/// Searches from `logs` for the minimum cost of `trials` over the parameters `free`. The number of steps is limited to
/// `patience` per parameter, plus `patience`. The search ends early if the budget of its stage is used up.
pub(super) fn search(
    engine: &TrialSimulator,
    logs: &[f64],
    free: &[usize],
    trials: &[usize],
    patience: usize,
) -> Result<SearchResult, PredictError> {
    if free.is_empty() || engine.budget.is_spent() {
        return Ok(SearchResult { logs: logs.to_vec(), cost: engine.cost(logs, trials)? });
    }
    let unknowns = free.iter().map(|&index| (logs[index] - engine.priors[index]) / PRIOR_SD);
    let problem = ParameterSearch {
        engine,
        logs: logs.to_vec(),
        free: free.to_vec(),
        trials: trials.to_vec(),
        unknowns: DVector::from_iterator(free.len(), unknowns),
        best: Default::default(),
        error: Default::default(),
    };
    let method = LevenbergMarquardt::new()
        .with_ftol(2e-3)
        .with_xtol(2e-3)
        .with_gtol(0.0)
        .with_stepbound(1.0)
        .with_scale_diag(false)
        .with_patience(patience.max(1));
    let (mut ended, _) = method.minimize(problem);
    if let Some(error) = ended.error.take() {
        return Err(error);
    }
    if engine.budget.is_spent()
        && let Some((cost, unknowns)) = ended.best.take()
    {
        ended.unknowns = unknowns;
        return Ok(SearchResult { logs: ended.all(), cost });
    }
    let logs = ended.all();
    let cost = engine.cost(&logs, trials)?;
    Ok(SearchResult { logs, cost })
}

/// Returns the derivatives of the residuals of `trials` with respect to the logarithms of the parameters `free`, one
/// column per parameter.
pub(super) fn jacobian(
    engine: &TrialSimulator,
    logs: &[f64],
    free: &[usize],
    trials: &[usize],
) -> Result<DMatrix<f64>, PredictError> {
    let mut sides = slopes(engine, logs, free, trials, &[STEP])?;
    Ok(sides.swap_remove(0))
}

/// Computes the slopes on the side on which each parameter has the smaller effect. If a limit is hidden by another
/// limit, its parameter has an effect on one side only. The side without an effect shows how uncertain the parameter
/// is. Also returns, for each parameter, the ratio of the larger effect to the smaller one.
pub(super) fn weaker_side(
    engine: &TrialSimulator,
    logs: &[f64],
    free: &[usize],
    trials: &[usize],
) -> Result<(DMatrix<f64>, Vec<f64>), PredictError> {
    let sides = slopes(engine, logs, free, trials, &[STEP_BOTH, -STEP_BOTH])?;
    let mut weaker = sides[0].clone();
    let mut lopsided = Vec::with_capacity(free.len());
    for column in 0..free.len() {
        let [up, down] = [0, 1].map(|side: usize| sides[side].column(column).norm());
        lopsided.push(up.max(down) / up.min(down).max(1e-9));
        if down < up {
            weaker.set_column(column, &sides[1].column(column));
        }
    }
    Ok((weaker, lopsided))
}

/// Returns the slopes, computed with each of `steps`.
fn slopes(
    engine: &TrialSimulator,
    logs: &[f64],
    free: &[usize],
    trials: &[usize],
    steps: &[f64],
) -> Result<Vec<DMatrix<f64>>, PredictError> {
    let mut systems = vec![engine.system(logs)];
    let mut jobs: Vec<(usize, usize)> = trials.iter().map(|&trial| (0, trial)).collect();
    for &unknown in free {
        for step in steps {
            let mut moved = logs.to_vec();
            moved[unknown] += step;
            systems.push(engine.system(&moved));
            let system = systems.len() - 1;
            let visible = trials.iter().filter(|&&trial| engine.shows(unknown, trial));
            jobs.extend(visible.map(|&trial| (system, trial)));
        }
    }
    let modelled = engine.tell(&systems, &jobs)?;
    // For each trial, the number of its first row, and its residuals at this point.
    let mut here: BTreeMap<usize, (usize, Vec<f64>)> = BTreeMap::new();
    let mut rows = 0;
    for (&trial, modelled) in trials.iter().zip(&modelled) {
        let residuals = engine.residuals(trial, modelled);
        let first = rows;
        rows += residuals.len();
        here.insert(trial, (first, residuals));
    }
    let mut matrices = vec![DMatrix::zeros(rows, free.len()); steps.len()];
    for (&(system, trial), modelled) in jobs.iter().zip(&modelled).skip(trials.len()) {
        let column = (system - 1) / steps.len();
        let side = (system - 1) % steps.len();
        let Some((first, before)) = here.get(&trial) else { continue };
        for (index, residual) in engine.residuals(trial, modelled).into_iter().enumerate() {
            matrices[side][(first + index, column)] = (residual - before[index]) / steps[side];
        }
    }
    Ok(matrices)
}

impl ParameterSearch<'_> {
    fn all(&self) -> Vec<f64> {
        let mut logs = self.logs.clone();
        for (&index, unknown) in self.free.iter().zip(self.unknowns.iter()) {
            logs[index] = self.engine.priors[index] + unknown * PRIOR_SD;
        }
        logs
    }

    /// Returns whether the budget is used up and there is a result.
    fn is_over(&self) -> bool {
        self.engine.budget.is_spent() && self.best.borrow().is_some()
    }

    /// Stores the present unknowns if their cost is the smallest so far.
    fn keep_best(&self, cost: f64) {
        let mut best = self.best.borrow_mut();
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            *best = Some((cost, self.unknowns.clone()));
        }
    }

    fn keep_error<T>(&self, outcome: Result<T, PredictError>) -> Option<T> {
        outcome.map_err(|error| *self.error.borrow_mut() = Some(error)).ok()
    }
}

impl LeastSquaresProblem<f64, Dyn, Dyn> for ParameterSearch<'_> {
    type ResidualStorage = Owned<f64, Dyn>;
    type JacobianStorage = Owned<f64, Dyn, Dyn>;
    type ParameterStorage = Owned<f64, Dyn>;

    fn set_params(&mut self, unknowns: &DVector<f64>) {
        self.unknowns.copy_from(unknowns);
    }

    fn params(&self) -> DVector<f64> {
        self.unknowns.clone()
    }

    fn residuals(&self) -> Option<DVector<f64>> {
        if self.is_over() {
            return None;
        }
        let logs = self.all();
        let figures = self.keep_error(self.engine.residuals_at(&logs, &self.trials))?;
        self.keep_best(self.engine.cost_of(&logs, &figures));
        let residuals = figures.into_iter().chain(self.unknowns.iter().copied()).collect();
        Some(DVector::from_vec(residuals))
    }

    fn jacobian(&self) -> Option<DMatrix<f64>> {
        if self.is_over() {
            return None;
        }
        let logs = self.all();
        let figures = self.keep_error(jacobian(self.engine, &logs, &self.free, &self.trials))?;
        let (rows, columns) = figures.shape();
        let mut matrix = DMatrix::zeros(rows + columns, columns);
        matrix.view_mut((0, 0), (rows, columns)).copy_from(&(figures * PRIOR_SD));
        matrix.view_mut((rows, 0), (columns, columns)).fill_with_identity();
        Some(matrix)
    }
}

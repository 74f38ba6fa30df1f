//! The values that the measurements determine, and those that they leave open.
//!
//! The covariance is that of least squares with the priors as observations, `(J'J + 1/s^2)^-1`, with the Jacobian taken
//! over a tenth to the side on which a value shows less (beyond a limit that another one hides it shows not at all), and widened where the residuals scatter more than their weights say (Birge's ratio).
//! A value is left open where its deviation is so large that 95% of it spans a factor of four, where it shows to one side
//! alone, and where it goes up and down with another one. It is then held where the template has it, the rest is fitted again, and only where
//! that contradicts the measurements it stays at the nearest value that does not.

use nalgebra::{DMatrix, DVector};

use super::engine::Engine;
use super::parameter::{COLLECTION, PRIOR_SD};
use super::solve::{Found, jacobian, search, weaker_side};
use crate::PredictError;

/// The deviation from which a value is open, in logarithms.
const OPEN: f64 = 0.35;
/// A value that shows so many times as much to one side as to the other is where another limit begins: the measurements
/// bound it to the one side, and what it shows to the other is little and may be a difference in geometry.
const BOUNDED: f64 = 5.0;
/// The correlation from which two values are one.
const ONE: f64 = 0.95;
/// Greatest loss of fit at which the template's value is as good, as a difference of the sum of squares.
const AS_GOOD: f64 = 3.84;
/// Deviations of a normal distribution on either side that hold 80%.
const SIDES_80: f64 = 1.2816;
/// Loss of fit, as a difference of the sum of squares, that four of five values of such a parameter stay below.
const LIKELY: f64 = SIDES_80 * SIDES_80;
/// Distances from a held value that are tried in either direction, in logarithms. The last is what the prior holds 80% in.
const REACHES: [f64; 5] = [0.08, 0.2, 0.4, 0.7, SIDES_80 * PRIOR_SD];
/// Number of rounds in which values are held and the rest is fitted again.
const ROUNDS: usize = 5;

/// The values with how far they are determined.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub(super) logs: Vec<f64>,
    pub(super) standings: Vec<Told>,
    /// How far each value may lie below and above where it is, in logarithms, in four of five cases.
    pub(super) reaches: Vec<[f64; 2]>,
    /// Ratio of the residuals' scatter to that of their weights.
    pub(super) scatter: f64,
}

/// The determination of one value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Told {
    /// The value is determined, with the standard deviation of its logarithm.
    Identified(f64),
    /// The value is held, at the template's value or not, maybe for its correlation with another one.
    Held { at_template: bool, with: Option<usize> },
}

/// The deviations and correlations of the free values.
struct Covariance {
    deviations: Vec<f64>,
    correlations: DMatrix<f64>,
    /// How many times as much each value shows to one side as to the other.
    lopsided: Vec<f64>,
    scatter: f64,
}

/// Tells the identified values from the others, from `found` on.
pub(super) fn identify(
    engine: &Engine,
    found: Found,
    trials: &[usize],
) -> Result<Known, PredictError> {
    let count = engine.parameters.len();
    let mut held: Vec<Option<Told>> = vec![None; count];
    for &place in &engine.held {
        held[place] = Some(Told::Held { at_template: true, with: engine.place(COLLECTION.name) });
    }
    let mut found = found;
    let mut round = 0;
    loop {
        let free: Vec<usize> = (0..count).filter(|&place| held[place].is_none()).collect();
        let covariance = covariance(engine, &found.logs, &free, trials)?;
        let open = covariance.open();
        if open.is_empty() || round == ROUNDS {
            let at = |place| free.iter().position(|&one| one == place);
            // What is still open after the last round is not known for that.
            let still_open = |at: usize| open.iter().find(|(one, _)| *one == at);
            let told = |place: usize| match (held[place], at(place)) {
                (None, Some(at)) if still_open(at).is_some() => {
                    let with = still_open(at).and_then(|(_, with)| *with).map(|with| free[with]);
                    Told::Held { at_template: false, with }
                }
                (None, Some(at)) => Told::Identified(covariance.deviations[at]),
                (held, _) => held.unwrap_or(Told::Held { at_template: true, with: None }),
            };
            let standings: Vec<Told> = (0..count).map(told).collect();
            let (logs, scatter) = (found.logs, covariance.scatter);
            let reaches = reaches(engine, &logs, &standings, trials, scatter)?;
            return Ok(Known { logs, standings, reaches, scatter });
        }
        round += 1;
        let open: Vec<(usize, Option<usize>)> =
            open.into_iter().map(|(at, with)| (free[at], with.map(|with| free[with]))).collect();
        let places: Vec<usize> = open.iter().map(|&(place, _)| place).collect();
        let all = at_template(engine, &mut found, &free, &places, trials)?;
        for (place, with) in open {
            // Where the template's values together contradict what was measured, some alone may not.
            let at_template = all
                || places.len() > 1 && at_template(engine, &mut found, &free, &[place], trials)?;
            held[place] = Some(Told::Held { at_template, with });
        }
    }
}

/// Returns how far each value may lie from where it is before the measurements contradict it.
///
/// Of an identified value the deviation tells. A held one is moved, the others make up for what they can (to first order),
/// and the farthest place up to which the fit is nearly as good is its reach: short on the side on which the measurements
/// bound it, and at most the prior's.
fn reaches(
    engine: &Engine,
    logs: &[f64],
    standings: &[Told],
    trials: &[usize],
    scatter: f64,
) -> Result<Vec<[f64; 2]>, PredictError> {
    let here = DVector::from_vec(engine.residuals_at(logs, trials)?);
    let all: Vec<usize> = (0..logs.len()).collect();
    let slopes = jacobian(engine, logs, &all, trials)?;
    let mut reaches = Vec::with_capacity(logs.len());
    for (place, told) in standings.iter().enumerate() {
        if let Told::Identified(deviation) = told {
            reaches.push([SIDES_80 * deviation; 2]);
            continue;
        }
        let others = slopes.clone().remove_column(place);
        let most = made_up(&others, &here) + LIKELY * scatter.max(1.0).powi(2);
        let mut sides = [0.0; 2];
        for (side, sign) in sides.iter_mut().zip([-1.0, 1.0]) {
            for reach in REACHES {
                let mut moved = logs.to_vec();
                moved[place] += sign * reach;
                let residuals = DVector::from_vec(engine.residuals_at(&moved, trials)?);
                if made_up(&others, &residuals) > most {
                    break;
                }
                *side = reach;
            }
        }
        reaches.push(sides);
    }
    Ok(reaches)
}

/// Returns the sum of squares of `residuals` when values with these slopes, and priors, have made up for what they can.
fn made_up(slopes: &DMatrix<f64>, residuals: &DVector<f64>) -> f64 {
    let mut information = slopes.transpose() * slopes;
    for at in 0..slopes.ncols() {
        information[(at, at)] += 1.0 / (PRIOR_SD * PRIOR_SD);
    }
    let against = slopes.transpose() * residuals;
    let saved = information.cholesky().map_or(0.0, |root| against.dot(&root.solve(&against)));
    residuals.norm_squared() - saved
}

/// Gives the values `places` the template's, and fits the rest of `free` again, where that is as good.
fn at_template(
    engine: &Engine,
    found: &mut Found,
    free: &[usize],
    places: &[usize],
    trials: &[usize],
) -> Result<bool, PredictError> {
    let rest: Vec<usize> = free.iter().copied().filter(|place| !places.contains(place)).collect();
    let mut logs = found.logs.clone();
    places.iter().for_each(|&place| logs[place] = engine.priors[place]);
    let kept = search(engine, &logs, &rest, trials, 1)?;
    let good = kept.cost <= found.cost + AS_GOOD;
    if good {
        *found = kept;
    }
    Ok(good)
}

impl Covariance {
    /// The places, among the free, of the values that are open, with what each goes with. Of two that are one it is
    /// the less certain; one such pair at a time, since the others may be apart then.
    fn open(&self) -> Vec<(usize, Option<usize>)> {
        let wide = |&at: &usize| self.deviations[at] > OPEN || self.lopsided[at] > BOUNDED;
        let wide: Vec<_> = (0..self.deviations.len()).filter(wide).collect();
        if !wide.is_empty() {
            return wide.into_iter().map(|at| (at, self.goes_with(at))).collect();
        }
        let pairs = (0..self.deviations.len()).filter_map(|at| Some((at, self.goes_with(at)?)));
        let worst =
            pairs.max_by(|one, other| self.deviations[one.0].total_cmp(&self.deviations[other.0]));
        worst.map(|(at, with)| vec![(at, Some(with))]).unwrap_or_default()
    }

    fn goes_with(&self, at: usize) -> Option<usize> {
        let others = (0..self.deviations.len()).filter(|&other| other != at);
        let size = |other: usize| self.correlations[(at, other)].abs();
        others.filter(|&other| size(other) > ONE).max_by(|a, b| size(*a).total_cmp(&size(*b)))
    }
}

fn covariance(
    engine: &Engine,
    logs: &[f64],
    free: &[usize],
    trials: &[usize],
) -> Result<Covariance, PredictError> {
    let (slopes, lopsided) = weaker_side(engine, logs, free, trials)?;
    let mut information = slopes.transpose() * &slopes;
    for at in 0..free.len() {
        information[(at, at)] += 1.0 / (PRIOR_SD * PRIOR_SD);
    }
    let covariance = information
        .cholesky()
        .map_or_else(|| DMatrix::identity(free.len(), free.len()), |root| root.inverse());
    let residuals = engine.residuals_at(logs, trials)?;
    let beyond = residuals.len().saturating_sub(free.len()).max(1) as f64;
    let squares: f64 = residuals.iter().map(|one| one * one).sum();
    let scatter = (squares / beyond).sqrt();
    let roots: Vec<f64> =
        (0..free.len()).map(|at| covariance[(at, at)].max(1e-12).sqrt()).collect();
    let correlations = DMatrix::from_fn(free.len(), free.len(), |one, other| {
        covariance[(one, other)] / roots[one] / roots[other]
    });
    let deviations = roots.iter().map(|root| (root * scatter.max(1.0)).min(PRIOR_SD)).collect();
    Ok(Covariance { deviations, correlations, lopsided, scatter })
}

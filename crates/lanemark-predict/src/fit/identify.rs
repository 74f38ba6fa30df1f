//! Separates the values that the measurements determine from the values that they leave open.
//!
//! The covariance is `(J'J + 1/s^2)^-1`, from least squares with the priors as observations. The Jacobian consists of
//! differences over a tenth, on the side on which a value has the smaller effect, because a value does not have an
//! effect beyond a limit that another value hides. The covariance is widened if the residuals scatter more than their
//! weights state (Birge's ratio, with Student's factor).
//!
//! A value is left open if its deviation is so large that its 95% interval spans a factor of four, if it has an effect
//! on one side only, or if it correlates with another value. An open value is fixed at the template's value, and the
//! other values are fitted again. If the template's value contradicts the measurements, the value is instead fixed at
//! the nearest value that does not.

use lanemark_schema::result::student_95;
use nalgebra::{DMatrix, DVector};

use super::budget::FitStage;
use super::engine::TrialSimulator;
use super::parameter::{COLLECTION, PRIOR_SD};
use super::solve::{SearchResult, jacobian, search, weaker_side};
use crate::PredictError;

/// The standard deviation of a logarithm above which a value is open.
const OPEN: f64 = 0.35;
/// The ratio between the effects of a value on its two sides above which the value is open. A value with a larger ratio
/// is near the onset of another limit: the measurements bound it on one side, and its small effect on the other side
/// may be caused by a difference in geometry.
const BOUNDED: f64 = 5.0;
/// The correlation above which two values cannot be separated.
const ONE: f64 = 0.95;
/// The maximum increase in the sum of squares for which the template's value counts as equally good.
const AS_GOOD: f64 = 3.84;
/// The number of standard deviations on both sides of a normal distribution that contain 95%.
pub(super) const SIDES_95: f64 = 1.96;
/// The number of standard deviations on both sides of a normal distribution that contain 80%.
const SIDES_80: f64 = 1.2816;
/// The maximum increase in the sum of squares for 80% of a parameter's possible values.
const LIKELY: f64 = SIDES_80 * SIDES_80;
/// Distances from a fixed value that are tried in both directions, in logarithms. The last distance contains 80% of the
/// prior.
const REACHES: [f64; 5] = [0.08, 0.2, 0.4, 0.7, SIDES_80 * PRIOR_SD];
/// The number of rounds in which open values are fixed and the other values are fitted again.
const ROUNDS: usize = 5;

/// The fitted values, each with its precision.
#[derive(Clone, Debug)]
pub(super) struct FittedValues {
    pub(super) logs: Vec<f64>,
    pub(super) standings: Vec<ValueDetermination>,
    /// The distances below and above the estimate of each value, in logarithms, that contain 80% of the cases.
    pub(super) reaches: Vec<[f64; 2]>,
    /// The ratio of the observed scatter of the residuals to the scatter that their weights state.
    pub(super) scatter: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum ValueDetermination {
    /// The value is determined, with this standard deviation of its logarithm.
    Identified(f64),
    /// The value is fixed, either at the template's value or at another value. The cause may be a correlation with
    /// another value.
    Held { at_template: bool, with: Option<usize> },
}

/// The standard deviations and correlations of the free values.
struct Covariance {
    deviations: Vec<f64>,
    correlations: DMatrix<f64>,
    /// The ratio between the effects of each value on its two sides.
    lopsided: Vec<f64>,
    scatter: f64,
}

/// Separates the identified values from the other values, starting from `found`.
pub(super) fn identify(
    engine: &mut TrialSimulator,
    search_result: SearchResult,
    trials: &[usize],
) -> Result<FittedValues, PredictError> {
    engine.budget.begin(FitStage::Identify);
    let count = engine.parameters.len();
    let mut held: Vec<Option<ValueDetermination>> = vec![None; count];
    for &index in &engine.held {
        let at_template = search_result.logs[index] == engine.priors[index];
        held[index] =
            Some(ValueDetermination::Held { at_template, with: engine.index_of(COLLECTION.name) });
    }
    let mut search_result = search_result;
    let mut round = 0;
    loop {
        let free: Vec<usize> = (0..count).filter(|&index| held[index].is_none()).collect();
        let covariance = covariance(engine, &search_result.logs, &free, trials)?;
        let open = covariance.open_values();
        if open.is_empty() || round == ROUNDS || engine.budget.is_spent() {
            let at = |index| free.iter().position(|&one| one == index);
            // A value that is still open after the last round is not determined.
            let still_open = |at: usize| open.iter().find(|(one, _)| *one == at);
            let determination = |index: usize| match (held[index], at(index)) {
                (None, Some(at)) if still_open(at).is_some() => {
                    let with = still_open(at).and_then(|(_, with)| *with).map(|with| free[with]);
                    ValueDetermination::Held { at_template: false, with }
                }
                (None, Some(at)) => ValueDetermination::Identified(covariance.deviations[at]),
                (held, _) => {
                    held.unwrap_or(ValueDetermination::Held { at_template: true, with: None })
                }
            };
            let standings: Vec<ValueDetermination> = (0..count).map(determination).collect();
            let logs = search_result.logs;
            let scatter = covariance.scatter;
            engine.budget.begin(FitStage::Ranges);
            let reaches = reaches(engine, &logs, &standings, trials, scatter)?;
            return Ok(FittedValues { logs, standings, reaches, scatter });
        }
        round += 1;
        let open: Vec<(usize, Option<usize>)> =
            open.into_iter().map(|(at, with)| (free[at], with.map(|with| free[with]))).collect();
        let indices: Vec<usize> = open.iter().map(|&(index, _)| index).collect();
        let all = at_template(engine, &mut search_result, &free, &indices, trials)?;
        for (index, with) in open {
            // All template values together may contradict the measurements even though some of them do not.
            let at_template = all
                || indices.len() > 1
                    && at_template(engine, &mut search_result, &free, &[index], trials)?;
            held[index] = Some(ValueDetermination::Held { at_template, with });
        }
    }
}

/// Returns, for each value, the distance from its estimate at which the measurements begin to contradict it.
///
/// The distance of an identified value is computed from its standard deviation. A fixed value is moved, and the other
/// values compensate for this to first order. Its distance is the farthest point up to which the fit is nearly as good.
/// The distance is short on a side on which the measurements bound the value, and never exceeds the distance of the
/// prior.
fn reaches(
    engine: &TrialSimulator,
    logs: &[f64],
    standings: &[ValueDetermination],
    trials: &[usize],
    scatter: f64,
) -> Result<Vec<[f64; 2]>, PredictError> {
    let here = DVector::from_vec(engine.residuals_at(logs, trials)?);
    let all: Vec<usize> = (0..logs.len()).collect();
    let slopes = jacobian(engine, logs, &all, trials)?;
    let mut reaches = Vec::with_capacity(logs.len());
    for (index, determination) in standings.iter().enumerate() {
        if let ValueDetermination::Identified(deviation) = determination {
            reaches.push([SIDES_80 * deviation; 2]);
            continue;
        }
        if engine.budget.is_spent() {
            // A range that was not examined is the range of the prior.
            reaches.push([REACHES[REACHES.len() - 1]; 2]);
            continue;
        }
        let others = slopes.clone().remove_column(index);
        let most = made_up(&others, &here) + LIKELY * scatter.max(1.0).powi(2);
        let mut sides = [0.0; 2];
        for (side, sign) in sides.iter_mut().zip([-1.0, 1.0]) {
            for reach in REACHES {
                let mut moved = logs.to_vec();
                moved[index] += sign * reach;
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

/// Returns the sum of squares of `residuals` and of the priors after values with these slopes have compensated for
/// them.
fn made_up(slopes: &DMatrix<f64>, residuals: &DVector<f64>) -> f64 {
    let mut information = slopes.transpose() * slopes;
    for at in 0..slopes.ncols() {
        information[(at, at)] += 1.0 / (PRIOR_SD * PRIOR_SD);
    }
    let against = slopes.transpose() * residuals;
    let saved = information.cholesky().map_or(0.0, |root| against.dot(&root.solve(&against)));
    residuals.norm_squared() - saved
}

/// Sets the values at `indices` to the template's values, and fits the rest of `free` again. Keeps the result if the
/// fit is as good.
fn at_template(
    engine: &TrialSimulator,
    search_result: &mut SearchResult,
    free: &[usize],
    indices: &[usize],
    trials: &[usize],
) -> Result<bool, PredictError> {
    let rest: Vec<usize> = free.iter().copied().filter(|index| !indices.contains(index)).collect();
    let mut logs = search_result.logs.clone();
    indices.iter().for_each(|&index| logs[index] = engine.priors[index]);
    let search_with_kept = search(engine, &logs, &rest, trials, 1)?;
    let good = search_with_kept.cost <= search_result.cost + AS_GOOD;
    if good {
        *search_result = search_with_kept;
    }
    Ok(good)
}

impl Covariance {
    /// Computes the covariance at the minimum sum of squares, from the `slopes` of the weighted `residuals` and from
    /// the priors.
    fn compute(slopes: &DMatrix<f64>, residuals: &[f64], lopsided: Vec<f64>) -> Self {
        let free = slopes.ncols();
        let mut information = slopes.transpose() * slopes;
        for at in 0..free {
            information[(at, at)] += 1.0 / (PRIOR_SD * PRIOR_SD);
        }
        let covariance = information
            .cholesky()
            .map_or_else(|| DMatrix::identity(free, free), |root| root.inverse());
        let freedom = residuals.len().saturating_sub(free).max(1);
        let squares: f64 = residuals.iter().map(|residual| residual * residual).sum();
        let scatter = (squares / freedom as f64).sqrt();
        // A scatter that is estimated from few residuals is itself uncertain.
        let wider = if scatter > 1.0 { scatter * student_95(freedom) / SIDES_95 } else { 1.0 };
        let roots: Vec<f64> = (0..free).map(|at| covariance[(at, at)].max(1e-12).sqrt()).collect();
        let correlations = DMatrix::from_fn(free, free, |one, other| {
            covariance[(one, other)] / roots[one] / roots[other]
        });
        let deviations = roots.iter().map(|root| (root * wider).min(PRIOR_SD)).collect();
        Self { deviations, correlations, lopsided, scatter }
    }

    /// Returns the indices of the open values among the free values, each with the value with which it correlates. If
    /// two values cannot be separated, the less certain value is open. Only one pair is reported, because fixing one
    /// value may separate other pairs.
    fn open_values(&self) -> Vec<(usize, Option<usize>)> {
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
    engine: &TrialSimulator,
    logs: &[f64],
    free: &[usize],
    trials: &[usize],
) -> Result<Covariance, PredictError> {
    let (slopes, lopsided) = weaker_side(engine, logs, free, trials)?;
    let residuals = engine.residuals_at(logs, trials)?;
    Ok(Covariance::compute(&slopes, &residuals, lopsided))
}

#[cfg(test)]
mod tests {
    use lanemark_schema::rng::{Rng, StreamKey};

    use super::*;

    /// Returns the shares of intervals that are completely above and completely below the true values. The figures are
    /// linear in three values, and `noise` times as uncertain as their weights state.
    fn missed(figures: usize, noise: f64) -> [f64; 2] {
        const FITS: u32 = 3000;
        let mut rng = Rng::new(StreamKey::from_seed(figures as u64));
        let mut missed = [0, 0];
        for _ in 0..FITS {
            let slopes = DMatrix::from_fn(figures, 3, |_, _| 8.0 * rng.normal());
            let measured = DVector::from_fn(figures, |_, _| noise * rng.normal());
            // The true values are zero, and so are the middles of the priors.
            let information = slopes.transpose() * &slopes;
            let found = information.cholesky().unwrap().solve(&(slopes.transpose() * &measured));
            let residuals = &measured - &slopes * &found;
            let known = Covariance::compute(&slopes, residuals.as_slice(), vec![1.0; 3]);
            for (value, deviation) in found.iter().zip(&known.deviations) {
                missed[0] += u32::from(value - SIDES_95 * deviation > 0.0);
                missed[1] += u32::from(value + SIDES_95 * deviation < 0.0);
            }
        }
        missed.map(|missed| f64::from(missed) / f64::from(3 * FITS))
    }

    #[test]
    fn intervals_of_fitted_values_hold_the_truth_in_ninety_five_of_a_hundred_cases() {
        // Residuals scatter three times as much as their weights state, for few and for many figures; in the last case
        // they scatter as stated.
        for (figures, noise) in [(8, 3.0), (20, 3.0), (80, 3.0), (80, 1.0)] {
            let [above, below] = missed(figures, noise);
            let held = 1.0 - above - below;
            assert!((0.93..=0.97).contains(&held), "{figures} figures, {noise}: {held}");
            for end in [above, below] {
                assert!((0.015..=0.035).contains(&end), "{figures} figures, {noise}: {end}");
            }
        }
    }

    #[test]
    fn intervals_are_not_narrowed_by_residuals_that_happen_to_be_small() {
        let slopes = DMatrix::from_element(16, 1, 10.0);
        let of = |residual: f64| Covariance::compute(&slopes, &[residual; 16], vec![1.0]);
        // The information is 16 x 100, plus the information of the prior.
        let least = (1600.0 + PRIOR_SD.powi(-2)).sqrt().recip();
        assert!((of(0.1).deviations[0] / least - 1.0).abs() < 1e-9);
        assert!((of(0.9).deviations[0] / least - 1.0).abs() < 1e-9);
        // 16 residuals of 2 have 15 degrees of freedom.
        let scatter = (64.0f64 / 15.0).sqrt();
        assert!((of(2.0).scatter / scatter - 1.0).abs() < 1e-9);
        let wider = scatter * student_95(15) / SIDES_95;
        assert!((of(2.0).deviations[0] / least / wider - 1.0).abs() < 1e-9);
        // A value that has hardly any effect is as certain as its prior.
        let hardly = Covariance::compute(&DMatrix::from_element(4, 1, 1e-6), &[9.0; 4], vec![1.0]);
        assert_eq!(hardly.deviations, [PRIOR_SD]);
    }

    #[test]
    fn a_value_makes_up_for_residuals_as_far_as_its_prior_permits() {
        let residuals = DVector::from_vec(vec![3.0, 4.0]);
        let made_up = |slopes: &[f64]| {
            made_up(&DMatrix::from_column_slice(2, slopes.len() / 2, slopes), &residuals)
        };
        // The minimum over `x` of `|r - s x|^2 + (x / PRIOR_SD)^2` is `|r|^2 - (s r)^2 / (s^2 + 1 / PRIOR_SD^2)`.
        let prior = PRIOR_SD.powi(-2);
        for (slopes, wanted) in [
            (&[0.0, 0.0][..], 25.0),
            // The slopes are orthogonal to the residuals.
            (&[4.0, -3.0], 25.0),
            (&[0.3, 0.4], 25.0 - 2.5 * 2.5 / (0.25 + prior)),
            (&[3.0, 0.0], 25.0 - 81.0 / (9.0 + prior)),
            (&[3.0, 0.0, 0.0, 2.0], 25.0 - 81.0 / (9.0 + prior) - 64.0 / (4.0 + prior)),
        ] {
            let found = made_up(slopes);
            assert!((found - wanted).abs() < 1e-9, "{slopes:?}: {found}, expected {wanted}");
        }
    }

    #[test]
    fn values_that_go_together_are_open() {
        // The second value has the same effect as the first value, and the third value is independent.
        let together = |similar: f64| {
            let slopes = DMatrix::from_fn(12, 3, |row, column| match (column, row % 3) {
                (0, 0 | 1) | (1, 0) | (2, 2) => 20.0,
                (1, 1) => 20.0 * similar,
                _ => 0.0,
            });
            Covariance::compute(&slopes, &[0.5; 12], vec![1.0; 3])
        };
        assert_eq!(together(-1.0).open_values(), []);
        let open = together(0.7).open_values();
        assert!(matches!(open[..], [(0, Some(1)) | (1, Some(0))]), "{open:?}");
        let mut bounded = together(-1.0);
        bounded.lopsided[2] = BOUNDED;
        assert_eq!(bounded.open_values(), []);
        bounded.lopsided[2] = BOUNDED * 1.01;
        assert_eq!(bounded.open_values(), [(2, None)]);
        bounded.lopsided[2] = 1.0;
        bounded.deviations[0] = OPEN;
        assert_eq!(bounded.open_values(), []);
        bounded.deviations[0] = OPEN * 1.01;
        assert_eq!(bounded.open_values(), [(0, None)]);
    }
}

//! Computes scores over many rows: errors of the model and of both rules, bias, shares and coverage.

use std::cmp::Ordering;

use crate::prediction::PredictedMeasurement;

/// Logarithm of the ratio up to which the predictions of the model and the rule of thumb count as equal.
const TIE: f64 = 0.01;

/// Errors of predictions, each with the same weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PredictionErrors {
    /// Median of the relative errors in percent. For an even number of errors, it is the upper of the two middle
    /// values.
    pub median_percent: f64,
    /// Mean of the relative errors in percent.
    pub mean_percent: f64,
    /// Geometric mean of the factors between prediction and measurement; each factor is 1 or more.
    pub factor: f64,
}

/// The figures in a row of a table. Percentages refer to the rows of its class.
#[derive(Clone, Debug, PartialEq)]
pub struct Score {
    pub rows: usize,
    pub model: PredictionErrors,
    /// Errors of the rule of thumb.
    pub rule: PredictionErrors,
    /// Errors of the minimum of the link's rate and the rated figure.
    pub limits: PredictionErrors,
    /// Share of rows for which the model is nearer to the measurement than the rule of thumb.
    pub nearer_percent: f64,
    /// Share of rows for which the two predictions are equal within 1%.
    pub tied_percent: f64,
    /// Share of rows for which the rule of thumb is nearer to the measurement than the model.
    pub rule_nearer_percent: f64,
    /// Share of the rows with an interval whose measurement is in the 80% interval.
    pub coverage_percent: Option<f64>,
    /// Geometric mean of the ratios of prediction to measurement: above 1 if the model predicts figures that are too
    /// high.
    pub bias: Option<f64>,
    /// Median width of the intervals: the upper bound divided by the lower bound.
    pub width: Option<f64>,
}

/// Whether the model or the rule of thumb is nearer to a published figure. Each row has exactly one result, so the
/// shares add up to 100%.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nearness {
    /// The model is nearer.
    Nearer,
    /// The two predictions are equal within 1%, because the same rating or link determines them.
    Tied,
    /// The rule of thumb is nearer.
    RuleNearer,
}

impl PredictionErrors {
    /// Returns the errors of pairs of a prediction and a measurement.
    pub fn from_pairs(pairs: &[(f64, f64)]) -> Self {
        let errors = pairs.iter().map(|(predicted, measured)| (predicted / measured - 1.0).abs());
        let (median, mean) = median_and_mean(errors.collect());
        let logs: f64 = pairs.iter().map(|(one, two)| (one.max(1e-9) / two).ln().abs()).sum();
        Self {
            median_percent: 100.0 * median,
            mean_percent: 100.0 * mean,
            factor: (logs / pairs.len().max(1) as f64).exp(),
        }
    }
}

impl Nearness {
    /// Compares the two predictions for a row.
    pub fn compare(comparison: &PredictedMeasurement) -> Self {
        let off = |value: f64| (value.max(1e-9) / comparison.published).ln().abs();
        let apart = (comparison.predicted.max(1e-9) / comparison.rule).ln().abs();
        match off(comparison.predicted).total_cmp(&off(comparison.rule)) {
            _ if apart < TIE => Self::Tied,
            Ordering::Less => Self::Nearer,
            _ => Self::RuleNearer,
        }
    }
}

impl Score {
    pub fn from_rows(rows: &[&PredictedMeasurement]) -> Self {
        let errors = |of: fn(&PredictedMeasurement) -> f64| {
            let pairs: Vec<(f64, f64)> =
                rows.iter().map(|comparison| (of(comparison), comparison.published)).collect();
            PredictionErrors::from_pairs(&pairs)
        };
        let standing = |wanted: Nearness| {
            percent(
                rows.iter().filter(|comparison| Nearness::compare(comparison) == wanted).count(),
                rows.len(),
            )
        };
        let covered: Vec<bool> =
            rows.iter().filter_map(|comparison| comparison.is_covered()).collect();
        let inside = covered.iter().filter(|inside| **inside).count();
        let ends = rows.iter().filter_map(|comparison| comparison.interval.as_ref());
        let widths: Vec<f64> = ends.map(|ends| ends.high / ends.low).collect();
        let logs = rows
            .iter()
            .map(|comparison| (comparison.predicted.max(1e-9) / comparison.published).ln());
        Self {
            rows: rows.len(),
            model: errors(|comparison| comparison.predicted),
            rule: errors(|comparison| comparison.rule),
            limits: errors(|comparison| comparison.limits),
            nearer_percent: standing(Nearness::Nearer),
            tied_percent: standing(Nearness::Tied),
            rule_nearer_percent: standing(Nearness::RuleNearer),
            coverage_percent: (!covered.is_empty()).then(|| percent(inside, covered.len())),
            bias: (!rows.is_empty()).then(|| (logs.sum::<f64>() / rows.len() as f64).exp()),
            width: (!widths.is_empty()).then(|| median_and_mean(widths).0),
        }
    }
}

/// Returns the median and the mean, which are 0 if there are no values. For an even number of values, the median is the
/// upper of the two middle values.
pub(crate) fn median_and_mean(mut values: Vec<f64>) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let mean = values.iter().sum::<f64>() / values.len().max(1) as f64;
    (values.get(values.len() / 2).copied().unwrap_or(0.0), mean)
}

/// Returns the median and the mean of values with weights, which are 0 if there are no values.
pub(crate) fn weighted(mut values: Vec<(f64, f64)>) -> (f64, f64) {
    values.sort_by(|one, two| one.0.total_cmp(&two.0));
    let all: f64 = values.iter().map(|(_, weight)| weight).sum();
    let mean = values.iter().map(|(value, weight)| value * weight).sum::<f64>();
    let mut below = 0.0;
    let median = values.iter().find(|(_, weight)| {
        below += weight;
        below > all / 2.0
    });
    (median.map_or(0.0, |(value, _)| *value), mean / all.max(f64::MIN_POSITIVE))
}

/// Returns `count` as a percentage of `all`, or 0 if `all` is 0.
pub(crate) fn percent(count: usize, all: usize) -> f64 {
    100.0 * count as f64 / all.max(1) as f64
}

//! A figure from several repeats, with its spread and its confidence interval.
//!
//! `interval` documents how the intervals are computed.

mod interval;
mod paired;

pub(super) use interval::SIDES_95;
pub use interval::{SIDES_80, student, student_95};

use serde::{Deserialize, Serialize};

use crate::workload::AverageMethod;

/// A figure averaged over repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statistic {
    /// The mean or the median, as the workload selects.
    pub value: f64,
    /// The minimum of the repeats.
    pub min: f64,
    /// The maximum of the repeats.
    pub max: f64,
    /// The sample standard deviation, if there are two or more repeats.
    pub deviation: Option<f64>,
    /// Number of repeats.
    pub count: u32,
    /// 95% confidence interval of the figure, if there are enough repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_95: Option<(f64, f64)>,
}

impl Statistic {
    /// Returns the figure of `values`; all fields are zero if there are no values.
    pub fn from_values(values: &[f64], average: AverageMethod) -> Self {
        if values.is_empty() {
            return Self::default();
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let deviation = (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt());
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Self {
            value: figure(&sorted, average),
            min: sorted[0],
            max: sorted[sorted.len() - 1],
            deviation,
            count: values.len() as u32,
            interval_95: interval::interval(&sorted, average, deviation.unwrap_or_default()),
        }
    }

    /// Returns the figure of one simulated repeat with a known 95% confidence interval. `half_width` is half the width
    /// of the interval, as a share of the value.
    #[must_use]
    pub fn with_half_width(self, half_width: f64) -> Self {
        let min = self.value * (1.0 - half_width);
        let max = self.value * (1.0 + half_width);
        Self { min, max, interval_95: Some((min, max)), ..self }
    }

    /// Returns whether the figure has a range, from several repeats or from the interval of one simulated repeat.
    pub fn has_range(&self) -> bool {
        self.count > 1 || self.count > 0 && self.interval_95.is_some()
    }

    /// Returns half the range divided by the value: the spread that is usually written as `± 3%`.
    pub fn spread(&self) -> f64 {
        if self.value == 0.0 { 0.0 } else { (self.max - self.min) / 2.0 / self.value }
    }

    /// Returns the minimum and maximum ratio of a repeat of this figure to a repeat of `base`.
    pub fn ratio_range(&self, base: &Self) -> (f64, f64) {
        (self.min / base.max, self.max / base.min)
    }
}

/// Returns the mean or median of `sorted` values, which must not be empty.
fn figure(sorted: &[f64], average: AverageMethod) -> f64 {
    let middle = sorted.len() / 2;
    match average {
        AverageMethod::Mean => sorted.iter().sum::<f64>() / sorted.len() as f64,
        AverageMethod::Median if sorted.len().is_multiple_of(2) => {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        }
        AverageMethod::Median => sorted[middle],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_median_differ_where_one_repeat_is_off() {
        let values = [10.0, 11.0, 30.0];
        assert_eq!(Statistic::from_values(&values, AverageMethod::Median).value, 11.0);
        assert_eq!(Statistic::from_values(&values, AverageMethod::Mean).value, 17.0);
        assert_eq!(Statistic::from_values(&values[..2], AverageMethod::Median).value, 10.5);
    }

    #[test]
    fn one_repeat_lacks_a_deviation() {
        let statistic = Statistic::from_values(&[5.0], AverageMethod::Mean);
        assert_eq!((statistic.deviation, statistic.spread()), (None, 0.0));
    }

    #[test]
    fn the_deviation_divides_by_degrees_of_freedom() {
        // The sum of squares is 9 + 1 + 1 + 9, with three degrees of freedom.
        let statistic = Statistic::from_values(&[2.0, 4.0, 6.0, 8.0], AverageMethod::Mean);
        assert!((statistic.deviation.unwrap() - (20.0f64 / 3.0).sqrt()).abs() < 1e-12);
        assert_eq!(Statistic::from_values(&[3.0; 4], AverageMethod::Mean).deviation, Some(0.0));
    }

    #[test]
    fn a_ratio_ranges_over_all_pairs_of_repeats() {
        let base = Statistic::from_values(&[8.0, 10.0], AverageMethod::Mean);
        let faster = Statistic::from_values(&[20.0, 24.0], AverageMethod::Mean);
        assert_eq!(faster.ratio_range(&base), (2.0, 3.0));
    }
}

//! One figure from several repeats, with its spread.

use serde::{Deserialize, Serialize};

use crate::workload::Average;

/// A figure averaged over repeats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statistic {
    /// The mean or the median, as the workload asks.
    pub value: f64,
    /// The least of the repeats.
    pub min: f64,
    /// The greatest of the repeats.
    pub max: f64,
    /// The sample standard deviation, where there are at least two repeats.
    pub deviation: Option<f64>,
    /// How many repeats.
    pub count: u32,
}

impl Statistic {
    /// The figure of `values`; all zero for none.
    pub fn of(values: &[f64], average: Average) -> Self {
        if values.is_empty() {
            return Self::default();
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = sorted.len() / 2;
        let median = match sorted.len() % 2 {
            0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
            _ => sorted[middle],
        };
        Self {
            value: match average {
                Average::Mean => mean,
                Average::Median => median,
            },
            min: sorted[0],
            max: sorted[sorted.len() - 1],
            deviation: (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt()),
            count: values.len() as u32,
        }
    }

    /// Half the range over the value: the spread as people write it, `± 3%`.
    pub fn spread(&self) -> f64 {
        if self.value == 0.0 { 0.0 } else { (self.max - self.min) / 2.0 / self.value }
    }

    /// The least and greatest ratio of a repeat here to a repeat there.
    pub fn ratio_range(&self, base: &Self) -> (f64, f64) {
        (self.min / base.max, self.max / base.min)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_and_median_differ_where_one_repeat_is_off() {
        let values = [10.0, 11.0, 30.0];
        assert_eq!(Statistic::of(&values, Average::Median).value, 11.0);
        assert_eq!(Statistic::of(&values, Average::Mean).value, 17.0);
        assert_eq!(Statistic::of(&values[..2], Average::Median).value, 10.5);
    }

    #[test]
    fn one_repeat_has_no_deviation() {
        let statistic = Statistic::of(&[5.0], Average::Mean);
        assert_eq!((statistic.deviation, statistic.spread()), (None, 0.0));
    }

    #[test]
    fn a_ratio_ranges_over_all_pairs_of_repeats() {
        let base = Statistic::of(&[8.0, 10.0], Average::Mean);
        let faster = Statistic::of(&[20.0, 24.0], Average::Mean);
        assert_eq!(faster.ratio_range(&base), (2.0, 3.0));
    }
}

//! A figure from several repeats, with its spread and its confidence interval.
//!
//! The interval is a percentile bootstrap (Efron, "Bootstrap methods: another look at the jackknife", Annals of
//! Statistics 7(1), 1979): repeats are drawn with replacement as often as there are, the figure is taken of each draw,
//! and the middle 95% of those figures are kept. It is drawn with a fixed seed, so one result has one interval. With
//! fewer than [`INTERVAL_FROM`] repeats there is none: draws from so few tell nothing that the range does not.

use serde::{Deserialize, Serialize};

use crate::rng::{Rng, StreamKey};
use crate::workload::Average;

/// The fewest repeats of which an interval is told.
const INTERVAL_FROM: usize = 3;
/// Number of draws of the repeats.
const DRAWS: usize = 2000;
/// Seed of the draws.
const SEED: u64 = 0x5eed_0f5a_b007_57a9;

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
    /// Number of repeats.
    pub count: u32,
    /// Interval of the figure at 95% confidence, where there are enough repeats.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_95: Option<(f64, f64)>,
}

impl Statistic {
    /// The figure of `values`; all zero for none.
    pub fn of(values: &[f64], average: Average) -> Self {
        if values.is_empty() {
            return Self::default();
        }
        let count = values.len() as f64;
        let mean = values.iter().sum::<f64>() / count;
        let squares: f64 = values.iter().map(|value| (value - mean) * (value - mean)).sum();
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Self {
            value: figure(&sorted, average),
            min: sorted[0],
            max: sorted[sorted.len() - 1],
            deviation: (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt()),
            count: values.len() as u32,
            interval_95: (values.len() >= INTERVAL_FROM).then(|| interval(values, average)),
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

/// The mean or median of `sorted` values, of which there is at least one.
fn figure(sorted: &[f64], average: Average) -> f64 {
    let middle = sorted.len() / 2;
    match average {
        Average::Mean => sorted.iter().sum::<f64>() / sorted.len() as f64,
        Average::Median if sorted.len().is_multiple_of(2) => {
            f64::midpoint(sorted[middle - 1], sorted[middle])
        }
        Average::Median => sorted[middle],
    }
}

fn interval(values: &[f64], average: Average) -> (f64, f64) {
    let mut rng = Rng::new(StreamKey::from_seed(SEED));
    let mut drawn = vec![0.0; values.len()];
    let mut figures: Vec<f64> = (0..DRAWS)
        .map(|_| {
            drawn.fill_with(|| values[rng.below(values.len() as u64) as usize]);
            drawn.sort_by(f64::total_cmp);
            figure(&drawn, average)
        })
        .collect();
    figures.sort_by(f64::total_cmp);
    (figures[DRAWS / 40], figures[DRAWS - 1 - DRAWS / 40])
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
    fn the_interval_holds_the_truth_as_often_as_it_says() {
        let mut rng = Rng::new(StreamKey::from_seed(5));
        let (mut held, mut width) = (0, 0.0);
        for _ in 0..200 {
            // Sums of twelve uniform numbers: mean 6, deviation 1.
            let values: Vec<f64> =
                (0..40).map(|_| (0..12).map(|_| rng.unit()).sum::<f64>()).collect();
            let (low, high) = Statistic::of(&values, Average::Mean).interval_95.unwrap();
            held += u32::from(low < 6.0 && 6.0 < high);
            width += (high - low) / 200.0;
        }
        assert!((180..=199).contains(&held), "{held} of 200");
        let expected = 2.0 * 1.96 / 40.0f64.sqrt();
        assert!((width / expected - 1.0).abs() < 0.05, "{width} for {expected}");
    }

    #[test]
    fn the_interval_is_the_same_each_time_and_needs_three_repeats() {
        let statistic = Statistic::of(&[1.0, 2.0, 4.0], Average::Median);
        assert_eq!(statistic, Statistic::of(&[1.0, 2.0, 4.0], Average::Median));
        assert_eq!(statistic.interval_95, Some((1.0, 4.0)));
        assert_eq!(Statistic::of(&[1.0, 2.0], Average::Median).interval_95, None);
    }

    #[test]
    fn a_ratio_ranges_over_all_pairs_of_repeats() {
        let base = Statistic::of(&[8.0, 10.0], Average::Mean);
        let faster = Statistic::of(&[20.0, 24.0], Average::Mean);
        assert_eq!(faster.ratio_range(&base), (2.0, 3.0));
    }
}

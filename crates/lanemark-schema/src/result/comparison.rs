//! A comparison of two figures: their ratio, its 80% interval, and the verdict that the interval permits.

use serde::{Deserialize, Serialize};

use super::statistic::{SIDES_80, SIDES_95};
use super::{FigureMetric, Statistic, TestResult, student};

/// The largest difference that counts as none, as a ratio: an interval within 3% of 1 means that the figures are the
/// same for every purpose of this program.
pub const SAME_WITHIN: f64 = 1.03;

/// What an interval of a ratio shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RatioVerdict {
    /// The interval is above 1.
    Higher,
    /// The interval is below 1.
    Lower,
    /// The interval is within [`SAME_WITHIN`] of 1, or both figures describe the same system.
    Same,
    /// The interval contains 1 and larger differences, or there is no interval.
    NotShown,
}

/// The ratio of two figures.
///
/// The verdict follows from the interval and nothing else, so it cannot be set.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "StoredRatio", into = "StoredRatio")]
pub enum RatioEstimate {
    /// Both figures describe the same system, so that the ratio is exactly 1.
    Identical,
    /// The figures describe two systems or two runs.
    Uncertain {
        /// The second figure divided by the first.
        ratio: f64,
        /// The 80% interval of the ratio; `None` if the uncertainty of a figure is not known.
        interval_80: Option<(f64, f64)>,
    },
}

/// The 80% interval of a figure, as the logarithms of two factors, below and above the figure. Neither is negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FigureUncertainty {
    below: f64,
    above: f64,
}

impl FigureUncertainty {
    /// Returns the uncertainty of the mean of repeats, by Student's t for their number; `None` for a single measured
    /// repeat. The figure of a single simulated repeat has the uncertainty that its simulation determined.
    #[must_use]
    pub fn of_repeats(figure: &Statistic) -> Option<Self> {
        let share = match (figure.count, figure.deviation, figure.interval_95) {
            (2.., Some(deviation), _) => {
                let error = deviation / f64::from(figure.count).sqrt() / figure.value;
                student(SIDES_80, figure.count as usize - 1) * error
            }
            (1, _, Some((low, high))) => (high - low) / 2.0 / figure.value * SIDES_80 / SIDES_95,
            _ => return None,
        };
        (share.is_finite() && share >= 0.0).then_some(Self { below: share, above: share })
    }

    /// Returns the uncertainty of a figure with an 80% interval from `low` to `high`.
    #[must_use]
    pub fn of_interval(figure: f64, (low, high): (f64, f64)) -> Option<Self> {
        let below = (figure / low).ln().max(0.0);
        let above = (high / figure).ln().max(0.0);
        (!below.is_nan() && !above.is_nan()).then_some(Self { below, above })
    }

    /// Returns the uncertainty from two independent causes.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { below: self.below.hypot(other.below), above: self.above.hypot(other.above) }
    }
}

impl FigureMetric {
    /// Returns the uncertainty of `figure`, which is this metric of `result`: of its repeats, and of the prediction if
    /// the run is simulated. `None` if one of them is not known.
    pub fn uncertainty(
        self,
        figure: &Statistic,
        result: &TestResult,
        is_simulated: bool,
    ) -> Option<FigureUncertainty> {
        let of_repeats = FigureUncertainty::of_repeats(figure)?;
        if !is_simulated {
            return Some(of_repeats);
        }
        // The mix of requests in a transaction does not change, so both rates have the same uncertainty.
        let metric = if self == Self::Transactions { Self::Iops } else { self };
        let predicted = metric.value_in(result).value;
        Some(of_repeats.and(FigureUncertainty::of_interval(predicted, metric.interval(result)?)?))
    }
}

/// A ratio in JSON. The verdict is written for readers of the file, and derived again from the interval when it is read.
#[derive(Serialize, Deserialize)]
struct StoredRatio {
    ratio: f64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_identical: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ratio_interval_80: Option<(f64, f64)>,
    #[serde(default, skip_deserializing)]
    verdict: Option<RatioVerdict>,
}

impl RatioEstimate {
    /// Returns a ratio with the 80% interval from `low` to `high`, which is extended if it does not contain the ratio.
    #[must_use]
    pub fn within(ratio: f64, (low, high): (f64, f64)) -> Self {
        Self::Uncertain { ratio, interval_80: Some((low.min(ratio), high.max(ratio))) }
    }

    /// Returns `two / one` of two figures with independent uncertainties. The ratio does not have an interval if an
    /// uncertainty is not known.
    #[must_use]
    pub fn of_figures(
        (one, of_one): (f64, Option<FigureUncertainty>),
        (two, of_two): (f64, Option<FigureUncertainty>),
    ) -> Self {
        let ratio = two / one;
        let ends = of_one.zip(of_two).map(|(of_one, of_two)| {
            let below = of_two.below.hypot(of_one.above);
            let above = of_two.above.hypot(of_one.below);
            (ratio * (-below).exp(), ratio * above.exp())
        });
        Self::Uncertain {
            ratio,
            interval_80: ends.filter(|(low, high)| low.is_finite() && high.is_finite()),
        }
    }

    /// Returns the second figure divided by the first.
    #[must_use]
    pub fn ratio(self) -> f64 {
        match self {
            Self::Identical => 1.0,
            Self::Uncertain { ratio, .. } => ratio,
        }
    }

    /// Returns the 80% interval. An exact ratio does not have one.
    #[must_use]
    pub fn interval_80(self) -> Option<(f64, f64)> {
        match self {
            Self::Identical => None,
            Self::Uncertain { interval_80, .. } => interval_80,
        }
    }

    /// Returns the ratio of the first figure to the second.
    #[must_use]
    pub fn inverse(self) -> Self {
        match self {
            Self::Identical => Self::Identical,
            Self::Uncertain { ratio, interval_80 } => Self::Uncertain {
                ratio: 1.0 / ratio,
                interval_80: interval_80.map(|(low, high)| (1.0 / high, 1.0 / low)),
            },
        }
    }

    /// Returns what the interval shows.
    #[must_use]
    pub fn verdict(self) -> RatioVerdict {
        match self {
            Self::Identical => RatioVerdict::Same,
            Self::Uncertain { interval_80: None, .. } => RatioVerdict::NotShown,
            Self::Uncertain { interval_80: Some((low, high)), .. } => {
                if low >= 1.0 / SAME_WITHIN && high <= SAME_WITHIN {
                    RatioVerdict::Same
                } else if low > 1.0 {
                    RatioVerdict::Higher
                } else if high < 1.0 {
                    RatioVerdict::Lower
                } else {
                    RatioVerdict::NotShown
                }
            }
        }
    }
}

impl From<StoredRatio> for RatioEstimate {
    fn from(stored: StoredRatio) -> Self {
        if stored.is_identical {
            return Self::Identical;
        }
        Self::Uncertain { ratio: stored.ratio, interval_80: stored.ratio_interval_80 }
    }
}

impl From<RatioEstimate> for StoredRatio {
    fn from(estimate: RatioEstimate) -> Self {
        Self {
            ratio: estimate.ratio(),
            is_identical: estimate == RatioEstimate::Identical,
            ratio_interval_80: estimate.interval_80(),
            verdict: Some(estimate.verdict()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Rng, StreamKey};
    use crate::workload::AverageMethod;

    #[test]
    fn a_verdict_follows_from_the_interval() {
        for (interval, wanted) in [
            ((0.98, 1.02), RatioVerdict::Same),
            // A difference that is certain but smaller than 3% is none.
            ((1.005, 1.029), RatioVerdict::Same),
            ((1.005, 1.04), RatioVerdict::Higher),
            ((0.7, 0.999), RatioVerdict::Lower),
            ((0.999, 1.5), RatioVerdict::NotShown),
            ((0.5, 1.0), RatioVerdict::NotShown),
        ] {
            let estimate = RatioEstimate::within(f64::midpoint(interval.0, interval.1), interval);
            assert_eq!(estimate.verdict(), wanted, "{interval:?}");
        }
        let unknown = RatioEstimate::Uncertain { ratio: 3.0, interval_80: None };
        assert_eq!(unknown.verdict(), RatioVerdict::NotShown);
        assert_eq!(RatioEstimate::Identical.verdict(), RatioVerdict::Same);
    }

    /// Two runs of the same drive differ by chance only: the interval of their ratio contains 1 in 80% of all cases,
    /// for any number of repeats.
    #[test]
    fn intervals_of_measured_ratios_cover_eight_of_ten_truths() {
        let mut rng = Rng::new(StreamKey::from_seed(53));
        for repeats in [3, 5, 12] {
            let mut run = |scale: f64| {
                let values: Vec<f64> =
                    (0..repeats).map(|_| scale * (1.0 + 0.04 * rng.normal())).collect();
                let figure = Statistic::from_values(&values, AverageMethod::Mean);
                (figure.value, FigureUncertainty::of_repeats(&figure))
            };
            let cases = 4_000;
            let covers = |truth: f64, estimate: RatioEstimate| {
                let (low, high) = estimate.interval_80().unwrap();
                low <= truth && truth <= high
            };
            let covered = (0..cases)
                .filter(|_| covers(1.3, RatioEstimate::of_figures(run(100.0), run(130.0))))
                .count();
            let share = covered as f64 / f64::from(cases);
            assert!((0.77..0.85).contains(&share), "{repeats} repeats: {share}");
        }
    }

    #[test]
    fn a_single_measured_repeat_shows_no_difference() {
        let single = Statistic::from_values(&[100.0], AverageMethod::Mean);
        let double = Statistic::from_values(&[200.0, 201.0], AverageMethod::Mean);
        let figures = [single, double].map(|one| (one.value, FigureUncertainty::of_repeats(&one)));
        assert_eq!(figures[0].1, None);
        let ratio = RatioEstimate::of_figures(figures[0], figures[1]);
        assert_eq!((ratio.interval_80(), ratio.verdict()), (None, RatioVerdict::NotShown));
    }

    #[test]
    fn uncertainties_of_both_figures_add_as_squares() {
        let of = |low: f64, high: f64| FigureUncertainty::of_interval(10.0, (low, high));
        let ratio = RatioEstimate::of_figures((10.0, of(8.0, 12.0)), (20.0, of(10.0, 10.0)));
        let (low, high) = ratio.interval_80().unwrap();
        // The first figure is at most 12, so the ratio is at least 20 / 12.
        assert!(
            (low - 20.0 / 12.0).abs() < 1e-12 && (high - 20.0 / 8.0).abs() < 1e-12,
            "{ratio:?}"
        );
        let both = RatioEstimate::of_figures((10.0, of(8.0, 12.0)), (10.0, of(8.0, 12.0)));
        let expected = 1.25f64.ln().hypot(1.2f64.ln()).exp();
        assert!((both.interval_80().unwrap().1 - expected).abs() < 1e-12, "{both:?}");
    }

    #[test]
    fn an_inverse_has_the_opposite_verdict_and_is_read_back_from_json() {
        let faster = RatioEstimate::within(1.5, (1.25, 2.0));
        let slower = faster.inverse();
        assert_eq!(slower.interval_80(), Some((0.5, 0.8)));
        assert_eq!(
            [faster, slower].map(RatioEstimate::verdict),
            [RatioVerdict::Higher, RatioVerdict::Lower]
        );
        for estimate in [faster, slower, RatioEstimate::Identical] {
            let text = serde_json::to_string(&estimate).unwrap();
            assert_eq!(serde_json::from_str::<RatioEstimate>(&text).unwrap(), estimate, "{text}");
            assert!(text.contains("\"verdict\""), "{text}");
        }
    }
}

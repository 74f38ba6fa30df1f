//! A comparison of two figures: their ratio, its 80% interval, and the verdict that the interval permits.

use serde::{Deserialize, Serialize};

use super::statistic::{SIDES_80, SIDES_95, Statistic, student};

/// The largest ratio of two figures that are reported as the same. The verdict requires that the whole interval is
/// within this factor of 1.
pub const SAME_WITHIN: f64 = 1.03;

/// The verdict on a ratio, which follows from its interval.
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

/// The uncertainty of a figure, as logarithms of factors.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FigureUncertainty {
    /// The standard error of the mean of the repeats.
    error: f64,
    /// Degrees of freedom from which the error was estimated; `None` if the error is known.
    freedom: Option<u32>,
    /// The 80% interval of the prediction below and above the figure. Neither is negative.
    below: f64,
    above: f64,
}

impl FigureUncertainty {
    /// Returns the uncertainty of the mean of repeats; `None` for a single measured repeat. The figure of a single
    /// simulated repeat has the uncertainty that its simulation determined.
    #[must_use]
    pub fn of_repeats(figure: &Statistic) -> Option<Self> {
        let (error, freedom) = match (figure.count, figure.deviation, figure.interval_95) {
            (2.., Some(deviation), _) => {
                (deviation / f64::from(figure.count).sqrt(), Some(figure.count - 1))
            }
            (1, _, Some((low, high))) => ((high - low) / 2.0 / SIDES_95, None),
            _ => return None,
        };
        let error = error / figure.value;
        let is_usable = error.is_finite() && error >= 0.0;
        is_usable.then_some(Self { error, freedom, below: 0.0, above: 0.0 })
    }

    /// Returns the uncertainty of a figure with an 80% interval from `low` to `high`.
    #[must_use]
    pub fn of_interval(figure: f64, low: f64, high: f64) -> Option<Self> {
        let below = libm::log(figure / low).max(0.0);
        let above = libm::log(high / figure).max(0.0);
        let is_known = !below.is_nan() && !above.is_nan();
        is_known.then_some(Self { error: 0.0, freedom: None, below, above })
    }

    /// Returns the uncertainty from two independent causes.
    ///
    /// The degrees of freedom of two estimated errors follow the approximation of Welch ("The generalization of
    /// Student's problem when several different population variances are involved", Biometrika 34, 1947).
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        let square = |uncertainty: Self| uncertainty.error * uncertainty.error;
        let total = square(self) + square(other);
        let part = |uncertainty: Self| {
            let freedom = uncertainty.freedom.map_or(f64::INFINITY, f64::from);
            square(uncertainty) * square(uncertainty) / freedom
        };
        let parts = part(self) + part(other);
        let freedom = (parts > 0.0).then(|| (total * total / parts).clamp(1.0, 1e6).round() as u32);
        Self {
            error: total.sqrt(),
            freedom,
            below: libm::hypot(self.below, other.below),
            above: libm::hypot(self.above, other.above),
        }
    }

    /// Returns the same uncertainty of the inverse figure.
    fn inverse(self) -> Self {
        Self { below: self.above, above: self.below, ..self }
    }

    /// Returns the logarithms of the factors below and above a figure that contain 80%.
    fn ends(self) -> (f64, f64) {
        let factor = self.freedom.map_or(SIDES_80, |freedom| student(SIDES_80, freedom as usize));
        let of_repeats = factor * self.error;
        (libm::hypot(of_repeats, self.below), libm::hypot(of_repeats, self.above))
    }
}

/// A figure with its uncertainty; `None` if the uncertainty is not known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UncertainFigure {
    /// The figure.
    pub value: f64,
    /// The uncertainty of the figure.
    pub uncertainty: Option<FigureUncertainty>,
}

/// A ratio in JSON. The verdict is written for readers of the file, and derived again from the interval when it is
/// read.
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
    pub fn within(ratio: f64, low: f64, high: f64) -> Self {
        Self::Uncertain { ratio, interval_80: Some((low.min(ratio), high.max(ratio))) }
    }

    /// Returns `two / one` of two figures with independent uncertainties. The ratio does not have an interval if an
    /// uncertainty is not known.
    #[must_use]
    pub fn of_figures(one: UncertainFigure, two: UncertainFigure) -> Self {
        let ratio = two.value / one.value;
        let ends = one.uncertainty.zip(two.uncertainty).map(|(of_one, of_two)| {
            let (below, above) = of_two.and(of_one.inverse()).ends();
            (ratio * libm::exp(-below), ratio * libm::exp(above))
        });
        let is_finite = |ends: &(f64, f64)| ends.0.is_finite() && ends.1.is_finite();
        Self::Uncertain { ratio, interval_80: ends.filter(is_finite) }
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

    /// Returns the verdict of the interval.
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
            // A difference that is certain but smaller than 3% does not count.
            ((1.005, 1.029), RatioVerdict::Same),
            ((1.005, 1.04), RatioVerdict::Higher),
            ((0.7, 0.999), RatioVerdict::Lower),
            ((0.999, 1.5), RatioVerdict::NotShown),
            ((0.5, 1.0), RatioVerdict::NotShown),
        ] {
            let estimate = RatioEstimate::within(
                f64::midpoint(interval.0, interval.1),
                interval.0,
                interval.1,
            );
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
                UncertainFigure {
                    value: figure.value,
                    uncertainty: FigureUncertainty::of_repeats(&figure),
                }
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
            assert!((0.77..0.84).contains(&share), "{repeats} repeats: {share}");
        }
    }

    #[test]
    fn a_single_measured_repeat_shows_no_difference() {
        let single = Statistic::from_values(&[100.0], AverageMethod::Mean);
        let double = Statistic::from_values(&[200.0, 201.0], AverageMethod::Mean);
        let figures = [single, double].map(|one| UncertainFigure {
            value: one.value,
            uncertainty: FigureUncertainty::of_repeats(&one),
        });
        assert_eq!(figures[0].uncertainty, None);
        let ratio = RatioEstimate::of_figures(figures[0], figures[1]);
        assert_eq!((ratio.interval_80(), ratio.verdict()), (None, RatioVerdict::NotShown));
    }

    #[test]
    fn uncertainties_of_both_figures_add_as_squares() {
        let figure = |value: f64, low: f64, high: f64| UncertainFigure {
            value,
            uncertainty: FigureUncertainty::of_interval(value, low, high),
        };
        let ratio = RatioEstimate::of_figures(figure(10.0, 8.0, 12.0), figure(20.0, 20.0, 20.0));
        let (low, high) = ratio.interval_80().unwrap();
        // The first figure is at most 12, so the ratio is at least 20 / 12.
        assert!((low - 20.0 / 12.0).abs() < 1e-12, "{ratio:?}");
        assert!((high - 20.0 / 8.0).abs() < 1e-12, "{ratio:?}");
        let both = RatioEstimate::of_figures(figure(10.0, 8.0, 12.0), figure(10.0, 8.0, 12.0));
        let expected = libm::exp(libm::hypot(libm::log(1.25), libm::log(1.2)));
        assert!((both.interval_80().unwrap().1 - expected).abs() < 1e-12, "{both:?}");
    }

    #[test]
    fn an_inverse_has_the_opposite_verdict_and_is_read_back_from_json() {
        let faster = RatioEstimate::within(1.5, 1.25, 2.0);
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

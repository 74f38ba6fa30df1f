//! The rates of a simulated test in all draws of its uncertain values, and the intervals of their ratios.

use serde::{Deserialize, Serialize};

use super::RatioEstimate;

/// The share of intervals that contain the true value.
const SHARE: f64 = 0.8;
/// The minimum number of usable draws for an interval. Some draws do not result in a valid system: in half of the draws
/// of a hard disk, a track has too few sectors to reach the disk's capacity. If fewer draws than this are usable, the
/// ranges contradict the rest of the system.
pub const DRAWS_MIN: usize = 8;
/// Steps of a saved logarithm.
const STEPS: f64 = 1e6;

/// The rates of a test of a system in all draws.
///
/// The deviation of a value in a draw depends only on the seed and the names of the part and of the value. Two systems
/// that share a value therefore have the same deviation in each draw, even if they were simulated separately.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DrawnRates {
    /// The logarithm of each rate divided by the rate with the values in the files, in steps of 10^-6; `None` for a
    /// draw that does not result in a valid system.
    logs: Vec<Option<f64>>,
}

impl DrawnRates {
    /// Creates the rates from the ratio of each draw's rate to the rate with the values in the files. The rate of a
    /// draw without a completed request is unknown.
    pub fn from_ratios(ratios: impl Iterator<Item = Option<f64>>) -> Self {
        let usable = |ratio: &f64| ratio.is_finite() && *ratio > 0.0;
        let log = |ratio: f64| (libm::log(ratio) * STEPS).round() / STEPS;
        Self { logs: ratios.map(|ratio| ratio.filter(usable).map(log)).collect() }
    }

    /// Returns the ratio of each draw's rate to the rate with the values in the files.
    pub fn ratios(&self) -> impl Iterator<Item = Option<f64>> {
        self.logs.iter().map(|log| log.map(libm::exp))
    }

    /// Returns the logarithms of the ratios.
    #[must_use]
    pub fn logs(&self) -> &[Option<f64>] {
        &self.logs
    }

    /// Returns the geometric mean of the rates of several tests; `None` without the rates of each test.
    pub fn mean(tests: Vec<Option<Self>>) -> Option<Self> {
        let count = tests.len().max(1) as f64;
        let tests: Vec<Self> = tests.into_iter().collect::<Option<_>>()?;
        let log = |draw: usize| {
            let logs = tests.iter().map(|test| test.log_ratio(draw));
            logs.sum::<Option<f64>>().map(|sum| sum / count)
        };
        let draws = tests.first()?.logs.len();
        Some(Self { logs: (0..draws).map(log).collect() })
    }

    /// Returns the rates without the mirrored pair of draws `pair`, so that these draws can serve as true values.
    #[must_use]
    pub fn without_pair(&self, pair: usize) -> Self {
        let mut logs = self.logs.clone();
        logs.iter_mut().skip(2 * pair).take(2).for_each(|log| *log = None);
        Self { logs }
    }

    /// Returns the logarithm of the rate of a draw, divided by the rate with the values in the files.
    #[must_use]
    pub fn log_ratio(&self, draw: usize) -> Option<f64> {
        self.logs.get(draw).copied().flatten()
    }

    /// Returns the 80% interval of `other` divided by `self`, given the ratio of the predictions. `omitted` is the
    /// factor for the effects that the model omits. There is no interval if too few draws result in valid systems.
    #[must_use]
    pub fn ratio_to(&self, other: &Self, ratio: f64, omitted: f64) -> RatioEstimate {
        let pairs = self.logs.iter().zip(&other.logs);
        let logs: Vec<f64> = pairs.filter_map(|(one, two)| Some((*two)? - (*one)?)).collect();
        let interval = (logs.len() >= DRAWS_MIN).then(|| {
            let (low, high) = interval_80(logs, [1.0 / omitted, omitted]);
            (ratio * low, ratio * high)
        });
        RatioEstimate::Uncertain { ratio, interval_80: interval }
    }
}

/// Returns the 80% interval of drawn results relative to the middle, given their logarithms. The factors `below` and
/// `above` for the effects that the model omits widen it.
pub fn interval_80(mut logs: Vec<f64>, [below, above]: [f64; 2]) -> (f64, f64) {
    logs.sort_by(f64::total_cmp);
    let low = quantile(&logs, (1.0 - SHARE) / 2.0);
    let high = quantile(&logs, (1.0 + SHARE) / 2.0);
    let low_ratio = libm::exp(-libm::hypot(low.min(0.0), libm::log(below)));
    (low_ratio, libm::exp(libm::hypot(high.max(0.0), libm::log(above))))
}

/// Returns the value below which, on average, `share` of all future draws fall, given `sorted` draws. The value is at
/// rank `share (n + 1)`, counted from one (Hyndman and Fan, "Sample quantiles in statistical packages", The American
/// Statistician 50(4), 1996, definition 6). Other definitions return quantiles of the draws themselves, which are too
/// narrow.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let last = sorted.len().saturating_sub(1) as f64;
    let at = (share * (sorted.len() as f64 + 1.0) - 1.0).clamp(0.0, last);
    let low = at.floor() as usize;
    let part = at.fract();
    let next = sorted.get(low + 1).or(sorted.get(low));
    sorted.get(low).zip(next).map_or(0.0, |(one, two)| one + part * (two - one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Rng, StreamKey};

    const DRAWS: usize = 32;

    /// Returns the rates of a system whose draws have a random effect.
    fn random_rates(seed: u64) -> DrawnRates {
        let mut rng = Rng::new(StreamKey::from_seed(seed));
        DrawnRates::from_ratios((0..DRAWS).map(|_| Some(libm::exp(0.2 * rng.normal()))))
    }

    #[test]
    fn the_ratio_of_exchanged_systems_is_the_exact_inverse() {
        for seed in 0..200 {
            let [one, two] = [random_rates(seed), random_rates(seed + 1000)];
            let omitted = 1.0 + seed as f64 / 100.0;
            let forward = one.ratio_to(&two, 1.7, omitted);
            let back = two.ratio_to(&one, 1.0 / 1.7, omitted).inverse();
            let ends = [forward, back].map(|estimate| estimate.interval_80().unwrap());
            assert!((ends[0].0 / ends[1].0 - 1.0).abs() < 1e-12, "{forward:?}, {back:?}");
            assert!((ends[0].1 / ends[1].1 - 1.0).abs() < 1e-12, "{forward:?}, {back:?}");
            assert_eq!(forward.verdict(), back.verdict());
        }
    }

    #[test]
    fn a_change_of_both_systems_does_not_change_their_ratio() {
        let [one, two] = [random_rates(1), random_rates(2)];
        let faster_host = random_rates(3);
        let of_both = |rates: &DrawnRates| {
            let logs = rates.logs.iter().zip(&faster_host.logs);
            DrawnRates { logs: logs.map(|(one, two)| Some((*one)? + (*two)?)).collect() }
        };
        let plain = one.ratio_to(&two, 1.0, 1.1).interval_80().unwrap();
        let both = of_both(&one).ratio_to(&of_both(&two), 1.0, 1.1).interval_80().unwrap();
        assert!((plain.0 - both.0).abs() < 1e-12 && (plain.1 - both.1).abs() < 1e-12);
    }

    #[test]
    fn few_valid_draws_do_not_determine_a_ratio() {
        let whole = random_rates(1);
        let with = |valid: usize| {
            let logs = whole.logs.iter().enumerate();
            DrawnRates { logs: logs.map(|(at, log)| log.filter(|_| at < valid)).collect() }
        };
        assert!(whole.ratio_to(&with(DRAWS_MIN), 1.0, 1.1).interval_80().is_some());
        assert!(whole.ratio_to(&with(DRAWS_MIN - 1), 1.0, 1.1).interval_80().is_none());
        let mean = DrawnRates::mean(vec![Some(whole.clone()), Some(whole.clone())]).unwrap();
        assert!((mean.log_ratio(3).unwrap() - whole.log_ratio(3).unwrap()).abs() < 1e-12);
        assert_eq!(whole.without_pair(2).log_ratio(4), None);
        assert_eq!(whole.without_pair(2).log_ratio(6), whole.log_ratio(6));
    }

    #[test]
    fn quantiles_of_few_values_stay_among_them() {
        for (sorted, share, wanted) in [
            (&[][..], 0.5, 0.0),
            (&[3.0], 0.1, 3.0),
            (&[3.0], 0.9, 3.0),
            (&[1.0, 2.0], 0.5, 1.5),
            (&[1.0, 2.0], 0.1, 1.0),
            (&[1.0, 2.0, 3.0], 0.25, 1.0),
            (&[1.0, 2.0, 3.0], 0.75, 3.0),
            (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], 0.1, 1.0),
            (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0], 0.8, 8.0),
        ] {
            assert!((quantile(sorted, share) - wanted).abs() < 1e-9, "{sorted:?} {share}");
        }
    }
}

//! The ratio of two quantities that were measured in alternating turns.

use super::interval::{SIDES_80, student};
use crate::result::RatioEstimate;

impl RatioEstimate {
    /// Returns the geometric mean of the ratios of the second value of each pair to the first; `None` if there are no
    /// pairs, or if a value is not positive. A single pair does not have an interval.
    ///
    /// The interval is Student's for the mean of the logarithms. Pairing removes the effects that both turns share,
    /// such as the machine's load at that time. Values that vary by a few percent have nearly normal logarithms.
    pub fn of_pairs(pairs: &[(f64, f64)]) -> Option<Self> {
        let is_positive = |value: f64| value > 0.0 && value.is_finite();
        let usable = pairs.iter().all(|(one, other)| is_positive(*one) && is_positive(*other));
        if pairs.is_empty() || !usable {
            return None;
        }
        let count = pairs.len() as f64;
        let logs = || pairs.iter().map(|(one, other)| libm::log(other / one));
        let mean = logs().sum::<f64>() / count;
        let interval_80 = (pairs.len() > 1).then(|| {
            let square = logs().map(|log| (log - mean) * (log - mean)).sum::<f64>() / (count - 1.0);
            let half = student(SIDES_80, pairs.len() - 1) * (square / count).sqrt();
            (libm::exp(mean - half), libm::exp(mean + half))
        });
        Some(Self::Uncertain { ratio: libm::exp(mean), interval_80 })
    }

    /// Returns the ratio of a new value to the geometric mean of `earlier` values, if all are positive. The interval
    /// is Student's for one more value of the same distribution; a single earlier value does not have an interval.
    pub fn of_new_value(earlier: &[f64], new: f64) -> Option<Self> {
        let is_positive = |value: f64| value > 0.0 && value.is_finite();
        if earlier.is_empty() || !earlier.iter().chain([&new]).all(|value| is_positive(*value)) {
            return None;
        }
        let count = earlier.len() as f64;
        let logs = || earlier.iter().map(|value| libm::log(*value));
        let mean = logs().sum::<f64>() / count;
        let log = libm::log(new) - mean;
        let interval_80 = (earlier.len() > 1).then(|| {
            let square = logs().map(|log| (log - mean) * (log - mean)).sum::<f64>() / (count - 1.0);
            let error = (square * (1.0 + 1.0 / count)).sqrt();
            let half = student(SIDES_80, earlier.len() - 1) * error;
            (libm::exp(log - half), libm::exp(log + half))
        });
        Some(Self::Uncertain { ratio: libm::exp(log), interval_80 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::RatioVerdict;
    use crate::rng::{Rng, StreamKey};

    #[test]
    fn a_ratio_by_hand() {
        // Ratios of 2 and 8 have a geometric mean of 4, and their logarithms have a deviation of ln 4 / sqrt 2.
        let ratio = RatioEstimate::of_pairs(&[(1.0, 2.0), (1.0, 8.0)]).unwrap();
        let half = student(SIDES_80, 1) * libm::log(4.0) / 2.0;
        let (low, high) = ratio.interval_80().unwrap();
        assert!((ratio.ratio() - 4.0).abs() < 1e-12);
        assert!((libm::log(low) - libm::log(4.0) + half).abs() < 1e-5);
        assert!((libm::log(high) - libm::log(4.0) - half).abs() < 1e-5);
        let single = RatioEstimate::of_pairs(&[(2.0, 1.0)]).unwrap();
        assert_eq!(single, RatioEstimate::Uncertain { ratio: 0.5, interval_80: None });
        let equal = RatioEstimate::of_pairs(&[(2.0, 1.0), (4.0, 2.0)]).unwrap();
        assert!(equal.verdict() == RatioVerdict::Lower && (equal.ratio() - 0.5).abs() < 1e-12);
    }

    #[test]
    fn a_new_value_by_hand() {
        // The logarithms of 1 and 4 have the mean ln 2 and a deviation of ln 4 / sqrt 2. The errors of 1 + 1/2 values
        // are added.
        let ratio = RatioEstimate::of_new_value(&[1.0, 4.0], 6.0).unwrap();
        let half = student(SIDES_80, 1) * libm::log(4.0) * (0.5f64 * 1.5).sqrt();
        let (low, high) = ratio.interval_80().unwrap();
        assert!((ratio.ratio() - 3.0).abs() < 1e-12);
        assert!((libm::log(low) - libm::log(3.0) + half).abs() < 1e-5, "{low}");
        assert!((libm::log(high) - libm::log(3.0) - half).abs() < 1e-5, "{high}");
        let single = RatioEstimate::of_new_value(&[2.0], 1.0).unwrap();
        assert_eq!(single, RatioEstimate::Uncertain { ratio: 0.5, interval_80: None });
    }

    #[test]
    fn unusable_values_lack_a_ratio() {
        for pairs in [&[][..], &[(0.0, 1.0)], &[(1.0, -1.0)], &[(1.0, f64::NAN), (1.0, 1.0)]] {
            assert_eq!(RatioEstimate::of_pairs(pairs), None, "{pairs:?}");
        }
        for (earlier, new) in [(&[][..], 1.0), (&[1.0, 0.0], 1.0), (&[1.0], f64::NAN)] {
            assert_eq!(RatioEstimate::of_new_value(earlier, new), None, "{earlier:?}, {new}");
        }
    }

    #[test]
    fn intervals_cover_the_true_ratio_in_eighty_of_a_hundred_cases() {
        const DRAWS: u32 = 4_000;
        for count in [2, 3, 5, 10] {
            let mut rng = Rng::new(StreamKey::from_seed(count));
            let mut missed = [0u32; 4];
            for _ in 0..DRAWS {
                // Both turns of a pair share the machine's load.
                let pairs: Vec<(f64, f64)> = (0..count)
                    .map(|_| {
                        let load = libm::exp(0.3 * rng.normal());
                        let mut time = |true_s: f64| true_s * load * libm::exp(0.05 * rng.normal());
                        (time(10.0), time(5.5))
                    })
                    .collect();
                let earlier: Vec<f64> =
                    (0..count).map(|_| libm::exp(0.05 * rng.normal())).collect();
                let new = 0.55 * libm::exp(0.05 * rng.normal());
                let of_pairs = RatioEstimate::of_pairs(&pairs);
                let of_new = RatioEstimate::of_new_value(&earlier, new);
                for (at, ratio) in [of_pairs, of_new].into_iter().enumerate() {
                    let (low, high) = ratio.unwrap().interval_80().unwrap();
                    missed[2 * at] += u32::from(low > 0.55);
                    missed[2 * at + 1] += u32::from(high < 0.55);
                }
            }
            for missed in missed {
                let share = f64::from(missed) / f64::from(DRAWS);
                assert!((0.08..=0.12).contains(&share), "{count} values: {share}");
            }
        }
    }
}

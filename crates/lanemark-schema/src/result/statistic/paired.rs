//! The ratio of two quantities that were measured in alternating turns.

use super::interval::student_95;

/// A ratio of paired values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairedRatio {
    /// Geometric mean of the ratios of all pairs.
    pub value: f64,
    /// The 95% interval of the ratio; `None` for a single pair.
    pub interval_95: Option<(f64, f64)>,
}

impl PairedRatio {
    /// Returns the ratio of the second value of each pair to the first; `None` if there are no pairs, or if a value is
    /// not positive.
    ///
    /// The interval is Student's for the mean of the logarithms. Pairing removes the effects that both turns share,
    /// such as the machine's load at that time. Values that vary by a few percent have nearly normal logarithms.
    pub fn from_pairs(pairs: &[(f64, f64)]) -> Option<Self> {
        let is_positive = |value: f64| value > 0.0 && value.is_finite();
        let usable = pairs.iter().all(|(one, other)| is_positive(*one) && is_positive(*other));
        if pairs.is_empty() || !usable {
            return None;
        }
        let count = pairs.len() as f64;
        let logs = || pairs.iter().map(|(one, other)| libm::log(other / one));
        let mean = logs().sum::<f64>() / count;
        let interval_95 = (pairs.len() > 1).then(|| {
            let square = logs().map(|log| (log - mean) * (log - mean)).sum::<f64>() / (count - 1.0);
            let half = student_95(pairs.len() - 1) * (square / count).sqrt();
            (libm::exp(mean - half), libm::exp(mean + half))
        });
        Some(Self { value: libm::exp(mean), interval_95 })
    }

    /// Returns whether the interval shows that the ratio differs from 1.
    pub fn is_shown(&self) -> bool {
        self.interval_95.is_some_and(|(low, high)| low > 1.0 || high < 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::{Rng, StreamKey};

    #[test]
    fn a_ratio_by_hand() {
        // Ratios of 2 and 8 have a geometric mean of 4, and their logarithms have a deviation of ln 4 / sqrt 2.
        let ratio = PairedRatio::from_pairs(&[(1.0, 2.0), (1.0, 8.0)]).unwrap();
        let half = 12.706_20 * libm::log(4.0) / 2.0;
        let (low, high) = ratio.interval_95.unwrap();
        assert!((ratio.value - 4.0).abs() < 1e-12);
        assert!((libm::log(low) - libm::log(4.0) + half).abs() < 1e-9);
        assert!((libm::log(high) - libm::log(4.0) - half).abs() < 1e-9);
        assert!(!ratio.is_shown());
        let single = PairedRatio::from_pairs(&[(2.0, 1.0)]).unwrap();
        assert_eq!((single.value, single.interval_95, single.is_shown()), (0.5, None, false));
        let equal = PairedRatio::from_pairs(&[(2.0, 1.0), (4.0, 2.0)]).unwrap();
        assert!(equal.is_shown() && (equal.value - 0.5).abs() < 1e-12);
    }

    #[test]
    fn unusable_pairs_lack_a_ratio() {
        for pairs in [&[][..], &[(0.0, 1.0)], &[(1.0, -1.0)], &[(1.0, f64::NAN), (1.0, 1.0)]] {
            assert_eq!(PairedRatio::from_pairs(pairs), None, "{pairs:?}");
        }
    }

    #[test]
    fn the_interval_covers_the_true_ratio_in_ninety_five_of_a_hundred_cases() {
        const DRAWS: u32 = 4_000;
        for count in [2, 3, 5, 10] {
            let mut rng = Rng::new(StreamKey::from_seed(count));
            let mut above = 0u32;
            let mut below = 0u32;
            for _ in 0..DRAWS {
                // Both turns of a pair share the machine's load.
                let pairs: Vec<(f64, f64)> = (0..count)
                    .map(|_| {
                        let load = libm::exp(0.3 * rng.normal());
                        let mut time = |true_s: f64| true_s * load * libm::exp(0.05 * rng.normal());
                        (time(10.0), time(5.5))
                    })
                    .collect();
                let (low, high) = PairedRatio::from_pairs(&pairs).unwrap().interval_95.unwrap();
                above += u32::from(low > 0.55);
                below += u32::from(high < 0.55);
            }
            for missed in [above, below] {
                let share = f64::from(missed) / f64::from(DRAWS);
                assert!((0.015..=0.035).contains(&share), "{count} pairs: {share}");
            }
        }
    }
}

//! 95% confidence intervals for the mean and the median of repeats.
//!
//! The mean has Student's interval: `t` standard errors on both sides, with the sample deviation over `n − 1` (Student,
//! "The probable error of a mean", Biometrika 6(1), 1908). The median has the interval between order statistics,
//! interpolated between the two attainable confidences around 95% (Hettmansperger and Sheather, "Confidence intervals
//! based on interpolated order statistics", Statistics & Probability Letters 4(2), 1986). The median's interval does
//! not assume a distribution, and therefore requires six repeats or more: the range of five repeats contains the median
//! with less than 95% confidence.
//!
//! A bootstrap interval would be too narrow here: with five repeats, its 95% interval contains the true value in 84% of
//! all cases.

use crate::workload::AverageMethod;

const CONFIDENCE: f64 = 0.95;
/// Minimum number of repeats for an interval of their mean. With two repeats, the interval spans nine deviations on
/// each side.
const MEAN_FROM: usize = 3;
/// From this number of repeats, the ranks of the median's interval are computed from the normal distribution.
const MANY: usize = 1000;
/// Number of standard deviations on both sides of a normal distribution's mean that contain 95%.
pub(crate) const SIDES_95: f64 = 1.959_964;
/// Number of standard deviations on both sides of a normal distribution's mean that contain 80%.
pub const SIDES_80: f64 = 1.281_552;

/// Returns the interval of the mean or median of `sorted` values, whose sample deviation is `deviation`.
pub(super) fn interval(
    sorted: &[f64],
    average: AverageMethod,
    deviation: f64,
) -> Option<(f64, f64)> {
    match average {
        AverageMethod::Mean if sorted.len() >= MEAN_FROM => Some(of_mean(sorted, deviation)),
        AverageMethod::Mean => None,
        AverageMethod::Median => of_median(sorted),
    }
}

fn of_mean(sorted: &[f64], deviation: f64) -> (f64, f64) {
    let count = sorted.len() as f64;
    let mean = sorted.iter().sum::<f64>() / count;
    let reach = student_95(sorted.len() - 1) * deviation / count.sqrt();
    // If all repeats are zero or more, the mean of the quantity is not negative either.
    let least = if sorted[0] >= 0.0 { 0.0 } else { f64::NEG_INFINITY };
    ((mean - reach).max(least), mean + reach)
}

fn of_median(sorted: &[f64]) -> Option<(f64, f64)> {
    let count = sorted.len();
    let (depth, part) = if count < MANY { depth(count)? } else { depth_of_many(count) };
    let interpolated =
        |rank: usize, next: usize| sorted[rank] + part * (sorted[next] - sorted[rank]);
    let last = count - 1;
    Some((interpolated(depth - 1, depth), interpolated(last - (depth - 1), last - depth)))
}

/// Returns the position at which the interval of the median of `count` values begins, counted from either extreme: a
/// rank, which is 1 for the outermost value, and the fraction of the distance to the next rank.
fn depth(count: usize) -> Option<(usize, f64)> {
    let n = count as f64;
    // The probability that exactly `rank` values are below the median, and the probability that fewer values are.
    let mut exactly = libm::pow(0.5, count as f64);
    let mut fewer = exactly;
    let mut confidence = 1.0 - 2.0 * fewer;
    if confidence < CONFIDENCE {
        return None;
    }
    let mut rank = 1;
    loop {
        exactly *= (n - rank as f64 + 1.0) / rank as f64;
        fewer += exactly;
        let next = 1.0 - 2.0 * fewer;
        if next < CONFIDENCE {
            let weight = (confidence - CONFIDENCE) / (confidence - next);
            let k = rank as f64;
            return Some((rank, (n - k) * weight / (k + (n - 2.0 * k) * weight)));
        }
        confidence = next;
        rank += 1;
    }
}

/// Computes [`depth`] with the normal approximation of the binomial distribution, including its continuity correction.
fn depth_of_many(count: usize) -> (usize, f64) {
    let depth = (count as f64 + 1.0 - SIDES_95 * (count as f64).sqrt()) / 2.0;
    (depth as usize, depth.fract())
}

/// Returns the number of standard errors on both sides of a mean that cover 95%, with `freedom` degrees of freedom (one
/// or more): 12.7 for one degree, and 1.96 in the limit.
///
/// The distribution is Student's. Above ten degrees of freedom, the function uses the expansion of Fisher and Cornish
/// ("The percentile points of distributions having known cumulants", Technometrics 2(2), 1960), which is exact to four
/// digits in this range.
#[must_use]
pub fn student_95(freedom: usize) -> f64 {
    const FEW: [f64; 10] = [
        12.706_20, 4.302_65, 3.182_45, 2.776_45, 2.570_58, 2.446_91, 2.364_62, 2.306_00, 2.262_16,
        2.228_14,
    ];
    if let Some(known) = FEW.get(freedom.wrapping_sub(1)) {
        return *known;
    }
    student(SIDES_95, freedom)
}

/// Returns the number of standard errors that covers as much with `freedom` degrees of freedom as `sides` standard
/// errors do with infinitely many. For example, with three degrees of freedom the result is 1.64 for the 1.28 that
/// cover 80%.
///
/// The function uses the expansion of Fisher and Cornish. From three degrees of freedom, its error is within 1% for
/// coverage up to 95%.
#[must_use]
pub fn student(sides: f64, freedom: usize) -> f64 {
    let n = freedom as f64;
    let z = sides;
    let z3 = z * z * z;
    let z5 = z3 * z * z;
    let z7 = z3 * z3 * z;
    z + (z3 + z) / (4.0 * n)
        + (5.0 * z5 + 16.0 * z3 + 3.0 * z) / (96.0 * n * n)
        + (3.0 * z7 + 19.0 * z5 + 17.0 * z3 - 15.0 * z) / (384.0 * n * n * n)
}

#[cfg(test)]
mod tests {
    use super::super::Statistic;
    use super::*;
    use crate::rng::{Rng, StreamKey};

    /// Returns the share of draws in which the interval of `count` values is completely above the true value, and the
    /// share in which it is completely below.
    fn missed(
        count: usize,
        average: AverageMethod,
        truth: f64,
        draw: fn(&mut Rng) -> f64,
    ) -> [f64; 2] {
        const DRAWS: u32 = 8000;
        let mut rng = Rng::new(StreamKey::from_seed(count as u64));
        let mut missed = [0, 0];
        for _ in 0..DRAWS {
            let values: Vec<f64> = (0..count).map(|_| draw(&mut rng)).collect();
            let (low, high) = Statistic::from_values(&values, average).interval_95.unwrap();
            missed[0] += u32::from(truth < low);
            missed[1] += u32::from(truth > high);
        }
        missed.map(|missed| f64::from(missed) / f64::from(DRAWS))
    }

    #[test]
    fn intervals_hold_the_truth_in_ninety_five_of_a_hundred_cases() {
        let cases = [
            (AverageMethod::Mean, &[3, 4, 5, 8, 11, 12, 40][..]),
            (AverageMethod::Median, &[6, 7, 8, 10, 15, 40, 999, 1000]),
        ];
        for (average, counts) in cases {
            for &count in counts {
                let [above, below] = missed(count, average, 50.0, |rng| 50.0 + 4.0 * rng.normal());
                let held = 1.0 - above - below;
                assert!((0.93..=0.97).contains(&held), "{average:?} of {count}: {held}");
                // Each bound is also checked separately, so that a bound that is too far out cannot compensate for the
                // other.
                for end in [above, below] {
                    assert!((0.015..=0.035).contains(&end), "{average:?} of {count}: {end}");
                }
            }
        }
    }

    #[test]
    fn the_interval_of_a_median_does_not_depend_on_the_distribution() {
        // Latencies have long tails, like the exponential distribution, whose median is ln 2.
        for count in [6, 9, 30] {
            let tail = |rng: &mut Rng| rng.exponential();
            let [above, below] = missed(count, AverageMethod::Median, std::f64::consts::LN_2, tail);
            let held = 1.0 - above - below;
            assert!((0.93..=0.97).contains(&held), "{count}: {held}");
        }
    }

    #[test]
    fn the_approximation_for_many_repeats_continues_the_exact_ranks() {
        for count in [300, 500, 800] {
            let (rank, part) = depth(count).unwrap();
            let (near, near_part) = depth_of_many(count);
            let difference = (rank as f64 + part) - (near as f64 + near_part);
            assert!(difference.abs() < 0.1, "{count}: {difference}");
        }
    }

    #[test]
    fn too_few_repeats_lack_an_interval() {
        let of = |count: u32, average| {
            let values: Vec<f64> = (1..=count).map(f64::from).collect();
            Statistic::from_values(&values, average).interval_95
        };
        assert_eq!((of(2, AverageMethod::Mean), of(5, AverageMethod::Median)), (None, None));
        assert!(of(3, AverageMethod::Mean).is_some() && of(6, AverageMethod::Median).is_some());
    }

    #[test]
    fn intervals_by_hand() {
        // Three values with mean 5 and deviation 2 have a half-width of 4.30265 x 2 / sqrt 3.
        let (low, high) =
            Statistic::from_values(&[3.0, 5.0, 7.0], AverageMethod::Mean).interval_95.unwrap();
        assert!((low - 0.031_73).abs() < 1e-4 && (high - 9.968_27).abs() < 1e-4, "{low} {high}");
        // The interval does not extend below zero unless a repeat is negative.
        assert_eq!(
            Statistic::from_values(&[0.0, 0.0, 3.0], AverageMethod::Mean).interval_95.unwrap().0,
            0.0
        );
        assert!(
            Statistic::from_values(&[-1.0, 0.0, 3.0], AverageMethod::Mean).interval_95.unwrap().0
                < -1.0
        );
        // For ten values, the ranks 2 and 9 cover 97.85%, and the ranks 3 and 8 cover 89.06%.
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let (low, high) =
            Statistic::from_values(&values, AverageMethod::Median).interval_95.unwrap();
        let weight = (0.978_515_6 - 0.95) / (0.978_515_6 - 0.890_625);
        let part = 8.0 * weight / (2.0 + 6.0 * weight);
        assert!(
            (low - 2.0 - part).abs() < 1e-5 && (high - 9.0 + part).abs() < 1e-5,
            "{low} {high}"
        );
        // Equal repeats have an interval of zero width.
        for average in [AverageMethod::Mean, AverageMethod::Median] {
            assert_eq!(Statistic::from_values(&[4.0; 6], average).interval_95, Some((4.0, 4.0)));
        }
    }

    /// Below ten degrees of freedom, the error of the expansion is its next term: 0.054 / n^4 for 80%, and 1.6 / n^4
    /// for 95%.
    #[test]
    fn the_expansion_is_exact_to_its_last_term() {
        for (sides, freedom, exact, error) in [
            (1.281_551_6, 6, 1.439_756, 8e-5),
            (1.281_551_6, 10, 1.372_184, 1e-5),
            (1.281_551_6, 20, 1.325_341, 1.5e-6),
            (SIDES_95, 6, 2.446_912, 2e-3),
            (SIDES_95, 10, 2.228_139, 2.5e-4),
            (SIDES_95, 20, 2.085_963, 2e-5),
        ] {
            let quantile = student(sides, freedom);
            assert!((quantile - exact).abs() < error, "{sides}, {freedom}: {quantile} for {exact}");
        }
    }

    #[test]
    fn students_factors_match_published_tables() {
        let table = [
            (1, 12.706),
            (2, 4.303),
            (4, 2.776),
            (10, 2.228),
            (11, 2.201),
            (12, 2.179),
            (20, 2.086),
            (30, 2.042),
            (60, 2.000),
            (120, 1.980),
            (1_000_000, 1.960),
        ];
        for (freedom, factor) in table {
            assert!(
                (student_95(freedom) - factor).abs() < 6e-4,
                "{freedom}: {}",
                student_95(freedom)
            );
        }
    }
}

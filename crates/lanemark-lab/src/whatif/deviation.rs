//! The deviation of a measurement from the model of the current system, and its application to the other system.
//!
//! The deviation of a test consists of the model's error, which is applied to the other system, and of random error,
//! which is not. In a measured grid, requests of one kind with the same limiting part of the path have nearly the same
//! model error at similar depths and thread counts. The applied deviation is therefore a mean over these tests,
//! weighted by a normal kernel over the doublings of depth and threads (Nadaraya 1964, Watson 1964). The bandwidth is
//! chosen by leave-one-out cross-validation, and the remaining error is the random error of a figure.
//!
//! The limiting part is the limit of the *other* system. If the limit moves from a link to the drive, the deviation
//! comes from the tests that the drive also limits on the current system. Without such tests there is no evidence, and
//! the model is used without a correction.

use lanemark_schema::result::{PathSection, SIDES_80, student};
use lanemark_schema::workload::{SyntheticRequests, Test};

/// The bandwidths to try, in doublings. The widest bandwidth is effectively a plain mean. This bandwidth is first, so
/// it is chosen if several are equally good.
const BANDWIDTHS: [f64; 5] = [100.0, 2.8, 1.4, 0.7, 0.35];
/// The minimum number of tests with the same kind and limit that are averaged. If there are fewer, each test keeps its
/// own deviation.
const ENOUGH: usize = 5;

#[derive(Clone, Debug)]
pub(super) struct MeasuredDeviation<'t> {
    pub(super) test: &'t Test,
    /// The part that limits the model of the current system.
    pub(super) limit: Option<PathSection>,
    /// The logarithm of measured divided by modelled throughput.
    pub(super) log: f64,
}

/// A deviation that is applied to the other system.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CarriedDeviation {
    /// The logarithm of measured divided by modelled throughput.
    pub(super) log: f64,
    /// The standard deviation of the random error in a figure's logarithm, multiplied by Student's factor for an 80%
    /// interval; `None` if there are too few tests to estimate it.
    pub(super) chance: Option<f64>,
}

impl CarriedDeviation {
    /// Returns the `share` of the deviation that applies to the other system; `None` if the share is 0.
    pub(super) fn part(self, share: f64) -> Option<Self> {
        let chance = self.chance.map(|chance| share * chance);
        (share > 0.0).then_some(Self { log: share * self.log, chance })
    }
}

/// Returns the deviation of test `at` of `seen` if `limit` is the limit on the other system.
pub(super) fn carried_deviation(
    seen: &[Option<MeasuredDeviation<'_>>],
    at: usize,
    limit: Option<PathSection>,
) -> Option<CarriedDeviation> {
    let own_deviation = seen.get(at)?.as_ref()?;
    let alike: Vec<&MeasuredDeviation<'_>> = seen
        .iter()
        .flatten()
        .filter(|other| other.limit == limit && are_alike(own_deviation.test, other.test))
        .collect();
    if alike.len() < ENOUGH {
        let log = (own_deviation.limit == limit).then_some(own_deviation.log)?;
        return Some(CarriedDeviation { log, chance: None });
    }
    let judged = BANDWIDTHS.map(|bandwidth| (left_out_squares(&alike, bandwidth), bandwidth));
    let (squares, bandwidth) = judged.into_iter().min_by(|one, two| one.0.total_cmp(&two.0))?;
    let log = mean(&alike, own_deviation.test, bandwidth, None)?;
    // The mean and the choice of bandwidth each use one degree of freedom, and an estimate from few tests is uncertain.
    let freedom = alike.len() - 2;
    let chance = (squares / freedom as f64).sqrt() * student(SIDES_80, freedom) / SIDES_80;
    Some(CarriedDeviation { log, chance: Some(chance) })
}

/// Returns whether two tests differ only in their depth and threads.
fn are_alike(test: &Test, other: &Test) -> bool {
    let (Some(asked), Some(others)) = (test.requests(), other.requests()) else { return false };
    let same = SyntheticRequests { queue_depth: others.queue_depth, ..asked.clone() } == *others;
    same && test.block == other.block
}

/// Returns the sum of the squared errors when each of `alike` is predicted from the others.
fn left_out_squares(alike: &[&MeasuredDeviation<'_>], bandwidth: f64) -> f64 {
    let errors = alike.iter().enumerate().map(|(at, one)| {
        let mean_deviation = mean(alike, one.test, bandwidth, Some(at));
        mean_deviation.map_or(f64::INFINITY, |mean_deviation| (mean_deviation - one.log).powi(2))
    });
    errors.sum::<f64>()
}

/// Returns the mean deviation of `alike` at the depth and threads of `test`, excluding the test number `without`.
fn mean(
    alike: &[&MeasuredDeviation<'_>],
    test: &Test,
    bandwidth: f64,
    without: Option<usize>,
) -> Option<f64> {
    let doublings = |one: u32, two: u32| (f64::from(one) / f64::from(two)).log2();
    let square = |other: &Test| {
        doublings(test.issue_depth(), other.issue_depth()).powi(2)
            + doublings(test.threads, other.threads).powi(2)
    };
    let others = alike.iter().enumerate().filter(|(at, _)| Some(*at) != without);
    let others: Vec<(f64, f64)> =
        others.map(|(_, other)| (square(other.test), other.log)).collect();
    // Weights are relative to the nearest test, so the nearest test counts at any distance.
    let nearest = others.iter().map(|(square, _)| *square).min_by(f64::total_cmp)?;
    let weight = |square: f64| (-0.5 * (square - nearest) / bandwidth.powi(2)).exp();
    let weights: f64 = others.iter().map(|(square, _)| weight(*square)).sum();
    let sum: f64 = others.iter().map(|(square, log)| weight(*square) * log).sum();
    Some(sum / weights)
}

#[cfg(test)]
mod tests {
    use lanemark_schema::rng::{Rng, StreamKey};
    use lanemark_schema::units::{Bytes, Ratio};
    use lanemark_schema::workload::Pattern;

    use super::*;

    fn test(depth: u32, threads: u32) -> Test {
        let test = Test { threads, ..Test::of_blocks(Bytes::kibi(4)) };
        test.with(|asked| asked.queue_depth = depth)
    }

    fn grid() -> Vec<Test> {
        let depths = [1, 2, 4, 8, 16, 32];
        depths.iter().flat_map(|depth| depths.map(|threads| test(*depth, threads))).collect()
    }

    fn measured_deviations<'t>(
        tests: &'t [Test],
        log: impl Fn(usize, &Test) -> f64,
    ) -> Vec<Option<MeasuredDeviation<'t>>> {
        let limit = |test: &Test| (test.issue_depth() > 4).then_some(PathSection::Drive);
        let one = |(at, test): (usize, &'t Test)| {
            Some(MeasuredDeviation { test, limit: limit(test), log: log(at, test) })
        };
        tests.iter().enumerate().map(one).collect()
    }

    #[test]
    fn what_tests_have_in_common_goes_over_and_chance_does_not() {
        let tests = grid();
        // Every test is a tenth below the model, with a random error of 3% in both directions.
        let chance = |at: usize| if (at * 7 + at / 6).is_multiple_of(2) { 0.03 } else { -0.03 };
        let all = measured_deviations(&tests, |at, _| -0.1 + chance(at));
        for at in 0..tests.len() {
            let limit = all[at].as_ref().unwrap().limit;
            let mean_deviation = carried_deviation(&all, at, limit).unwrap();
            assert!((mean_deviation.log + 0.1).abs() < 0.012, "{at}: {mean_deviation:?}");
            let of_a_figure = mean_deviation.chance.unwrap();
            assert!((0.025..0.04).contains(&of_a_figure), "{at}: {mean_deviation:?}");
        }
    }

    #[test]
    fn effects_of_depth_are_not_smoothed_away() {
        let tests = grid();
        let law = |test: &Test| 0.1 * f64::from(test.issue_depth()).log2();
        let all = measured_deviations(&tests, |_, test| law(test));
        for (at, test) in tests.iter().enumerate() {
            let limit = all[at].as_ref().unwrap().limit;
            let mean_deviation = carried_deviation(&all, at, limit).unwrap();
            assert!(
                (mean_deviation.log - law(test)).abs() < 0.02,
                "{}: {mean_deviation:?}",
                test.issue_depth()
            );
        }
    }

    #[test]
    fn a_limit_that_moves_has_the_deviation_of_tests_with_that_limit() {
        let tests = grid();
        let all =
            measured_deviations(&tests, |_, test| if test.issue_depth() > 4 { 0.2 } else { -0.2 });
        let mean_deviation = carried_deviation(&all, 0, Some(PathSection::Drive)).unwrap();
        assert!((mean_deviation.log - 0.2).abs() < 1e-9, "{mean_deviation:?}");
        assert_eq!(carried_deviation(&all, 0, Some(PathSection::Link)), None);
    }

    #[test]
    fn a_few_tests_go_over_as_they_were_measured() {
        let tests = [test(1, 1), test(8, 1)];
        let all = measured_deviations(&tests, |at, _| 0.1 + at as f64);
        let alone = |log: f64| Some(CarriedDeviation { log, chance: None });
        assert_eq!(carried_deviation(&all, 0, None), alone(0.1));
        assert_eq!(carried_deviation(&all, 1, Some(PathSection::Drive)), alone(1.1));
        assert_eq!(carried_deviation(&all, 0, Some(PathSection::Drive)), None);
    }

    #[test]
    fn figures_that_go_over_are_held_in_eight_of_ten_cases() {
        let tests = grid();
        let mut rng = Rng::new(StreamKey::from_seed(9));
        let mut normal = || (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
        let mut below = 0.0;
        let mut above = 0.0;
        let mut all = 0.0;
        for _ in 0..60 {
            // Tests with the same limit share the error that is applied to the other system. Each figure has its own
            // random error of 4% on both systems.
            let common = 0.3 * normal();
            let all_seen = tests.iter().map(|test| {
                let limit = (test.issue_depth() > 4).then_some(PathSection::Drive);
                Some(MeasuredDeviation { test, limit, log: common + 0.04 * normal() })
            });
            let all_seen: Vec<Option<MeasuredDeviation<'_>>> = all_seen.collect();
            for at in 0..tests.len() {
                let mean_deviation =
                    carried_deviation(&all_seen, at, all_seen[at].as_ref().unwrap().limit).unwrap();
                let reach = SIDES_80 * mean_deviation.chance.unwrap();
                let truth = common + 0.04 * normal();
                below += f64::from(u8::from(truth < mean_deviation.log - reach));
                above += f64::from(u8::from(truth > mean_deviation.log + reach));
                all += 1.0;
            }
        }
        let held: f64 = 1.0 - (below + above) / all;
        assert!((0.77..=0.83).contains(&held), "{held}");
        assert!(
            (below / all - above / all).abs() < 0.03,
            "{below} below and {above} above of {all}"
        );
    }

    /// Requests of another size or with another pattern have another model error, although their limit and their
    /// alignment are the same.
    #[test]
    fn only_tests_of_the_same_requests_are_averaged() {
        let others = [
            Test { block: Bytes::kibi(8), ..test(1, 1) },
            test(1, 1).with(|asked| asked.pattern = Pattern::Sequential),
            test(1, 1).with(|asked| asked.read_share = Ratio::ZERO),
        ];
        for other in others {
            assert_eq!(
                other.requests().unwrap().alignment,
                test(1, 1).requests().unwrap().alignment
            );
            let mut tests: Vec<Test> = (1..=5).map(|threads| test(1, threads)).collect();
            tests.push(other);
            let all = measured_deviations(&tests, |at, _| if at == 5 { 2.0 } else { 0.1 });
            let mean_deviation = carried_deviation(&all, 0, None).unwrap();
            assert!((mean_deviation.log - 0.1).abs() < 1e-9, "{:?}", tests[5]);
        }
    }

    #[test]
    fn enough_tests_are_five() {
        let tests: Vec<Test> = [1, 2, 3, 4].iter().map(|threads| test(1, *threads)).collect();
        let four = measured_deviations(&tests, |at, _| 0.1 * at as f64);
        assert_eq!(
            carried_deviation(&four, 0, None).unwrap(),
            CarriedDeviation { log: 0.0, chance: None }
        );
        let tests: Vec<Test> = [1, 2, 3, 4, 5].iter().map(|threads| test(1, *threads)).collect();
        let five = measured_deviations(&tests, |_, _| 0.1);
        let mean_deviation = carried_deviation(&five, 0, None).unwrap();
        assert!((mean_deviation.log - 0.1).abs() < 1e-12 && mean_deviation.chance.unwrap() < 1e-12);
    }
}

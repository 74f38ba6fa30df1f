//! How far what was measured lies from the model of the present system, as it goes over to the other system.
//!
//! A test's own deviation has the model's error in it, which goes over, and chance, which does not. Where a grid was measured, requests of one
//! kind that one part of the path limits have the former in common, nearly so where depth and threads are near. So the
//! deviation that goes over is a mean over these tests, weighted by a normal kernel over the doublings of depth and
//! threads (Nadaraya 1964, Watson 1964). Its bandwidth is the one with which tests that are left out are told best by the others, and what
//! is left between them is how much chance there is in a figure.
//!
//! The part of the path is the one that limits the *other* system: where a limit moves from a link to the drive, the
//! deviation is that of tests in which the drive was the limit on the present one too. Where there are none, nothing is known, and
//! the model stands alone.

use lanemark_core::result::PathPart;
use lanemark_core::workload::{Requests, Test};

/// Bandwidths that are tried, in doublings, the widest, a plain mean, first: of equal ones that is taken.
const BANDWIDTHS: [f64; 5] = [100.0, 2.8, 1.4, 0.7, 0.35];
/// Tests of one kind and limit from which on they are put together. With fewer, each goes over as it was measured.
const ENOUGH: usize = 5;

/// A test that was measured, with its deviation.
#[derive(Clone, Debug)]
pub(super) struct Seen<'t> {
    pub(super) test: &'t Test,
    /// The part that limits the model of the present system.
    pub(super) limit: Option<PathPart>,
    /// The logarithm of measured over modelled throughput.
    pub(super) log: f64,
}

/// A deviation that goes over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Deviation {
    /// The logarithm of measured over modelled throughput.
    pub(super) log: f64,
    /// The standard deviation of the logarithm of a figure for chance; none where too few tests tell it.
    pub(super) chance: Option<f64>,
}

/// Returns the deviation of test `at` of `seen`, where `limit` is the limit on the other system.
pub(super) fn carried(
    seen: &[Option<Seen<'_>>],
    at: usize,
    limit: Option<PathPart>,
) -> Option<Deviation> {
    let own = seen.get(at)?.as_ref()?;
    let alike: Vec<&Seen<'_>> = seen
        .iter()
        .flatten()
        .filter(|other| other.limit == limit && are_alike(own.test, other.test))
        .collect();
    if alike.len() < ENOUGH {
        let log = (own.limit == limit).then_some(own.log)?;
        return Some(Deviation { log, chance: None });
    }
    let judged = BANDWIDTHS.map(|bandwidth| (left_out_error(&alike, bandwidth), bandwidth));
    let (error, bandwidth) = judged.into_iter().min_by(|one, two| one.0.total_cmp(&two.0))?;
    let log = mean(&alike, own.test, bandwidth, None)?;
    Some(Deviation { log, chance: Some(error.sqrt()) })
}

/// Whether two tests differ in their depth and threads at most.
fn are_alike(one: &Test, other: &Test) -> bool {
    let (Some(asked), Some(others)) = (one.requests(), other.requests()) else { return false };
    let same = Requests { queue_depth: others.queue_depth, ..asked.clone() } == *others;
    same && one.block == other.block
}

/// The mean squared error with which each of `alike` is told by the others.
fn left_out_error(alike: &[&Seen<'_>], bandwidth: f64) -> f64 {
    let errors = alike.iter().enumerate().map(|(at, one)| {
        let told = mean(alike, one.test, bandwidth, Some(at));
        told.map_or(f64::INFINITY, |told| (told - one.log).powi(2))
    });
    errors.sum::<f64>() / alike.len() as f64
}

/// The mean deviation of `alike` at the depth and threads of `test`, without one of them.
fn mean(alike: &[&Seen<'_>], test: &Test, bandwidth: f64, without: Option<usize>) -> Option<f64> {
    let doublings = |one: u32, two: u32| (f64::from(one) / f64::from(two)).log2();
    let square = |other: &Test| {
        doublings(test.queue_depth(), other.queue_depth()).powi(2)
            + doublings(test.threads, other.threads).powi(2)
    };
    let others = alike.iter().enumerate().filter(|(at, _)| Some(*at) != without);
    let others: Vec<(f64, f64)> =
        others.map(|(_, other)| (square(other.test), other.log)).collect();
    // Weights count from the nearest, so that one is there however far all are.
    let nearest = others.iter().map(|(square, _)| *square).min_by(f64::total_cmp)?;
    let weight = |square: f64| (-0.5 * (square - nearest) / bandwidth.powi(2)).exp();
    let weights: f64 = others.iter().map(|(square, _)| weight(*square)).sum();
    let sum: f64 = others.iter().map(|(square, log)| weight(*square) * log).sum();
    Some(sum / weights)
}

#[cfg(test)]
mod tests {
    use lanemark_core::units::Bytes;

    use super::*;

    fn test(depth: u32, threads: u32) -> Test {
        let test = Test { threads, ..Test::of_blocks(Bytes::kibi(4)) };
        test.with(|asked| asked.queue_depth = depth)
    }

    fn grid() -> Vec<Test> {
        let depths = [1, 2, 4, 8, 16, 32];
        depths.iter().flat_map(|depth| depths.map(|threads| test(*depth, threads))).collect()
    }

    fn seen<'t>(tests: &'t [Test], log: impl Fn(usize, &Test) -> f64) -> Vec<Option<Seen<'t>>> {
        let limit = |test: &Test| (test.queue_depth() > 4).then_some(PathPart::Drive);
        let one = |(at, test): (usize, &'t Test)| {
            Some(Seen { test, limit: limit(test), log: log(at, test) })
        };
        tests.iter().enumerate().map(one).collect()
    }

    #[test]
    fn what_tests_have_in_common_goes_over_and_chance_does_not() {
        let tests = grid();
        // A tenth below the model throughout, and 3% of chance either way.
        let chance = |at: usize| if (at * 7 + at / 6).is_multiple_of(2) { 0.03 } else { -0.03 };
        let all = seen(&tests, |at, _| -0.1 + chance(at));
        for at in 0..tests.len() {
            let limit = all[at].as_ref().unwrap().limit;
            let told = carried(&all, at, limit).unwrap();
            assert!((told.log + 0.1).abs() < 0.012, "{at}: {told:?}");
            let of_a_figure = told.chance.unwrap();
            assert!((0.025..0.04).contains(&of_a_figure), "{at}: {told:?}");
        }
    }

    #[test]
    fn what_goes_with_depth_is_not_smoothed_away() {
        let tests = grid();
        let law = |test: &Test| 0.1 * f64::from(test.queue_depth()).log2();
        let all = seen(&tests, |_, test| law(test));
        for (at, test) in tests.iter().enumerate() {
            let limit = all[at].as_ref().unwrap().limit;
            let told = carried(&all, at, limit).unwrap();
            assert!((told.log - law(test)).abs() < 0.02, "{}: {told:?}", test.queue_depth());
        }
    }

    #[test]
    fn a_limit_that_moves_has_the_deviation_of_tests_with_that_limit() {
        let tests = grid();
        let all = seen(&tests, |_, test| if test.queue_depth() > 4 { 0.2 } else { -0.2 });
        let told = carried(&all, 0, Some(PathPart::Drive)).unwrap();
        assert!((told.log - 0.2).abs() < 1e-9, "{told:?}");
        assert_eq!(carried(&all, 0, Some(PathPart::Link)), None);
    }

    #[test]
    fn a_few_tests_go_over_as_they_were_measured() {
        let tests = [test(1, 1), test(8, 1)];
        let all = seen(&tests, |at, _| 0.1 + at as f64);
        let alone = |log: f64| Some(Deviation { log, chance: None });
        assert_eq!(carried(&all, 0, None), alone(0.1));
        assert_eq!(carried(&all, 1, Some(PathPart::Drive)), alone(1.1));
        assert_eq!(carried(&all, 0, Some(PathPart::Drive)), None);
    }
}

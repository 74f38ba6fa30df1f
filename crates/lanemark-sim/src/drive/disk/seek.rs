//! The seek curve: the time that the arm takes to move over a distance.
//!
//! Model (C. Ruemmler, J. Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994): an arm that
//! accelerates and then brakes takes a + b sqrt(d) over d cylinders, and an arm that coasts between the two takes c + e
//! d. Neither the distance at which the two parts meet nor the constants are published for any disk. Data sheets state
//! the time to the next cylinder, the time over all cylinders, and the average. These three times determine the curve
//! if its two parts meet without a step or a bend, as they do for an arm that coasts at the speed it has reached.
//!
//! Let x be the distance, from 0 for one cylinder to 1 for the full stroke, and u² the distance at which the parts
//! meet. A seek takes b sqrt(x) longer than the shortest seek for distances up to u², and b (u + (x - u²) / 2u) longer
//! for larger distances. The full stroke determines b, and the mean over pairs of cylinders, whose distances have the
//! density 2 (1 - x), determines u. The average is 1/3 of the way from the shortest to the longest seek if the arm only
//! coasts, and 8/15 of the way if it never coasts. An average outside these bounds does not fit this model. (E. K. Lee,
//! R. H. Katz, "An analytic performance model of disk arrays", SIGMETRICS 1993, fit the sum of a square root and a line
//! to the same three numbers; the bounds are the same.)
//!
//! The times for all distances are computed once, in whole picoseconds.

use crate::spec::SeekSpec;
use lanemark_schema::units::Duration;

/// Seek times by distance.
#[derive(Clone, Debug)]
pub(super) struct SeekCurve {
    /// Times in picoseconds, by number of cylinders; zero for no movement.
    times: Vec<u64>,
}

impl SeekCurve {
    /// Computes the curve of a disk with three cylinders or more.
    pub(super) fn new(spec: &SeekSpec, cylinders: u64) -> Self {
        let shortest = spec.track_to_track.picoseconds() as f64;
        let rise = spec.full_stroke.picoseconds() as f64 - shortest;
        let u = meeting_point(spec.average_place());
        let scale = rise / full_stroke_in_b(u);
        let steps = cylinders.saturating_sub(2).max(1) as f64;
        let time = |distance: u64| {
            let x = distance.saturating_sub(1) as f64 / steps;
            let root = libm::sqrt(x);
            let shape = if root <= u { root } else { u + (x - u * u) / (2.0 * u) };
            libm::round(shortest + scale * shape) as u64
        };
        let times = std::iter::once(0).chain((1..cylinders).map(time)).collect();
        Self { times }
    }

    /// Returns the time over `distance` cylinders; for larger distances, the time of the full stroke.
    pub(super) fn time(&self, distance: u32) -> Duration {
        let last = self.times.len() - 1;
        Duration::from_picoseconds(self.times[(distance as usize).min(last)])
    }
}

/// Returns the additional time of a full stroke in units of b, for parts that meet at `u` squared.
fn full_stroke_in_b(u: f64) -> f64 {
    (1.0 + u * u) / (2.0 * u)
}

/// Returns the mean additional time over pairs of cylinders in units of b.
fn mean(u: f64) -> f64 {
    let square = u * u;
    let beyond = 1.0 - square;
    let accelerating = u * square * (4.0 / 3.0 - square * (4.0 / 5.0));
    accelerating + u * beyond * beyond + beyond * beyond * beyond / (6.0 * u)
}

/// Returns the square root of the point at which the parts of the curve meet. `place` is the position of the average
/// seek between the shortest (0) and the longest (1).
fn meeting_point(place: f64) -> f64 {
    let mut low = 1e-4;
    let mut high = 1.0;
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if mean(middle) / full_stroke_in_b(middle) < place { low = middle } else { high = middle }
    }
    high
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{assert_within, us};

    /// Read seeks of the Cheetah 15K.7 and the Constellation.2.
    const PUBLISHED: [(SeekSpec, u64); 2] = [
        (SeekSpec { track_to_track: us(200), average: us(3_400), full_stroke: us(6_600) }, 107_500),
        (
            SeekSpec { track_to_track: us(230), average: us(7_500), full_stroke: us(17_060) },
            165_800,
        ),
    ];

    #[test]
    fn the_curve_goes_through_the_three_published_times() {
        for (spec, cylinders) in PUBLISHED {
            let curve = SeekCurve::new(&spec, cylinders);
            assert_eq!(curve.time(0), Duration::ZERO);
            assert_eq!(curve.time(1), spec.track_to_track);
            assert_eq!(curve.time(cylinders as u32 - 1), spec.full_stroke);
            // In the mean over all ordered pairs of C cylinders, distance d occurs 2 (C - d) times.
            let mut sum = 0.0;
            let mut pairs = 0.0;
            for distance in 1..cylinders {
                let count = 2.0 * (cylinders - distance) as f64;
                sum += curve.time(distance as u32).as_seconds() * count;
                pairs += count;
            }
            let average = spec.average.as_seconds();
            assert!((sum / pairs / average - 1.0).abs() < 1e-3, "{} for {average}", sum / pairs);
        }
    }

    #[test]
    fn a_longer_way_takes_longer_and_ever_less_so() {
        for (spec, cylinders) in PUBLISHED {
            let curve = SeekCurve::new(&spec, cylinders);
            let step = |distance: u64| {
                let next = curve.time(distance as u32 + 1).picoseconds();
                next - curve.time(distance as u32).picoseconds()
            };
            for distance in 1..cylinders - 2 {
                assert!(step(distance) + 2 >= step(distance + 1), "a bend at {distance}");
            }
        }
    }

    #[test]
    fn the_bounds_of_the_average_are_coasting_and_never_coasting() {
        assert!((meeting_point(8.0 / 15.0) - 1.0).abs() < 1e-6);
        let coasting = SeekSpec {
            track_to_track: us(1_000),
            average: us(1_000) + us(9_000) / 3,
            full_stroke: us(10_000),
        };
        let curve = SeekCurve::new(&coasting, 1_002);
        assert_within(curve.time(501).as_microseconds(), 5_500.0, 0.01);
    }
}

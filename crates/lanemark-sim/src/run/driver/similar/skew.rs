//! Skewed patterns on a smaller span.
//!
//! With Zipf's law, the share of the requests that go to the hottest part of the blocks depends on the number of
//! blocks: with fewer blocks, the hottest blocks receive a larger share. A block of the smaller span therefore
//! represents `n` blocks of consecutive ranks. The share of these ranks is a difference of generalised harmonic
//! numbers. The smaller test has the same shares as [`Pattern::Zones`], whose limits are equally spaced in the
//! logarithm of the rank.
//!
//! With a Pareto distribution, the share depends only on the part of the span, so a smaller span has the same
//! distribution.

use lanemark_schema::units::Ratio;
use lanemark_schema::workload::{Pattern, PatternZone};

/// Number of zones that replace Zipf's law; a pattern can have up to 64 zones.
const ZONES: u32 = 60;
/// Number of terms of a harmonic number that are summed individually.
const SUMMED: u64 = 1000;

/// Returns a pattern for `few` blocks that has the same shares as `pattern` on `many` blocks.
pub(super) fn on_fewer_blocks(pattern: &Pattern, many: f64, few: f64) -> Pattern {
    if let Pattern::Zipf { theta } = pattern {
        Pattern::Zones { zones: zones(*theta, many, few) }
    } else {
        pattern.clone()
    }
}

fn zones(theta: f64, many: f64, few: f64) -> Vec<PatternZone> {
    let harmonic_total = harmonic(many, theta);
    let mut zones = Vec::new();
    let mut block = 0.0;
    let mut below = 0.0;
    for step in 0..=ZONES {
        let limit = libm::ceil(libm::pow(few, f64::from(step) / f64::from(ZONES))).min(few);
        if limit <= block {
            continue;
        }
        let up_to = harmonic(limit / few * many, theta) / harmonic_total;
        let share = Ratio::new(up_to - below);
        let span = Ratio::new((limit - block) / few);
        zones.extend(share.zip(span).map(|(share, span)| PatternZone { share, span }));
        (block, below) = (limit, up_to);
    }
    zones
}

/// Returns the sum of `r^-theta` for ranks from 1 to `ranks`.
fn harmonic(ranks: f64, theta: f64) -> f64 {
    let summed = (ranks as u64).min(SUMMED);
    let sum: f64 = (1..=summed).map(|rank| libm::pow(rank as f64, -theta)).sum();
    // The other terms are approximated by the midpoint rule, which is exact to 1e-7 from this rank on.
    let from = summed as f64 + 0.5;
    let to = ranks + 0.5;
    let area = match (to > from, (theta - 1.0).abs() < 1e-9) {
        (false, _) => 0.0,
        (true, true) => libm::log(to / from),
        (true, false) => {
            (libm::pow(to, 1.0 - theta) - libm::pow(from, 1.0 - theta)) / (1.0 - theta)
        }
    };
    sum + area
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn harmonic_numbers_match_the_sum() {
        for theta in [0.5, 0.99, 1.0, 1.3] {
            for ranks in [1u64, 10, 999, 1000, 1001, 200_000] {
                let sum: f64 = (1..=ranks).map(|rank| libm::pow(rank as f64, -theta)).sum();
                let seen = harmonic(ranks as f64, theta);
                assert!((seen / sum - 1.0).abs() < 1e-6, "{theta}, {ranks}: {seen} for {sum}");
            }
        }
    }

    #[test]
    fn a_block_has_the_requests_of_its_ranks() {
        let many = 1_600_000.0;
        let few = 10_000.0;
        let Pattern::Zones { zones } = on_fewer_blocks(&Pattern::Zipf { theta: 0.99 }, many, few)
        else {
            panic!("zones")
        };
        assert!(zones.len() <= 64, "{}", zones.len());
        let sum = |of: fn(&PatternZone) -> f64| zones.iter().map(of).sum::<f64>();
        assert!((sum(|zone| zone.share.get()) - 1.0).abs() < 1e-9);
        assert!((sum(|zone| zone.span.get()) - 1.0).abs() < 1e-9);
        // The first block represents 160 ranks.
        let first: f64 = (1..=160).map(|rank| libm::pow(f64::from(rank), -0.99)).sum();
        let all: f64 = (1..=1_600_000).map(|rank| libm::pow(f64::from(rank), -0.99)).sum();
        assert!((zones[0].span.get() * few - 1.0).abs() < 1e-9);
        assert!((zones[0].share.get() / (first / all) - 1.0).abs() < 1e-6);
        // The number of requests per block decreases from zone to zone.
        let density: Vec<f64> =
            zones.iter().map(|zone| zone.share.get() / zone.span.get()).collect();
        assert!(density.windows(2).all(|pair| pair[0] > pair[1]));
        let other = Pattern::Pareto { h: 0.2 };
        assert_eq!(on_fewer_blocks(&other, many, few), other);
        // A span of one block has only one zone.
        let Pattern::Zones { zones } = on_fewer_blocks(&Pattern::Zipf { theta: 0.5 }, 10.0, 1.0)
        else {
            panic!("zones")
        };
        assert_eq!(zones.len(), 1);
    }
}

//! The address of a thread's next request, counted in steps from the start of its part of the span.

use super::{Pattern, PatternZone, SyntheticRequests, Test};
use crate::rng::{Rng, StreamKey, Zipf};

/// A thread's part of the span of a test.
pub(super) struct ThreadRegion {
    /// Start of the field on the target.
    pub(super) start: u64,
    /// Distance between the field's addresses, in bytes.
    pub(super) step: u64,
    pub(super) rule: AddressRule,
}

/// The rule that determines the next address.
#[derive(Clone, Debug)]
pub(super) enum AddressRule {
    Sequential {
        next: u64,
        count: u64,
    },
    /// Requests of several sizes in succession: `step` is one alignment unit, and each request takes as many units as
    /// it needs.
    Running {
        next: u64,
        count: u64,
        largest: u64,
        step: u64,
    },
    Backward {
        next: u64,
        count: u64,
    },
    Uniform {
        count: u64,
    },
    Shuffled {
        next: u64,
        count: u64,
        key: u64,
    },
    Zipf {
        ranks: Zipf,
        count: u64,
    },
    Pareto {
        power: f64,
        count: u64,
    },
    Normal {
        deviation: f64,
        count: u64,
    },
    PartlyRandom {
        next: u64,
        count: u64,
        random_share: f64,
    },
    HotCold {
        hot: u64,
        count: u64,
        hot_share: f64,
    },
    /// The zones, each with the cumulative share of requests up to its end, its first position and its number of
    /// positions.
    Zones {
        zones: Box<[(f64, u64, u64)]>,
    },
}

impl ThreadRegion {
    pub(super) fn for_thread(test: &Test, requests: &SyntheticRequests, key: StreamKey) -> Self {
        let threads = u64::from(test.threads);
        let step = requests.step(test.block);
        let span = test.span.get();
        let several = !requests.mix.sizes.is_empty();
        // A position may contain a whole block only if the block ends inside the span.
        let count = if requests.is_in_order() {
            span / step / threads
        } else {
            (span - test.block.get()) / step + 1
        };
        let start = if requests.is_in_order() {
            test.offset.get() + u64::from(key.thread) * count * step
        } else {
            test.offset.get()
        };
        let mut step_taken = step;
        let rule = match &requests.pattern {
            Pattern::Sequential if several => {
                let unit = requests.alignment.get();
                step_taken = unit;
                // Counts are in units of the alignment; `step` is a multiple of the unit.
                let whole = count * (step / unit);
                let largest = test.block.get().div_ceil(unit);
                AddressRule::Running { next: 0, count: whole, largest, step: unit }
            }
            Pattern::Sequential => AddressRule::Sequential { next: 0, count },
            Pattern::Backward => AddressRule::Backward { next: count, count },
            Pattern::Uniform => AddressRule::Uniform { count },
            Pattern::Shuffled => AddressRule::Shuffled { next: 0, count, key: 0 },
            Pattern::Zipf { theta } => AddressRule::Zipf { ranks: Zipf::new(count, *theta), count },
            // The definition is the same as in fio: h = 0.2 sends 80% of the requests to 20% of the positions.
            Pattern::Pareto { h } => {
                AddressRule::Pareto { power: libm::log(*h) / libm::log(1.0 - h), count }
            }
            Pattern::Normal { deviation } => {
                AddressRule::Normal { deviation: deviation.get() * count as f64, count }
            }
            Pattern::PartlyRandom { random_share } => {
                AddressRule::PartlyRandom { next: 0, count, random_share: random_share.get() }
            }
            Pattern::HotCold { hot_span, hot_share } => AddressRule::HotCold {
                hot: ((count as f64 * hot_span.get()) as u64).clamp(1, count),
                count,
                hot_share: hot_share.get(),
            },
            Pattern::Zones { zones } => AddressRule::Zones { zones: parts(zones, count) },
        };
        Self { start, step: step_taken, rule }
    }
}

/// Computes the ranges of the zones among `count` block positions. A zone without a position uses the last position of
/// its neighbour.
fn parts(zones: &[PatternZone], count: u64) -> Box<[(f64, u64, u64)]> {
    let shares: f64 = zones.iter().map(|zone| zone.share.get()).sum();
    let spans: f64 = zones.iter().map(|zone| zone.span.get()).sum();
    // A boundary that equals a position except for rounding is treated as that position. Otherwise a zone would lose
    // its first position.
    let boundary = |span: f64| (span / spans * (1.0 + 1e-12) * count as f64) as u64;
    let mut share = 0.0;
    let mut span = 0.0;
    let zone_part = |zone: &PatternZone| {
        let first = boundary(span).min(count - 1);
        share += zone.share.get() / shares;
        span += zone.span.get();
        let end = boundary(span).clamp(first + 1, count);
        (share, first, end - first)
    };
    zones.iter().map(zone_part).collect()
}

impl AddressRule {
    /// Returns the offset of a request of `length` bytes.
    #[inline]
    pub(super) fn next(&mut self, rng: &mut Rng, length: u64) -> u64 {
        match self {
            Self::Sequential { next, count } => {
                let address = *next;
                *next = if address + 1 == *count { 0 } else { address + 1 };
                address
            }
            Self::Running { next, count, largest, step } => {
                let address = if *next + *largest > *count { 0 } else { *next };
                *next = address + length.div_ceil(*step);
                address
            }
            Self::Backward { next, count } => {
                *next = if *next == 0 { *count } else { *next } - 1;
                *next
            }
            Self::Uniform { count } => rng.below(*count),
            Self::Shuffled { next, count, key } => {
                if *next == 0 {
                    *key = rng.next_u64();
                }
                let address = permuted(*next, *count, *key);
                *next = if *next + 1 == *count { 0 } else { *next + 1 };
                address
            }
            Self::Zipf { ranks, count } => scatter(ranks.sample(rng) - 1, *count),
            Self::Pareto { power, count } => {
                let rank = libm::pow(rng.unit(), *power) * *count as f64;
                scatter((rank as u64).min(*count - 1), *count)
            }
            Self::Normal { deviation, count } => loop {
                // If the position is outside the span, a new position is drawn.
                let address = *count as f64 / 2.0 + rng.normal() * *deviation;
                if address >= 0.0 && address < *count as f64 {
                    return address as u64;
                }
            },
            Self::PartlyRandom { next, count, random_share } => {
                let address = if rng.chance(*random_share) { rng.below(*count) } else { *next };
                *next = if address + 1 == *count { 0 } else { address + 1 };
                address
            }
            Self::HotCold { hot, count, hot_share } => {
                let cold = *count - *hot;
                if cold == 0 || rng.chance(*hot_share) {
                    rng.below(*hot)
                } else {
                    *hot + rng.below(cold)
                }
            }
            Self::Zones { zones } => {
                let drawn = rng.unit();
                let found = zones.iter().find(|(up_to, ..)| drawn < *up_to).or(zones.last());
                found.map_or(0, |(_, first, count)| first + rng.below(*count))
            }
        }
    }
}

/// Maps neighbouring ranks to positions that are spread over the span, one to one. The rank is multiplied by an odd
/// number until the result is inside the span, like cycle walking in format-preserving encryption.
fn scatter(rank: u64, count: u64) -> u64 {
    let mask = count.next_power_of_two() - 1;
    let mut address = rank;
    loop {
        address = address.wrapping_mul(0x9e37_79b9_7f4a_7c15) & mask;
        address = (address ^ (address >> (mask.count_ones() / 2 + 1))) & mask;
        if address < count {
            return address;
        }
    }
}

/// Returns the position at `index` in the order that `key` determines for `count` positions. The method is a Feistel
/// network with four rounds on the smallest sufficient even number of bits, repeated until the result is inside the
/// span. The method does not need a table, regardless of the number of positions.
pub(super) fn permuted(index: u64, count: u64, key: u64) -> u64 {
    let half = (count.max(2).next_power_of_two().trailing_zeros()).div_ceil(2);
    let mask = (1u64 << half) - 1;
    let mut address = index;
    loop {
        let mut left = address >> half;
        let mut right = address & mask;
        for round in 0..4u32 {
            let mixed = (right ^ key.rotate_left(16 * round)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (left, right) = (right, left ^ ((mixed >> 32) & mask));
        }
        address = left << half | right;
        if address < count {
            return address;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn scattering_doubles_no_place(count in 1u64..3000) {
            let mut addresses: Vec<u64> = (0..count).map(|rank| scatter(rank, count)).collect();
            addresses.sort_unstable();
            prop_assert!(addresses.iter().copied().eq(0..count));
        }

        #[test]
        fn an_order_has_each_place_once(count in 1u64..3000, key: u64) {
            let mut addresses: Vec<u64> = (0..count).map(|at| permuted(at, count, key)).collect();
            addresses.sort_unstable();
            prop_assert!(addresses.iter().copied().eq(0..count));
        }
    }
}

#[cfg(test)]
#[path = "addresses_tests.rs"]
mod frequencies;

//! The layout of data before a run, computed by a formula instead of stored in a table.
//!
//! *In order*: each logical slot is at the flash slot with the same number. *Scattered*: the steady state of uniform
//! random writes. In the steady state superblocks are collected in the order in which they were filled, and the valid
//! share of a superblock falls with its age a (0 just filled, 1 about to be collected) as
//!
//! ```text
//! x(a) = exp(-a c),  with  c = (T / L) (1 - exp(-c))
//! ```
//!
//! with T flash slots in all filled superblocks and L logical slots. (Desnoyers, "Analytic modeling of SSD write
//! performance", SYSTOR 2012; Xiang and Kurkoski, "An improved analytical expression for write amplification in NAND
//! flash", ICNC 2012: if blocks have many pages, greedy collection takes the oldest block.) A superblock is collected
//! when its valid share is x(1), so write amplification begins at `1 / (1 - exp(-c))`.
//!
//! The assignment of logical slots to valid flash slots is random. A keyed permutation (a Feistel network with cycle
//! walking) assigns a rank to each logical slot. The ranks fill the valid flash slots of the superblocks in order, and
//! these slots are spread evenly over each superblock. A lookup in either direction costs a few dozen instructions and
//! no memory, so preconditioning takes no time for a drive of any size.

use crate::spec::FlashSpec;

/// The value that represents a logical slot or a flash slot without data.
pub(crate) const EMPTY: u32 = u32::MAX;

/// The layout of data before a run.
#[derive(Clone, Debug)]
pub(crate) enum InitialLayout {
    /// The first slots are in order, and the rest are empty.
    InOrder {
        /// Number of slots in order.
        slots: u32,
        /// The part of these slots that is in the pseudo-SLC cache.
        cached: CachedLayout,
    },
    /// The first slots are in the order that results from random writes, and the rest are empty.
    Scattered(SteadyRandomLayout),
}

/// The part of a sequential layout that is in the pseudo-SLC cache: the first slots. The superblocks of the cache are
/// only partly filled.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CachedLayout {
    /// Number of superblocks of the cache that contain data.
    pub superblocks: u32,
    /// Number of slots that a superblock of the cache contains.
    pub each: u32,
    /// Number of slots of a superblock outside the cache.
    pub size: u32,
}

impl CachedLayout {
    /// Returns an empty cache, with superblocks of `size` slots.
    pub(crate) fn none(size: u32) -> Self {
        Self { superblocks: 0, each: 0, size }
    }

    /// Returns the part of `slots` that is in the cache of `flash` after the slots were written in order to the erased
    /// drive. A superblock has `size` slots, or `each` slots if it is in the cache; `kept` superblocks stay erased, in
    /// addition to the superblocks that the cache always has. If the drive empties its cache while it is idle, the
    /// superblocks by which the cache can grow contain no data.
    pub(crate) fn of_written(
        flash: &FlashSpec,
        slots: u32,
        each: u32,
        size: u32,
        kept: u64,
    ) -> Self {
        let own = flash.pseudo_slc_superblocks();
        let growth = flash.pseudo_slc_growth();
        let is_emptied = flash.translation.pseudo_slc.is_some_and(|cache| cache.emptied_when_idle);
        let lent = if is_emptied { 0 } else { growth };
        if each == 0 || own + lent == 0 {
            return Self::none(size);
        }
        let slots = u64::from(slots);
        let room = u64::from(flash.blocks_per_plane).saturating_sub(kept);
        // Data outside the cache needs separate superblocks.
        let beside = (room * u64::from(size)).saturating_sub(slots) / u64::from(size - each).max(1);
        let superblocks = slots.div_ceil(each.into()).min(own + lent).min(own.max(beside));
        Self { superblocks: superblocks as u32, each, size }
    }

    /// Returns the number of slots with data in the cache.
    pub(crate) fn slots(self) -> u32 {
        self.superblocks * self.each
    }

    /// Returns the flash slot of the logical slot `slot`.
    #[inline]
    fn place(self, slot: u32) -> u32 {
        if self.superblocks == 0 {
            slot
        } else if slot < self.slots() {
            slot / self.each * self.size + slot % self.each
        } else {
            self.superblocks * self.size + (slot - self.slots())
        }
    }

    /// Returns the first slot and the number of slots of superblock `index`, if superblocks have `size` slots.
    fn locate_superblock(self, index: u32, size: u32) -> (u32, u32) {
        match index.checked_sub(self.superblocks) {
            None => (index * self.each, self.each),
            Some(behind) => (self.slots() + behind * size, size),
        }
    }
}

impl InitialLayout {
    /// Returns the flash slot of the logical slot `slot`.
    #[inline]
    pub(crate) fn place(&self, slot: u32) -> u32 {
        match self {
            Self::InOrder { slots, cached } if slot < *slots => cached.place(slot),
            Self::InOrder { .. } => EMPTY,
            Self::Scattered(scattered) if slot < scattered.permutation.bound => {
                scattered.place(slot)
            }
            Self::Scattered(_) => EMPTY,
        }
    }

    /// Returns the logical slot at the flash slot `place`.
    #[cfg(test)]
    pub(crate) fn slot(&self, place: u32) -> u32 {
        match self {
            Self::InOrder { slots, cached } => {
                let size = cached.size.max(1);
                let (first, room) = cached.locate_superblock(place / size, size);
                let slot = first + place % size;
                if place % size < room && slot < *slots { slot } else { EMPTY }
            }
            Self::Scattered(scattered) => scattered.slot(place),
        }
    }

    /// Finds the valid flash slots of superblock `index`, which has `size` slots, from `within` onward, and writes each
    /// with its logical slot to `found` until `found` is full. Returns the number of slots that were written.
    pub(crate) fn valid_slots(
        &self,
        index: usize,
        size: u32,
        within: u32,
        found: &mut [(u32, u32)],
    ) -> usize {
        let first = index as u32 * size;
        match self {
            Self::InOrder { slots, cached } => {
                let (begin, room) = cached.locate_superblock(index as u32, size);
                let held = slots.saturating_sub(begin).min(room);
                let found = found.iter_mut().zip(within..held.max(within));
                found.map(|(found, at)| *found = (first + at, begin + at)).count()
            }
            Self::Scattered(scattered) => scattered.valid_slots(index, within, found),
        }
    }

    /// Returns the number of valid slots in superblock `index`, which has `size` slots.
    pub(crate) fn valid(&self, index: usize, size: u32) -> u32 {
        match self {
            Self::InOrder { slots, cached } => {
                let index = index as u64;
                let cached_blocks = u64::from(cached.superblocks);
                let (before, room) = if index < cached_blocks {
                    (index * u64::from(cached.each), cached.each)
                } else {
                    let behind = (index - cached_blocks) * u64::from(size);
                    (u64::from(cached.slots()) + behind, size)
                };
                u64::from(*slots).saturating_sub(before).min(room.into()) as u32
            }
            Self::Scattered(scattered) => match scattered.starts.get(index..index + 2) {
                Some(pair) => pair[1] - pair[0],
                None => 0,
            },
        }
    }

    /// Returns the number of superblocks with data, if superblocks have `size` slots.
    pub(crate) fn superblocks(&self, size: u32) -> usize {
        match self {
            Self::InOrder { slots, cached } => {
                let rest = slots.saturating_sub(cached.slots());
                (slots.min(&cached.slots()).div_ceil(cached.each.max(1)) + rest.div_ceil(size))
                    as usize
            }
            Self::Scattered(scattered) => scattered.starts.len() - 1,
        }
    }
}

/// The steady state of uniform random writes.
#[derive(Clone, Debug)]
pub(crate) struct SteadyRandomLayout {
    size: u32,
    permutation: Permutation,
    /// The first rank of each superblock, starting with the oldest superblock, followed by the total number of slots.
    starts: Vec<u32>,
    /// For each value of `rank >> coarse_shift`, the superblock of the first rank with that value.
    coarse: Vec<u32>,
    coarse_shift: u32,
}

/// Returns the exponent c of the steady state for `ratio` = T / L, which must be above 1.
pub(crate) fn decay(ratio: f64) -> f64 {
    // This finds the positive root of c = r (1 - exp(-c)). The right side is concave, so Newton's method approaches the
    // root from above without crossing it.
    let mut c = ratio;
    for _ in 0..64 {
        let value = c - ratio * (1.0 - libm::exp(-c));
        let slope = 1.0 - ratio * libm::exp(-c);
        let next = c - value / slope;
        if (next - c).abs() < 1e-14 * c || next <= 0.0 {
            break;
        }
        c = next;
    }
    c
}

/// Returns the write amplification of greedy collection under uniform random writes, if the filled flash is `ratio`
/// times the drive's capacity (T / L in the module's description).
#[cfg(test)]
pub(crate) fn write_amplification(ratio: f64) -> f64 {
    1.0 / (1.0 - libm::exp(-decay(ratio)))
}

impl SteadyRandomLayout {
    /// Spreads `slots` logical slots over `superblocks` superblocks of `size` slots. The total number of flash slots
    /// must be larger than `slots`.
    pub(crate) fn new(slots: u32, superblocks: u32, size: u32) -> Self {
        let ratio = f64::from(superblocks) * f64::from(size) / f64::from(slots);
        let c = decay(ratio);
        // Share of all valid slots that are in superblocks of age a or older.
        let older = |a: f64| (libm::exp(-a * c) - libm::exp(-c)) / (1.0 - libm::exp(-c));
        let mut starts: Vec<u32> = (0..=superblocks)
            .map(|index| {
                let age = 1.0 - f64::from(index) / f64::from(superblocks);
                libm::round(older(age) * f64::from(slots)) as u32
            })
            .collect();
        // Rounding must not assign more slots to a superblock than its capacity.
        for index in (1..starts.len()).rev() {
            starts[index - 1] = starts[index - 1].max(starts[index].saturating_sub(size));
        }
        let coarse_shift = (32 - slots.leading_zeros()).saturating_sub(13);
        let mut coarse = Vec::new();
        let mut superblock = 0;
        for step in 0..=(slots >> coarse_shift) {
            let rank = step << coarse_shift;
            while superblock + 2 < starts.len() && starts[superblock + 1] <= rank {
                superblock += 1;
            }
            coarse.push(superblock as u32);
        }
        Self { size, permutation: Permutation::new(slots), starts, coarse, coarse_shift }
    }

    #[inline]
    fn place(&self, slot: u32) -> u32 {
        let rank = self.permutation.forward(slot);
        let mut superblock = self.coarse[(rank >> self.coarse_shift) as usize] as usize;
        while self.starts[superblock + 1] <= rank {
            superblock += 1;
        }
        let start = self.starts[superblock];
        let end = self.starts[superblock + 1];
        let within = u64::from(rank - start) * u64::from(self.size) / u64::from(end - start);
        superblock as u32 * self.size + within as u32
    }

    fn valid_slots(&self, superblock: usize, within: u32, found: &mut [(u32, u32)]) -> usize {
        let Some(&[start, end]) = self.starts.get(superblock..superblock + 2) else { return 0 };
        let count = u64::from(end - start);
        let size = u64::from(self.size);
        let nth = (u64::from(within) * count).div_ceil(size);
        let first = superblock as u32 * self.size;
        let found = found.iter_mut().zip(nth..count);
        found
            .map(|(found, nth)| {
                let slot = self.permutation.backward(start + nth as u32);
                *found = (first + (nth * size / count) as u32, slot);
            })
            .count()
    }

    #[cfg(test)]
    fn slot(&self, place: u32) -> u32 {
        let superblock = (place / self.size) as usize;
        let within = place % self.size;
        let Some(&[start, end]) = self.starts.get(superblock..superblock + 2) else { return EMPTY };
        let count = u64::from(end - start);
        let size = u64::from(self.size);
        let nth = (u64::from(within) * count).div_ceil(size);
        if nth >= count || nth * size / count != u64::from(within) {
            return EMPTY;
        }
        self.permutation.backward(start + nth as u32)
    }
}

/// A keyed permutation of the numbers below a bound.
#[derive(Clone, Copy, Debug)]
struct Permutation {
    bound: u32,
    low_bits: u32,
    high_bits: u32,
}

const KEYS: [u32; 4] = [0x9e37_79b1, 0x85eb_ca6b, 0xc2b2_ae35, 0x27d4_eb2f];

impl Permutation {
    fn new(bound: u32) -> Self {
        let bits = (32 - bound.saturating_sub(1).leading_zeros()).max(2);
        Self { bound, low_bits: bits / 2, high_bits: bits - bits / 2 }
    }

    fn forward(self, number: u32) -> u32 {
        let mut number = number;
        loop {
            let (mut low, mut high) = self.halves(number);
            for pair in KEYS.chunks_exact(2) {
                high ^= mix_bits(low, pair[0]) & mask(self.high_bits);
                low ^= mix_bits(high, pair[1]) & mask(self.low_bits);
            }
            number = high << self.low_bits | low;
            if number < self.bound {
                return number;
            }
        }
    }

    fn backward(self, number: u32) -> u32 {
        let mut number = number;
        loop {
            let (mut low, mut high) = self.halves(number);
            for pair in KEYS.chunks_exact(2).rev() {
                low ^= mix_bits(high, pair[1]) & mask(self.low_bits);
                high ^= mix_bits(low, pair[0]) & mask(self.high_bits);
            }
            number = high << self.low_bits | low;
            if number < self.bound {
                return number;
            }
        }
    }

    fn halves(self, number: u32) -> (u32, u32) {
        (number & mask(self.low_bits), number >> self.low_bits)
    }
}

fn mask(bits: u32) -> u32 {
    (1 << bits) - 1
}

/// Returns the upper half of a product, in which every bit of `half` and `key` affects each of the lower bits.
fn mix_bits(half: u32, key: u32) -> u32 {
    let product = u64::from(half ^ key >> 7).wrapping_mul(u64::from(key) << 16 | 0xb5);
    (product >> 29) as u32 ^ (product >> 11) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_slot_has_its_own_place_and_finds_back(
            size in 8u32..600, superblocks in 5u32..60, share in 0.5f64..0.98,
            cache in proptest::option::of((0u32..60, 2u32..5)),
        ) {
            let most = (f64::from(size * superblocks) * share) as u32;
            let (layout, slots) = match cache {
                None => (InitialLayout::Scattered(SteadyRandomLayout::new(most, superblocks, size)), most),
                Some((cached, bits)) => {
                    let each = size / bits;
                    let cached = CachedLayout { superblocks: cached.min(superblocks), each, size };
                    let room = cached.slots() + (superblocks - cached.superblocks) * size;
                    let slots = most.min(room);
                    (InitialLayout::InOrder { slots, cached }, slots)
                }
            };
            prop_assert!(layout.superblocks(size) <= superblocks as usize);
            let mut seen = vec![0u32; superblocks as usize];
            for slot in 0..slots {
                let place = layout.place(slot);
                prop_assert!(place < size * superblocks);
                prop_assert_eq!(layout.slot(place), slot);
                seen[(place / size) as usize] += 1;
            }
            let held = (0..size * superblocks).filter(|&place| layout.slot(place) != EMPTY).count();
            prop_assert_eq!(held, slots as usize);
            for (index, &count) in seen.iter().enumerate() {
                prop_assert_eq!(layout.valid(index, size), count);
                let mut found = vec![(0, 0); size as usize + 1];
                let from = size / 3;
                let held = layout.valid_slots(index, size, from, &mut found);
                let first = index as u32 * size;
                let one_by_one = (first + from..first + size)
                    .map(|place| (place, layout.slot(place)))
                    .filter(|&(_, slot)| slot != EMPTY);
                prop_assert!(found[..held].iter().copied().eq(one_by_one));
            }
        }
    }

    #[test]
    fn write_amplification_matches_the_published_closed_form() {
        // The expected values are r / (r + W(-r exp(-r))), computed by bisection to four digits.
        for (spare, expected) in [(0.07, 7.817), (0.15, 4.016), (0.28, 2.4814), (1.0, 1.2550)] {
            let seen = write_amplification(1.0 + spare);
            assert!((seen / expected - 1.0).abs() < 5e-3, "{spare}: {seen} for {expected}");
        }
    }

    #[test]
    fn neighbours_are_scattered() {
        let layout = InitialLayout::Scattered(SteadyRandomLayout::new(1_000_000, 120, 10_000));
        let same = (0..10_000)
            .filter(|&slot| layout.place(slot) / 10_000 == layout.place(slot + 1) / 10_000)
            .count();
        assert!((40..400).contains(&same), "{same} of 10,000 adjacent pairs share a superblock");
    }
}

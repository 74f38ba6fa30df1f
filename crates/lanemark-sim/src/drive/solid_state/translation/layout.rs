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
//! A load that overwrites only a part of the drive concentrates in it: greedy collection never chooses a superblock
//! without invalid data, so the rest of the data, written once, ends in full superblocks. T and L are then the flash
//! slots of the other superblocks, and the slots that the load overwrites. (The rest of the data may not fill its last
//! superblock; these slots are treated like overwritten slots.)
//!
//! *The pseudo-SLC cache is full.* If writes bypass a full cache, collection does not choose its superblocks, and the
//! load has overwritten all data in them. Otherwise each superblock of the cache is folded when K others, of n slots
//! each, were filled after it, and contains the share of the last K · n writes that was not overwritten since; the
//! state of the other superblocks is the above with the remaining slots as L.
//!
//! The assignment of logical slots to valid flash slots is random. A keyed permutation (a Feistel network with cycle
//! walking) assigns a rank to each logical slot. The ranks fill the valid flash slots of the superblocks in order, and
//! these slots are spread evenly over each superblock. A lookup in either direction costs a few dozen instructions and
//! no memory, so preconditioning takes no time for a drive of any size.

use std::ops::Range;

use lanemark_schema::workload::one_pass::decay;

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
        let own = flash.pseudo_slc_kept(slots.div_ceil(size.max(1)).into());
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
            Self::Scattered(scattered) if slot < scattered.slots => scattered.place(slot),
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
            Self::Scattered(scattered) => scattered.valid(index),
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
            Self::Scattered(scattered) => scattered.superblocks(),
        }
    }
}

/// The size of a steady state, in slots and superblocks.
#[derive(Clone, Debug)]
pub(crate) struct SteadyRandomSize {
    /// Number of logical slots with data.
    pub slots: u32,
    /// The logical slots that the load overwrites.
    pub rewritten: Range<u32>,
    /// Number of filled superblocks outside the pseudo-SLC cache.
    pub superblocks: u32,
    /// Number of flash slots in a superblock outside the cache.
    pub size: u32,
    /// The filled superblocks of the cache.
    pub cache: SteadyCache,
}

/// The pseudo-SLC cache in a steady state.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SteadyCache {
    /// Number of filled superblocks.
    pub superblocks: u32,
    /// Number of flash slots in a superblock.
    pub each: u32,
    /// Whether the writes of the load pass through the cache; otherwise its data is outdated.
    pub folds: bool,
}

impl SteadyCache {
    /// Returns the cache of `flash`, with `each` slots in a superblock, if the drive's data needs `filled` superblocks.
    /// If the cache folds, its next superblock is about to be filled.
    pub(crate) fn of(flash: &FlashSpec, each: u32, filled: u32) -> Self {
        let folds = flash.translation.pseudo_slc.is_some_and(|cache| cache.fold_when_full);
        let superblocks = flash.pseudo_slc_kept(filled.into()) as u32;
        Self { superblocks: superblocks.saturating_sub(u32::from(folds)), each, folds }
    }

    /// Returns the number of slots with valid data in the cache, in all superblocks except the `oldest` oldest, if the
    /// load overwrites `slots` slots.
    fn valid_without(self, oldest: u32, slots: f64) -> f64 {
        let filled = f64::from(self.superblocks - oldest) * f64::from(self.each);
        if self.folds { slots * (1.0 - libm::exp(-filled / slots)) } else { 0.0 }
    }
}

/// The steady state of uniform random writes. The superblocks of the pseudo-SLC cache are the first, and the
/// superblocks with data that the load does not overwrite are the last.
#[derive(Clone, Debug)]
pub(crate) struct SteadyRandomLayout {
    size: u32,
    cache: SteadyCache,
    /// Number of logical slots with data.
    slots: u32,
    /// The first logical slot that the load overwrites; the permutation begins there.
    first: u32,
    permutation: Permutation,
    /// The first rank of each superblock that the load overwrites, starting with the oldest superblock, followed by the
    /// number of slots that the load overwrites.
    starts: Vec<u32>,
    /// For each value of `rank >> coarse_shift`, the superblock of the first rank with that value.
    coarse: Vec<u32>,
    coarse_shift: u32,
}

/// Returns the write amplification of greedy collection under uniform random writes, if the filled flash is `ratio`
/// times the drive's capacity (T / L in the module's description).
#[cfg(test)]
pub(crate) fn write_amplification(ratio: f64) -> f64 {
    1.0 / (1.0 - libm::exp(-decay(ratio)))
}

impl SteadyRandomLayout {
    /// Returns the steady state of this size. The total number of flash slots must be larger than the number of logical
    /// slots.
    pub(crate) fn new(of: SteadyRandomSize) -> Self {
        let SteadyRandomSize { slots: all, rewritten, superblocks, size, cache } = of;
        let first = rewritten.start;
        let once = (all - rewritten.len() as u32) / size;
        let slots = all - once * size;
        let superblocks = superblocks - once;
        let cached = cache.valid_without(0, slots.into());
        let main = f64::from(slots) - cached;
        let c = decay(f64::from(superblocks) * f64::from(size) / main.max(1.0));
        // Share of the valid slots outside the cache that are in superblocks of age a or older.
        let older = |a: f64| (libm::exp(-a * c) - libm::exp(-c)) / (1.0 - libm::exp(-c));
        let rank = |slots: f64| libm::round(slots) as u32;
        let in_cache = (0..cache.superblocks)
            .map(|index| rank(cached - cache.valid_without(index, slots.into())));
        let outside = (0..=superblocks).map(|index| {
            let age = 1.0 - f64::from(index) / f64::from(superblocks);
            rank(cached + older(age) * main)
        });
        let mut starts: Vec<u32> = in_cache.chain(outside).collect();
        // Rounding must not assign more slots to a superblock than its capacity.
        for index in (1..starts.len()).rev() {
            let room = if index > cache.superblocks as usize { size } else { cache.each };
            starts[index - 1] = starts[index - 1].max(starts[index].saturating_sub(room));
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
        let permutation = Permutation::new(slots);
        Self { size, cache, slots: all, first, permutation, starts, coarse, coarse_shift }
    }

    /// Returns the number of filled superblocks of the cache.
    pub(crate) fn cache_superblocks(&self) -> u32 {
        self.cache.superblocks
    }

    /// Returns the number of superblocks of the cache and of superblocks that the load overwrites.
    fn overwritten(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the number of superblocks with data.
    fn superblocks(&self) -> usize {
        self.overwritten() + ((self.slots - self.permutation.bound) / self.size) as usize
    }

    /// Returns the number of flash slots of a superblock that may contain data.
    fn room(&self, superblock: usize) -> u64 {
        let is_cache = superblock < self.cache.superblocks as usize;
        u64::from(if is_cache { self.cache.each } else { self.size })
    }

    /// Returns the logical slot that is `number` slots after the first slot that the load overwrites; the drive's first
    /// slot follows its last.
    fn slot_after_first(&self, number: u32) -> u32 {
        let before_end = self.slots - self.first;
        if number < before_end { self.first + number } else { number - before_end }
    }

    #[inline]
    fn place(&self, slot: u32) -> u32 {
        let before_end = self.slots - self.first;
        let number = if slot < self.first { slot + before_end } else { slot - self.first };
        if let Some(once) = number.checked_sub(self.permutation.bound) {
            return self.overwritten() as u32 * self.size + once;
        }
        let rank = self.permutation.forward(number);
        let mut superblock = self.coarse[(rank >> self.coarse_shift) as usize] as usize;
        while self.starts[superblock + 1] <= rank {
            superblock += 1;
        }
        let start = self.starts[superblock];
        let end = self.starts[superblock + 1];
        let within = u64::from(rank - start) * self.room(superblock) / u64::from(end - start);
        superblock as u32 * self.size + within as u32
    }

    fn valid_slots(&self, superblock: usize, within: u32, found: &mut [(u32, u32)]) -> usize {
        let first = superblock as u32 * self.size;
        let Some(&[start, end]) = self.starts.get(superblock..superblock + 2) else {
            let valid = self.valid(superblock);
            let begin = first - self.overwritten() as u32 * self.size + self.permutation.bound;
            let found = found.iter_mut().zip(within..valid.max(within));
            return found
                .map(|(found, at)| *found = (first + at, self.slot_after_first(begin + at)))
                .count();
        };
        let count = u64::from(end - start);
        let room = self.room(superblock);
        let nth = (u64::from(within) * count).div_ceil(room);
        let found = found.iter_mut().zip(nth..count);
        found
            .map(|(found, nth)| {
                let number = self.permutation.backward(start + nth as u32);
                *found = (first + (nth * room / count) as u32, self.slot_after_first(number));
            })
            .count()
    }

    /// Returns the number of valid slots in a superblock.
    fn valid(&self, superblock: usize) -> u32 {
        match self.starts.get(superblock..superblock + 2) {
            Some(pair) => pair[1] - pair[0],
            None if superblock < self.superblocks() => self.size,
            None => 0,
        }
    }

    #[cfg(test)]
    fn slot(&self, place: u32) -> u32 {
        let mut found = [(EMPTY, EMPTY)];
        self.valid_slots((place / self.size) as usize, place % self.size, &mut found);
        if found[0].0 == place { found[0].1 } else { EMPTY }
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

    /// Returns the steady state of a load on the whole drive, without a pseudo-SLC cache.
    fn steady(slots: u32, superblocks: u32, size: u32) -> SteadyRandomSize {
        let cache = SteadyCache::default();
        SteadyRandomSize { slots, rewritten: 0..slots, superblocks, size, cache }
    }

    proptest! {
        #[test]
        fn every_slot_has_its_own_place_and_finds_back(
            size in 8u32..600, superblocks in 5u32..60, share in 0.5f64..0.98,
            cache in proptest::option::of((0u32..60, 2u32..5)),
            load in proptest::option::of((0.0f64..1.0, 0.0f64..1.0, 0u32..9, any::<bool>())),
        ) {
            let most = (f64::from(size * superblocks) * share) as u32;
            let (layout, slots) = match (cache, load) {
                (None, None) => {
                    (InitialLayout::Scattered(SteadyRandomLayout::new(steady(most, superblocks, size))), most)
                }
                (cache, Some((start, length, cached, folds))) => {
                    let slots = most.min((superblocks - 2) * size);
                    let start = (f64::from(slots) * start) as u32;
                    let length = (f64::from(slots - start) * length) as u32;
                    let each = size / cache.map_or(3, |(_, bits)| bits);
                    let of = SteadyRandomSize {
                        slots,
                        rewritten: start..(start + length).max(start + 1).min(slots),
                        cache: SteadyCache { superblocks: cached, each, folds },
                        ..steady(slots, superblocks, size)
                    };
                    (InitialLayout::Scattered(SteadyRandomLayout::new(of)), slots)
                }
                (Some((cached, bits)), None) => {
                    let each = size / bits;
                    let cached = CachedLayout { superblocks: cached.min(superblocks), each, size };
                    let room = cached.slots() + (superblocks - cached.superblocks) * size;
                    let slots = most.min(room);
                    (InitialLayout::InOrder { slots, cached }, slots)
                }
            };
            let all = superblocks + load.map_or(0, |(_, _, cached, _)| cached);
            prop_assert!(layout.superblocks(size) <= all as usize);
            let mut seen = vec![0u32; all as usize];
            for slot in 0..slots {
                let place = layout.place(slot);
                prop_assert!(place < size * all);
                prop_assert_eq!(layout.slot(place), slot);
                seen[(place / size) as usize] += 1;
            }
            let held = (0..size * all).filter(|&place| layout.slot(place) != EMPTY).count();
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
        let layout =
            InitialLayout::Scattered(SteadyRandomLayout::new(steady(1_000_000, 120, 10_000)));
        let same = (0..10_000)
            .filter(|&slot| layout.place(slot) / 10_000 == layout.place(slot + 1) / 10_000)
            .count();
        assert!((40..400).contains(&same), "{same} of 10,000 adjacent pairs share a superblock");
    }
}

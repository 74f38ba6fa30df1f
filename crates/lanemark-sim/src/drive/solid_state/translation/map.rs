//! The flash slots of logical slots that a run has changed one by one.
//!
//! The table uses open addressing in lines of eight entries. A line is one cache line of the processor. The hash
//! chooses a line by `slot / 8`, so a sequential run touches one line for every eight slots. If a line is full, its
//! entries continue in the next line. With scattered slots, nine entries out of ten fit into their home line, and each
//! entry costs twelve to twenty-five bytes. The memory use depends on the number of touched slots and not on the
//! drive's capacity. Entries are never removed.

use std::hint::black_box;

const LANES: usize = 8;
/// Fill level, in percent, above which the table doubles its size.
const FULL_PERCENT: usize = 65;

/// An entry: a flash slot in the upper half, and the complement of its logical slot in the lower half. Zero means
/// vacant, so that zeroed memory needs no further initialisation.
type MapEntry = u64;
const VACANT: MapEntry = 0;

#[inline]
fn entry_of(slot: u32, place: u32) -> MapEntry {
    u64::from(place) << 32 | u64::from(!slot)
}

/// Returns whether `entry` belongs to `slot`; a vacant entry does not belong to any slot.
#[inline]
fn is_of(entry: MapEntry, slot: u32) -> bool {
    entry as u32 == !slot
}

#[inline]
fn place_in(entry: MapEntry) -> u32 {
    (entry >> 32) as u32
}

/// The flash slots of scattered logical slots.
#[derive(Clone, Debug)]
pub(crate) struct ScatteredSlots {
    entries: Vec<MapEntry>,
    /// Number of entries before the first line, which is aligned with a cache line.
    skipped: usize,
    lines: usize,
    used: usize,
    shift: u32,
}

const LINES_MIN: usize = 64;
/// Number of entries that may be added before the size of the table is next compared with a bound.
const SOON: usize = 1 << 20;
/// Number of entries in a page of memory.
const PAGE_ENTRIES: usize = 4096 / size_of::<MapEntry>();

impl ScatteredSlots {
    /// Creates a table without changes.
    pub(crate) fn new() -> Self {
        Self::with_lines(LINES_MIN)
    }

    fn with_lines(lines: usize) -> Self {
        let mut entries = vec![VACANT; (lines + 1) * LANES];
        // A page of memory that is read before it is written is mapped twice, and the second time interrupts the other
        // threads. The compiler does not know that these writes are redundant.
        entries.iter_mut().step_by(PAGE_ENTRIES).for_each(|entry| *black_box(entry) = VACANT);
        let skipped = entries.as_ptr().align_offset(size_of::<[MapEntry; LANES]>()).min(LANES);
        Self { entries, skipped, lines, used: 0, shift: 32 - lines.trailing_zeros() }
    }

    /// Returns whether the table is empty.
    pub(crate) fn is_empty(&self) -> bool {
        self.used == 0
    }

    /// Returns the maximum size in memory of a table to which `entries` entries are added, in bytes. While a table
    /// grows, the smaller table also exists.
    pub(crate) fn bytes_for(entries: u64) -> u64 {
        let mut lines = LINES_MIN as u64;
        while entries * 100 > lines * LANES as u64 * FULL_PERCENT as u64 {
            lines *= 2;
        }
        lines * size_of::<[MapEntry; LANES]>() as u64 * 3 / 2
    }

    /// Returns the size in memory, in bytes. If the table is about to double its size, the double size is included.
    pub(crate) fn bytes(&self) -> u64 {
        let own = (self.entries.capacity() * size_of::<MapEntry>()) as u64;
        let soon = (self.used + SOON) * 100 > self.lines * LANES * FULL_PERCENT;
        if soon { 3 * own } else { own }
    }

    /// Returns the first entry of the home line of `slot`.
    #[inline]
    fn home(&self, slot: u32) -> usize {
        let line = (slot / LANES as u32).wrapping_mul(0x9e37_79b1) >> self.shift;
        self.skipped + line as usize * LANES
    }

    /// Prefetches the entries of `slots`. No branch depends on the content of the entries, so the processor waits for
    /// all of them at once.
    #[inline]
    pub(crate) fn touch(&self, slots: impl Iterator<Item = u32>) {
        black_box(slots.fold(VACANT, |sum, slot| sum ^ self.entries[self.home(slot)]));
    }

    /// Returns the entry of `slot`, or the vacant entry in which `slot` would be stored. Each slot has a preferred
    /// lane; if another slot occupies it, the slot takes the first vacant lane. Entries are never removed, so a vacant
    /// preferred lane ends the search.
    #[inline]
    fn find(&self, slot: u32) -> usize {
        let first = self.home(slot);
        let home_index = first + slot as usize % LANES;
        match self.entries[home_index] {
            entry if is_of(entry, slot) || entry == VACANT => home_index,
            _ => self.find_elsewhere(slot, first),
        }
    }

    /// Returns the entry of `slot`, if another slot occupies its preferred lane in the home line at `first`.
    #[inline(never)]
    fn find_elsewhere(&self, slot: u32, mut first: usize) -> usize {
        let ends_search = |&entry: &MapEntry| is_of(entry, slot) || entry == VACANT;
        loop {
            if let Some(lane) = self.entries[first..first + LANES].iter().position(ends_search) {
                return first + lane;
            }
            first += LANES;
            if first == self.skipped + self.lines * LANES {
                first = self.skipped;
            }
        }
    }

    /// Returns the flash slot of `slot`, if the run has changed it.
    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<u32> {
        if self.is_empty() {
            return None;
        }
        let entry = self.entries[self.find(slot)];
        (entry != VACANT).then_some(place_in(entry))
    }

    /// Sets the flash slot of `slot`, which must be below `u32::MAX`, and returns the previous flash slot.
    #[inline]
    pub(crate) fn set(&mut self, slot: u32, place: u32) -> Option<u32> {
        let at = self.find(slot);
        let before = std::mem::replace(&mut self.entries[at], entry_of(slot, place));
        if before != VACANT {
            return Some(place_in(before));
        }
        self.used += 1;
        if self.used * 100 > self.lines * LANES * FULL_PERCENT {
            self.grow();
        }
        None
    }

    #[cold]
    fn grow(&mut self) {
        let larger = Self::with_lines(self.lines * 2);
        let smaller = std::mem::replace(self, larger);
        for entry in smaller.entries.into_iter().filter(|&entry| entry != VACANT) {
            self.set(!(entry as u32), place_in(entry));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn it_is_a_map(changes in proptest::collection::vec((0u32..5000, 0u32..1000), 0..4000), step in 1u32..16) {
            let mut overrides = ScatteredSlots::new();
            let mut expected = BTreeMap::new();
            for (slot, place) in changes {
                let slot = slot.wrapping_mul(step);
                prop_assert_eq!(overrides.set(slot, place), expected.insert(slot, place));
            }
            for slot in 0..5000 * step {
                prop_assert_eq!(overrides.get(slot), expected.get(&slot).copied());
            }
        }
    }

    #[test]
    fn memory_follows_the_touched_slots() {
        // Two of three entries are in use before the table doubles, whether the slots are adjacent or far apart.
        for stride in [1, 7, 8, 1_000, 16_000] {
            let mut overrides = ScatteredSlots::new();
            (0..1 << 18).for_each(|slot| _ = overrides.set(slot * stride, slot));
            let bytes = overrides.entries.capacity() * size_of::<MapEntry>();
            assert!(bytes <= (4 << 20) + 64, "{bytes} bytes for 2^18 slots {stride} apart");
        }
    }
}

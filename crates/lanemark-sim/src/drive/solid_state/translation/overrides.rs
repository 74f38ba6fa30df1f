//! The part of the map from logical to flash slots that a run has changed.
//!
//! Slots that are written in order, also in several streams, are mapped to flash slots in order. The map stores such
//! slots as *chunks*: an aligned group of logical slots whose flash slots follow each other takes one number. A
//! *growing run* contains the slots of a chunk that is not complete. All other slots have an entry each in
//! [`ScatteredSlots`]. An in-order write of a whole drive therefore takes a quarter of a byte for each slot, and a
//! random write takes up to 25 bytes.
//!
//! A slot is looked up first in the growing runs, then among the scattered slots, then in the chunks. This order is
//! correct for two reasons. A run whose slots change in any other way than by growing is scattered first. A complete
//! run with scattered slots does not become a chunk.

use super::layout::EMPTY;
use super::map::ScatteredSlots;
use super::slot_list::advance;

const CHUNK: u32 = 16;
/// Number of chunks in a page of the table of chunks, which is 256 MiB of the drive.
const PAGE: usize = 4096;
/// Number of growing runs. More streams than this that write at the same time scatter their slots.
const RUNS: usize = 4;
/// The entry of a chunk without a run. No chunk begins at this flash slot, because its last flash slot would not exist.
const ABSENT: u32 = EMPTY - 1;

/// Logical slots from `slot` onward in one chunk, with flash slots from `place` onward. The place of trimmed slots is
/// [`EMPTY`].
#[derive(Clone, Copy, Debug)]
struct GrowingRun {
    slot: u32,
    place: u32,
    length: u32,
}

impl GrowingRun {
    const NONE: Self = Self { slot: 0, place: 0, length: 0 };

    /// Returns the flash slot of `slot` if the run covers it.
    #[inline]
    fn get(&self, slot: u32) -> Option<u32> {
        let within = slot.wrapping_sub(self.slot);
        (within < self.length).then(|| advance(self.place, within))
    }
}

/// The first flash slot of each chunk, in pages that exist once one of their chunks does.
type ChunkPage = Box<[u32; PAGE]>;

/// The flash slots of the logical slots that the run has changed.
#[derive(Clone, Debug)]
pub(crate) struct MapOverrides {
    scattered: ScatteredSlots,
    pages: Vec<Option<ChunkPage>>,
    growing: [GrowingRun; RUNS],
    /// Number of growing runs that are not empty; they come first.
    runs: usize,
}

/// Returns the memory that `slots` slots take if they are written in order.
pub(crate) fn in_order_bytes(slots: u64) -> u64 {
    slots / u64::from(CHUNK) * size_of::<u32>() as u64
}

/// Returns the memory that `slots` slots take at least if they are written in random order: their map entries while the
/// table grows to its last size, and the lists of their superblocks.
pub(crate) fn scattered_bytes(slots: u64) -> u64 {
    ScatteredSlots::bytes_for(slots) + slots * size_of::<u32>() as u64
}

impl MapOverrides {
    /// Creates a map without changes.
    pub(crate) fn new() -> Self {
        Self {
            scattered: ScatteredSlots::new(),
            pages: Vec::new(),
            growing: [GrowingRun::NONE; RUNS],
            runs: 0,
        }
    }

    /// Returns whether the map is unchanged.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.scattered.is_empty() && self.runs == 0 && self.pages.is_empty()
    }

    /// Returns the size in memory, in bytes, with the growth that may follow soon.
    pub(crate) fn bytes(&self) -> u64 {
        let pages = self.pages.iter().flatten().count() * size_of::<[u32; PAGE]>();
        let directory = self.pages.capacity() * size_of::<Option<ChunkPage>>();
        (pages + directory) as u64 + self.scattered.bytes()
    }

    /// Prefetches the entries of `slots`.
    #[inline]
    pub(crate) fn touch(&self, slots: impl Iterator<Item = u32>) {
        self.scattered.touch(slots);
    }

    /// Returns the flash slot of `slot`, if the run has changed it.
    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<u32> {
        let growing = self.growing[..self.runs].iter().find_map(|run| run.get(slot));
        growing.or_else(|| self.settled(slot))
    }

    /// Returns the flash slot of `slot`, which no growing run covers.
    #[inline]
    fn settled(&self, slot: u32) -> Option<u32> {
        match self.scattered.get(slot) {
            None if !self.pages.is_empty() => self.in_chunk(slot),
            scattered => scattered,
        }
    }

    #[inline(never)]
    fn in_chunk(&self, slot: u32) -> Option<u32> {
        let chunk = (slot / CHUNK) as usize;
        let first = self.pages.get(chunk / PAGE)?.as_ref()?[chunk % PAGE];
        (first != ABSENT).then(|| advance(first, slot % CHUNK))
    }

    /// Sets the flash slot of `slot`, which must be below `u32::MAX`, and returns the previous flash slot.
    #[inline]
    pub(crate) fn set(&mut self, slot: u32, place: u32) -> Option<u32> {
        let chunk = slot / CHUNK;
        let own = self.growing[..self.runs].iter().position(|run| run.slot / CHUNK == chunk);
        let Some(own) = own else {
            if !slot.is_multiple_of(CHUNK) {
                let before = self.scattered.set(slot, place);
                return before.or_else(|| self.in_chunk(slot));
            }
            let before = self.settled(slot);
            self.begin_run(slot, place);
            return before;
        };
        let run = self.growing[own];
        if slot != run.slot + run.length || place != advance(run.place, run.length) {
            self.scatter(own);
            let before = self.scattered.set(slot, place);
            return before.or_else(|| self.in_chunk(slot));
        }
        let before = self.settled(slot);
        self.growing[own].length += 1;
        if run.length + 1 == CHUNK {
            self.complete(own);
        }
        before
    }

    /// Begins a run at the first slot of a chunk. If there are too many runs, the oldest is scattered.
    fn begin_run(&mut self, slot: u32, place: u32) {
        if self.runs == RUNS {
            self.scatter(0);
        }
        self.growing[self.runs] = GrowingRun { slot, place, length: 1 };
        self.runs += 1;
    }

    /// Removes a run. The order of the others remains.
    fn remove(&mut self, index: usize) -> GrowingRun {
        let run = self.growing[index];
        self.growing.copy_within(index + 1..self.runs, index);
        self.runs -= 1;
        run
    }

    /// Replaces a run with an entry for each of its slots.
    fn scatter(&mut self, index: usize) {
        let GrowingRun { slot, place, length } = self.remove(index);
        for within in 0..length {
            self.scattered.set(slot + within, advance(place, within));
        }
    }

    /// Replaces a complete run with a chunk, unless some of its slots are scattered.
    fn complete(&mut self, index: usize) {
        let GrowingRun { slot, place, .. } = self.growing[index];
        if (slot..slot + CHUNK).any(|slot| self.scattered.get(slot).is_some()) {
            return self.scatter(index);
        }
        self.remove(index);
        let chunk = (slot / CHUNK) as usize;
        if self.pages.len() <= chunk / PAGE {
            self.pages.resize(chunk / PAGE + 1, None);
        }
        self.pages[chunk / PAGE].get_or_insert_with(|| Box::new([ABSENT; PAGE]))[chunk % PAGE] =
            place;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        /// Slots are written in order and at random, trimmed, and written again over a changed part of a chunk.
        #[test]
        fn it_is_a_map(
            changes in proptest::collection::vec((0u32..600, 0u32..100_000, 1u32..80, 0u32..4), 0..200),
            step in 1u32..4,
        ) {
            let mut overrides = MapOverrides::new();
            let mut expected = BTreeMap::new();
            for (first, place, count, kind) in changes {
                // Aligned runs are frequent, so that chunks are completed and overwritten.
                let first = if kind == 0 { first } else { first / CHUNK * CHUNK };
                for within in 0..count {
                    let place = if kind == 1 { EMPTY } else { place + within * if kind == 2 { step } else { 1 } };
                    let slot = first + within;
                    prop_assert_eq!(overrides.set(slot, place), expected.insert(slot, place));
                }
                prop_assert!(!overrides.is_empty());
            }
            for slot in 0..700 {
                prop_assert_eq!(overrides.get(slot), expected.get(&slot).copied(), "{}", slot);
            }
        }
    }

    /// Streams that write in order at the same time, to different flash slots, need a chunk each and no entries.
    #[test]
    fn writes_in_order_take_a_quarter_of_a_byte_for_each_slot() {
        let mut overrides = MapOverrides::new();
        let empty = overrides.bytes();
        let length = 1 << 18;
        for slot in 0..length {
            for stream in 0..RUNS as u32 {
                let first = stream << 24;
                assert_eq!(overrides.set(first + slot, first + 77 + slot), None);
            }
        }
        let slots = u64::from(length) * RUNS as u64;
        let grown = overrides.bytes() - empty;
        assert!(grown <= slots / 4 + (16 << 10), "{grown} bytes for {slots} slots");
        assert_eq!(overrides.get(3 << 24), Some((3 << 24) + 77));
    }
}

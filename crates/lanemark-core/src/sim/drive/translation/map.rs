//! The part of the map that a run has changed: logical slot to flash place.
//!
//! Open addressing in lines of eight neighbouring slots, one cache line each: the hash chooses a line by
//! `slot / 8`, and the slot's own lane in it, so a sequential run touches a line for eight slots and a
//! scattered one costs eight bytes a slot. Memory follows what was touched and not what the drive holds.
//! Entries are never removed.

const LANES: usize = 8;
const VACANT: u32 = u32::MAX;
/// Lanes are at most this full, in percent, before the table doubles.
const FULL_PERCENT: usize = 65;

#[derive(Clone, Copy, Debug)]
struct Entry {
    slot: u32,
    place: u32,
}

/// Places of logical slots that differ from how the run found them.
#[derive(Clone, Debug)]
pub(crate) struct Overrides {
    lines: Vec<[Entry; LANES]>,
    /// Entries of each lane.
    used: [usize; LANES],
    shift: u32,
}

const EMPTY_LINE: [Entry; LANES] = [Entry { slot: VACANT, place: 0 }; LANES];
const LINES_MIN: usize = 64;

impl Overrides {
    /// Nothing changed.
    pub(crate) fn new() -> Self {
        Self::with_lines(LINES_MIN)
    }

    fn with_lines(lines: usize) -> Self {
        let shift = 32 - lines.trailing_zeros();
        Self { lines: vec![EMPTY_LINE; lines], used: [0; LANES], shift }
    }

    /// Whether nothing was changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.used == [0; LANES]
    }

    /// Bytes of memory that it holds.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.lines.capacity() * size_of::<[Entry; LANES]>()
    }

    #[inline]
    fn home(&self, slot: u32) -> (usize, usize) {
        let line = (slot / LANES as u32).wrapping_mul(0x9e37_79b1) >> self.shift;
        (line as usize, slot as usize % LANES)
    }

    /// Brings the entries of `slots` near: without a branch on what is there, the processor waits for all of
    /// them at once.
    #[inline]
    pub(crate) fn touch(&self, slots: impl Iterator<Item = u32>) {
        let touched = slots.fold(0u32, |sum, slot| {
            let (line, lane) = self.home(slot);
            sum ^ self.lines[line][lane].slot
        });
        std::hint::black_box(touched);
    }

    /// The place of `slot`, where it was changed.
    #[inline]
    pub(crate) fn get(&self, slot: u32) -> Option<u32> {
        let (mut line, lane) = self.home(slot);
        let mask = self.lines.len() - 1;
        loop {
            let entry = self.lines[line & mask][lane];
            if entry.slot == slot {
                return Some(entry.place);
            }
            if entry.slot == VACANT {
                return None;
            }
            line += 1;
        }
    }

    /// Sets the place of `slot` and returns what it was set to before.
    #[inline]
    pub(crate) fn set(&mut self, slot: u32, place: u32) -> Option<u32> {
        let (mut line, lane) = self.home(slot);
        let mask = self.lines.len() - 1;
        loop {
            let entry = &mut self.lines[line & mask][lane];
            if entry.slot == slot {
                return Some(std::mem::replace(&mut entry.place, place));
            }
            if entry.slot == VACANT {
                *entry = Entry { slot, place };
                self.used[lane] += 1;
                if self.used[lane] * 100 > self.lines.len() * FULL_PERCENT {
                    self.grow();
                }
                return None;
            }
            line += 1;
        }
    }

    #[cold]
    fn grow(&mut self) {
        let larger = Self::with_lines(self.lines.len() * 2);
        let smaller = std::mem::replace(self, larger);
        for entry in smaller.lines.into_iter().flatten().filter(|entry| entry.slot != VACANT) {
            self.set(entry.slot, entry.place);
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
        fn it_is_a_map(changes in proptest::collection::vec((0u32..5000, 0u32..1000), 0..4000), step in 1u32..64) {
            let (mut overrides, mut expected) = (Overrides::new(), BTreeMap::new());
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
    fn memory_follows_what_is_touched() {
        let mut overrides = Overrides::new();
        for slot in 0..1 << 18 {
            overrides.set(slot * 16_000, slot);
        }
        let in_order = overrides.bytes();
        assert!(in_order <= 64 << 20, "{in_order} bytes for 2^18 slots of one lane");
        let mut overrides = Overrides::new();
        (0..1 << 18).for_each(|slot| _ = overrides.set(slot, slot));
        assert!(
            overrides.bytes() <= 4 << 20,
            "{} bytes for 2^18 slots in a row",
            overrides.bytes()
        );
    }
}

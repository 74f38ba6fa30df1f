//! Trims: the data of slots is discarded.

use super::Translation;
use super::layout::{CachedLayout, EMPTY, InitialLayout};
use super::overrides::MapOverrides;
use crate::engine::number::SuperblockNumber;

impl Translation {
    /// Discards the data in the slots from `first` up to `end`.
    pub(crate) fn trim(&mut self, first: u64, end: u64) {
        if first == 0 && end >= self.slots.into() {
            return self.trim_all();
        }
        for slot in first..end {
            let slot = slot as u32;
            let place = self.place_of(slot);
            if place != EMPTY {
                self.overrides.set(slot, EMPTY);
                let index = self.superblock_of(place);
                self.superblocks.get_mut(index).valid -= 1;
            }
        }
    }

    /// Discards all data, without an entry for each slot.
    fn trim_all(&mut self) {
        let cached = CachedLayout::none(self.slots_per_superblock);
        self.layout = InitialLayout::InOrder { slots: 0, cached };
        self.overrides = MapOverrides::new();
        for index in 0..self.superblocks.len() {
            let superblock = self.superblocks.get_mut(SuperblockNumber(index as u32));
            superblock.valid = 0;
            superblock.as_found = false;
        }
    }
}

//! The state of the translation after a power cut.

use super::layout::EMPTY;
use super::superblock::SuperblockState;
use super::{Translation, WriteFrontier, WriteStream};
use crate::engine::number::SuperblockNumber;

impl Translation {
    /// Cuts the power: data that is not stored is lost, and the old content of its slots is valid again. If the buffers
    /// are `protected`, everything is stored instead. Returns the slots that the host had written and whose old content
    /// is valid again.
    pub(crate) fn power_cut(&mut self, protected: bool) -> Vec<u32> {
        let mut lost = Vec::new();
        for stream in WriteStream::ALL {
            self.pad(stream);
        }
        let unstored = self.unstored.keys();
        if !protected {
            unstored.iter().for_each(|&unit| self.roll_back(unit, &mut lost));
        }
        unstored.iter().for_each(|&unit| self.note_unit_stored(unit));
        if !protected {
            self.rewind(&unstored);
        }
        if let Some(victim) = self.victim.take()
            && self.superblocks.get(victim.superblock).pseudo_slc
        {
            self.pseudo_slc.push_front(victim.superblock);
        }
        lost
    }

    /// Rewinds lost units at the end of a superblock. The rewound units count as erased, and the stream continues to
    /// fill the superblock from that point.
    fn rewind(&mut self, lost: &[u32]) {
        let mut superblocks: Vec<SuperblockNumber> =
            lost.iter().map(|&unit| self.superblock_of(unit * self.slots_per_unit)).collect();
        superblocks.dedup();
        for index in superblocks {
            let start = index.0 * self.slots_per_superblock;
            let superblock = self.superblocks.get(index);
            let mut end = start + superblock.slots.len();
            while end > start && lost.binary_search(&((end - 1) / self.slots_per_unit)).is_ok() {
                end -= self.slots_per_unit;
            }
            let open = matches!(superblock.state, SuperblockState::Open);
            // If the last unit is stored, no unit is rewound, and the superblock keeps its state.
            let rewound = end < start + superblock.slots.len();
            if !rewound || !(open || superblock.state == SuperblockState::Closed) {
                continue;
            }
            self.superblocks.get_mut(index).slots.truncate(end - start);
            let stream = match self.superblocks.get(index) {
                one if one.pseudo_slc => WriteStream::PseudoSlc,
                one if one.moved => WriteStream::Moved,
                _ => WriteStream::Host,
            };
            if open {
                let frontiers = self.frontiers.iter_mut().flatten();
                let own = frontiers.into_iter().find(|frontier| frontier.superblock == index);
                own.into_iter().for_each(|frontier| frontier.next = end);
            } else if self.frontiers[stream as usize].is_none() {
                self.reopen(index, stream, end);
            }
        }
    }

    fn reopen(&mut self, superblock: SuperblockNumber, stream: WriteStream, next: u32) {
        let start = superblock.0 * self.slots_per_superblock;
        let pseudo_slc = stream == WriteStream::PseudoSlc;
        let size = if pseudo_slc { self.pseudo_slc_each } else { self.slots_per_superblock };
        self.superblocks.get_mut(superblock).state = SuperblockState::Open;
        self.pseudo_slc.retain(|&index| index != superblock);
        if self.victim.is_some_and(|victim| victim.superblock == superblock) {
            self.victim = None;
        }
        let previous = self.pool.pop().unwrap_or_default();
        self.frontiers[stream as usize] =
            Some(WriteFrontier { superblock, next, end: start + size, previous });
    }

    /// Returns the slots of a lost unit to their last stored content, and adds to `lost` the slots that the host had
    /// written since then. Moved data is still at its old location and is not lost.
    fn roll_back(&mut self, unit: u32, lost: &mut Vec<u32>) {
        let first = unit * self.slots_per_unit;
        let superblock = self.superblock_of(first);
        let start = superblock.0 * self.slots_per_superblock;
        for place in first..first + self.slots_per_unit {
            let slots = &self.superblocks.get(superblock).slots;
            let Some(slot) = slots.get(place - start) else { return };
            if slot == EMPTY || self.place_of(slot) != place {
                continue;
            }
            let (former, written) = self.former(place);
            self.overrides.set(slot, former);
            self.superblocks.get_mut(superblock).valid -= 1;
            if written {
                lost.push(slot);
            }
            if former != EMPTY {
                let index = self.superblock_of(former);
                let back = self.superblocks.get_mut(index);
                back.valid += 1;
                if back.state == SuperblockState::Emptied {
                    back.state = SuperblockState::Closed;
                    if back.pseudo_slc {
                        self.pseudo_slc.push_front(index);
                    }
                    self.superblocks.coming -= 1;
                }
            }
        }
    }

    /// Returns the flash slot that contains the last stored content of the logical slot at `place`, and whether the
    /// host has written the logical slot since.
    fn former(&self, place: u32) -> (u32, bool) {
        let mut place = place;
        let mut written = false;
        while place != EMPTY
            && let Some(unit) = self.unstored.get(place / self.slots_per_unit)
        {
            written |= !self.superblocks.get(self.superblock_of(place)).moved;
            place = unit.previous[(place % self.slots_per_unit) as usize];
        }
        (place, written)
    }
}

//! The flash translation layer: which flash slot holds which logical one.
//!
//! Page mapping with slots of 4 KiB. Flash is numbered in *units*, what one die programs at once, so
//! that unit u lies on die `u mod dies`: consecutive data is striped over all dies, channels first. A
//! *superblock* is one block of every plane of every die, the unit of erasing.
//!
//! The map costs memory for what was written during the run only. Data that lies there beforehand is
//! laid out in order (logical slot = flash slot), which needs no table at all.
//!
//! Seam for garbage collection: [`Translation::open_superblock`] takes an erased superblock, else erases
//! one that holds nothing valid any more. Moving valid data out of a superblock is not modelled yet; a
//! run that would need it ends with [`OutOfErasedBlocks`] rather than with a wrong figure.

use super::super::spec::{DriveSpec, SLOT};
use crate::units::Bytes;

/// Slots of one lazily made piece of the map: 4 MiB of logical space.
const PIECE: u64 = 1024;
/// A logical slot that holds nothing.
const EMPTY: u32 = u32::MAX;

/// Every superblock holds valid data, and data would have to be moved to erase one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no erased flash is left after {written} of writes")]
pub struct OutOfErasedBlocks {
    /// What the run has written so far.
    pub written: Bytes,
}

/// Where a run of logical slots lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The flash unit, or `None` where nothing was ever written.
    pub unit: Option<u32>,
    /// How many slots of the run lie there.
    pub slots: u64,
}

/// The map and the space behind it.
#[derive(Clone, Debug)]
pub struct Translation {
    slots_per_unit: u64,
    units_per_superblock: u64,
    /// Logical slots below this lie in order, unless written since.
    laid_out: u64,
    /// Index into `pieces` plus one for each piece of logical space; zero where untouched.
    directory: Vec<u32>,
    pieces: Vec<[u32; PIECE as usize]>,
    /// Valid slots of each superblock.
    valid: Vec<u32>,
    /// The next unit to fill, and the end of its superblock.
    frontier: u64,
    frontier_end: u64,
    /// Superblocks from here on were never used.
    fresh: u64,
    /// Where the search for a superblock without valid data goes on.
    hand: u64,
    written: Bytes,
}

/// A superblock that was opened for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Whether it has to be erased first.
    pub erase: bool,
}

impl Translation {
    /// A drive whose first `laid_out` bytes were written in order; the rest is erased.
    pub fn new(drive: &DriveSpec, laid_out: Bytes) -> Self {
        let flash = drive.flash();
        let slots_per_unit = flash.unit().get() / SLOT.get();
        let units_per_superblock = flash.dies() * u64::from(flash.pages_per_block);
        let superblocks = u64::from(flash.blocks_per_plane);
        let logical = drive.capacity.get().div_ceil(SLOT.get());
        let laid_out = laid_out.get().div_ceil(SLOT.get()).min(logical);
        let per_superblock = slots_per_unit * units_per_superblock;
        let fresh = laid_out.div_ceil(per_superblock);
        let valid = (0..superblocks)
            .map(|index| laid_out.saturating_sub(index * per_superblock).min(per_superblock) as u32)
            .collect();
        Self {
            slots_per_unit,
            units_per_superblock,
            laid_out,
            directory: vec![0; logical.div_ceil(PIECE) as usize],
            pieces: Vec::new(),
            valid,
            frontier: 0,
            frontier_end: 0,
            fresh,
            hand: 0,
            written: Bytes::ZERO,
        }
    }

    /// Where `slot` lies, and how many of the slots from it up to `end` lie in the same unit.
    pub fn locate(&self, slot: u64, end: u64) -> Placed {
        let piece = self.directory[(slot / PIECE) as usize];
        if piece == 0 {
            return self.locate_untouched(slot, end);
        }
        let entries = &self.pieces[piece as usize - 1];
        let first = entries[(slot % PIECE) as usize];
        let last = end.min((slot / PIECE + 1) * PIECE);
        let unit = u64::from(first) / self.slots_per_unit;
        let together = (slot + 1..last)
            .take_while(|next| {
                let entry = entries[(next % PIECE) as usize];
                match (first, entry) {
                    (EMPTY, EMPTY) => true,
                    (EMPTY, _) | (_, EMPTY) => false,
                    _ => u64::from(entry) / self.slots_per_unit == unit,
                }
            })
            .count() as u64;
        Placed { unit: (first != EMPTY).then_some(unit as u32), slots: 1 + together }
    }

    fn locate_untouched(&self, slot: u64, end: u64) -> Placed {
        let end = end.min((slot / PIECE + 1) * PIECE);
        if slot >= self.laid_out {
            return Placed { unit: None, slots: end - slot };
        }
        let unit = slot / self.slots_per_unit;
        let unit_end = ((unit + 1) * self.slots_per_unit).min(self.laid_out);
        Placed { unit: Some(unit as u32), slots: end.min(unit_end) - slot }
    }

    /// Whether the next slot written needs [`Translation::open_superblock`] first.
    pub fn needs_superblock(&self) -> bool {
        self.frontier == self.frontier_end * self.slots_per_unit
    }

    /// Takes the next superblock to write to: an erased one, else one without valid data.
    ///
    /// # Errors
    /// [`OutOfErasedBlocks`] where valid data would have to be moved.
    pub fn open_superblock(&mut self) -> Result<Opened, OutOfErasedBlocks> {
        let superblocks = self.valid.len() as u64;
        let (index, erase) = if self.fresh < superblocks {
            self.fresh += 1;
            (self.fresh - 1, false)
        } else {
            let candidates = (0..superblocks).map(|step| (self.hand + step) % superblocks);
            let empty = candidates.into_iter().find(|&index| self.valid[index as usize] == 0);
            let index = empty.ok_or(OutOfErasedBlocks { written: self.written })?;
            self.hand = index + 1;
            (index, true)
        };
        self.frontier = index * self.units_per_superblock * self.slots_per_unit;
        self.frontier_end = (index + 1) * self.units_per_superblock;
        Ok(Opened { erase })
    }

    /// Maps `slot` to the next free flash slot and returns the unit when that fills it.
    pub fn write(&mut self, slot: u64) -> Option<u32> {
        let place = self.frontier;
        debug_assert!(place < self.frontier_end * self.slots_per_unit);
        self.frontier += 1;
        self.written += SLOT;
        let previous = self.remap(slot, place as u32);
        if previous != EMPTY {
            let superblock = self.superblock_of(u64::from(previous));
            self.valid[superblock] -= 1;
        }
        let superblock = self.superblock_of(place);
        self.valid[superblock] += 1;
        self.frontier
            .is_multiple_of(self.slots_per_unit)
            .then_some((place / self.slots_per_unit) as u32)
    }

    /// The unit that is being filled, where one is.
    pub fn open_unit(&self) -> Option<u32> {
        let filled = self.frontier % self.slots_per_unit;
        (filled > 0).then_some((self.frontier / self.slots_per_unit) as u32)
    }

    /// What the run has written to flash.
    pub fn written(&self) -> Bytes {
        self.written
    }

    fn superblock_of(&self, place: u64) -> usize {
        (place / self.slots_per_unit / self.units_per_superblock) as usize
    }

    /// Sets the map's entry and returns what it was.
    fn remap(&mut self, slot: u64, place: u32) -> u32 {
        let index = (slot / PIECE) as usize;
        if self.directory[index] == 0 {
            let base = index as u64 * PIECE;
            let mut piece = [EMPTY; PIECE as usize];
            let in_order = self.laid_out.saturating_sub(base).min(PIECE);
            for (offset, entry) in piece.iter_mut().take(in_order as usize).enumerate() {
                *entry = (base + offset as u64) as u32;
            }
            self.pieces.push(piece);
            self.directory[index] = self.pieces.len() as u32;
        }
        let entries = &mut self.pieces[self.directory[index] as usize - 1];
        std::mem::replace(&mut entries[(slot % PIECE) as usize], place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sim::tests::small_drive;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn write(translation: &mut Translation, slot: u64) -> Result<(), OutOfErasedBlocks> {
        if translation.needs_superblock() {
            translation.open_superblock()?;
        }
        translation.write(slot);
        Ok(())
    }

    #[test]
    fn laid_out_data_is_striped_in_order_and_the_rest_is_empty() {
        let drive = small_drive();
        let slots_per_unit = drive.flash().unit().get() / SLOT.get();
        let translation = Translation::new(&drive, Bytes::mebi(1));
        assert_eq!(translation.locate(0, 256), Placed { unit: Some(0), slots: slots_per_unit });
        let second = translation.locate(slots_per_unit, 256);
        assert_eq!(second.unit, Some(1));
        assert_eq!(translation.locate(256, 300), Placed { unit: None, slots: 44 });
    }

    #[test]
    fn a_drive_that_is_rewritten_in_order_never_runs_out() {
        let drive = small_drive();
        let slots = drive.capacity.get() / SLOT.get();
        let mut translation = Translation::new(&drive, drive.capacity);
        for round in 0..3 {
            for slot in 0..slots {
                assert_eq!(write(&mut translation, slot), Ok(()), "round {round}, slot {slot}");
            }
        }
    }

    #[test]
    fn random_writes_over_a_full_drive_end_with_an_error_and_not_with_lost_data() {
        let drive = small_drive();
        let slots = drive.capacity.get() / SLOT.get();
        let mut translation = Translation::new(&drive, drive.capacity);
        let scattered = (0..slots * 4).map(|index| index * 7919 % slots);
        let written = scattered.take_while(|&slot| write(&mut translation, slot).is_ok()).count();
        assert!(written < slots as usize * 4);
        all_slots_are_apart(&translation, slots);
    }

    fn all_slots_are_apart(translation: &Translation, slots: u64) {
        let mut seen = BTreeSet::new();
        for slot in 0..slots {
            let piece = translation.directory[(slot / PIECE) as usize];
            let place = match piece {
                0 if slot < translation.laid_out => slot as u32,
                0 => EMPTY,
                piece => translation.pieces[piece as usize - 1][(slot % PIECE) as usize],
            };
            assert!(place == EMPTY || seen.insert(place), "slot {slot} shares flash slot {place}");
        }
        let valid: u64 = translation.valid.iter().map(|&count| u64::from(count)).sum();
        assert_eq!(valid, seen.len() as u64, "valid counts must add up to what is mapped");
    }

    proptest! {
        #[test]
        fn no_two_logical_slots_share_a_flash_slot(
            laid_out in 0u64..64, writes in proptest::collection::vec(0u64..4096, 0..3000),
        ) {
            let drive = small_drive();
            let slots = drive.capacity.get() / SLOT.get();
            let mut translation = Translation::new(&drive, Bytes::mebi(laid_out).min(drive.capacity));
            for slot in writes {
                if write(&mut translation, slot % slots).is_err() {
                    break;
                }
            }
            all_slots_are_apart(&translation, slots);
        }
    }
}

//! The flash translation layer: the map from logical to flash slots, and the choice of the data that is moved to make
//! room.
//!
//! Page mapping with slots of 4 KiB. Flash is numbered in *flash slots* (`place`) and in *units*, the amount that one
//! die programs at a time. Unit u is on die `u mod dies`, so consecutive data is striped over all dies, channels first.
//! A formula ([`InitialLayout`]) describes the original content; a table ([`MapOverrides`]) contains the changes that
//! the run makes. Each superblock that the run fills records the logical slot of each flash slot.
//!
//! The translation does not model time. [`Translation::append`] and [`Translation::relocate`] map data immediately and
//! return the units to program; the drive programs these units, and reports each with
//! [`Translation::note_unit_stored`]. Until the new content is stored, the superblock that contains the old content is
//! *pinned* (not erased), so that a power cut ([`Translation::power_cut`]) finds either the new or the old content.
//!
//! Each stream of writes fills separate superblocks. The streams are the host's data, moved data, and data for the
//! pseudo-SLC cache.
//!
//! Not modelled: mapping units other than 4 KiB, bad blocks, reading a slot before a write overwrites only a part of
//! it, a journal of the map.

mod collection;
#[cfg(test)]
mod collection_tests;
mod layout;
mod map;
mod overrides;
#[cfg(test)]
mod placement;
mod power;
#[cfg(test)]
mod power_tests;
mod reserve;
mod slot_list;
mod stream;
mod superblock;
#[cfg(test)]
mod tests;
mod trim;
mod victim;

use crate::engine::number::SuperblockNumber;
use std::collections::VecDeque;
use std::ops::Range;

use crate::engine::table::HashTable;
use crate::spec::{DriveCondition, DriveSpec, ERASED_MIN, PriorContent, SLOT, TranslationSpec};
pub(crate) use collection::{CollectionStep, MovedSlots, RoomStep};
use lanemark_schema::units::Bytes;
#[cfg(test)]
pub(crate) use layout::write_amplification;
use layout::{
    CachedLayout, EMPTY, InitialLayout, SteadyCache, SteadyRandomLayout, SteadyRandomSize,
};
pub(crate) use overrides::{MapOverrides, in_order_bytes, scattered_bytes};
#[cfg(test)]
pub(super) use placement::SlotPlacement;
use slot_list::SlotList;
use stream::STREAMS;
pub(crate) use stream::{SlotsWritten, WriteStream};
use superblock::{SuperblockPurpose, SuperblockState, Superblocks};
use victim::{Victim, VictimCursor};

/// The flash location of a run of logical slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SlotRun {
    /// The first flash slot, or `None` if the logical slots were never written.
    pub place: Option<u32>,
    /// Number of slots of the run that one operation reads.
    pub slots: u64,
}

/// A full unit that must be programmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FullUnit {
    /// The unit's number.
    pub unit: u32,
    /// Number of slots in the unit that contain data.
    pub slots: u32,
}

/// The position of a write stream in its open superblock.
#[derive(Clone, Debug)]
struct WriteFrontier {
    superblock: SuperblockNumber,
    /// The next flash slot to fill.
    next: u32,
    /// The end of the superblock.
    end: u32,
    /// The previous flash slots of the data in the unit that is being filled.
    previous: Vec<u32>,
}

/// The previous flash slots of the data in a full unit that is not programmed yet.
#[derive(Clone, Debug, Default)]
struct UnprogrammedUnit {
    previous: Vec<u32>,
}

/// Number of erased superblocks, in addition to the needs of collection, that are not lent to the pseudo-SLC cache.
/// Assumed: no source states the number for a drive.
const NOT_LENT: usize = 5;

/// Number of slots whose map entries are prefetched in one batch; the processor cannot prefetch more at once.
const EXPECTED: usize = 16;

/// The map and the flash space.
#[derive(Clone, Debug)]
pub(crate) struct Translation {
    spec: TranslationSpec,
    /// Number of logical slots.
    slots: u32,
    slots_per_unit: u32,
    slots_per_read: u32,
    slots_per_superblock: u32,
    /// Number of slots in a superblock that is written with one bit per cell; a whole number of units.
    pseudo_slc_each: u32,
    /// Number of superblocks of the fixed part of the pseudo-SLC cache.
    pseudo_slc_fixed: usize,
    /// Minimum number of superblocks of the pseudo-SLC cache, with the present amount of data.
    pseudo_slc_kept: usize,
    /// Maximum number of superblocks of the pseudo-SLC cache.
    pseudo_slc_max: usize,
    /// Number of superblocks in excess of the data of a full drive; these superblocks are not lent to the cache.
    reserve: usize,
    layout: InitialLayout,
    overrides: MapOverrides,
    superblocks: Superblocks,
    frontiers: [Option<WriteFrontier>; STREAMS],
    unstored: HashTable<UnprogrammedUnit>,
    pool: Vec<Vec<u32>>,
    victim: Option<Victim>,
    upcoming: VictimCursor,
    /// Slots that will be written and whose map entries are not prefetched yet.
    expected: Vec<u32>,
    /// Filled superblocks of the pseudo-SLC cache, the oldest first.
    pseudo_slc: VecDeque<SuperblockNumber>,
    pseudo_slc_used: usize,
    /// Superblocks that can be erased.
    to_erase: Vec<SuperblockNumber>,
    /// Number of erased slots before the run that collection does not maintain.
    erased_before: u64,
    /// Number of slots that collection still has to move for the host's writes.
    debt: f64,
    written: SlotsWritten,
    /// All mappings, for tests that track the data.
    #[cfg(test)]
    pub(super) placements: Vec<SlotPlacement>,
}

/// Returns the logical slots that the load overwrites, of a drive with `slots` written slots.
fn rewritten_slots(content: PriorContent, slots: u32) -> Range<u32> {
    let all = 0..slots;
    let Some(span) = content.rewritten else { return all };
    let start = (span.start.get() / SLOT.get()).min(slots.into()) as u32;
    let end = span.end.get().div_ceil(SLOT.get()).min(slots.into()) as u32;
    if start < end { start..end } else { all }
}

impl Translation {
    pub(crate) fn new(drive: &DriveSpec, content: PriorContent) -> Self {
        let flash = drive.flash();
        let spec = flash.translation;
        let packed = content.packed(spec.compression);
        let slots_per = |bytes: Bytes| ((bytes.get() / SLOT.get()) as f64 / packed) as u32;
        let slots_per_unit = slots_per(flash.unit());
        let units_per_superblock = flash.dies() * u64::from(flash.pages_per_block);
        let slots_per_superblock = (u64::from(slots_per_unit) * units_per_superblock) as u32;
        let logical = drive.capacity.get().div_ceil(SLOT.get()) as u32;
        let written = libm::round(f64::from(logical) * flash.filled.get()) as u32;
        let written = written.clamp(1, logical.max(1));
        let in_order = |slots: u64| InitialLayout::InOrder {
            slots: slots.min(logical.into()) as u32,
            cached: CachedLayout::none(slots_per_superblock),
        };
        let filled_when_full = logical.div_ceil(slots_per_superblock.max(1));
        let reserve = u64::from(flash.blocks_per_plane.saturating_sub(filled_when_full));
        let of_one_bit = slots_per_superblock / flash.technology.bits() as u32;
        let pseudo_slc_each = of_one_bit - of_one_bit % slots_per_unit.max(1);
        let layout = match flash.condition {
            // Media that overwrite data in place need no map.
            _ if flash.technology.in_place() => in_order(0),
            DriveCondition::Fresh => {
                let slots = content.written.get().div_ceil(SLOT.get()).min(logical.into()) as u32;
                let filled = slots.div_ceil(slots_per_superblock.max(1));
                let cache_superblocks = flash.pseudo_slc_kept(filled.into());
                let reserved_superblocks = (u64::from(ERASED_MIN) + NOT_LENT as u64)
                    .max(reserve.saturating_sub(cache_superblocks));
                let each = pseudo_slc_each;
                let size = slots_per_superblock;
                let cached = if content.is_just_written {
                    CachedLayout::of_written(flash, slots, each, size, reserved_superblocks)
                } else {
                    CachedLayout::none(size)
                };
                InitialLayout::InOrder { slots, cached }
            }
            DriveCondition::Purged => in_order(0),
            DriveCondition::Sequential => in_order(u64::from(written)),
            DriveCondition::Random => {
                let filled = written.div_ceil(slots_per_superblock.max(1));
                let cache = SteadyCache::of(flash, pseudo_slc_each, filled);
                InitialLayout::Scattered(SteadyRandomLayout::new(SteadyRandomSize {
                    slots: written,
                    rewritten: rewritten_slots(content, written),
                    // The number of erased superblocks equals the number that collection maintains, so collection
                    // begins with the first filled superblock.
                    superblocks: flash.blocks_per_plane - ERASED_MIN - cache.superblocks,
                    size: slots_per_superblock,
                    cache,
                }))
            }
        };
        let count = flash.blocks_per_plane as usize;
        let valid = (0..count).map(|index| layout.valid(index, slots_per_superblock));
        let filled = layout.superblocks(slots_per_superblock);
        let cached = match &layout {
            InitialLayout::InOrder { cached, .. } => cached.superblocks,
            InitialLayout::Scattered(scattered) => scattered.cache_superblocks(),
        };
        let mut superblocks = Superblocks::new(valid, filled, flash.cycles);
        let pseudo_slc: VecDeque<_> = (0..cached).map(SuperblockNumber).collect();
        pseudo_slc.iter().for_each(|&index| superblocks.get_mut(index).pseudo_slc = true);
        let mut translation = Self {
            spec,
            slots: logical,
            slots_per_unit,
            slots_per_read: slots_per(flash.read_unit()),
            slots_per_superblock,
            pseudo_slc_each,
            pseudo_slc_fixed: flash.pseudo_slc_superblocks() as usize,
            pseudo_slc_kept: 0,
            pseudo_slc_max: (flash.pseudo_slc_superblocks() + flash.pseudo_slc_growth()) as usize,
            reserve: reserve as usize,
            superblocks,
            layout,
            overrides: MapOverrides::new(),
            frontiers: [const { None }; STREAMS],
            unstored: HashTable::new(),
            pool: Vec::new(),
            victim: None,
            upcoming: VictimCursor::START,
            expected: Vec::with_capacity(EXPECTED),
            pseudo_slc,
            pseudo_slc_used: cached as usize,
            to_erase: Vec::new(),
            erased_before: 0,
            debt: 0.0,
            written: SlotsWritten::default(),
            #[cfg(test)]
            placements: Vec::new(),
        };
        translation.pseudo_slc_kept = translation.kept_pseudo_slc();
        translation.erased_before = translation.erased_beyond_collection();
        translation
    }

    #[inline]
    fn place_of(&self, slot: u32) -> u32 {
        match self.overrides.get(slot) {
            Some(place) => place,
            None => self.layout.place(slot),
        }
    }

    /// Announces writes of `slots`, so that their map entries are prefetched in batches.
    #[inline]
    pub(crate) fn expect(&mut self, slots: impl Iterator<Item = u64>) {
        for slot in slots {
            if self.expected.len() == EXPECTED {
                self.overrides.touch(self.expected.drain(..));
            }
            self.expected.push(slot as u32);
        }
    }

    fn superblock_of(&self, place: u32) -> SuperblockNumber {
        SuperblockNumber(place / self.slots_per_superblock)
    }

    pub(crate) fn slots_per_unit(&self) -> u32 {
        self.slots_per_unit
    }

    pub(crate) fn count_moved(&mut self, slots: u32) {
        self.written.moved += u64::from(slots);
    }

    pub(crate) fn unit_of(&self, place: u32) -> u32 {
        place / self.slots_per_unit
    }

    /// Returns the index, within its unit, of the operation that reads flash slot `place`: the plane, if planes read
    /// independently.
    pub(crate) fn read_in_unit(&self, place: u32) -> u32 {
        place % self.slots_per_unit / self.slots_per_read
    }

    pub(crate) fn is_pseudo_slc(&self, unit: u32) -> bool {
        self.pseudo_slc_max > 0
            && self.superblocks.get(self.superblock_of(unit * self.slots_per_unit)).pseudo_slc
    }

    /// Returns the number of program and erase cycles of the block that contains `unit`.
    pub(crate) fn cycles(&self, unit: u32) -> u32 {
        self.superblocks.get(self.superblock_of(unit * self.slots_per_unit)).cycles
    }

    /// Returns whether the content of `unit` is still in the drive's memory.
    #[inline]
    pub(crate) fn is_unstored(&self, unit: u32) -> bool {
        let open = |frontier: &Option<WriteFrontier>| {
            frontier.as_ref().is_some_and(|frontier| {
                frontier.next % self.slots_per_unit > 0
                    && frontier.next / self.slots_per_unit == unit
            })
        };
        (!self.unstored.is_empty() && self.unstored.contains(unit))
            || self.frontiers.iter().any(open)
    }

    /// Returns whether any full unit is not stored yet.
    pub(crate) fn has_unstored(&self) -> bool {
        !self.unstored.is_empty()
    }

    /// Returns the flash slot of `slot`, and the number of slots from `slot` up to `end` that one operation reads.
    #[inline]
    pub(crate) fn locate(&self, slot: u64, end: u64) -> SlotRun {
        let first = self.place_of(slot as u32);
        let reads = self.slots_per_read;
        if let InitialLayout::InOrder { slots, .. } = self.layout
            && self.overrides.is_empty()
        {
            if first == EMPTY {
                return SlotRun { place: None, slots: end - slot };
            }
            let together = (slot + u64::from(reads - first % reads)).min(slots.into());
            return SlotRun { place: Some(first), slots: end.min(together) - slot };
        }
        let continues_run = |&next: &u64| {
            let place = self.place_of(next as u32);
            match (first, place) {
                (EMPTY, EMPTY) => true,
                (EMPTY, _) | (_, EMPTY) => false,
                _ => place / reads == first / reads,
            }
        };
        let together = (slot + 1..end).take_while(continues_run).count() as u64;
        SlotRun { place: (first != EMPTY).then_some(first), slots: 1 + together }
    }

    /// Returns the stream for the host's data, and opens a superblock for the stream if necessary. Returns
    /// `None` if the data must wait for erased flash.
    #[inline]
    pub(crate) fn stream_for_host(&mut self) -> Option<WriteStream> {
        let mut stream = WriteStream::Host;
        if self.pseudo_slc_max > 0 {
            let opens = self.frontiers[WriteStream::PseudoSlc as usize].is_none();
            if !opens || self.has_room_in_pseudo_slc() {
                stream = WriteStream::PseudoSlc;
            } else if self.spec.pseudo_slc.is_some_and(|cache| cache.fold_when_full) {
                return None;
            }
        }
        // One erased superblock is reserved for moved data.
        let ready = self.frontiers[stream as usize].is_some() || self.superblocks.erased() > 1;
        (ready && (self.frontiers[stream as usize].is_some() || self.open(stream)))
            .then_some(stream)
    }

    /// Returns whether the pseudo-SLC cache may take another superblock, dedicated or lent. Only the host's free space
    /// is lent: erased superblocks beyond the reserve of a full drive and beyond the needs of collection.
    fn has_room_in_pseudo_slc(&self) -> bool {
        let used = self.pseudo_slc_used;
        let kept = self.pseudo_slc_kept;
        let needed = self.reserve.saturating_sub(kept).max(ERASED_MIN as usize + NOT_LENT);
        used < kept || used < self.pseudo_slc_max && self.superblocks.erased() > needed
    }

    fn open(&mut self, stream: WriteStream) -> bool {
        self.pseudo_slc_kept = self.kept_pseudo_slc();
        let pseudo_slc = stream == WriteStream::PseudoSlc;
        let purpose = SuperblockPurpose { pseudo_slc, moved: stream == WriteStream::Moved };
        let size = if pseudo_slc { self.pseudo_slc_each } else { self.slots_per_superblock };
        let Some(superblock) = self.superblocks.open(purpose, size) else { return false };
        self.pseudo_slc_used += usize::from(pseudo_slc);
        let next = superblock.0 * self.slots_per_superblock;
        let previous = self.pool.pop().unwrap_or_default();
        self.frontiers[stream as usize] =
            Some(WriteFrontier { superblock, next, end: next + size, previous });
        true
    }

    /// Maps `slot` to the next flash slot of `stream`, which must be open, and returns the unit if it is now full.
    #[inline]
    pub(crate) fn append(&mut self, stream: WriteStream, slot: u64) -> Option<FullUnit> {
        self.written.host += 1;
        self.place_next(stream, slot as u32)
    }

    #[inline]
    fn place_next(&mut self, stream: WriteStream, slot: u32) -> Option<FullUnit> {
        let place = self.frontiers[stream as usize].as_ref()?.next;
        let previous = match self.overrides.set(slot, place) {
            Some(previous) => previous,
            None => self.layout.place(slot),
        };
        self.record_placement(stream, slot, previous)
    }

    /// Records that `slot`, which was at `previous`, is now mapped to the next flash slot of `stream`.
    #[inline]
    fn record_placement(
        &mut self,
        stream: WriteStream,
        slot: u32,
        previous: u32,
    ) -> Option<FullUnit> {
        let frontier = self.frontiers[stream as usize].as_mut()?;
        let place = frontier.next;
        let superblock = frontier.superblock;
        #[cfg(test)]
        self.placements.push(SlotPlacement {
            slot,
            place,
            from: (stream == WriteStream::Moved).then_some(previous),
        });
        frontier.next += 1;
        frontier.previous.push(previous);
        let full = frontier.next.is_multiple_of(self.slots_per_unit);
        let ended = frontier.next == frontier.end;
        if previous != EMPTY {
            let from = self.superblock_of(previous);
            let from = self.superblocks.get_mut(from);
            from.valid -= 1;
            from.pins += 1;
        }
        let into = self.superblocks.get_mut(superblock);
        into.valid += 1;
        into.slots.push(slot);
        let filled = full.then(|| self.fill(stream, place / self.slots_per_unit));
        if ended {
            self.close(stream);
        }
        filled
    }

    /// Closes the unit that `stream` is filling, so that it can be programmed.
    fn fill(&mut self, stream: WriteStream, unit: u32) -> FullUnit {
        let spare = self.pool.pop().unwrap_or_default();
        let previous = match &mut self.frontiers[stream as usize] {
            Some(frontier) => std::mem::replace(&mut frontier.previous, spare),
            None => spare,
        };
        let slots = previous.len() as u32;
        let index = self.superblock_of(unit * self.slots_per_unit);
        self.superblocks.get_mut(index).unstored += 1;
        self.unstored.insert(unit, UnprogrammedUnit { previous });
        FullUnit { unit, slots }
    }

    fn close(&mut self, stream: WriteStream) {
        let Some(frontier) = self.frontiers[stream as usize].take() else { return };
        self.superblocks.get_mut(frontier.superblock).state = SuperblockState::Closed;
        if stream == WriteStream::PseudoSlc {
            self.pseudo_slc.push_back(frontier.superblock);
        }
        self.recycle(frontier.previous);
    }

    fn recycle(&mut self, mut previous: Vec<u32>) {
        previous.clear();
        self.pool.push(previous);
    }

    /// Ends the unit that `stream` is filling, if there is one, and leaves the rest of the unit empty.
    pub(crate) fn pad(&mut self, stream: WriteStream) -> Option<FullUnit> {
        let slots_per_unit = self.slots_per_unit;
        let frontier = self.frontiers[stream as usize].as_mut()?;
        let rest = (slots_per_unit - frontier.next % slots_per_unit) % slots_per_unit;
        if rest == 0 {
            return None;
        }
        let unit = frontier.next / slots_per_unit;
        frontier.next += rest;
        let ended = frontier.next == frontier.end;
        let slots = &mut self.superblocks.get_mut(frontier.superblock).slots;
        (0..rest).for_each(|_| slots.push(EMPTY));
        self.written.padded += u64::from(rest);
        let filled = self.fill(stream, unit);
        if ended {
            self.close(stream);
        }
        Some(filled)
    }

    /// Records that the unit has been programmed. The content that it replaces is no longer needed.
    pub(crate) fn note_unit_stored(&mut self, unit: u32) {
        let Some(UnprogrammedUnit { previous }) = self.unstored.remove(unit) else { return };
        let index = self.superblock_of(unit * self.slots_per_unit);
        let own = self.superblocks.get_mut(index);
        own.unstored -= 1;
        if own.unstored == 0 && own.pins == 0 && own.state == SuperblockState::Emptied {
            self.release(index);
        }
        for &place in previous.iter().filter(|&&place| place != EMPTY) {
            let index = self.superblock_of(place);
            let from = self.superblocks.get_mut(index);
            from.pins -= 1;
            match from.state {
                _ if from.pins > 0 => {}
                SuperblockState::Emptied if from.unstored == 0 => self.release(index),
                // The slot list of this superblock is no longer read.
                SuperblockState::Closed if from.valid == 0 => from.slots = SlotList::default(),
                SuperblockState::Erased
                | SuperblockState::Open
                | SuperblockState::Closed
                | SuperblockState::Emptied
                | SuperblockState::Erasing => {}
            }
        }
        self.recycle(previous);
    }

    fn release(&mut self, index: SuperblockNumber) {
        self.superblocks.get_mut(index).state = SuperblockState::Erasing;
        self.to_erase.push(index);
    }

    pub(crate) fn next_to_erase(&mut self) -> Option<SuperblockNumber> {
        self.to_erase.pop()
    }

    /// Records that all dies have erased their part of `superblock`.
    pub(crate) fn note_erased(&mut self, superblock: SuperblockNumber) {
        self.pseudo_slc_used -= usize::from(self.superblocks.get(superblock).pseudo_slc);
        self.superblocks.erased_now(superblock);
    }

    /// Records that the host wrote a slot in place, which does not change the map.
    pub(crate) fn write_in_place(&mut self) {
        self.written.host += 1;
    }

    /// Returns the numbers of slots written to flash so far, by reason.
    pub(crate) fn written(&self) -> SlotsWritten {
        self.written
    }

    /// Returns the memory that grows with the written data, in bytes, with the growth that may follow soon.
    pub(crate) fn bytes(&self) -> u64 {
        let SlotsWritten { host, moved, folded, padded } = self.written;
        // Before the first write all lists are empty. A large drive has too many to visit them during each check.
        let has_lists = host + moved + folded + padded > 0;
        self.overrides.bytes() + if has_lists { self.superblocks.list_bytes() } else { 0 }
    }

    pub(crate) fn erases(&self) -> u64 {
        self.superblocks.erases
    }
}

//! A solid-state drive's medium: map, translation, channels and dies.
//!
//! ```text
//!  read  ─► map ─► dies ─► channels ─► data path ─► link
//!  write ─► buffer ─► map ─► channels ─► dies (drain)
//! ```
//!
//! [`Translation`] does not model time: it only determines which data to move and program. This module turns these
//! decisions into work for the dies, and reports finished work back (`background.rs`). The interface to the drive is in
//! `medium.rs`.
//!
//! Not modelled: reading a slot before a write overwrites only a part of it (a write of less than 4 KiB takes a whole
//! slot), and reads that find earlier host data in the drive's memory, except data that was read ahead or is not stored
//! yet.

mod array_time;
#[cfg(test)]
mod array_time_tests;
mod background;
#[cfg(test)]
mod durability_tests;
mod flash;
#[cfg(test)]
mod flash_tests;
mod flushes;
mod formulas;
mod map_cache;
mod medium;
#[cfg(test)]
mod medium_tests;
mod operation;
mod parallel_collection;
mod read_ahead;
mod translation;

#[cfg(test)]
pub(crate) use translation::write_amplification;
pub(crate) use translation::{in_order_bytes, scattered_bytes};

use std::collections::VecDeque;
use std::ops::Range;

use self::flash::Flash;
use self::flushes::WaitingFlushes;
use self::map_cache::{MapCache, MapLocation};
use self::operation::{DieSite, DieTask, Relocation};
use self::parallel_collection::ParallelCollection;
use self::read_ahead::ReadAhead;
use self::translation::{MovedSlots, SlotRun, Translation};
use crate::drive::buffer::slots_of;
use crate::drive::medium::MapMisses;
use crate::engine::event::Event;
use crate::engine::number::DriveNumber;
use crate::engine::schedule::{DataBurst, EventSchedule};
use crate::engine::slab::{CommandHandle, Relocations, Slab};
use crate::engine::table::HashTable;
use crate::spec::{DriveSpec, FlashSpec, PageTimes, PriorContent, SLOT, WriteCacheMode};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::fault::ReadRetries;

/// The simulated medium of a solid-state drive.
#[derive(Clone, Debug)]
pub(crate) struct SolidState {
    flash: Flash,
    translation: Translation,
    spec: FlashSpec,
    write_cache: WriteCacheMode,
    slots: u64,
    map: Option<MapCache>,
    ahead: Option<ReadAhead>,
    relocations: Slab<Relocation, Relocations>,
    /// Sources still to be read for the unit that is being filled with moved data.
    sources: Vec<MovedSlots>,
    /// The unit from which data to be moved was last read.
    last_moved: Option<u32>,
    /// For each superblock that is being erased, the number of dies that have not erased their part.
    erasing: HashTable<u32>,
    /// Buffered data that waits for erased flash, and flushes after this data.
    unmapped: VecDeque<PendingCommand>,
    /// The number of times that each slot occurs in the data of `unmapped`.
    unmapped_slots: HashTable<u32>,
    flushes: WaitingFlushes,
    /// Garbage collection that is not simulated.
    beside: Option<ParallelCollection>,
    /// Number of commands in the drive.
    commands: u32,
    idle_since: Instant,
    in_background: bool,
    map_stored: u64,
    /// The first slot of the last read.
    last_read: u64,
    /// The rule for repeating reads.
    retries: Option<ReadRetries>,
}

#[derive(Clone, Copy, Debug)]
enum PendingCommand {
    /// Written slots: the first slot and the slot after the last.
    Write(u64, u64),
    /// A flush, which waits for the writes before it.
    Flush(CommandHandle),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SlotLocation {
    /// The slots have never been written.
    Nowhere,
    /// The drive's memory.
    Memory,
    /// Flash, starting at this slot address.
    Flash(u32),
}

impl SolidState {
    /// Creates the idle medium of drive `index` from `flash`, in the specified condition and with the prior `content`.
    /// The run's `key` determines its random events.
    pub(crate) fn new(
        index: DriveNumber,
        flash: &FlashSpec,
        spec: &DriveSpec,
        content: PriorContent,
        key: StreamKey,
    ) -> Self {
        let packed = content.packed(flash.translation.compression);
        let window = spec.read_ahead.get() / SLOT.get();
        Self {
            translation: Translation::new(spec, content),
            flash: Flash::new(index, flash, packed, key),
            write_cache: spec.write_cache,
            slots: spec.capacity.get() / SLOT.get(),
            map: flash.translation.map.map(MapCache::new),
            ahead: (window > 0).then(|| ReadAhead::new(window)),
            spec: flash.clone(),
            relocations: Slab::new(),
            sources: Vec::new(),
            last_moved: None,
            erasing: HashTable::new(),
            unmapped: VecDeque::new(),
            unmapped_slots: HashTable::new(),
            flushes: WaitingFlushes::new(),
            beside: ParallelCollection::from_flash(flash),
            commands: 0,
            idle_since: Instant::ZERO,
            in_background: false,
            map_stored: 0,
            last_read: 0,
            retries: None,
        }
    }

    /// Looks up the pages of the map for a command, and starts reading the pages that are not in memory.
    #[inline(never)]
    fn look_up_pages(
        &mut self,
        now: Instant,
        command: CommandHandle,
        offset: Bytes,
        length: Bytes,
        changes: bool,
        events: &mut EventSchedule,
    ) -> MapMisses {
        let Some(map) = &mut self.map else { return MapMisses::default() };
        let (first, end) = slots_of(offset, length);
        let mut misses = MapMisses::default();
        let mut reads = Vec::new();
        let mut stores = Vec::new();
        for page in MapCache::pages(first, end) {
            let look = map.look(page, changes);
            stores.extend(look.stores);
            match look.found {
                MapLocation::AtHand => {}
                MapLocation::InHost => misses.from_host += 1,
                MapLocation::InFlash => reads.push(page),
            }
        }
        misses.from_media = reads.len() as u32;
        for page in reads {
            let site = self.site(page, 0, self.map_read_time());
            self.flash.start(now, site, DieTask::ReadMap { command }, SLOT, events);
        }
        for page in stores {
            self.map_stored += 1;
            let site = self.site(page, 0, self.spec.program.mean());
            self.flash.start(now, site, DieTask::ProgramMap, self.spec.unit(), events);
        }
        misses
    }

    fn read_flash(
        &mut self,
        now: Instant,
        command: CommandHandle,
        slots: Range<u64>,
        offset: Bytes,
        length: Bytes,
        events: &mut EventSchedule,
    ) -> u32 {
        let Range { start: mut slot, end } = slots;
        let mut bursts = 0;
        while slot < end {
            let (location, slots) = self.locate(slot, end);
            let bytes = overlap(slot, slot + slots, offset, length);
            match location {
                SlotLocation::Flash(place) => {
                    let site = self.site_of_read(place);
                    let task = DieTask::Read { command };
                    self.flash.start(now, site, task, bytes, events);
                }
                SlotLocation::Nowhere | SlotLocation::Memory => {
                    events.schedule_burst(now, DataBurst { command, bytes }, Event::FromBuffer);
                }
            }
            slot += slots;
            bursts += 1;
        }
        bursts
    }

    /// Starts to read ahead for a stream.
    fn prefetch(&mut self, now: Instant, stream: usize, events: &mut EventSchedule) {
        let last = self.slots;
        let Some(ahead) = &mut self.ahead else { return };
        let wanted = ahead.slots_to_read_ahead(stream, last);
        // The last read includes all remaining data of its unit.
        let end = last.min(wanted.end + u64::from(self.translation.slots_per_unit()));
        let mut slot = wanted.start;
        while slot < wanted.end {
            let (location, slots) = self.locate(slot, end);
            if location == SlotLocation::Nowhere {
                return;
            }
            let Some(ahead) = &mut self.ahead else { return };
            let stretch = ahead.begin(stream, slot, slot + slots);
            if let SlotLocation::Flash(place) = location {
                let site = self.site_of_read(place);
                let task = DieTask::Prefetch { stretch };
                self.flash.start(now, site, task, SLOT * slots, events);
            } else {
                ahead.on_stretch_arrived(stretch);
            }
            slot += slots;
        }
    }

    /// Returns the location of `slot`, and the number of slots from `slot` onward, up to `end`, that one operation
    /// reads from that location.
    #[inline]
    fn locate(&self, slot: u64, end: u64) -> (SlotLocation, u64) {
        if self.spec.technology.in_place() {
            return (SlotLocation::Flash(slot as u32), 1);
        }
        let waits = |slot: &u64| self.unmapped_slots.contains(*slot as u32);
        let any_waits = !self.unmapped_slots.is_empty();
        if any_waits && waits(&slot) {
            return (SlotLocation::Memory, (slot..end).take_while(waits).count() as u64);
        }
        let SlotRun { place, mut slots } = self.translation.locate(slot, end);
        if any_waits {
            let mut behind = slot + 1..slot + slots;
            slots = behind.find(waits).map_or(slots, |next| next - slot);
        }
        let location = match place {
            None => SlotLocation::Nowhere,
            Some(place) if self.translation.is_unstored(self.translation.unit_of(place)) => {
                SlotLocation::Memory
            }
            Some(place) => SlotLocation::Flash(place),
        };
        (location, slots)
    }

    /// Returns the die, plane and time of a read at the slot address `place`.
    #[inline]
    fn site_of_read(&mut self, place: u32) -> DieSite {
        let unit = self.translation.unit_of(place);
        let time = self.read_time(unit);
        let plane =
            if self.spec.die.independent_planes { self.translation.read_in_unit(place) } else { 0 };
        let mut site = self.site(unit, plane, time);
        if let Some(retries) = self.retries {
            let probability = retries.probability(self.translation.cycles(unit));
            site.retries = self.flash.draw_retry_count(probability);
        }
        site
    }

    fn site(&self, unit: u32, plane: u32, time: Duration) -> DieSite {
        DieSite { die: self.flash.die_of(unit), plane, time, retries: 0 }
    }

    #[inline]
    fn read_time(&self, unit: u32) -> Duration {
        match self.spec.translation.pseudo_slc {
            Some(cache) if self.translation.is_pseudo_slc(unit) => cache.read,
            _ => self.time_of_page(&self.spec.read, unit),
        }
    }

    /// Returns the array time to read a page of the map. The map is in single-bit (SLC) blocks if the drive has such
    /// blocks.
    fn map_read_time(&self) -> Duration {
        let cache = self.spec.translation.pseudo_slc;
        cache.map_or_else(|| self.spec.read.mean(), |cache| cache.read)
    }

    /// Returns the time that applies to the kind of page that a unit uses.
    #[inline]
    fn time_of_page(&self, times: &PageTimes, unit: u32) -> Duration {
        if times.are_alike() { times.page_time(0) } else { times.page_time(self.page_of(unit)) }
    }

    /// Returns the index of a unit's page within its block.
    fn page_of(&self, unit: u32) -> u32 {
        unit / self.flash.dies() % self.spec.pages_per_block
    }
}

/// Returns the number of bytes that the range of `length` bytes from `offset` shares with the slots from `first` up to
/// `end`.
fn overlap(first: u64, end: u64, offset: Bytes, length: Bytes) -> Bytes {
    let low = offset.get().max(first * SLOT.get());
    let high = (offset + length).get().min(end * SLOT.get());
    Bytes(high - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_of_an_unaligned_request_count_in_part() {
        assert_eq!(overlap(1, 2, Bytes(512), Bytes(4096)), Bytes(512));
        assert_eq!(overlap(0, 1, Bytes(512), Bytes(4096)), Bytes(3584));
    }
}

//! Background work of a drive: storing written data, and making room for it.
//!
//! Units that the host fills are programmed immediately. Garbage collection ([`Translation::relocate`](
//! super::Translation::relocate)) reads the data to be moved, and programs the unit that it fills when all of that data
//! has arrived. Each unit of the host's data triggers a proportional share of this work. If no flash is erased for
//! buffered data, the data waits, the buffer fills, and the host must wait. An idle drive folds its pseudo-SLC cache.

use super::operation::{DieSite, DieTask, Relocation};
use super::translation::{CollectionStep, FullUnit, RoomStep, WriteStream};
use super::{PendingCommand, SolidState};
use crate::engine::number::SuperblockNumber;
use crate::engine::schedule::EventSchedule;
use crate::engine::slab::RelocationHandle;
use crate::spec::SLOT;
use lanemark_schema::units::{Bytes, Instant};

/// Maximum number of relocations in progress per die while data waits for erased flash.
const RELOCATIONS_PER_DIE: usize = 2;

impl SolidState {
    /// Maps slots while there is erased flash, and returns the first slot that is not mapped.
    pub(super) fn map_slots(
        &mut self,
        now: Instant,
        first: u64,
        end: u64,
        events: &mut EventSchedule,
    ) -> u64 {
        let in_place = self.spec.technology.in_place();
        for slot in first..end {
            if in_place {
                self.translation.write_in_place();
                self.program(now, FullUnit { unit: slot as u32, slots: 1 }, 1, events);
                continue;
            }
            let Some(stream) = self.translation.stream_for_host() else { return slot };
            if let Some(filled) = self.translation.append(stream, slot) {
                self.program(now, filled, filled.slots, events);
                if self.translation.is_collection_behind(filled.slots) {
                    self.collect(now, events);
                }
            }
        }
        end
    }

    /// Programs a unit on its die; `held` slots of the buffer are released when the unit is stored.
    fn program(&mut self, now: Instant, filled: FullUnit, held: u32, events: &mut EventSchedule) {
        let FullUnit { unit, .. } = filled;
        let time = match self.spec.translation.pseudo_slc {
            Some(cache) if self.translation.is_pseudo_slc(unit) => cache.program,
            _ => self.time_of_page(&self.spec.program, unit),
        };
        let epoch = if held > 0 { self.flushes.begin() } else { 0 };
        let site = self.site(unit, 0, time);
        let task = DieTask::Program { unit, held, epoch };
        self.flash.start(now, site, task, self.spec.unit(), events);
    }

    /// Moves data until collection has reached its required pace.
    fn collect(&mut self, now: Instant, events: &mut EventSchedule) {
        while self.relocate(now, false, events) && self.translation.is_collection_behind(0) {}
    }

    /// Performs one step of collection; returns false if there is nothing to collect.
    fn relocate(&mut self, now: Instant, fold: bool, events: &mut EventSchedule) -> bool {
        let progress = self.translation.relocate(fold, &mut self.sources);
        self.process_step(now, progress, events)
    }

    /// Starts the operations of a step of collection; returns false if the step found nothing to do.
    fn process_step(
        &mut self,
        now: Instant,
        progress: CollectionStep,
        events: &mut EventSchedule,
    ) -> bool {
        if let CollectionStep::Filled(filled) = progress {
            let relocation = self.relocations.insert(Relocation { filled, reads: 0 });
            let mut sources = std::mem::take(&mut self.sources);
            for source in sources.drain(..) {
                // If the last relocation read this unit, it read the whole unit.
                let read = self.last_moved == Some(source.unit);
                self.last_moved = Some(source.unit);
                if read || self.translation.is_unstored(source.unit) {
                    continue;
                }
                self.relocations[relocation].reads += 1;
                let site = self.site(source.unit, source.unit, self.read_time(source.unit));
                let bytes = SLOT * u64::from(source.slots);
                self.flash.start(now, site, DieTask::Move { relocation }, bytes, events);
            }
            self.sources = sources;
            if self.relocations[relocation].reads == 0 {
                self.store_moved(now, relocation, events);
            }
        }
        self.erase_emptied(now, events);
        progress != CollectionStep::Nothing
    }

    /// Processes a completed read of data to be moved.
    pub(super) fn on_move_read(
        &mut self,
        now: Instant,
        relocation: RelocationHandle,
        events: &mut EventSchedule,
    ) {
        self.relocations[relocation].reads -= 1;
        if self.relocations[relocation].reads == 0 {
            self.store_moved(now, relocation, events);
        }
    }

    /// Assigns the outstanding moves of collection to dies, if the cost of collection is a constant and its moves are
    /// not simulated.
    pub(super) fn move_beside(&mut self, now: Instant, events: &mut EventSchedule) {
        let slots = self.translation.slots_per_unit();
        let dies = self.flash.dies();
        let mut next_moved =
            || self.beside.as_mut().and_then(|one| Some((one.next(slots, dies)?, one.time)));
        while let Some((die, time)) = next_moved() {
            self.translation.count_moved(slots);
            let site = DieSite { die: self.flash.die_of(die), plane: 0, time, retries: 0 };
            // The channel carries the data twice: out of the die and back.
            self.flash.start(now, site, DieTask::ProgramMoved, self.spec.unit() * 2, events);
        }
    }

    fn store_moved(
        &mut self,
        now: Instant,
        relocation: RelocationHandle,
        events: &mut EventSchedule,
    ) {
        let Relocation { filled, .. } = self.relocations[relocation];
        self.relocations.free(relocation);
        self.program(now, filled, 0, events);
    }

    /// Collects as fast as the dies allow, because data waits for erased flash.
    pub(super) fn make_room(&mut self, now: Instant, events: &mut EventSchedule) {
        let most = self.flash.dies() as usize * RELOCATIONS_PER_DIE;
        let mut steps = 0;
        // If the flash is not storing data, no later event resumes collection, and emptied superblocks wait for a
        // partial unit. Reads in progress are irrelevant, because their end does not resume collection.
        while self.relocations.live() < most
            && (steps < most || !self.is_storing())
            && self.work_for_room(now, events)
        {
            steps += 1;
        }
        // Emptied superblocks may also wait for a partial unit that no write will fill.
        if !self.is_storing() {
            self.pad(now, events);
        }
    }

    fn work_for_room(&mut self, now: Instant, events: &mut EventSchedule) -> bool {
        match self.translation.room_step() {
            RoomStep::Fold => self.relocate(now, true, events),
            RoomStep::Collect => self.relocate(now, false, events),
            RoomStep::Store => {
                let progress = self.translation.pad_moved();
                self.process_step(now, progress, events)
            }
        }
    }

    /// Returns whether data is in transit to the flash or superblocks are being erased. The end of either resumes
    /// collection.
    fn is_storing(&self) -> bool {
        self.relocations.live() > 0 || !self.erasing.is_empty() || self.translation.has_unstored()
    }

    /// Stores the partial units of host data.
    pub(super) fn pad(&mut self, now: Instant, events: &mut EventSchedule) {
        for stream in [WriteStream::Host, WriteStream::PseudoSlc] {
            if let Some(filled) = self.translation.pad(stream) {
                self.program(now, filled, filled.slots, events);
            }
        }
    }

    pub(super) fn on_erased(&mut self, superblock: SuperblockNumber) {
        let Some(dies) = self.erasing.get_mut(superblock.0) else { return };
        *dies -= 1;
        if *dies == 0 {
            self.erasing.remove(superblock.0);
            self.translation.note_erased(superblock);
        }
    }

    /// Makes slots of the buffer wait for erased flash.
    pub(super) fn leave_unmapped(&mut self, first: u64, end: u64) {
        self.unmapped.push_back(PendingCommand::Write(first, end));
        for slot in first..end {
            match self.unmapped_slots.get_mut(slot as u32) {
                Some(count) => *count += 1,
                None => self.unmapped_slots.insert(slot as u32, 1),
            }
        }
    }

    /// Removes slots that are no longer unmapped.
    fn unmapped_no_more(&mut self, first: u64, end: u64) {
        for slot in (first..end).map(|slot| slot as u32) {
            let Some(count) = self.unmapped_slots.get_mut(slot) else { continue };
            *count -= 1;
            if *count == 0 {
                self.unmapped_slots.remove(slot);
            }
        }
    }

    /// Drops the slots from `first` up to `end` from the data that waits for erased flash, and returns the number of
    /// dropped slots. A slot counts once for each time that it was written.
    pub(super) fn drop_unmapped(&mut self, first: u64, end: u64) -> u64 {
        let mut dropped = 0;
        for pending in std::mem::take(&mut self.unmapped) {
            let PendingCommand::Write(from, to) = pending else {
                self.unmapped.push_back(pending);
                continue;
            };
            let low = first.clamp(from, to);
            let high = end.clamp(from, to);
            self.unmapped_no_more(low, high);
            dropped += high - low;
            for (from, to) in [(from, low), (high, to)] {
                if from < to {
                    self.unmapped.push_back(PendingCommand::Write(from, to));
                }
            }
        }
        dropped
    }

    /// Continues with data that waits for erased flash, or with background work.
    pub(super) fn go_on(&mut self, now: Instant, events: &mut EventSchedule) {
        while let Some(&pending) = self.unmapped.front() {
            match pending {
                PendingCommand::Write(first, end) => {
                    let mapped = self.map_slots(now, first, end, events);
                    self.unmapped_no_more(first, mapped);
                    if mapped < end {
                        self.unmapped[0] = PendingCommand::Write(mapped, end);
                        self.make_room(now, events);
                        return;
                    }
                }
                PendingCommand::Flush(command) => {
                    self.pad(now, events);
                    self.flushes.add(command);
                }
            }
            self.unmapped.pop_front();
        }
        if self.in_background {
            self.work_in_background(now, events);
        } else {
            self.erase_emptied(now, events);
        }
    }

    /// Erases superblocks that have lost their last valid data.
    fn erase_emptied(&mut self, now: Instant, events: &mut EventSchedule) {
        while let Some(superblock) = self.translation.next_to_erase() {
            self.erase(now, superblock, events);
        }
    }

    pub(super) fn erase(
        &mut self,
        now: Instant,
        superblock: SuperblockNumber,
        events: &mut EventSchedule,
    ) {
        self.erasing.insert(superblock.0, self.flash.dies());
        for die in 0..self.flash.dies() {
            let site = self.site(die, 0, self.spec.erase);
            let task = DieTask::Erase { superblock };
            self.flash.start(now, site, task, Bytes::ZERO, events);
        }
    }

    pub(super) fn work_in_background(&mut self, now: Instant, events: &mut EventSchedule) {
        let most = self.flash.dies() as usize;
        while self.relocations.live() < most
            && self.translation.works_when_idle()
            && self.relocate(now, true, events)
        {}
        self.erase_emptied(now, events);
    }
}

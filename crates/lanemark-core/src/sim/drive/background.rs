//! Background work of a drive with written data: storing it, and making room for it.
//!
//! Units that the host fills go to their dies at once. Collection ([`Translation::relocate`](
//! super::Translation::relocate)) reads what it moves and programs the unit that it fills when all of that
//! has come; each unit of the host's pays for its share. Where nothing is erased for what lies in the
//! buffer, that waits, the buffer fills, and the host waits with it. An idle drive folds its pseudo-SLC
//! cache and collects up to `erased_idle` superblocks.

use super::super::schedule::Schedule;
use super::super::slab::{CommandHandle, Handle, OperationHandle, RelocationHandle, Slab};
use super::super::spec::{DriveSpec, SLOT, WriteCache};
use super::flushes::Flushes;
use super::map_cache::MapCache;
use super::operation::{Done, FlashTask, Relocation};
use super::read_ahead::ReadAhead;
use super::translation::{Filled, Progress, Stream};
use super::{Buffer, Pending, SolidState, slots_of};
use crate::result::DriveUse;
use crate::sim::number::SuperblockNumber;
use crate::units::{Bytes, Instant};

/// Relocations under way for each die when nothing else sets the pace.
const RELOCATIONS_PER_DIE: usize = 2;

impl SolidState {
    /// A range will be written before long.
    #[inline]
    pub(crate) fn expect_write(&mut self, offset: Bytes, length: Bytes) {
        if !self.spec.technology.in_place() {
            let (first, end) = slots_of(offset, length);
            // Eight neighbours share a line of the map.
            self.translation.expect((first..end).step_by(8));
        }
    }

    /// Maps a write whose data is in the buffer, and starts storing the units that it fills.
    pub(crate) fn write(
        &mut self,
        now: Instant,
        offset: Bytes,
        length: Bytes,
        events: &mut Schedule,
    ) {
        let (first, end) = slots_of(offset, length);
        if let Some(ahead) = &mut self.ahead {
            ahead.changed(first, end);
        }
        if self.unmapped.is_empty() {
            let mapped = self.map_slots(now, first, end, events);
            if mapped < end {
                self.unmapped.push_back(Pending::Write(mapped, end));
                self.make_room(now, events);
            }
        } else {
            self.unmapped.push_back(Pending::Write(first, end));
        }
    }

    /// Maps slots as long as there is erased flash, and returns the first that is not mapped.
    fn map_slots(&mut self, now: Instant, first: u64, end: u64, events: &mut Schedule) -> u64 {
        let in_place = self.spec.technology.in_place();
        for slot in first..end {
            if in_place {
                self.translation.write_in_place();
                self.program(now, Filled { unit: slot as u32, slots: 1 }, 1, events);
                continue;
            }
            let Some(stream) = self.translation.stream_for(slot) else { return slot };
            if let Some(filled) = self.translation.append(stream, slot) {
                self.program(now, filled, filled.slots, events);
                if self.translation.owes(filled.slots) {
                    self.collect(now, events);
                }
            }
        }
        end
    }

    /// Gives a unit to its die; `held` slots of the buffer come back when it is stored.
    fn program(&mut self, now: Instant, filled: Filled, held: u32, events: &mut Schedule) {
        let Filled { unit, .. } = filled;
        let time = match self.spec.translation.pseudo_slc {
            Some(cache) if self.translation.is_pseudo_slc(unit) => cache.program,
            _ => self.time_of_page(&self.spec.program, unit),
        };
        let epoch = if held > 0 { self.flushes.begin() } else { 0 };
        let site = self.site(unit, 0, time);
        let task = FlashTask::Program { unit, held, epoch };
        self.flash.start(now, site, task, self.spec.unit(), events);
    }

    /// Moves as much as collection owes.
    fn collect(&mut self, now: Instant, events: &mut Schedule) {
        while self.relocate(now, false, events) && self.translation.owes(0) {}
    }

    /// Makes one step of collection; returns false where there is nothing to collect.
    fn relocate(&mut self, now: Instant, fold: bool, events: &mut Schedule) -> bool {
        let progress = self.translation.relocate(fold, &mut self.sources);
        if let Progress::Filled(filled) = progress {
            let relocation = self.relocations.insert(Relocation { filled, reads: 0 });
            let mut sources = std::mem::take(&mut self.sources);
            for source in sources.drain(..) {
                // What the last relocation read of a unit had the rest of it too.
                let read = self.last_moved == Some(source.unit);
                self.last_moved = Some(source.unit);
                if read || self.translation.is_unstored(source.unit) {
                    continue;
                }
                self.relocations[relocation].reads += 1;
                let site = self.site(source.unit, source.unit, self.read_time(source.unit));
                let bytes = SLOT * u64::from(source.slots);
                self.flash.start(now, site, FlashTask::Move { relocation }, bytes, events);
            }
            self.sources = sources;
            if self.relocations[relocation].reads == 0 {
                self.store_moved(now, relocation, events);
            }
        }
        self.erase_emptied(now, events);
        progress != Progress::Nothing
    }

    fn store_moved(&mut self, now: Instant, relocation: RelocationHandle, events: &mut Schedule) {
        let Relocation { filled, .. } = self.relocations[relocation];
        self.relocations.free(relocation);
        self.program(now, filled, 0, events);
    }

    /// Collects as fast as the dies go, because something waits for it.
    fn make_room(&mut self, now: Instant, events: &mut Schedule) {
        let most = self.flash.dies() as usize * RELOCATIONS_PER_DIE;
        let mut steps = 0;
        while self.relocations.live() < most && steps < most && self.relocate(now, true, events) {
            steps += 1;
        }
        // What is emptied may wait for a unit that nobody fills any more.
        if self.flash.is_idle() {
            self.pad(now, events);
        }
    }

    /// Stores the units of the host that are not full.
    fn pad(&mut self, now: Instant, events: &mut Schedule) {
        for stream in [Stream::Host, Stream::Hot, Stream::PseudoSlc] {
            if let Some(filled) = self.translation.pad(stream) {
                self.program(now, filled, filled.slots, events);
            }
        }
    }

    /// Whether everything written so far is safe already; if not, `command` is among those that
    /// [`SolidState::next_flushed`] returns once it is.
    pub(crate) fn flush(
        &mut self,
        now: Instant,
        command: CommandHandle,
        events: &mut Schedule,
    ) -> bool {
        if self.write_cache == WriteCache::Protected {
            return true;
        }
        if self.unmapped.is_empty() {
            self.pad(now, events);
            self.flushes.add(command);
        } else {
            self.unmapped.push_back(Pending::Flush(command));
        }
        false
    }

    /// A flush that is done.
    pub(crate) fn next_flushed(&mut self) -> Option<CommandHandle> {
        self.flushes.next_done()
    }

    /// Whether a write is complete only when it is stored.
    pub(crate) fn writes_through(&self) -> bool {
        self.write_cache == WriteCache::Off
    }

    /// Forgets what lies in a range; slots that it covers only in part are kept.
    pub(crate) fn trim(&mut self, offset: Bytes, length: Bytes) {
        let first = offset.get().div_ceil(SLOT.get());
        let end = (offset + length).get() / SLOT.get();
        if let Some(ahead) = &mut self.ahead {
            ahead.changed(first, end);
        }
        if !self.spec.technology.in_place() && first < end {
            self.translation.trim(first, end);
        }
    }

    /// The data of a flash read is out.
    pub(crate) fn page_out(
        &mut self,
        now: Instant,
        handle: OperationHandle,
        events: &mut Schedule,
    ) -> Done {
        let operation = self.flash.page_out(now, handle, events);
        match operation.task {
            FlashTask::Read { command } => Done::Data(command, operation),
            FlashTask::ReadMap { command } => Done::Map(command, operation),
            FlashTask::Prefetch { stretch } => match &mut self.ahead {
                Some(ahead) => Done::Ahead(ahead.here(stretch)),
                None => Done::Nothing,
            },
            FlashTask::Move { relocation } => {
                self.relocations[relocation].reads -= 1;
                if self.relocations[relocation].reads == 0 {
                    self.store_moved(now, relocation, events);
                }
                Done::Nothing
            }
            FlashTask::Program { .. } | FlashTask::ProgramMap | FlashTask::Erase { .. } => {
                Done::Nothing
            }
        }
    }

    /// A program or erase may have ended.
    pub(crate) fn stored(
        &mut self,
        now: Instant,
        handle: OperationHandle,
        events: &mut Schedule,
    ) -> Done {
        let Some(operation) = self.flash.stored(now, handle, events) else { return Done::Nothing };
        match operation.task {
            FlashTask::Program { unit, held, epoch } => {
                if held > 0 {
                    self.flushes.end(epoch);
                    self.buffer.release(SLOT * u64::from(held));
                }
                self.translation.stored(unit);
            }
            FlashTask::Erase { superblock } => self.erased(superblock),
            _ => {}
        }
        self.go_on(now, events);
        Done::Stored
    }

    fn erased(&mut self, superblock: SuperblockNumber) {
        let Some(dies) = self.erasing.get_mut(superblock.0) else { return };
        *dies -= 1;
        if *dies == 0 {
            self.erasing.remove(superblock.0);
            self.translation.erased(superblock);
        }
    }

    /// Goes on with what waits for erased flash, or with work in the background.
    fn go_on(&mut self, now: Instant, events: &mut Schedule) {
        while let Some(&pending) = self.unmapped.front() {
            match pending {
                Pending::Write(first, end) => {
                    let mapped = self.map_slots(now, first, end, events);
                    if mapped < end {
                        self.unmapped[0] = Pending::Write(mapped, end);
                        self.make_room(now, events);
                        return;
                    }
                }
                Pending::Flush(command) => {
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

    /// Erases superblocks that became free of valid data meanwhile.
    fn erase_emptied(&mut self, now: Instant, events: &mut Schedule) {
        while let Some(superblock) = self.translation.next_to_erase() {
            self.erase(now, superblock, events);
        }
    }

    fn erase(&mut self, now: Instant, superblock: SuperblockNumber, events: &mut Schedule) {
        self.erasing.insert(superblock.0, self.flash.dies());
        for die in 0..self.flash.dies() {
            let site = self.site(die, 0, self.spec.erase);
            let task = FlashTask::Erase { superblock };
            self.flash.start(now, site, task, Bytes::ZERO, events);
        }
    }

    /// The drive gets commands.
    pub(crate) fn takes(&mut self, commands: u32) {
        self.commands += commands;
        self.in_background = false;
    }

    /// The drive has completed a command: when to look whether it is still idle, if that matters.
    pub(crate) fn gives(&mut self, now: Instant) -> Option<Instant> {
        self.commands -= 1;
        if self.commands > 0 {
            return None;
        }
        self.idle_since = now;
        let matters =
            self.spec.translation.erased_idle > 0 || self.spec.translation.pseudo_slc.is_some();
        (matters && self.translation.works_when_idle())
            .then(|| now + self.spec.translation.idle_after)
    }

    /// The drive may have been idle long enough to work in the background.
    pub(crate) fn idle(&mut self, now: Instant, events: &mut Schedule) {
        let idle_after = self.spec.translation.idle_after;
        if self.commands == 0 && self.idle_since + idle_after <= now {
            self.in_background = true;
            self.work_in_background(now, events);
        }
    }

    fn work_in_background(&mut self, now: Instant, events: &mut Schedule) {
        let most = self.flash.dies() as usize;
        while self.relocations.live() < most
            && self.translation.works_when_idle()
            && self.relocate(now, true, events)
        {}
        self.erase_emptied(now, events);
    }

    /// The power fails. Returns what was acknowledged and is lost; what a protected buffer holds is stored, or waits
    /// to be.
    pub(crate) fn power_cut(&mut self, now: Instant, spec: &DriveSpec) -> Bytes {
        let protected = self.write_cache == WriteCache::Protected;
        let programs = self.flash.power_cut(now);
        let mut lost = self.translation.power_cut(protected);
        if self.spec.technology.in_place() && !protected {
            let held = |task: &FlashTask| match task {
                FlashTask::Program { held, .. } => u64::from(*held),
                _ => 0,
            };
            lost += programs.iter().map(held).sum::<u64>();
        }
        self.unmapped.retain(|pending| protected && matches!(pending, Pending::Write(..)));
        self.buffer = Buffer::new(spec.buffer);
        for pending in &self.unmapped {
            if let Pending::Write(first, end) = pending {
                self.buffer.admit(Handle::NONE, SLOT * (end - first));
            }
        }
        (self.relocations, self.flushes) = (Slab::new(), Flushes::new());
        self.sources.clear();
        self.last_moved = None;
        self.map = self.spec.translation.map.map(MapCache::new);
        self.ahead = self.ahead.take().map(|_| ReadAhead::new(spec.read_ahead.get() / SLOT.get()));
        (self.commands, self.in_background) = (0, false);
        // A write that is complete only when it is stored was not acknowledged.
        if self.writes_through() { Bytes::ZERO } else { SLOT * lost }
    }

    /// The power is back: what was being erased is erased anew, and what a protected buffer held is stored.
    pub(crate) fn power_up(&mut self, now: Instant, events: &mut Schedule) {
        for superblock in self.erasing.keys() {
            self.erasing.remove(superblock);
            self.erase(now, SuperblockNumber(superblock), events);
        }
        self.go_on(now, events);
    }

    /// Returns the data written to flash so far by reason, and the number of superblocks erased.
    pub(crate) fn usage(&self) -> DriveUse {
        let written = self.translation.written();
        DriveUse {
            host_written: SLOT * written.host,
            moved: SLOT * written.moved,
            folded: SLOT * written.folded,
            padded: SLOT * written.padded,
            map_written: self.spec.unit() * self.map_stored,
            superblocks_erased: self.translation.erases(),
            buffered: Bytes::ZERO,
        }
    }
}

//! Flash as the medium of a drive: the operations that commands start, the ends of their steps, and the effects of
//! power.

use std::collections::BTreeSet;

use super::flushes::WaitingFlushes;
use super::map_cache::MapCache;
use super::operation::{DieTask, EndedOperation};
use super::read_ahead::ReadAheadHit;
use super::{PendingCommand, SolidState, overlap};
use crate::drive::buffer::slots_of;
use crate::drive::medium::{MapMisses, Medium, PowerCutData, WriteBurst};
use crate::drive::outcome::{DriveOutcome, OutcomeQueue};
use crate::engine::budget::{HOPS, Hop};
use crate::engine::event::Event;
use crate::engine::number::SuperblockNumber;
use crate::engine::schedule::{DataBurst, EventSchedule};
use crate::engine::slab::{CommandHandle, OperationHandle, Slab, StretchHandle};
use crate::engine::table::HashTable;
use crate::engine::trace::MediaTimes;
use crate::spec::{SLOT, WriteCacheMode};
use lanemark_schema::result::{DriveUse, Reserve};
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::fault::ReadRetries;

impl Medium for SolidState {
    #[inline]
    fn look_up(
        &mut self,
        now: Instant,
        command: CommandHandle,
        offset: Bytes,
        length: Bytes,
        changes: bool,
        events: &mut EventSchedule,
    ) -> MapMisses {
        match self.map {
            Some(_) => self.look_up_pages(now, command, offset, length, changes, events),
            None => MapMisses::default(),
        }
    }

    /// Starts the flash reads of a command, one for each part that a die reads in one operation. Data in memory and
    /// slots that were never written are returned immediately.
    #[inline]
    fn read(
        &mut self,
        now: Instant,
        command: CommandHandle,
        offset: Bytes,
        length: Bytes,
        events: &mut EventSchedule,
    ) -> u32 {
        let (first, end) = slots_of(offset, length);
        self.last_read = first;
        let Some(ahead) = &mut self.ahead else {
            return self.read_flash(now, command, first..end, offset, length, events);
        };
        let stream = ahead.stream(first, end);
        let mut bursts = 0;
        let mut slot = first;
        while slot < end {
            let found = match (stream, &mut self.ahead) {
                (Some(stream), Some(ahead)) => ahead.find(stream, slot, end),
                _ => ReadAheadHit::Not(end),
            };
            let next = match found {
                ReadAheadHit::Here(next) => {
                    let bytes = overlap(slot, next, offset, length);
                    events.schedule_burst(now, DataBurst { command, bytes }, Event::FromBuffer);
                    bursts += 1;
                    next
                }
                ReadAheadHit::Coming(next, stretch) => {
                    if let Some(ahead) = &mut self.ahead {
                        ahead.wait(stretch, command, overlap(slot, next, offset, length));
                    }
                    bursts += 1;
                    next
                }
                ReadAheadHit::Not(next) => {
                    bursts += self.read_flash(now, command, slot..next, offset, length, events);
                    next
                }
            };
            slot = next;
        }
        if let Some(stream) = stream {
            self.prefetch(now, stream, events);
        }
        bursts
    }

    #[inline]
    fn holds(&self, offset: Bytes) -> bool {
        let slot = offset.get() / SLOT.get();
        self.ahead.as_ref().is_some_and(|ahead| ahead.holds(slot))
    }

    #[inline]
    fn expect_write(&mut self, offset: Bytes, length: Bytes) {
        if !self.spec.technology.in_place() {
            let (first, end) = slots_of(offset, length);
            // Eight adjacent slots share a cache line of the map.
            self.translation.expect((first..end).step_by(8));
            if let Some(beside) = &mut self.beside {
                beside.expect(first, end);
            }
        }
    }

    /// Maps a burst, and starts storing the units that it fills. If the write cache is off, the last burst of a write
    /// acts as a flush.
    fn write(
        &mut self,
        now: Instant,
        burst: WriteBurst,
        events: &mut EventSchedule,
        outcomes: &mut OutcomeQueue,
    ) {
        let (first, end) = slots_of(burst.offset, burst.length);
        if let Some(ahead) = &mut self.ahead {
            ahead.note_changed_slots(first, end);
        }
        if let Some(beside) = &mut self.beside {
            beside.writes(first, end);
            self.move_beside(now, events);
        }
        if self.unmapped.is_empty() {
            let mapped = self.map_slots(now, first, end, events);
            if mapped < end {
                self.leave_unmapped(mapped, end);
                self.make_room(now, events);
            }
        } else {
            self.leave_unmapped(first, end);
        }
        if !burst.last {
            return;
        }
        match self.write_cache {
            WriteCacheMode::Off => self.flush(now, burst.command, events, outcomes),
            WriteCacheMode::Volatile | WriteCacheMode::Protected => {
                outcomes.emit(DriveOutcome::Done(burst.command));
            }
        }
    }

    fn flush(
        &mut self,
        now: Instant,
        command: CommandHandle,
        events: &mut EventSchedule,
        outcomes: &mut OutcomeQueue,
    ) {
        if self.write_cache == WriteCacheMode::Protected {
            outcomes.emit(DriveOutcome::Done(command));
            return;
        }
        if self.unmapped.is_empty() {
            self.pad(now, events);
            self.flushes.add(command);
        } else {
            self.unmapped.push_back(PendingCommand::Flush(command));
        }
        self.flushes.emit_done(outcomes);
    }

    /// Discards the data in a range, except in slots that the range covers only in part.
    fn trim(&mut self, offset: Bytes, length: Bytes, outcomes: &mut OutcomeQueue) {
        let first = offset.get().div_ceil(SLOT.get());
        let end = (offset + length).get() / SLOT.get();
        if let Some(ahead) = &mut self.ahead {
            ahead.note_changed_slots(first, end);
        }
        if !self.spec.technology.in_place() && first < end {
            self.translation.trim(first, end);
            let dropped = self.drop_unmapped(first, end);
            if dropped > 0 {
                outcomes.emit(DriveOutcome::Room(SLOT * dropped));
            }
        }
    }

    #[inline]
    fn step(
        &mut self,
        now: Instant,
        handle: OperationHandle,
        events: &mut EventSchedule,
        outcomes: &mut OutcomeQueue,
    ) -> Option<DriveOutcome> {
        let EndedOperation { task, bytes, passage } = self.flash.step(now, handle, events)?;
        match task {
            DieTask::Read { command } => {
                return Some(DriveOutcome::Data { command, bytes, passage });
            }
            DieTask::ReadMap { command } => return Some(DriveOutcome::Map { command, passage }),
            DieTask::Prefetch { stretch } => self.is_ahead(now, stretch, outcomes),
            DieTask::Move { relocation } => self.on_move_read(now, relocation, events),
            task @ (DieTask::Program { .. }
            | DieTask::ProgramMap
            | DieTask::ProgramMoved
            | DieTask::Erase { .. }) => self.finish_die_task(now, task, events, outcomes),
        }
        Some(DriveOutcome::Nothing)
    }

    #[inline]
    fn note_commands(&mut self, commands: u32) {
        self.commands += commands;
        self.in_background = false;
    }

    #[inline]
    fn note_answered(&mut self, now: Instant) -> Option<Instant> {
        self.commands -= 1;
        if self.commands > 0 {
            return None;
        }
        self.idle_since = now;
        self.translation.works_when_idle().then(|| now + self.spec.translation.idle_after)
    }

    fn idle(&mut self, now: Instant, events: &mut EventSchedule) {
        let idle_after = self.spec.translation.idle_after;
        if self.commands == 0 && self.idle_since + idle_after <= now {
            self.in_background = true;
            self.work_in_background(now, events);
        }
    }

    /// Cuts the power. Data in a protected buffer is stored, or is kept until it can be stored.
    fn power_cut(&mut self, now: Instant) -> PowerCutData {
        let protected = self.write_cache == WriteCacheMode::Protected;
        let programs = self.flash.power_cut(now);
        let mut lost: BTreeSet<u32> = self.translation.power_cut(protected).into_iter().collect();
        if self.spec.technology.in_place() && !protected {
            lost.extend(programs.iter().filter_map(|task| {
                if let DieTask::Program { unit, held: 1.., .. } = task { Some(*unit) } else { None }
            }));
        }
        let mut held = 0;
        for pending in &self.unmapped {
            match *pending {
                PendingCommand::Write(first, end) if protected => held += end - first,
                PendingCommand::Write(first, end) => lost.extend(first as u32..end as u32),
                PendingCommand::Flush(_) => {}
            }
        }
        if protected {
            self.unmapped.retain(|pending| !matches!(pending, PendingCommand::Flush(_)));
        } else {
            self.unmapped.clear();
            self.unmapped_slots = HashTable::new();
        }
        (self.relocations, self.flushes) = (Slab::new(), WaitingFlushes::new());
        self.sources.clear();
        self.last_moved = None;
        self.map = self.spec.translation.map.map(MapCache::new);
        self.ahead = self.ahead.as_ref().map(|ahead| ahead.emptied());
        (self.commands, self.in_background) = (0, false);
        // Without a write cache, a write that is not stored was not acknowledged.
        let lost = if self.write_cache == WriteCacheMode::Off { 0 } else { lost.len() as u64 };
        PowerCutData { lost: SLOT * lost, held: SLOT * held }
    }

    /// Restores the power: interrupted erases start again, and data in a protected buffer is stored.
    fn power_up(&mut self, now: Instant, events: &mut EventSchedule) {
        for superblock in self.erasing.keys() {
            self.erasing.remove(superblock);
            self.erase(now, SuperblockNumber(superblock), events);
        }
        self.go_on(now, events);
    }

    fn set_retries(&mut self, retries: Option<ReadRetries>) {
        self.retries = retries.filter(ReadRetries::repeats_any);
    }

    /// Returns the amounts of data written to flash so far, by reason, and the number of erased superblocks.
    fn usage(&self) -> DriveUse {
        let written = self.translation.written();
        DriveUse {
            host_written: SLOT * written.host,
            moved: SLOT * written.moved,
            folded: SLOT * written.folded,
            padded: SLOT * written.padded,
            map_written: self.spec.unit() * self.map_stored,
            superblocks_erased: self.translation.erases(),
            // A measured cost of collection already contains the effect of full flash.
            erased_used: match self.beside {
                Some(_) => Bytes::ZERO,
                None => SLOT * self.translation.erased_used(),
            },
            ..DriveUse::default()
        }
    }

    fn reserves(&self, left: &mut Vec<(Reserve, u64)>) {
        self.translation.reserves(left);
        let before_boundary = self.translation.data_before_boundary(self.last_read);
        left.extend(before_boundary.map(|slots| (Reserve::PseudoSlcBoundary, slots)));
        if let Some(map) = &self.map {
            map.reserves(left);
        }
    }

    fn collected(&self) -> u64 {
        let written = self.translation.written();
        let simulated = if self.beside.is_some() { 0 } else { written.moved };
        simulated + written.folded
    }

    fn bytes(&self) -> u64 {
        self.translation.bytes()
    }

    fn is_working(&self, _: Instant) -> bool {
        !self.flash.is_idle()
    }

    fn worked(&self, at: Instant) -> Vec<Duration> {
        self.flash.array_time(at).parts()
    }

    fn add_busy(&self, now: Instant, busy: &mut [Vec<Duration>; HOPS]) {
        let (channels, dies) = self.flash.busy(now);
        busy[Hop::Channel as usize].extend(channels);
        busy[Hop::Die as usize].extend(dies);
    }
}

impl SolidState {
    /// Ends the read of a stretch, and delivers its data to the waiting commands.
    fn is_ahead(&mut self, now: Instant, stretch: StretchHandle, outcomes: &mut OutcomeQueue) {
        let Some(ahead) = &mut self.ahead else { return };
        for (command, bytes) in ahead.on_stretch_arrived(stretch) {
            let passage = MediaTimes::waited(now);
            outcomes.emit(DriveOutcome::Data { command, bytes, passage });
        }
    }

    /// Ends a program or an erase.
    #[inline(never)]
    fn finish_die_task(
        &mut self,
        now: Instant,
        task: DieTask,
        events: &mut EventSchedule,
        outcomes: &mut OutcomeQueue,
    ) {
        match task {
            DieTask::Program { unit, held, epoch } => {
                if held > 0 {
                    self.flushes.end(epoch);
                    outcomes.emit(DriveOutcome::Room(SLOT * u64::from(held)));
                }
                self.translation.note_unit_stored(unit);
            }
            DieTask::Erase { superblock } => self.on_erased(superblock),
            DieTask::Read { .. }
            | DieTask::ReadMap { .. }
            | DieTask::Prefetch { .. }
            | DieTask::Move { .. }
            | DieTask::ProgramMap
            | DieTask::ProgramMoved => {}
        }
        self.go_on(now, events);
        self.flushes.emit_done(outcomes);
    }
}

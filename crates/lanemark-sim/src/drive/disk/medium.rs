//! A disk as the medium of a drive: the operations that commands start, the ends of their steps, and the effects of
//! power.

use std::ops::Range;

use super::Disk;
use super::arm_state::ArmWork;
use super::operation::{BURST, DiskOperation, sectors_of};
use crate::drive::buffer::buffered_bytes;
use crate::drive::medium::{Medium, PowerCutData, WriteBurst};
use crate::drive::outcome::{DriveOutcome, OutcomeQueue};
use crate::engine::budget::{HOPS, Hop};
use crate::engine::event::Event;
use crate::engine::schedule::{DataBurst, EventSchedule};
use crate::engine::slab::{CommandHandle, Handle, OperationHandle, Slab};
use crate::engine::station::ServiceSpan;
use crate::engine::trace::MediaTimes;
use lanemark_schema::result::DriveUse;
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::SECTOR;

impl Medium for Disk {
    fn read(
        &mut self,
        now: Instant,
        command: CommandHandle,
        offset: Bytes,
        length: Bytes,
        events: &mut EventSchedule,
    ) -> u32 {
        let (first, end) = sectors_of(offset, length);
        if self.dirty > 0 && self.is_dirty(first, end) {
            events.schedule_burst(now, DataBurst { command, bytes: length }, Event::FromBuffer);
            return 1;
        }
        self.catch_up(now);
        let Some((segment, held)) = self.segments.held_from(first) else {
            return self.read_media(now, command, first..end, length, events);
        };
        self.segments.touch(segment);
        if held >= end {
            events.schedule_burst(now, DataBurst { command, bytes: length }, Event::FromBuffer);
            self.record_read(now, segment, end);
            return 1;
        }
        // The read may use only a part of the first sector.
        let part = SECTOR * held - offset;
        events.schedule_burst(now, DataBurst { command, bytes: part }, Event::FromBuffer);
        1 + self.read_media(now, command, held..end, length - part, events)
    }

    /// Queues the write of a burst for the arm. With a write cache, no command waits for this write.
    fn write(
        &mut self,
        now: Instant,
        burst: WriteBurst,
        events: &mut EventSchedule,
        outcomes: &mut OutcomeQueue,
    ) {
        let WriteBurst { command, offset, length, last } = burst;
        let (first, end) = sectors_of(offset, length);
        let room = buffered_bytes(offset, length);
        self.catch_up(now);
        self.segments.forget(first, end);
        if let ArmWork::Streaming(stream) = &mut self.arm {
            self.segments.restart_unless_current(stream.segment, stream.sweep.sector);
            if first < stream.limit && stream.sweep.sector < end {
                stream.limit = first.max(stream.promised).max(stream.sweep.sector);
            }
        }
        let cached = self.spec.write_cache;
        if cached {
            self.dirty += 1;
            self.dirty_room += room;
        }
        let waits = if cached { Handle::NONE } else { command };
        let handle = self.insert(now, waits, true, first..end, length, room);
        self.waiting.push(handle);
        self.serve(now, events);
        if cached && last {
            outcomes.emit(DriveOutcome::Done(command));
        }
    }

    fn flush(
        &mut self,
        now: Instant,
        command: CommandHandle,
        events: &mut EventSchedule,
        outcomes: &mut OutcomeQueue,
    ) {
        if self.dirty == 0 {
            outcomes.emit(DriveOutcome::Done(command));
            return;
        }
        self.flushes.push((command, self.sequence));
        self.serve(now, events);
    }

    /// Ends an operation of the arm, or the firmware's work on a read that needs the media.
    fn step(
        &mut self,
        now: Instant,
        handle: OperationHandle,
        events: &mut EventSchedule,
        outcomes: &mut OutcomeQueue,
    ) -> Option<DriveOutcome> {
        if let ArmWork::Working { operation, end } = self.arm
            && operation == handle
        {
            let operation = self.finish(now, operation, end, events);
            Some(self.finish_operation(now, operation, events, outcomes))
        } else {
            let command = self.operations[handle].command;
            self.on_firmware_done(now, handle, events);
            Some(DriveOutcome::Prepared(command))
        }
    }

    fn off_media(
        &mut self,
        now: Instant,
        burst: DataBurst,
        events: &mut EventSchedule,
        outcomes: &mut OutcomeQueue,
    ) {
        let DataBurst { command, bytes } = burst;
        outcomes.emit(DriveOutcome::Data { command, bytes, passage: MediaTimes::worked(now) });
        self.serve(now, events);
    }

    /// Cuts the power: the heads are parked.
    fn power_cut(&mut self, now: Instant) -> PowerCutData {
        self.busy = self.arm_busy(now);
        let operations =
            self.operations.handles().into_iter().map(|handle| &self.operations[handle]);
        let buffered =
            operations.filter(|operation| operation.writes && operation.command == Handle::NONE);
        let lost = buffered.fold(Bytes::ZERO, |sum, one| sum + one.bytes);
        self.segments = super::CacheSegments::new(&self.spec);
        self.operations = Slab::new();
        self.waiting.clear();
        self.arm = ArmWork::Resting(self.mechanics.outermost());
        self.flushes.clear();
        (self.dirty, self.dirty_room) = (0, Bytes::ZERO);
        PowerCutData { lost, held: Bytes::ZERO }
    }

    fn usage(&self) -> DriveUse {
        DriveUse { host_written: self.written, ..DriveUse::default() }
    }

    /// Returns whether an operation is in progress or waiting, or whether a command waits for sectors that are being
    /// read ahead.
    fn is_working(&self, now: Instant) -> bool {
        match self.arm {
            ArmWork::Working { .. } => true,
            ArmWork::Streaming(stream) => !self.waiting.is_empty() || now < stream.promised_at,
            ArmWork::Resting(_) => !self.waiting.is_empty(),
        }
    }

    fn worked(&self, at: Instant) -> Vec<Duration> {
        self.time(at).parts()
    }

    fn add_busy(&self, now: Instant, busy: &mut [Vec<Duration>; HOPS]) {
        busy[Hop::Die as usize].push(self.arm_busy(now));
    }
}

impl Disk {
    /// Ends an operation of the arm. The last burst of a read is sent to the host; a write releases its room, which may
    /// complete flushes. The arm then takes the next operation.
    fn finish_operation(
        &mut self,
        now: Instant,
        operation: DiskOperation,
        events: &mut EventSchedule,
        outcomes: &mut OutcomeQueue,
    ) -> DriveOutcome {
        let DiskOperation { command, begun, room, .. } = operation;
        let span = ServiceSpan { start: begun, end: now };
        if !operation.writes {
            return DriveOutcome::Data {
                command,
                bytes: operation.last_burst(),
                passage: MediaTimes::Span(span),
            };
        }
        outcomes.emit(DriveOutcome::Room(room));
        while let Some(command) = self.next_flushed() {
            outcomes.emit(DriveOutcome::Done(command));
        }
        self.serve(now, events);
        match command {
            Handle::NONE => DriveOutcome::Nothing,
            _ => DriveOutcome::Stored { command, span },
        }
    }

    /// Ends the firmware's work on a read that needs the media.
    fn on_firmware_done(
        &mut self,
        now: Instant,
        handle: OperationHandle,
        events: &mut EventSchedule,
    ) {
        let DiskOperation { command, first, end, bytes, .. } = self.operations[handle];
        self.operations[handle].waits_since = now;
        self.catch_up(now);
        if self.join(now, command, first..end, bytes, events) {
            self.operations.free(handle);
            return;
        }
        self.waiting.push(handle);
        self.serve(now, events);
    }

    /// Reads sectors that no segment contains, either as they pass or in a separate operation.
    fn read_media(
        &mut self,
        now: Instant,
        command: CommandHandle,
        sectors: Range<u64>,
        length: Bytes,
        events: &mut EventSchedule,
    ) -> u32 {
        let count = sectors.end - sectors.start;
        if !self.join(now, command, sectors.clone(), length, events) {
            let handle = self.insert(now, command, false, sectors, length, Bytes::ZERO);
            events.schedule(now + self.spec.command_overhead, Event::Media(self.drive, handle));
        }
        count.div_ceil(BURST) as u32
    }

    /// Removes and returns a flush that no longer waits for any operation.
    fn next_flushed(&mut self) -> Option<CommandHandle> {
        let &(command, before) = self.flushes.first()?;
        let waits_for = |operation: &DiskOperation| operation.writes && operation.sequence < before;
        if self.unfinished().any(waits_for) {
            return None;
        }
        self.flushes.remove(0);
        Some(command)
    }

    fn is_dirty(&self, first: u64, end: u64) -> bool {
        self.unfinished().any(|operation| {
            operation.command == Handle::NONE && operation.first <= first && end <= operation.end
        })
    }
}

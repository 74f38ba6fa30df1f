//! Steps of commands that the arm of a hard disk carries out.

use super::Simulator;
use crate::sim::budget::Hop;
use crate::sim::drive::buffered;
use crate::sim::number::DriveNumber;
use crate::sim::slab::{CommandHandle, DiskHandle, Handle};
use crate::sim::station::Span;
use crate::units::Bytes;

impl Simulator {
    /// The firmware has done its part of a read that needs the media.
    pub(super) fn disk_ready(&mut self, drive: DriveNumber, operation: DiskHandle) {
        let Some(drive) = self.attachments[usize::from(drive)].drive.hard_disk() else { return };
        let command = drive.disk.operation(operation).command;
        let trace = &mut self.commands[command].trace;
        trace.spend(Hop::FrontEnd as usize, Span { start: trace.mark(), end: self.now });
        drive.disk.ready(self.now, operation, &mut self.events);
    }

    /// The arm has done an operation: the last of a read goes to the host, a write gives its room back.
    pub(super) fn arm_free(&mut self, index: DriveNumber) {
        let Some(drive) = self.attachments[usize::from(index)].drive.hard_disk() else { return };
        let Some(operation) = drive.disk.finish(self.now, &mut self.events) else { return };
        let span = Span { start: operation.begun, end: self.now };
        if operation.writes {
            drive.buffer.release(operation.room);
            if operation.command != Handle::NONE {
                self.stored_on_disk(operation.command, span);
            }
            self.fetch_admitted(index);
            self.flushed(index);
        } else {
            let command = &mut self.commands[operation.command];
            if command.bursts_left == 1 {
                command.trace.spend(Hop::Die as usize, span);
            }
            self.burst(operation.command, operation.last_burst());
        }
        self.media_changed(index);
    }

    /// A burst has come off the media before the last of its operation, or read ahead.
    pub(super) fn off_media(&mut self, handle: CommandHandle, bytes: Bytes) {
        let command = &mut self.commands[handle];
        let index = command.drive;
        if command.bursts_left == 1 {
            let start = command.trace.mark();
            command.trace.spend(Hop::Die as usize, Span { start, end: self.now });
        }
        self.burst(handle, bytes);
        let Some(drive) = self.attachments[usize::from(index)].drive.hard_disk() else { return };
        drive.disk.serve(self.now, &mut self.events);
        self.media_changed(index);
    }

    /// A burst of a write is in a disk's buffer, where a write cache completes it.
    pub(super) fn disk_write(
        &mut self,
        command: CommandHandle,
        offset: Bytes,
        length: Bytes,
        last: bool,
    ) {
        let index = usize::from(self.commands[command].drive);
        let Some(drive) = self.attachments[index].drive.hard_disk() else { return };
        let (place, room) = ((offset, length), buffered(offset, length));
        let cached = drive.disk.caches_writes();
        drive.disk.write(self.now, command, place, room, &mut self.events);
        if cached && last {
            self.acknowledge(command);
        }
    }

    /// A burst of a write that is not complete in the buffer is on the media.
    fn stored_on_disk(&mut self, handle: CommandHandle, span: Span) {
        let command = &mut self.commands[handle];
        command.unstored -= 1;
        if command.unstored == 0 {
            command.trace.spend(Hop::Die as usize, span);
            self.acknowledge(handle);
        }
    }

    /// Completes the flushes that have nothing to wait for any more, and lets the arm go on behind them.
    fn flushed(&mut self, index: DriveNumber) {
        loop {
            let Some(drive) = self.attachments[usize::from(index)].drive.hard_disk() else {
                return;
            };
            let Some(command) = drive.disk.next_flushed() else {
                drive.disk.serve(self.now, &mut self.events);
                return;
            };
            self.commands[command].trace.waited(Hop::Die, self.now);
            self.acknowledge(command);
        }
    }
}

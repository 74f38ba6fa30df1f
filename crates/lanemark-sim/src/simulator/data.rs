//! The steps between the decoding of a command and its completion: the media, the buffer, and data over the links.
//!
//! The media accept commands and emit outcomes; this module does not depend on the kind of media.

use super::{AttachedDrive, Command, Simulator, WRITE_BURST, WriteBurst};
use crate::drive::media::media;
use crate::drive::medium::Medium;
use crate::drive::outcome::DriveOutcome;
use crate::drive::{Drive, buffered_bytes};
use crate::engine::budget::Hop;
use crate::engine::event::Event;
use crate::engine::number::{DriveNumber, PathNumber};
use crate::engine::slab::{
    BurstHandle, CommandHandle, Handle, OperationHandle, TransferHandle, WriteBurstHandle,
};
use crate::engine::station::ServiceSpan;
use crate::engine::trace::MediaTimes;
use crate::link::{BurstPosition, LinkBurst};
use crate::path::carry_shared;
use crate::path::shared::{SharedLink, SharedTransfer, port_of};
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::Operation;

/// Data that a trim sends: a block of ranges (ATA DATA SET MANAGEMENT; NVMe Dataset Management sends 16 bytes or more
/// for each range).
const RANGES: Bytes = Bytes(512);

impl Simulator {
    /// Ends the firmware's work on a command. The command then waits for map pages, if some of these are not in memory.
    pub(super) fn on_decoded(&mut self, handle: CommandHandle) {
        let Command { drive, operation, offset, length, .. } = self.commands[handle];
        let AttachedDrive { drive, path, protocol, .. } = &mut self.attachments[usize::from(drive)];
        drive.front_end.catch_up(self.now, &mut self.commands, &mut self.events);
        let command = &mut self.commands[handle];
        if std::mem::take(&mut command.put_back) {
            return;
        }
        let span = drive.front_end.span(self.now, operation);
        command.trace.account_service(Hop::FrontEnd as usize, span);
        if operation == Operation::Flush {
            return self.start_media(handle);
        }
        let changes = operation != Operation::Read;
        let media = &mut drive.media;
        let misses = media!(
            media,
            media => media.look_up(self.now, handle, offset, length, changes, &mut self.events)
        );
        let pages = misses.from_media + misses.from_host;
        if pages == 0 {
            return self.start_media(handle);
        }
        command.bursts_left = pages;
        if misses.from_host > 0 {
            let trip = path.port_path(command.port_path).message_latency(&self.shared) * 2
                + protocol.memory_read();
            for index in 1..=u64::from(misses.from_host) {
                self.events.schedule(self.now + trip * index, Event::MapHere(handle));
            }
        }
    }

    /// Handles a page of the map that has arrived; after the last page the command continues.
    pub(super) fn map_here(&mut self, handle: CommandHandle) {
        self.commands[handle].trace.account_wait(Hop::FrontEnd, self.now);
        self.map_page(handle);
    }

    fn map_page(&mut self, handle: CommandHandle) {
        self.commands[handle].bursts_left -= 1;
        if self.commands[handle].bursts_left == 0 {
            self.start_media(handle);
        }
    }

    fn start_media(&mut self, handle: CommandHandle) {
        if self.faults.is_none() || !self.meets_fault(handle) {
            self.use_media(handle);
        }
    }

    /// Starts the media's work on a command.
    pub(super) fn use_media(&mut self, handle: CommandHandle) {
        if self.faults.is_some() && self.is_lying_flush(handle) {
            return;
        }
        let Command { drive: index, operation, offset, length, .. } = self.commands[handle];
        let now = self.now;
        let events = &mut self.events;
        let Drive { front_end, media, .. } = &mut self.attachments[usize::from(index)].drive;
        match operation {
            Operation::Read => {
                let time = front_end.miss_latency();
                if time > Duration::ZERO && !media!(media, media => media.holds(offset)) {
                    let span = ServiceSpan { start: now, end: now + time };
                    self.commands[handle].trace.account_service(Hop::FrontEnd as usize, span);
                    return events.schedule(span.end, Event::Missed(handle));
                }
                self.read_media(handle);
            }
            Operation::Write => self.ask_for_data(handle, offset, length),
            Operation::Flush => {
                let outcomes = &mut self.outcomes;
                media!(media, media => media.flush(now, handle, events, outcomes));
                self.settle(index);
            }
            Operation::Trim => self.fetch_ranges(handle),
        }
    }

    /// Begins a read from the media or from data that was read ahead.
    pub(super) fn read_media(&mut self, handle: CommandHandle) {
        let Command { drive, offset, length, .. } = self.commands[handle];
        let media = &mut self.attachments[usize::from(drive)].drive.media;
        let bursts = media!(
            media,
            media => media.read(self.now, handle, offset, length, &mut self.events)
        );
        self.commands[handle].bursts_left = bursts;
    }

    /// Processes all outcomes of a drive.
    fn settle(&mut self, index: DriveNumber) {
        while let Some(outcome) = self.outcomes.take() {
            self.process_outcome(index, outcome);
        }
    }

    /// Processes an outcome of a drive's work. The function is inlined at the end of a step, so that most outcomes are
    /// not stored in memory.
    #[inline(always)]
    fn process_outcome(&mut self, index: DriveNumber, outcome: DriveOutcome) {
        match outcome {
            DriveOutcome::Data { command, bytes, passage } => {
                self.account_media_time(command, passage);
                self.send_read_burst(command, bytes);
            }
            DriveOutcome::Map { command, passage } => {
                self.account_media_time(command, passage);
                self.map_page(command);
            }
            DriveOutcome::Prepared(command) => {
                let span = ServiceSpan { start: Instant::ZERO, end: self.now };
                self.commands[command].trace.account_service(Hop::FrontEnd as usize, span);
            }
            DriveOutcome::Stored { command, span } => self.on_burst_stored(command, span),
            DriveOutcome::Room(bytes) => {
                self.attachments[usize::from(index)].drive.buffer.release(bytes);
                self.fetch_admitted(index);
            }
            DriveOutcome::Done(command) => {
                self.commands[command].trace.account_wait(Hop::Die, self.now);
                self.acknowledge(command);
            }
            DriveOutcome::Nothing => {}
        }
    }

    /// Attributes the time that a command's data spent in the media. Only the last burst is on the critical path.
    #[inline]
    fn account_media_time(&mut self, handle: CommandHandle, passage: MediaTimes) {
        let command = &mut self.commands[handle];
        if command.bursts_left == 1 {
            command.trace.account_media_time(passage, self.now);
        }
    }

    /// Handles a burst that has been stored on the media, for a write that does not complete in the buffer.
    fn on_burst_stored(&mut self, handle: CommandHandle, span: ServiceSpan) {
        let command = &mut self.commands[handle];
        command.unstored -= 1;
        if command.unstored == 0 {
            command.trace.account_service(Hop::Die as usize, span);
            self.acknowledge(handle);
        }
    }

    /// Fetches the data block that contains the ranges of a trim.
    fn fetch_ranges(&mut self, handle: CommandHandle) {
        let Command { drive, port_path, trace, .. } = &mut self.commands[handle];
        let path = &mut self.attachments[usize::from(*drive)].path;
        // The command is not queued over SATA, so no DMA Setup announces its data.
        let position = BurstPosition { first: false, last: true };
        let burst = LinkBurst { bytes: RANGES, position };
        let arrival = path.carry_write(*port_path, &mut self.shared, self.now, burst, trace);
        self.events.schedule(arrival, Event::RangesIn(handle));
        if self.faults.is_some() {
            self.look_for_spoilt(handle);
        }
    }

    pub(super) fn ranges_in(&mut self, handle: CommandHandle) {
        let Command { drive, offset, length, .. } = self.commands[handle];
        let media = &mut self.attachments[usize::from(drive)].drive.media;
        let outcomes = &mut self.outcomes;
        media!(media, media => media.trim(offset, length, outcomes));
        self.settle(drive);
        self.acknowledge(handle);
    }

    /// Completes a command that does not move any more data.
    pub(super) fn acknowledge(&mut self, handle: CommandHandle) {
        let Command { drive, port_path, operation, trace, in_cache, .. } =
            &mut self.commands[handle];
        let port_path = self.attachments[usize::from(*drive)].path.port_path(*port_path);
        let notified = if *in_cache {
            port_path.complete_to_adapter(self.now, *operation, trace)
        } else {
            port_path.complete(&mut self.shared, self.now, *operation, trace)
        };
        self.events.schedule(notified, Event::Notified(handle));
    }

    pub(super) fn idle(&mut self, index: DriveNumber) {
        let media = &mut self.attachments[usize::from(index)].drive.media;
        media!(media, media => media.idle(self.now, &mut self.events));
        self.media_changed(index);
    }

    /// Splits the data of a write into bursts. Each burst is fetched when the buffer has room.
    pub(super) fn ask_for_data(&mut self, command: CommandHandle, offset: Bytes, length: Bytes) {
        let drive = usize::from(self.commands[command].drive);
        let media = &mut self.attachments[drive].drive.media;
        media!(media, media => media.expect_write(offset, length));
        let count = length.get().div_ceil(WRITE_BURST.get());
        self.commands[command].bursts_left = count as u32;
        self.commands[command].unstored = count as u32;
        for index in 0..count {
            let done = WRITE_BURST * index;
            let length = (length - done).min(WRITE_BURST);
            let burst = WriteBurst { command, offset: offset + done, length, last: false };
            let handle = self.write_bursts.insert(burst);
            let buffer = &mut self.attachments[drive].drive.buffer;
            if buffer.admit(handle, buffered_bytes(burst.offset, length)) {
                self.fetch_data(handle);
            }
        }
    }

    /// Fetches over the links a burst of a write for which the buffer has room.
    pub(super) fn fetch_data(&mut self, handle: WriteBurstHandle) {
        let WriteBurst { command, length, last, .. } = &mut self.write_bursts[handle];
        let command = &mut self.commands[*command];
        let length = *length;
        command.bursts_left -= 1;
        *last = command.bursts_left == 0;
        let position = BurstPosition { first: !command.announced, last: *last };
        command.announced = true;
        // Only the last burst is on the critical path: the time before it was a wait for room.
        self.aside.begin(self.now);
        let path = &mut self.attachments[usize::from(command.drive)].path;
        let in_cache = command.in_cache;
        let trace = if position.last { &mut command.trace } else { &mut self.aside };
        trace.account_wait(Hop::Buffer, self.now);
        let port_path = command.port_path;
        let now = self.now;
        let burst = LinkBurst { bytes: length, position };
        let arrival = if in_cache {
            path.carry_write_from_adapter(port_path, now, burst, trace)
        } else {
            path.carry_write(port_path, &mut self.shared, now, burst, trace)
        };
        self.events.schedule(arrival, Event::DataIn(handle));
        if self.faults.is_some() {
            let WriteBurst { command, .. } = self.write_bursts[handle];
            self.look_for_spoilt(command);
        }
    }

    /// Passes a burst of a write, which has arrived in the buffer, to the media.
    pub(super) fn data_in(&mut self, handle: WriteBurstHandle) {
        let burst = self.write_bursts[handle];
        self.write_bursts.free(handle);
        let index = self.commands[burst.command].drive;
        let media = &mut self.attachments[usize::from(index)].drive.media;
        media!(media, media => media.write(self.now, burst, &mut self.events, &mut self.outcomes));
        self.settle(index);
    }

    #[inline]
    pub(super) fn media_step(&mut self, index: DriveNumber, operation: OperationHandle) {
        let media = &mut self.attachments[usize::from(index)].drive.media;
        let outcome = media!(
            media,
            media => media.step(self.now, operation, &mut self.events, &mut self.outcomes)
        );
        let Some(outcome) = outcome else { return };
        self.process_outcome(index, outcome);
        if !self.outcomes.is_empty() {
            self.settle(index);
        }
        self.media_changed(index);
    }

    pub(super) fn off_media(&mut self, handle: BurstHandle) {
        let burst = self.events.take_burst(handle);
        let index = self.commands[burst.command].drive;
        let media = &mut self.attachments[usize::from(index)].drive.media;
        media!(
            media,
            media => media.off_media(self.now, burst, &mut self.events, &mut self.outcomes)
        );
        self.settle(index);
        self.media_changed(index);
    }

    /// Sends data of a read from the drive; the completion follows the last burst.
    pub(super) fn send_read_burst(&mut self, handle: CommandHandle, bytes: Bytes) {
        let command = &mut self.commands[handle];
        let path = &mut self.attachments[usize::from(command.drive)].path;
        command.bursts_left -= 1;
        let position = BurstPosition { first: !command.announced, last: command.bursts_left == 0 };
        let burst = LinkBurst { bytes, position };
        command.announced = true;
        self.aside.begin(self.now);
        let trace = if position.last { &mut command.trace } else { &mut self.aside };
        let outflow = path.carry_read(command.port_path, self.now, burst, trace);
        let drive = command.drive;
        let port_path = command.port_path;
        self.send_on(handle, drive, port_path, burst, outflow);
        if self.faults.is_some() {
            self.look_for_spoilt(handle);
        }
    }

    /// Sends a burst, which has left a drive's own links, over the shared links to the host.
    #[inline(always)]
    pub(super) fn send_on(
        &mut self,
        handle: CommandHandle,
        drive: DriveNumber,
        port_path: PathNumber,
        burst: LinkBurst,
        outflow: ServiceSpan,
    ) {
        match self.attachments[usize::from(drive)].path.port_path(port_path).shared() {
            0 if burst.position.last => self.events.schedule(outflow.end, Event::Notified(handle)),
            0 => {}
            links => {
                let transfer = self.transfers.insert(SharedTransfer {
                    command: handle,
                    port: port_of(drive, port_path),
                    burst,
                    inflow: outflow,
                    link: links - 1,
                    next: Handle::NONE,
                });
                self.towards_shared(transfer);
            }
        }
    }

    /// Sends a burst toward a shared link, and queues it there when enough of the burst has arrived.
    pub(super) fn towards_shared(&mut self, handle: TransferHandle) {
        let transfer = &self.transfers[handle];
        let ready = SharedLink::ready(&self.shared[transfer.link], transfer);
        self.events.schedule(ready.max(self.now), Event::AtShared(handle));
    }

    pub(super) fn at_shared(&mut self, handle: TransferHandle) {
        let link = self.transfers[handle].link;
        if self.turns[link].queue(&mut self.transfers, handle) {
            self.serve_shared(link);
        }
    }

    /// Frees a shared link for the next burst in turn, which then continues to the next link or to the host.
    pub(super) fn serve_shared(&mut self, link: usize) {
        let Some(handle) = self.turns[link].next(&mut self.transfers) else { return };
        let SharedTransfer { command, burst, inflow, .. } = self.transfers[handle];
        self.aside.begin(self.now);
        let is_last = burst.position.last;
        let trace = if is_last { &mut self.commands[command].trace } else { &mut self.aside };
        let station = &mut self.shared[link];
        let outflow = carry_shared(station, link, self.now, burst, inflow, trace);
        self.events.schedule(station.free_at(), Event::SharedFree(link as u16));
        if link > 0 {
            self.transfers[handle].inflow = outflow;
            self.transfers[handle].link = link - 1;
            self.towards_shared(handle);
            return;
        }
        self.transfers.free(handle);
        if is_last {
            self.events.schedule(outflow.end, Event::Notified(command));
        }
    }

    /// Fetches the bursts that waited for the released room.
    pub(super) fn fetch_admitted(&mut self, index: DriveNumber) {
        while let Some(burst) = self.attachments[usize::from(index)].drive.buffer.next_admitted() {
            self.fetch_data(burst);
        }
    }
}

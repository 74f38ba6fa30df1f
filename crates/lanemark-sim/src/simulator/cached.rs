//! Commands at a RAID adapter with a cache: the commands that end in the cache, and the writes that drain the cache.
//!
//! A write by the cache is a command without a request. It begins at the adapter, crosses the links from the adapter to
//! the drive, and ends when the adapter is notified.

use super::command::NewCommand;
use super::{Command, Simulator};
use crate::drive::media::media;
use crate::drive::medium::Medium;
use crate::engine::budget::Hop;
use crate::engine::event::Event;
use crate::engine::number::{DriveNumber, QueueNumber};
use crate::engine::slab::{CommandHandle, Handle};
use crate::host::adapter_cache::AdapterCache;
use crate::link::{BurstPosition, LinkBurst};
use lanemark_schema::result::{CreditUse, Reserve};
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::Operation;

/// The position of a burst that contains all data of a command.
const WHOLE: BurstPosition = BurstPosition { first: true, last: true };

impl Simulator {
    /// Ends the adapter's work on a command. The command then ends in the adapter's cache or continues to the drive.
    pub(super) fn on_adapter_done(&mut self, handle: CommandHandle) {
        let Command { operation, drive, offset, length, .. } = self.commands[handle];
        if self.commands[handle].is_of_cache() || !self.has_cache(drive) {
            return self.issue_frames(handle, false);
        }
        match operation {
            Operation::Write => self.take_in(handle),
            // The cache survives a power cut, so a flush does not wait for data.
            Operation::Flush => self.answer(handle),
            Operation::Read => {
                let held = self.cache().is_some_and(|cache| cache.holds(drive, (offset, length)));
                if held { self.give_out(handle, length) } else { self.issue_frames(handle, false) }
            }
            Operation::Trim => self.issue_frames(handle, false),
        }
    }

    /// Returns the number of bytes in the adapter's cache that no drive has received yet.
    pub(crate) fn adapter_cached(&self) -> Bytes {
        let cache = self.adapter.as_ref().and_then(|adapter| adapter.cache.as_ref());
        cache.map_or(Bytes::ZERO, |cache| cache.occupied())
    }

    /// Returns the remaining amount of each reserve that a load can use up: room in the adapter's cache, and the
    /// reserves of each drive. The number, the kinds and the order of the reserves never change.
    pub(crate) fn reserves(&self) -> Vec<(Reserve, u64)> {
        let cache = self.adapter.as_ref().and_then(|adapter| adapter.cache.as_ref());
        let free = cache.map(|cache| (Reserve::AdapterCache, cache.free().get()));
        let mut left: Vec<(Reserve, u64)> = free.into_iter().collect();
        self.attachments.iter().for_each(|attachment| attachment.drive.reserves(&mut left));
        left
    }

    /// Returns the memory of all drives that grows with the written data, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.attachments.iter().map(|attachment| attachment.drive.bytes()).sum()
    }

    /// Returns the use of the burst credits of all drives that have credits.
    pub(crate) fn credits(&self) -> Vec<CreditUse> {
        self.attachments.iter().flat_map(|attachment| attachment.drive.credits()).collect()
    }

    /// Returns the number of slots that collection has moved in all drives so far.
    pub(crate) fn collected(&self) -> u64 {
        self.attachments.iter().map(|attachment| attachment.drive.collected()).sum()
    }

    fn has_cache(&self, drive: DriveNumber) -> bool {
        self.adapter.as_ref().is_some_and(|adapter| adapter.cache.is_some())
            && self.attachments[usize::from(drive)].protocol.has_adapter()
    }

    fn cache(&mut self) -> Option<&mut AdapterCache> {
        self.adapter.as_mut()?.cache.as_deref_mut()
    }

    /// Reserves room in the cache for a write, or makes the write wait for room.
    fn take_in(&mut self, handle: CommandHandle) {
        let Self { adapter, commands, .. } = self;
        let Some(cache) = adapter.as_mut().and_then(|one| one.cache.as_deref_mut()) else { return };
        if cache.waiting.is_empty() && cache.reserve(commands[handle].length) {
            self.fetch_into_cache(handle);
        } else {
            cache.waiting.push(commands, handle);
        }
    }

    fn fetch_into_cache(&mut self, handle: CommandHandle) {
        let Command { drive, port_path, length, trace, .. } = &mut self.commands[handle];
        let path = &mut self.attachments[usize::from(*drive)].path;
        let burst = LinkBurst { bytes: *length, position: WHOLE };
        let arrival =
            path.carry_write_to_adapter(*port_path, &mut self.shared, self.now, burst, trace);
        self.events.schedule(arrival, Event::Cached(handle));
    }

    /// Ends a write whose data is in the cache; the host considers the data stored.
    pub(super) fn on_write_cached(&mut self, handle: CommandHandle) {
        let Command { drive, offset, length, .. } = self.commands[handle];
        if let Some(cache) = self.cache() {
            cache.put(drive, (offset, length));
        }
        self.answer(handle);
        // Overwritten data may have released room.
        self.take_waiting();
        self.drain(drive);
    }

    /// Completes a command for the host without involving the drive.
    fn answer(&mut self, handle: CommandHandle) {
        let Command { drive, port_path, operation, trace, in_cache, .. } =
            &mut self.commands[handle];
        *in_cache = true;
        let port_path = self.attachments[usize::from(*drive)].path.port_path(*port_path);
        let notified =
            port_path.complete_from_adapter(&mut self.shared, self.now, *operation, trace);
        self.events.schedule(notified, Event::Notified(handle));
    }

    /// Sends the data of a read from the cache.
    fn give_out(&mut self, handle: CommandHandle, length: Bytes) {
        let Command { drive, port_path, trace, in_cache, .. } = &mut self.commands[handle];
        *in_cache = true;
        let path = &mut self.attachments[usize::from(*drive)].path;
        let drive = *drive;
        let port_path = *port_path;
        let burst = LinkBurst { bytes: length, position: WHOLE };
        let outflow = path.carry_read_from_adapter(port_path, self.now, burst, trace);
        self.send_on(handle, drive, port_path, burst, outflow);
    }

    /// Sends the cached data of a drive to the drive, up to the drive's limit on outstanding writes.
    fn drain(&mut self, drive: DriveNumber) {
        while let Some((offset, length)) = self.cache().and_then(|cache| cache.next(drive)) {
            let command = self.commands.renew();
            let new = NewCommand {
                request: Handle::NONE,
                alone: false,
                drive,
                operation: Operation::Write,
                offset,
                length,
                thread: 0,
                queue: QueueNumber(0),
            };
            self.commands[command].begin(self.now, &new);
            self.commands[command].in_cache = true;
            let media = &mut self.attachments[usize::from(drive)].drive.media;
            media!(media, media => media.note_commands(1));
            let Some(adapter) = &mut self.adapter else { return };
            let span = adapter.serve(self.now, 0);
            self.events.schedule(span.end, Event::Admitted(command));
        }
    }

    /// Ends a write of the cache that a drive has completed.
    #[cold]
    pub(super) fn on_cache_write_done(&mut self, handle: CommandHandle) {
        let Command { drive, offset, length, .. } = self.commands[handle];
        self.note_answer(drive);
        self.commands.free(handle);
        let media = &mut self.attachments[usize::from(drive)].drive.media;
        if let Some(at) = media!(media, media => media.note_answered(self.now)) {
            self.events.schedule(at, Event::Idle(drive));
        }
        if let Some(cache) = self.cache() {
            cache.release_piece(drive, (offset, length));
        }
        self.take_waiting();
        self.drain(drive);
    }

    /// Assigns the available room to the waiting writes, in the order of arrival.
    fn take_waiting(&mut self) {
        loop {
            let Self { adapter, commands, .. } = self;
            let Some(cache) = adapter.as_mut().and_then(|one| one.cache.as_deref_mut()) else {
                return;
            };
            let first = cache.waiting.head();
            if first == Handle::NONE || !cache.reserve(commands[first].length) {
                return;
            }
            cache.waiting.pop(commands);
            commands[first].trace.account_wait(Hop::Buffer, self.now);
            self.fetch_into_cache(first);
        }
    }
}

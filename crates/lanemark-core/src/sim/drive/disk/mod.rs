//! A hard disk: one arm over turning platters, a read cache, and a choice of what comes next.
//!
//! ```text
//!  read  ─► segments ─► path                                  what they hold
//!        └► overhead ─► arm (seek, rotation, sectors) ─► path  the rest, in bursts as they come off the media
//!  write ─► buffer ─► complete ─► arm                         with a write cache
//!                  └► arm ─► complete                         without
//! ```
//!
//! Laws: positioning and cylinders after Ruemmler and Wilkes (see [`SeekCurve`]) and J. S. Bucy et al., *The DiskSim
//! Simulation Environment Version 4.0 Reference Manual* (CMU-PDL-08-101): seek and head switch at the
//! same time, then the rest of the revolution, then the sectors, with a skew for each change of track. The
//! platters turn by the clock, so an access takes what is left of the turn and not the mean.
//!
//! What waits is served by shortest positioning time first (D. Jacobson, J. Wilkes, "Disk scheduling algorithms
//! based on rotational position", HP Labs 1991; SATA's native command queueing and SCSI's simple queue leave the
//! order to the drive): the place that comes under its head soonest, seek and rotation together. What has waited
//! longer than a bound goes first. Reads and writes that a host waits for go before buffered writes, until these
//! take up half of the buffer or a flush waits for them. What goes on where the last operation ended is next even at
//! the end of a track, where other places may come by a little sooner: a gap in a run costs a revolution later.
//!
//! While nothing else is asked, the disk reads on behind a read. A read that goes on there takes its data as it
//! comes by, so one small read after the other runs at the rate of the media. Any other work ends the reading
//! ahead at once. A disk that has read ahead as far as it may goes on when half of that has been taken.
//!
//! Not modelled: errors, retries and remapped sectors, servo wedges, thermal recalibration, reading a track from
//! wherever the head arrives, waiting before an idle arm is sent to write what is buffered, merging buffered
//! writes of the same place, seeking while a write's data still comes, shingled tracks, media caches.

mod ahead;
mod arm;
mod disk_time;
mod geometry;
mod law;
mod seek;
mod segments;
mod sweep;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use disk_time::DiskTime;
pub(crate) use law::ArmDemand;
pub(crate) use segments::Segments;
pub(crate) use sweep::Mechanics;

use self::arm::Arm;
use crate::sim::Event;
use crate::sim::number::DriveNumber;
use crate::sim::schedule::{Burst, Schedule};
use crate::sim::slab::{CommandHandle, DiskHandle, DiskOperations, Handle, Slab};
use crate::sim::spec::DiskSpec;
use crate::units::{Bytes, Duration, Instant};
use crate::workload::SECTOR;

/// The most data that leaves the media in one burst.
const BURST: u64 = Bytes::kibi(128).get() / SECTOR.get();

/// A run of sectors to be read or written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiskOperation {
    /// The command that waits for the operation; none for a write that is complete already.
    pub command: CommandHandle,
    /// Whether the operation writes.
    pub writes: bool,
    /// First sector of the operation, and the one behind its last.
    first: u64,
    end: u64,
    /// Bytes that the operation moves: less than its sectors where the host asks for a part of one.
    pub bytes: Bytes,
    /// Room that the operation gives back in the buffer.
    pub room: Bytes,
    /// Start of the wait for the arm.
    waits_since: Instant,
    /// Instants at which the arm took the operation, the arm's move ends, and the first sector comes by.
    pub begun: Instant,
    moved: Instant,
    reached: Instant,
    /// Number of operations before this one.
    sequence: u64,
}

/// A hard disk at work.
#[derive(Clone, Debug)]
pub(crate) struct Disk {
    /// Number of the drive in the system, for its events.
    drive: DriveNumber,
    spec: DiskSpec,
    mechanics: Mechanics,
    segments: Segments,
    sectors: u64,
    read_ahead: u64,
    operations: Slab<DiskOperation, DiskOperations>,
    /// Operations that wait for the arm, in the order of arrival.
    waiting: Vec<DiskHandle>,
    arm: Arm,
    busy: Duration,
    worked: DiskTime,
    sequence: u64,
    /// The sector behind the last operation.
    ended: u64,
    /// Buffered writes that are not on the media, and their room; at how much of it they are pressing.
    dirty: u32,
    dirty_room: Bytes,
    pressing: Bytes,
    /// Flushes, each with the number of operations before it.
    flushes: Vec<(CommandHandle, u64)>,
    written: Bytes,
}

impl Disk {
    /// The idle disk of drive `drive`, of which the host sees `capacity`, with room for `buffer` of writes.
    pub(crate) fn new(drive: DriveNumber, spec: &DiskSpec, capacity: Bytes, buffer: Bytes) -> Self {
        let mechanics = Mechanics::new(spec);
        Self {
            drive,
            segments: Segments::new(spec),
            sectors: capacity.get() / SECTOR.get(),
            read_ahead: spec.read_ahead.get() / SECTOR.get(),
            operations: Slab::new(),
            waiting: Vec::new(),
            arm: Arm::Resting(mechanics.outermost()),
            mechanics,
            spec: spec.clone(),
            busy: Duration::ZERO,
            worked: DiskTime::default(),
            sequence: 0,
            ended: 0,
            dirty: 0,
            dirty_room: Bytes::ZERO,
            pressing: Bytes(buffer.get() / 2),
            flushes: Vec::new(),
            written: Bytes::ZERO,
        }
    }

    /// Whether a write is complete when it is in the buffer.
    pub(crate) fn caches_writes(&self) -> bool {
        self.spec.write_cache
    }

    /// The operation of `handle`.
    pub(crate) fn operation(&self, handle: DiskHandle) -> &DiskOperation {
        &self.operations[handle]
    }

    /// Returns the bytes that the run has written to the media.
    pub(crate) fn written(&self) -> Bytes {
        self.written
    }

    /// The arm's time until now.
    pub(crate) fn busy(&self, now: Instant) -> Duration {
        match self.arm {
            Arm::Working { operation, .. } => {
                self.busy + now.since(self.operations[operation].begun)
            }
            Arm::Resting(_) | Arm::Streaming(_) => self.busy,
        }
    }

    /// Starts a read and returns how many bursts will come.
    pub(crate) fn read(
        &mut self,
        now: Instant,
        command: CommandHandle,
        offset: Bytes,
        length: Bytes,
        events: &mut Schedule,
    ) -> u32 {
        let (first, end) = sectors_of(offset, length);
        if self.dirty > 0 && self.is_dirty(first, end) {
            events.schedule_burst(now, Burst { command, bytes: length }, Event::FromBuffer);
            return 1;
        }
        self.catch_up(now);
        let Some((segment, held)) = self.segments.held_from(first) else {
            return self.read_media(now, command, (first, end), length, events);
        };
        self.segments.touch(segment);
        if held >= end {
            events.schedule_burst(now, Burst { command, bytes: length }, Event::FromBuffer);
            self.taken(now, segment, end);
            return 1;
        }
        // The first sector may count in part.
        let part = SECTOR * held - offset;
        events.schedule_burst(now, Burst { command, bytes: part }, Event::FromBuffer);
        1 + self.read_media(now, command, (held, end), length - part, events)
    }

    /// Takes a write whose data is in the buffer, where it has `room`. With a write cache nobody waits for it.
    pub(crate) fn write(
        &mut self,
        now: Instant,
        command: CommandHandle,
        (offset, length): (Bytes, Bytes),
        room: Bytes,
        events: &mut Schedule,
    ) {
        let (first, end) = sectors_of(offset, length);
        self.catch_up(now);
        self.segments.forget(first, end);
        if let Arm::Streaming(stream) = &mut self.arm {
            self.segments.restart_unless_current(stream.segment, stream.sweep.sector);
            if first < stream.limit && stream.sweep.sector < end {
                stream.limit = first.max(stream.promised).max(stream.sweep.sector);
            }
        }
        let command = if self.spec.write_cache { Handle::NONE } else { command };
        if command == Handle::NONE {
            self.dirty += 1;
            self.dirty_room += room;
        }
        let handle = self.insert(now, command, true, (first, end), length, room);
        self.waiting.push(handle);
        self.serve(now, events);
    }

    /// The power fails: returns what was written and is not on the media. The heads go where they are parked.
    pub(crate) fn power_cut(&mut self, now: Instant) -> Bytes {
        self.busy = self.busy(now);
        let operations = self.operations.handles().into_iter().map(|one| &self.operations[one]);
        let buffered = operations.filter(|one| one.writes && one.command == Handle::NONE);
        let lost = buffered.fold(Bytes::ZERO, |sum, one| sum + one.bytes);
        self.segments = Segments::new(&self.spec);
        self.operations = Slab::new();
        self.waiting.clear();
        self.arm = Arm::Resting(self.mechanics.outermost());
        self.flushes.clear();
        (self.dirty, self.dirty_room) = (0, Bytes::ZERO);
        lost
    }

    /// Whether everything that was written is on the media; if not, `command` waits for it.
    pub(crate) fn flush(
        &mut self,
        now: Instant,
        command: CommandHandle,
        events: &mut Schedule,
    ) -> bool {
        if self.dirty == 0 {
            return true;
        }
        self.flushes.push((command, self.sequence));
        self.serve(now, events);
        false
    }

    /// A flush that has nothing to wait for any more.
    pub(crate) fn next_flushed(&mut self) -> Option<CommandHandle> {
        let &(command, before) = self.flushes.first()?;
        let working = match self.arm {
            Arm::Working { operation, .. } => Some(operation),
            _ => None,
        };
        let mut unwritten =
            self.waiting.iter().copied().chain(working).map(|handle| &self.operations[handle]);
        if unwritten.any(|operation| operation.writes && operation.sequence < before) {
            return None;
        }
        self.flushes.remove(0);
        Some(command)
    }

    /// The firmware has done its part of a read that needs the media.
    pub(crate) fn ready(&mut self, now: Instant, handle: DiskHandle, events: &mut Schedule) {
        let DiskOperation { command, first, end, bytes, .. } = self.operations[handle];
        self.operations[handle].waits_since = now;
        self.catch_up(now);
        if self.join(now, command, (first, end), bytes, events) {
            self.operations.free(handle);
            return;
        }
        self.waiting.push(handle);
        self.serve(now, events);
    }

    /// Reads sectors that no segment holds, as they come by or by an operation of their own.
    fn read_media(
        &mut self,
        now: Instant,
        command: CommandHandle,
        (first, end): (u64, u64),
        length: Bytes,
        events: &mut Schedule,
    ) -> u32 {
        if !self.join(now, command, (first, end), length, events) {
            let handle = self.insert(now, command, false, (first, end), length, Bytes::ZERO);
            events.schedule(now + self.spec.command_overhead, Event::DiskReady(self.drive, handle));
        }
        (end - first).div_ceil(BURST) as u32
    }

    fn is_dirty(&self, first: u64, end: u64) -> bool {
        let working = match self.arm {
            Arm::Working { operation, .. } => Some(operation),
            _ => None,
        };
        self.waiting.iter().copied().chain(working).any(|handle| {
            let operation = &self.operations[handle];
            operation.command == Handle::NONE && operation.first <= first && end <= operation.end
        })
    }

    fn insert(
        &mut self,
        now: Instant,
        command: CommandHandle,
        writes: bool,
        (first, end): (u64, u64),
        bytes: Bytes,
        room: Bytes,
    ) -> DiskHandle {
        let sequence = self.sequence;
        self.sequence += 1;
        self.operations.insert(DiskOperation {
            command,
            writes,
            first,
            end,
            bytes,
            room,
            waits_since: now,
            begun: now,
            moved: now,
            reached: now,
            sequence,
        })
    }
}

impl DiskOperation {
    /// The last burst of a read: what is left behind the full ones.
    pub(crate) fn last_burst(&self) -> Bytes {
        let mut last = 0;
        bursts(self.first, self.end, self.bytes, |_, bytes| last = bytes);
        Bytes(last.into())
    }
}

/// The sectors that `length` bytes from `offset` on touch: the first, and the one behind the last.
fn sectors_of(offset: Bytes, length: Bytes) -> (u64, u64) {
    let first = offset.get() / SECTOR.get();
    (first, (offset + length).get().div_ceil(SECTOR.get()).max(first + 1))
}

/// Splits sectors, of which the host takes `bytes`, into bursts: each with the sector behind it.
fn bursts(first: u64, end: u64, bytes: Bytes, mut each: impl FnMut(u64, u32)) {
    let mut left = bytes.get();
    let mut sector = first;
    while sector < end {
        sector = (sector + BURST).min(end);
        let now = if sector == end { left } else { left.min(BURST * SECTOR.get()) };
        left -= now;
        each(sector, now as u32);
    }
}

//! A hard disk: one arm over turning platters, a read cache, and a choice of what comes next.
//!
//! ```text
//!  read  ─► segments ─► path                                  what they hold
//!        └► overhead ─► arm (seek, rotation, sectors) ─► path  the rest, in bursts as they come off the media
//!  write ─► buffer ─► complete ─► arm                         with a write cache
//!                  └► arm ─► complete                         without
//! ```
//!
//! Laws: positioning and cylinders after Ruemmler and Wilkes (see [`seek`]) and J. S. Bucy et al., *The DiskSim
//! Simulation Environment Version 4.0 Reference Manual* (CMU-PDL-08-101), chapter 5: seek and head switch at the
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
//! writes of the same place, seeking while a write's data still comes, shingled tracks, media caches, power states.

mod geometry;
mod law;
mod seek;
mod segments;
mod spec;
mod sweep;
#[cfg(test)]
pub(crate) mod tests;

pub use geometry::{Geometry, Track};
pub use law::ArmDemand;
pub use seek::SeekCurve;
pub use segments::Segments;
pub use spec::{CYLINDERS, DiskSpec, SeekSpec, Zone};
pub use sweep::{Mechanics, Sweep};

use crate::sim::Event;
use crate::sim::kernel::EventQueue;
use crate::sim::slab::{Handle, NONE, Slab};
use crate::units::{Bytes, Duration, Instant};
use crate::workload::SECTOR;

/// The most data that leaves the media in one burst.
const BURST: u64 = Bytes::kibi(128).get() / SECTOR.get();

/// A run of sectors to be read or written.
#[derive(Clone, Copy, Debug)]
pub struct DiskOperation {
    /// The command that waits for it; none for a write that is complete already.
    pub command: Handle,
    /// Whether it writes.
    pub writes: bool,
    /// Its sectors.
    first: u64,
    end: u64,
    /// What it moves: less than its sectors where the host asks for a part of one.
    pub bytes: Bytes,
    /// Room that it gives back in the buffer.
    pub room: Bytes,
    /// When it began to wait for the arm, and when the arm took it.
    waits_since: Instant,
    /// When the arm took it.
    pub begun: Instant,
    /// Operations before it.
    sequence: u64,
}

/// What the arm does.
#[derive(Clone, Copy, Debug)]
enum Arm {
    /// It rests on a track.
    Resting(Track),
    /// It does an operation, at whose end it will be where the sweep is.
    Working { operation: Handle, end: Sweep },
    /// It reads ahead.
    Streaming(Stream),
}

/// Reading ahead.
#[derive(Clone, Copy, Debug)]
struct Stream {
    sweep: Sweep,
    segment: usize,
    /// The sector at which it stops.
    limit: u64,
    /// The sector up to which commands wait for it, and when it is there.
    promised: u64,
    promised_at: Instant,
    /// Until when its time is accounted for.
    accounted: Instant,
}

/// A hard disk at work.
#[derive(Clone, Debug)]
pub struct Disk {
    /// Which drive of the system this is, for its events.
    drive: u16,
    spec: DiskSpec,
    mechanics: Mechanics,
    segments: Segments,
    sectors: u64,
    read_ahead: u64,
    operations: Slab<DiskOperation>,
    /// What waits for the arm, in the order of arrival.
    waiting: Vec<Handle>,
    arm: Arm,
    busy: Duration,
    sequence: u64,
    /// The sector behind the last operation.
    ended: u64,
    /// Buffered writes that are not on the media, and their room; at how much of it they are pressing.
    dirty: u32,
    dirty_room: Bytes,
    pressing: Bytes,
    /// Flushes, each with the number of operations before it.
    flushes: Vec<(Handle, u64)>,
    written: Bytes,
}

impl Disk {
    /// The idle disk of drive `drive`, of which the host sees `capacity`, with room for `buffer` of writes.
    pub fn new(drive: u16, spec: &DiskSpec, capacity: Bytes, buffer: Bytes) -> Self {
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
    pub fn caches_writes(&self) -> bool {
        self.spec.write_cache
    }

    /// The operation of `handle`.
    pub fn operation(&self, handle: Handle) -> &DiskOperation {
        &self.operations[handle]
    }

    /// What the run has written to the media.
    pub fn written(&self) -> Bytes {
        self.written
    }

    /// The arm's time until now.
    pub fn busy(&self, now: Instant) -> Duration {
        match self.arm {
            Arm::Working { operation, .. } => {
                self.busy + now.since(self.operations[operation].begun)
            }
            Arm::Resting(_) | Arm::Streaming(_) => self.busy,
        }
    }

    /// Starts a read and returns how many bursts will come.
    pub fn read(
        &mut self,
        now: Instant,
        command: Handle,
        offset: Bytes,
        length: Bytes,
        events: &mut EventQueue<Event>,
    ) -> u32 {
        let (first, end) = sectors_of(offset, length);
        if self.dirty > 0 && self.is_dirty(first, end) {
            events.schedule(now, Event::FromBuffer(command, length.get() as u32));
            return 1;
        }
        self.catch_up(now);
        let Some((segment, held)) = self.segments.held_from(first) else {
            return self.read_media(now, command, (first, end), length, events);
        };
        self.segments.touch(segment);
        if held >= end {
            events.schedule(now, Event::FromBuffer(command, length.get() as u32));
            self.taken(now, segment, end);
            return 1;
        }
        // The first sector may count in part.
        let part = SECTOR * held - offset;
        events.schedule(now, Event::FromBuffer(command, part.get() as u32));
        1 + self.read_media(now, command, (held, end), length - part, events)
    }

    /// Takes a write whose data is in the buffer, where it has `room`. With a write cache nobody waits for it.
    pub fn write(
        &mut self,
        now: Instant,
        command: Handle,
        (offset, length): (Bytes, Bytes),
        room: Bytes,
        events: &mut EventQueue<Event>,
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
        let command = if self.spec.write_cache { NONE } else { command };
        if command == NONE {
            self.dirty += 1;
            self.dirty_room += room;
        }
        let handle = self.insert(now, command, true, (first, end), length, room);
        self.waiting.push(handle);
        self.serve(now, events);
    }

    /// Whether everything that was written is on the media; if not, `command` waits for it.
    pub fn flush(&mut self, now: Instant, command: Handle, events: &mut EventQueue<Event>) -> bool {
        if self.dirty == 0 {
            return true;
        }
        self.flushes.push((command, self.sequence));
        self.serve(now, events);
        false
    }

    /// A flush that has nothing to wait for any more.
    pub fn next_flushed(&mut self) -> Option<Handle> {
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
    pub fn ready(&mut self, now: Instant, handle: Handle, events: &mut EventQueue<Event>) {
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

    /// The arm has done its operation: returns it, and goes on.
    pub fn finish(
        &mut self,
        now: Instant,
        events: &mut EventQueue<Event>,
    ) -> Option<DiskOperation> {
        let Arm::Working { operation: handle, end } = self.arm else { return None };
        let operation = self.operations[handle];
        self.operations.free(handle);
        self.busy += now.since(operation.begun);
        self.arm = Arm::Resting(end.track);
        self.ended = operation.end;
        if operation.writes {
            self.written += operation.bytes;
            if operation.command == NONE {
                self.dirty -= 1;
                self.dirty_room = self.dirty_room - operation.room;
            }
        } else {
            let segment = self.segments.take(operation.first);
            self.segments.fill(segment, operation.end);
            self.arm = Arm::Streaming(Stream {
                sweep: end,
                segment,
                limit: self.limit_behind(operation.end),
                promised: operation.end,
                promised_at: now,
                accounted: now,
            });
        }
        self.serve(now, events);
        Some(operation)
    }

    /// Lets a free arm take the next operation.
    pub fn serve(&mut self, now: Instant, events: &mut EventQueue<Event>) {
        while !self.waiting.is_empty() {
            self.catch_up(now);
            let track = match self.arm {
                Arm::Working { .. } => return,
                Arm::Streaming(stream) if now < stream.promised_at => return,
                Arm::Streaming(stream) => stream.sweep.track,
                Arm::Resting(track) => track,
            };
            let Some(place) = self.choose(now, &track) else { return };
            let handle = self.waiting.remove(place);
            let DiskOperation { command, writes, first, end, bytes, .. } = self.operations[handle];
            let held = self.segments.held_from(first).is_some_and(|(_, held)| held >= end);
            if !writes && held {
                // It was read ahead in the meantime.
                bursts(first, end, bytes, |_, bytes| {
                    events.schedule(now, Event::OffMedia(command, bytes));
                });
                self.operations.free(handle);
                continue;
            }
            self.begin(now, handle, &track, events);
            return;
        }
    }

    /// Sends the arm to an operation.
    fn begin(
        &mut self,
        now: Instant,
        handle: Handle,
        from: &Track,
        events: &mut EventQueue<Event>,
    ) {
        let operation = &mut self.operations[handle];
        operation.begun = now;
        let DiskOperation { command, writes, first, end, bytes, .. } = *operation;
        let mut sweep = self.mechanics.reach(now, from, first, writes);
        if !writes {
            bursts(first, end, bytes, |to, bytes| {
                let at = self.mechanics.pass(&mut sweep, to);
                if to < end {
                    events.schedule(at, Event::OffMedia(command, bytes));
                }
            });
        }
        let done = self.mechanics.pass(&mut sweep, end);
        events.schedule(done, Event::ArmFree(self.drive));
        self.arm = Arm::Working { operation: handle, end: sweep };
    }

    /// Which of those that wait is next.
    fn choose(&self, now: Instant, track: &Track) -> Option<usize> {
        // A flush waits for what came before it, and for nothing else.
        let before = self.flushes.first().map_or(u64::MAX, |&(_, before)| before);
        let pressed = self.dirty_room >= self.pressing || before < u64::MAX;
        let operation = |handle: Handle| &self.operations[handle];
        let is_asked = |&handle: &Handle| operation(handle).command != NONE;
        // They stand in the order of arrival, so the first has waited longest.
        let oldest = self.waiting.iter().position(is_asked);
        if let Some(place) = oldest
            && now.since(operation(self.waiting[place]).waits_since) >= self.spec.age_max
        {
            return Some(place);
        }
        let mut window = if pressed || oldest.is_none() { self.spec.destage_window } else { 0 };
        let mut nearest: Option<(Instant, usize)> = None;
        for (place, &handle) in self.waiting.iter().enumerate() {
            let operation = operation(handle);
            if operation.command == NONE {
                if window == 0 || operation.sequence >= before {
                    continue;
                }
                window -= 1;
            }
            if operation.first == self.ended {
                return Some(place);
            }
            let at = self.mechanics.reach(now, track, operation.first, operation.writes).at;
            if nearest.is_none_or(|(soonest, _)| at < soonest) {
                nearest = Some((at, place));
            }
        }
        nearest.map(|(_, place)| place)
    }

    /// Reads sectors that no segment holds, as they come by or by an operation of their own.
    fn read_media(
        &mut self,
        now: Instant,
        command: Handle,
        (first, end): (u64, u64),
        length: Bytes,
        events: &mut EventQueue<Event>,
    ) -> u32 {
        if !self.join(now, command, (first, end), length, events) {
            let handle = self.insert(now, command, false, (first, end), length, Bytes::ZERO);
            events.schedule(now + self.spec.command_overhead, Event::DiskReady(self.drive, handle));
        }
        (end - first).div_ceil(BURST) as u32
    }

    /// Lets a command take sectors as they are read ahead, where they are next and nobody waits for the arm.
    fn join(
        &mut self,
        now: Instant,
        command: Handle,
        (first, end): (u64, u64),
        length: Bytes,
        events: &mut EventQueue<Event>,
    ) -> bool {
        let Arm::Streaming(mut stream) = self.arm else { return false };
        if self.read_ahead == 0 || !self.waiting.is_empty() {
            return false;
        }
        if first < stream.sweep.sector || first > stream.sweep.sector.max(stream.promised) {
            return false;
        }
        if stream.sweep.sector >= stream.limit {
            stream.sweep =
                self.mechanics.reach(now, &stream.sweep.track, stream.sweep.sector, false);
            stream.accounted = now;
        }
        stream.limit = stream.limit.max(self.limit_behind(end));
        let mut sweep = stream.sweep;
        bursts(first, end, length, |to, bytes| {
            let at = self.mechanics.pass(&mut sweep, to);
            events.schedule(at, Event::OffMedia(command, bytes));
        });
        stream.promised = end;
        stream.promised_at = sweep.at;
        self.busy += sweep.at.since(stream.accounted.min(sweep.at));
        stream.accounted = stream.accounted.max(sweep.at);
        self.segments.touch(stream.segment);
        self.arm = Arm::Streaming(stream);
        true
    }

    /// Data of a segment was taken up to `end`: where the disk reads ahead behind it, it may go on.
    fn taken(&mut self, now: Instant, segment: usize, end: u64) {
        let limit = self.limit_behind(end);
        let Arm::Streaming(stream) = &mut self.arm else { return };
        if stream.segment != segment || limit <= stream.limit || !self.waiting.is_empty() {
            return;
        }
        if stream.sweep.sector < stream.limit {
            stream.limit = limit;
        } else if stream.sweep.sector.saturating_sub(end) <= self.read_ahead / 2 {
            stream.limit = limit;
            let Sweep { track, sector, .. } = stream.sweep;
            stream.sweep = self.mechanics.reach(now, &track, sector, false);
            stream.accounted = now;
        }
    }

    /// Brings what is read ahead up to the present.
    fn catch_up(&mut self, now: Instant) {
        if let Arm::Streaming(stream) = &mut self.arm {
            self.mechanics.catch_up(&mut stream.sweep, stream.limit, now);
            self.segments.fill(stream.segment, stream.sweep.sector);
        }
    }

    /// Where reading ahead stops behind a read that ends at `end`.
    fn limit_behind(&self, end: u64) -> u64 {
        (end + self.read_ahead).min(self.sectors.max(end))
    }

    fn is_dirty(&self, first: u64, end: u64) -> bool {
        let working = match self.arm {
            Arm::Working { operation, .. } => Some(operation),
            _ => None,
        };
        self.waiting.iter().copied().chain(working).any(|handle| {
            let operation = &self.operations[handle];
            operation.command == NONE && operation.first <= first && end <= operation.end
        })
    }

    fn insert(
        &mut self,
        now: Instant,
        command: Handle,
        writes: bool,
        (first, end): (u64, u64),
        bytes: Bytes,
        room: Bytes,
    ) -> Handle {
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
            sequence,
        })
    }
}

impl DiskOperation {
    /// The last burst of a read: what is left behind the full ones.
    pub fn last_burst(&self) -> Bytes {
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

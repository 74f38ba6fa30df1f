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
//! Simulation Environment Version 4.0 Reference Manual* (CMU-PDL-08-101): seek and head switch at the
//! same time, then the rest of the revolution, then the sectors, with a skew for each change of track. The
//! platters turn by the clock, so an access takes what is left of the turn and not the mean.
//!
//! Waiting operations are served by shortest positioning time first (D. Jacobson, J. Wilkes, "Disk scheduling algorithms
//! based on rotational position", HP Labs 1991; SATA's native command queueing and SCSI's simple queue leave the
//! order to the drive): the place that comes under its head soonest, seek and rotation together. Where the arm would
//! be there with less than a margin to spare, the firmware counts on the next revolution. What has waited longer than a bound goes first. Reads and writes that a host waits for go before buffered writes, until these
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
mod medium;
mod seek;
mod segments;
mod sweep;
#[cfg(test)]
pub(crate) mod tests;

use self::arm::Arm;
use self::disk_time::DiskTime;
use self::segments::Segments;
use self::sweep::Mechanics;
use crate::sim::number::DriveNumber;
use crate::sim::slab::{CommandHandle, OperationHandle, Operations, Slab};
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
    operations: Slab<DiskOperation, Operations>,
    /// Operations that wait for the arm, in the order of arrival.
    waiting: Vec<OperationHandle>,
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

    /// The arm's time until now.
    fn arm_busy(&self, now: Instant) -> Duration {
        match self.arm {
            Arm::Working { operation, .. } => {
                self.busy + now.since(self.operations[operation].begun)
            }
            Arm::Resting(_) | Arm::Streaming(_) => self.busy,
        }
    }

    /// The operations that wait for the arm, and the one that it carries out.
    fn unfinished(&self) -> impl Iterator<Item = &DiskOperation> {
        let working = match self.arm {
            Arm::Working { operation, .. } => Some(operation),
            Arm::Resting(_) | Arm::Streaming(_) => None,
        };
        self.waiting.iter().copied().chain(working).map(|handle| &self.operations[handle])
    }

    fn insert(
        &mut self,
        now: Instant,
        command: CommandHandle,
        writes: bool,
        (first, end): (u64, u64),
        bytes: Bytes,
        room: Bytes,
    ) -> OperationHandle {
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

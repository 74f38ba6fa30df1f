//! A hard disk: one arm over rotating platters, a read cache, and a scheduler that chooses the next operation.
//!
//! ```text
//!  read  ─► segments ─► path                                  their sectors
//!        └► overhead ─► arm (seek, rotation, sectors) ─► path  the rest, in bursts as they come off the media
//!  write ─► buffer ─► complete ─► arm                         with a write cache
//!                  └► arm ─► complete                         without
//! ```
//!
//! Model: positioning and cylinders follow Ruemmler and Wilkes (see [`seek`]) and J. S. Bucy et al., *The DiskSim
//! Simulation Environment Version 4.0 Reference Manual* (CMU-PDL-08-101): seek and head switch at the same time, then
//! the rest of the revolution, then the sectors, with a skew at each change of track. The simulated clock determines
//! the angle of the platters, so an access waits for the actual remainder of the revolution and not for the mean.
//!
//! Waiting operations are served by shortest positioning time first (D. Jacobson, J. Wilkes, "Disk scheduling
//! algorithms based on rotational position", HP Labs 1991; SATA's native command queueing and SCSI's simple queue leave
//! the order to the drive). The next operation is the one whose first sector the arm reaches soonest, by seek and
//! rotation together. If the arm would arrive with less than a margin to spare, the firmware assumes the next
//! revolution. An operation that has waited longer than a bound is served first. Reads and writes that a host waits for
//! precede buffered writes, until the buffered writes occupy half of the buffer or a flush waits for them. An operation
//! that continues the last operation is next even at the end of a track, although other sectors may pass slightly
//! earlier, because an interrupted run costs a revolution later.
//!
//! An otherwise idle disk reads ahead after a read. A read that continues at the end of that read takes its data as the
//! sectors pass, so a sequence of small reads runs at the rate of the media. Any other work stops the read-ahead
//! immediately. A disk that has read ahead up to its limit continues when commands have taken half of that data.
//!
//! Not modelled: errors, retries and remapped sectors, servo wedges, thermal recalibration, reading a track from the
//! sector at which the head arrives, waiting before an idle arm writes buffered data, merging buffered writes of the
//! same sectors, seeking while a write's data still arrives, shingled tracks, media caches.

mod ahead;
mod arm;
mod arm_state;
#[cfg(test)]
mod arm_tests;
#[cfg(test)]
mod bench;
mod disk_time;
mod formulas;
mod geometry;
mod medium;
#[cfg(test)]
mod medium_tests;
mod operation;
mod seek;
mod segments;
mod sweep;

use std::ops::Range;

use self::arm_state::ArmWork;
use self::disk_time::DiskWorkTime;
use self::operation::DiskOperation;
use self::segments::CacheSegments;
use self::sweep::Mechanics;
use crate::engine::number::DriveNumber;
use crate::engine::slab::{CommandHandle, OperationHandle, Operations, Slab};
use crate::spec::DiskSpec;
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::SECTOR;

#[derive(Clone, Debug)]
pub(crate) struct Disk {
    /// Number of the drive in the system, for the drive's events.
    drive: DriveNumber,
    spec: DiskSpec,
    mechanics: Mechanics,
    segments: CacheSegments,
    sectors: u64,
    read_ahead: u64,
    operations: Slab<DiskOperation, Operations>,
    /// Operations that wait for the arm, in the order of arrival.
    waiting: Vec<OperationHandle>,
    arm: ArmWork,
    busy: Duration,
    worked: DiskWorkTime,
    sequence: u64,
    /// The sector after the last operation.
    ended: u64,
    /// Number of buffered writes that are not on the media.
    dirty: u32,
    /// Room that the `dirty` writes occupy.
    dirty_room: Bytes,
    /// Value of `dirty_room` from which the writes are urgent.
    pressing: Bytes,
    /// Waiting flushes, each with the number of operations that arrived before it.
    flushes: Vec<(CommandHandle, u64)>,
    written: Bytes,
}

impl Disk {
    /// Creates the idle disk of drive `drive`, which has the visible capacity `capacity` and a write buffer of `buffer`
    /// bytes.
    pub(crate) fn new(drive: DriveNumber, spec: &DiskSpec, capacity: Bytes, buffer: Bytes) -> Self {
        let mechanics = Mechanics::new(spec);
        Self {
            drive,
            segments: CacheSegments::new(spec),
            sectors: capacity.get() / SECTOR.get(),
            read_ahead: spec.read_ahead.get() / SECTOR.get(),
            operations: Slab::new(),
            waiting: Vec::new(),
            arm: ArmWork::Resting(mechanics.outermost()),
            mechanics,
            spec: spec.clone(),
            busy: Duration::ZERO,
            worked: DiskWorkTime::default(),
            sequence: 0,
            ended: 0,
            dirty: 0,
            dirty_room: Bytes::ZERO,
            pressing: Bytes(buffer.get() / 2),
            flushes: Vec::new(),
            written: Bytes::ZERO,
        }
    }

    /// Returns the arm's busy time so far.
    fn arm_busy(&self, now: Instant) -> Duration {
        match self.arm {
            ArmWork::Working { operation, .. } => {
                self.busy + now.since(self.operations[operation].begun)
            }
            ArmWork::Resting(_) | ArmWork::Streaming(_) => self.busy,
        }
    }

    /// Returns the busy times until `at`, which must not be earlier than in a previous call.
    fn time(&self, at: Instant) -> DiskWorkTime {
        let mut time = self.worked;
        match self.arm {
            ArmWork::Working { operation, .. } => time.count(&self.operations[operation], at),
            // Sectors that a command waits for are counted when they are promised.
            ArmWork::Streaming(stream) => {
                let to_come = stream.accounted.since_or_zero(at);
                time.transfer = time.transfer.saturating_sub(to_come);
            }
            ArmWork::Resting(_) => {}
        }
        time
    }

    /// Returns the operations that wait for the arm, and the arm's current operation.
    fn unfinished(&self) -> impl Iterator<Item = &DiskOperation> {
        let working = match self.arm {
            ArmWork::Working { operation, .. } => Some(operation),
            ArmWork::Resting(_) | ArmWork::Streaming(_) => None,
        };
        self.waiting.iter().copied().chain(working).map(|handle| &self.operations[handle])
    }

    fn insert(
        &mut self,
        now: Instant,
        command: CommandHandle,
        writes: bool,
        sectors: Range<u64>,
        bytes: Bytes,
        room: Bytes,
    ) -> OperationHandle {
        let sequence = self.sequence;
        self.sequence += 1;
        self.operations.insert(DiskOperation {
            command,
            writes,
            first: sectors.start,
            end: sectors.end,
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

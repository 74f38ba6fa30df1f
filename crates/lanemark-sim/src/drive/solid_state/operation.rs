//! Tasks of dies, and the operations that perform them.

use super::translation::FullUnit;
use crate::engine::budget::HopTime;
use crate::engine::number::{DieNumber, SuperblockNumber};
use crate::engine::slab::{
    CommandHandle, Linked, OperationHandle, Operations, RelocationHandle, StretchHandle,
};
use crate::engine::trace::MediaTimes;
use lanemark_schema::units::{Bytes, Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DieTask {
    /// Read data of a command.
    Read {
        /// The command that waits for the data.
        command: CommandHandle,
    },
    /// Read the part of the map that a command needs.
    ReadMap {
        /// The command that waits for the map.
        command: CommandHandle,
    },
    /// Read data that the host is expected to request next.
    Prefetch { stretch: StretchHandle },
    /// Read data to be moved.
    Move {
        /// The relocation that waits for the data.
        relocation: RelocationHandle,
    },
    /// Program a unit, whose data stays readable in the drive's memory until it is stored.
    Program {
        unit: u32,
        /// Number of slots whose room in the write buffer is released.
        held: u32,
        /// Number of flushes that arrived before the unit.
        epoch: u32,
    },
    /// Program a page of the map.
    ProgramMap,
    /// Read a unit of data and program it elsewhere, for collection whose moves are not simulated.
    ProgramMoved,
    /// Erase the die's part of a superblock.
    Erase { superblock: SuperblockNumber },
}

/// Moved data in transit to the unit that it fills.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relocation {
    pub(super) filled: FullUnit,
    /// Number of reads that have not ended.
    pub(super) reads: u32,
}

/// The die and plane of an operation, and its time in the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DieSite {
    /// The die.
    pub die: DieNumber,
    /// The plane, if planes read independently.
    pub plane: u32,
    /// Time in the array.
    pub time: Duration,
    /// Number of times that a read has to be repeated.
    pub retries: u32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct FlashOperation {
    /// The task of the operation.
    pub task: DieTask,
    /// Data that crosses the channel.
    pub bytes: Bytes,
    pub(super) die: DieNumber,
    pub(super) lane: u32,
    pub(super) array: Duration,
    pub(super) retries: u32,
    pub(super) next: OperationHandle,
    /// Instant up to which the times below are counted, or the end of the array's work while the array is busy.
    pub(super) mark: Instant,
    /// Remaining time of a suspended program or erase.
    pub(super) left: Duration,
    pub(super) loaded: bool,
    pub(super) sensed: bool,
    /// Waiting time for the die.
    pub die_wait: Duration,
    /// Time in the die.
    pub die_service: Duration,
    /// Waiting time for the channel.
    pub channel_wait: Duration,
    /// Time on the channel.
    pub channel_service: Duration,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedOperation {
    /// The task of the operation.
    pub task: DieTask,
    /// Data that crosses the channel.
    pub bytes: Bytes,
    /// Times that the data spent in the die and on the channel.
    pub passage: MediaTimes,
}

impl Linked for FlashOperation {
    type Kind = Operations;
    fn next(&mut self) -> &mut OperationHandle {
        &mut self.next
    }
}

impl FlashOperation {
    /// Returns whether the operation transfers data out of the die.
    pub(super) fn reads(&self) -> bool {
        use DieTask::{Move, Prefetch, Read, ReadMap};
        matches!(self.task, Read { .. } | ReadMap { .. } | Prefetch { .. } | Move { .. })
    }

    #[inline]
    pub(super) fn describe_end(&self) -> EndedOperation {
        let hop_time = |wait: Duration, service: Duration| HopTime { wait, service };
        let passage = MediaTimes::Counted {
            media: hop_time(self.die_wait, self.die_service),
            channels: hop_time(self.channel_wait, self.channel_service),
        };
        EndedOperation { task: self.task, bytes: self.bytes, passage }
    }
}

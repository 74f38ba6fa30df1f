//! Tasks of dies, and an operation on its way through one.

use super::translation::Filled;
use crate::sim::budget::Spent;
use crate::sim::drive::outcome::Passage;
use crate::sim::number::{DieNumber, SuperblockNumber};
use crate::sim::slab::{
    CommandHandle, Linked, OperationHandle, Operations, RelocationHandle, StretchHandle,
};
use crate::units::{Bytes, Duration, Instant};

/// A task of a die.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlashTask {
    /// Bring data of a command.
    Read {
        /// The command that waits for the data.
        command: CommandHandle,
    },
    /// Bring the part of the map that a command needs.
    ReadMap {
        /// The command that waits for the map.
        command: CommandHandle,
    },
    /// Bring data that will be asked for next.
    Prefetch {
        /// The stretch of the data.
        stretch: StretchHandle,
    },
    /// Bring data that is moved.
    Move {
        /// The relocation that waits for the data.
        relocation: RelocationHandle,
    },
    /// Store a unit, which stays readable in the drive's memory until then.
    Program {
        /// The unit.
        unit: u32,
        /// The slots whose room in the write buffer comes back.
        held: u32,
        /// Flushes that came before the unit.
        epoch: u32,
    },
    /// Store a page of the map.
    ProgramMap,
    /// Read a unit of data and store it elsewhere, in collection that is not simulated.
    ProgramMoved,
    /// Erase the die's part of a superblock.
    Erase {
        /// Number of the superblock.
        superblock: SuperblockNumber,
    },
}

/// Moved data on its way to the unit that it fills.
#[derive(Clone, Copy, Debug)]
pub(super) struct Relocation {
    pub(super) filled: Filled,
    /// Reads that have not come.
    pub(super) reads: u32,
}

/// The die and plane of an operation, and its time in the array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    /// The die.
    pub die: DieNumber,
    /// The plane, where planes read for themselves.
    pub plane: u32,
    /// Time in the array.
    pub time: Duration,
    /// Number of times that a read has to be repeated.
    pub retries: u32,
}

/// An operation on its way through a die.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlashOperation {
    /// The task of the operation.
    pub task: FlashTask,
    /// Data over the channel.
    pub bytes: Bytes,
    pub(super) die: DieNumber,
    pub(super) lane: u32,
    pub(super) array: Duration,
    pub(super) retries: u32,
    pub(super) next: OperationHandle,
    /// Instant up to which the times below account; the end of the array's work while that goes on.
    pub(super) mark: Instant,
    /// Rest of a program or erase that was suspended.
    pub(super) left: Duration,
    pub(super) loaded: bool,
    pub(super) sensed: bool,
    /// Waiting for and time in the die, waiting for and time on the channel.
    pub die_wait: Duration,
    /// Time in the die.
    pub die_service: Duration,
    /// Waiting for the channel.
    pub channel_wait: Duration,
    /// Time on the channel.
    pub channel_service: Duration,
}

/// An operation that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EndedOperation {
    /// The task of the operation.
    pub task: FlashTask,
    /// Data over the channel.
    pub bytes: Bytes,
    /// Times of the data in die and channel.
    pub passage: Passage,
}

impl Linked for FlashOperation {
    type Kind = Operations;
    fn next(&mut self) -> &mut OperationHandle {
        &mut self.next
    }
}

impl FlashOperation {
    /// Whether data comes out.
    pub(super) fn reads(&self) -> bool {
        use FlashTask::{Move, Prefetch, Read, ReadMap};
        matches!(self.task, Read { .. } | ReadMap { .. } | Prefetch { .. } | Move { .. })
    }

    /// The operation as it ends.
    #[inline]
    pub(super) fn ended(&self) -> EndedOperation {
        let spent = |wait: Duration, service: Duration| Spent { wait, service };
        let passage = Passage::Counted {
            media: spent(self.die_wait, self.die_service),
            channels: spent(self.channel_wait, self.channel_service),
        };
        EndedOperation { task: self.task, bytes: self.bytes, passage }
    }
}

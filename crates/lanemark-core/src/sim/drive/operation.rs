//! What dies are asked to do, and an operation on its way through one.

use super::super::slab::{Handle, Linked};
use crate::units::{Bytes, Duration, Instant};

/// What a die is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlashTask {
    /// Bring data of a command.
    Read {
        /// The command that waits for it.
        command: Handle,
    },
    /// Bring the part of the map that a command needs.
    ReadMap {
        /// The command that waits for it.
        command: Handle,
    },
    /// Bring data that will be asked for next.
    Prefetch {
        /// The stretch of it.
        stretch: Handle,
    },
    /// Bring data that is moved.
    Move {
        /// The relocation that waits for it.
        relocation: Handle,
    },
    /// Store a unit, which stays readable in the drive's memory until then.
    Program {
        /// The unit.
        unit: u32,
        /// The slots whose room in the write buffer comes back.
        held: u32,
        /// Flushes that came before it.
        epoch: u32,
    },
    /// Store a page of the map.
    ProgramMap,
    /// Erase the die's part of a superblock.
    Erase {
        /// Which.
        superblock: u32,
    },
}

/// Where and how an operation is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    /// The die.
    pub die: u32,
    /// The plane, where planes read for themselves.
    pub plane: u32,
    /// Time in the array.
    pub time: Duration,
    /// How often a read has to be repeated.
    pub retries: u32,
}

/// An operation on its way through a die.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlashOperation {
    /// What is done.
    pub task: FlashTask,
    /// Data over the channel.
    pub bytes: Bytes,
    pub(super) die: u32,
    pub(super) lane: u32,
    pub(super) array: Duration,
    pub(super) retries: u32,
    pub(super) next: Handle,
    /// Until when the time is accounted for below; the end of the array's work while that goes on.
    pub(super) mark: Instant,
    /// What is left of a program or erase that was suspended.
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

impl Linked for FlashOperation {
    fn next(&mut self) -> &mut Handle {
        &mut self.next
    }
}

impl FlashOperation {
    /// Whether data comes out.
    pub(super) fn reads(&self) -> bool {
        use FlashTask::{Move, Prefetch, Read, ReadMap};
        matches!(self.task, Read { .. } | ReadMap { .. } | Prefetch { .. } | Move { .. })
    }
}

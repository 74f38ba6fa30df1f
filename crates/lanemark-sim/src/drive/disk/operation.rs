//! An operation of a disk: a run of sectors to read or write, and the bursts in which its data moves.

use lanemark_schema::units::{Bytes, Instant};
use lanemark_schema::workload::SECTOR;

use crate::engine::slab::CommandHandle;

/// Maximum data that leaves the media in one burst.
pub(super) const BURST: u64 = Bytes::kibi(128).get() / SECTOR.get();

/// A run of sectors to read or write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiskOperation {
    /// The command that waits for the operation; absent for a write that is already complete.
    pub command: CommandHandle,
    /// Whether the operation writes.
    pub writes: bool,
    /// First sector of the operation, and its end sector.
    pub(super) first: u64,
    pub(super) end: u64,
    /// Bytes that the operation moves: fewer than in its sectors if the host requests only a part of a sector.
    pub bytes: Bytes,
    /// Room that the operation releases in the buffer.
    pub room: Bytes,
    /// Start of the wait for the arm.
    pub(super) waits_since: Instant,
    /// Instants at which the arm took the operation, the arm's move ends, and the first sector passes.
    pub begun: Instant,
    pub(super) moved: Instant,
    pub(super) reached: Instant,
    /// Number of operations before this one.
    pub(super) sequence: u64,
}

impl DiskOperation {
    /// Returns the last burst of a read: the remainder after the full bursts.
    pub(crate) fn last_burst(&self) -> Bytes {
        let mut last = 0;
        bursts(self.first, self.end, self.bytes, |_, bytes| last = bytes);
        Bytes(last.into())
    }
}

/// Returns the sectors that `length` bytes from `offset` on touch: the first sector and the end sector.
pub(super) fn sectors_of(offset: Bytes, length: Bytes) -> (u64, u64) {
    let first = offset.get() / SECTOR.get();
    (first, (offset + length).get().div_ceil(SECTOR.get()).max(first + 1))
}

/// Splits sectors with `bytes` for the host into bursts, each with its end sector.
pub(super) fn bursts(first: u64, end: u64, bytes: Bytes, mut each: impl FnMut(u64, u32)) {
    let mut left = bytes.get();
    let mut sector = first;
    while sector < end {
        sector = (sector + BURST).min(end);
        let now = if sector == end { left } else { left.min(BURST * SECTOR.get()) };
        left -= now;
        each(sector, now as u32);
    }
}

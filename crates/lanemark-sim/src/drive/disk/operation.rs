//! An operation of a disk: a run of sectors to read or write, and the bursts in which its data moves.

use lanemark_schema::units::{Bytes, Instant};
use lanemark_schema::workload::SECTOR;

use crate::engine::slab::CommandHandle;

/// Maximum number of sectors that leave the media in one burst.
pub(super) const BURST: u64 = Bytes::kibi(128).get() / SECTOR.get();

/// A run of sectors to read or write.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DiskOperation {
    /// The command that waits for the operation; absent for a write that is already complete.
    pub command: CommandHandle,
    /// Whether the operation writes.
    pub writes: bool,
    /// First sector of the operation.
    pub(super) first: u64,
    /// Sector after the last sector of the operation.
    pub(super) end: u64,
    /// Bytes that the operation moves: fewer than its sectors contain if the host requests only a part of a sector.
    pub bytes: Bytes,
    /// Room that the operation releases in the buffer.
    pub room: Bytes,
    /// Start of the wait for the arm.
    pub(super) waits_since: Instant,
    /// Instant at which the arm took the operation.
    pub begun: Instant,
    /// Instant at which the arm's movement ends.
    pub(super) moved: Instant,
    /// Instant at which the first sector begins to pass.
    pub(super) reached: Instant,
    /// Number of operations that arrived before this operation.
    pub(super) sequence: u64,
}

impl DiskOperation {
    /// Returns the length of the last burst of a read: the remainder after the full bursts.
    pub(crate) fn last_burst(&self) -> Bytes {
        let mut last = 0;
        bursts(self.first, self.end, self.bytes, |_, bytes| last = bytes);
        Bytes(last.into())
    }
}

/// Returns the sectors that `length` bytes from `offset` onward touch: the first sector and the sector after the last.
pub(super) fn sectors_of(offset: Bytes, length: Bytes) -> (u64, u64) {
    let first = offset.get() / SECTOR.get();
    (first, (offset + length).get().div_ceil(SECTOR.get()).max(first + 1))
}

/// Splits sectors that contain `bytes` for the host into bursts. Calls `each` with the end sector and the bytes of each
/// burst.
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

//! The superblock that collection is emptying, and the position of the search in it.

use super::layout::EMPTY;
use crate::engine::number::SuperblockNumber;

/// The superblock whose valid data is being moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Victim {
    /// Number of the superblock.
    pub superblock: SuperblockNumber,
    /// Number of flash slots searched so far.
    pub(super) next: u32,
    /// Number of valid slots when the superblock was chosen.
    pub(super) valid: u32,
}

/// The next flash slots of the victim, and the logical slots that were written there. Their map entries are prefetched
/// when the flash slots are found, long before their validity is tested: the search fills one half of the list while
/// the other half still waits for the test.
#[derive(Clone, Debug)]
pub(crate) struct VictimCursor {
    pub(super) found: [(u32, u32); UPCOMING],
    /// The first untested entry of `found`.
    pub(super) next: usize,
    /// The end of the entries of `found`.
    pub(super) end: usize,
    /// Flash slot within the victim from which the search continues.
    pub(super) within: u32,
}

pub(super) const UPCOMING: usize = 32;

impl VictimCursor {
    /// The cursor before the search begins.
    pub(crate) const START: Self =
        Self { found: [(0, EMPTY); UPCOMING], next: 0, end: 0, within: 0 };
}

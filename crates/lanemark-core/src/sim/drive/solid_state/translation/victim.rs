//! The superblock that collection is emptying, and what of it is looked at next.

use super::layout::EMPTY;
use crate::sim::number::SuperblockNumber;

/// The superblock whose valid data is being moved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Victim {
    /// Number of the superblock.
    pub superblock: SuperblockNumber,
    /// Places looked at so far.
    pub(super) next: u32,
    /// Valid slots when the superblock was chosen.
    pub(super) valid: u32,
}

/// Places whose turn is next in the victim, and the logical slots that were written there. What the map holds of
/// these slots is brought near when they are found, long before it is asked whether they are still valid: half of
/// the places are found together when the other half is left.
#[derive(Clone, Debug)]
pub(crate) struct Upcoming {
    pub(super) found: [(u32, u32); UPCOMING],
    /// The first of `found` that was not looked at, and the end.
    pub(super) next: usize,
    pub(super) end: usize,
    /// Place of the victim from which on nothing was found yet.
    pub(super) within: u32,
}

pub(super) const UPCOMING: usize = 32;

impl Upcoming {
    /// The upcoming places of a victim of which nothing was looked at.
    pub(crate) const START: Self =
        Self { found: [(0, EMPTY); UPCOMING], next: 0, end: 0, within: 0 };
}

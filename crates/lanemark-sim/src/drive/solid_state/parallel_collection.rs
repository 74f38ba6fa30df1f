//! Garbage collection whose cost was measured and whose moves are not simulated.
//!
//! Model: while data arrives in random order, the host's data makes up the share `beside_collection` of all programmed
//! data; this share is the inverse of write amplification. For each slot that is written in random order, `1 / share -
//! 1` slots are moved. Each moved unit occupies a die for a program, for the reads that gather its data, and for its
//! share of erasing ([`FlashSpec::moving_time`](crate::spec::FlashSpec::moving_time)), and a channel for two transfers
//! of its data. The dies take turns. The data of a sequential stream of [`LONG`] or more is overwritten as a whole, so
//! collection finds no valid data to move.
//!
//! Not modelled: reads of moved data from dies other than the die that programs it.

use crate::spec::{FlashSpec, SLOT};
use lanemark_schema::units::{Bytes, Duration};

/// Number of remembered streams.
const STREAMS: usize = 64;
/// Minimum length of a sequential stream.
const LONG: Bytes = Bytes::mebi(1);

/// Garbage collection that runs in parallel with writes and has a measured cost.
#[derive(Clone, Debug)]
pub(super) struct ParallelCollection {
    /// The time for which a moved unit occupies its die.
    pub(super) time: Duration,
    /// Number of slots moved for each slot that is written in random order.
    moved_per_slot: f64,
    /// Number of slots that remain to be moved.
    debt: f64,
    /// Extents that were recently written sequentially, each from its first slot up to its end.
    extents: [(u64, u64); STREAMS],
    /// The extent that is replaced next.
    oldest: usize,
    /// The die that moves the next unit.
    turn: u32,
}

impl ParallelCollection {
    /// Returns the collection of `flash`, unless collection is simulated.
    pub(super) fn from_flash(flash: &FlashSpec) -> Option<Self> {
        let share = flash.translation.beside_collection?;
        Some(Self::new(1.0 / share.get() - 1.0, flash.moving_time(share)))
    }

    fn new(moved_per_slot: f64, time: Duration) -> Self {
        Self { time, moved_per_slot, debt: 0.0, extents: [(0, 0); STREAMS], oldest: 0, turn: 0 }
    }

    /// Announces that a command will write the slots from `first` up to `end`.
    pub(super) fn expect(&mut self, first: u64, end: u64) {
        if let Some(extent) = self.extents.iter_mut().find(|extent| extent.1 == first) {
            extent.1 = end;
            return;
        }
        self.extents[self.oldest] = (first, end);
        self.oldest = (self.oldest + 1) % STREAMS;
    }

    /// Records that a command writes the slots from `first` up to `end`.
    pub(super) fn writes(&mut self, first: u64, end: u64) {
        let contains_write = |extent: &&(u64, u64)| extent.0 <= first && end <= extent.1;
        let extent = self.extents.iter().find(contains_write);
        let is_in_order = extent.is_some_and(|extent| SLOT * (extent.1 - extent.0) >= LONG);
        if !is_in_order {
            self.debt += (end - first) as f64 * self.moved_per_slot;
        }
    }

    /// Returns the die, one of `dies`, that now moves a unit of `slots` slots; `None` if fewer slots remain to be
    /// moved.
    pub(super) fn next(&mut self, slots: u32, dies: u32) -> Option<u32> {
        if self.debt < f64::from(slots.max(1)) {
            return None;
        }
        self.debt -= f64::from(slots.max(1));
        let die = self.turn % dies;
        self.turn = (die + 1) % dies;
        Some(die)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(share: f64, commands: impl Iterator<Item = (u64, u64)>) -> f64 {
        let mut beside = ParallelCollection::new(1.0 / share - 1.0, Duration::ZERO);
        let mut written = 0u32;
        let mut units = 0u32;
        for (first, end) in commands {
            beside.expect(first, end);
            for slot in first..end {
                beside.writes(slot, slot + 1);
                written += 1;
            }
            while let Some(die) = beside.next(8, 3) {
                assert_eq!(die, units % 3, "dies take turns");
                units += 1;
            }
        }
        f64::from(units) * 8.0 / f64::from(written)
    }

    #[test]
    fn unordered_data_pays_for_moves_and_long_streams_do_not() {
        let scattered = |length: u64| (0..4096).map(move |one| (one * 7919 % 65_536 * 64, length));
        for (share, moves) in [(0.25, 3.0), (0.5, 1.0), (1.0, 0.0)] {
            for length in [1, 4, 32] {
                let commands = scattered(length).map(|(first, length)| (first, first + length));
                let found = moved(share, commands);
                assert!((found - moves).abs() < 0.01, "{share} {length}: {found}");
            }
        }
        let in_order = (0..8192).map(|one| (one * 32, one * 32 + 32));
        assert!(moved(0.25, in_order).abs() < 0.01, "only the first mebibyte costs time");
    }

    /// Returns the number of slots that a command's write moves, if each slot written in random order moves another
    /// slot.
    fn paid(beside: &mut ParallelCollection, first: u64, end: u64) -> u32 {
        beside.writes(first, end);
        std::iter::from_fn(|| beside.next(1, 1)).count() as u32
    }

    #[test]
    fn data_in_order_is_a_stream_from_a_mebibyte_on() {
        for (slots, moved) in [(255, 255), (256, 0), (257, 0)] {
            let mut beside = ParallelCollection::new(1.0, Duration::ZERO);
            beside.expect(1_000, 1_000 + slots);
            assert_eq!(paid(&mut beside, 1_000, 1_000 + slots), moved, "{slots} slots");
            assert_eq!(paid(&mut beside, 999, 1_001), 2, "the write begins before the stream");
            let end = 1_000 + slots;
            assert_eq!(paid(&mut beside, end - 1, end + 1), 2, "the write ends after the stream");
        }
    }

    #[test]
    fn sixty_four_streams_are_remembered() {
        for (others, moved) in [(63, 0), (64, 1)] {
            let mut beside = ParallelCollection::new(1.0, Duration::ZERO);
            beside.expect(10, 265);
            (1..=others).for_each(|other| beside.expect(other * 1_000, other * 1_000 + 1));
            beside.expect(265, 266);
            assert_eq!(paid(&mut beside, 265, 266), moved, "{others} others");
        }
    }

    #[test]
    fn a_unit_is_moved_when_all_of_it_is_owed() {
        let mut beside = ParallelCollection::new(0.5, Duration::ZERO);
        beside.writes(0, 15);
        assert_eq!(beside.next(8, 4), None, "seven and a half of eight");
        beside.writes(0, 1);
        assert_eq!((beside.next(8, 4), beside.next(8, 4)), (Some(0), None));
    }
}

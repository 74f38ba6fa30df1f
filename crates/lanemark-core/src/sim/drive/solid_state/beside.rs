//! Collection whose cost was measured and whose moves are not simulated.
//!
//! Law: of all that the flash programs while data comes in no order, the host's data has the share `beside_collection`, which
//! is one over write amplification. For each slot that comes in no order, `1 / share - 1` slots are moved: each unit of them
//! keeps a die for a program, for the reads that gather it, and for its part of erasing ([`FlashSpec::moving_time`](
//! crate::sim::spec::FlashSpec::moving_time)), and a channel for its data twice. Dies take turns. Data of a stream that goes on
//! in order for [`LONG`] and more is overwritten whole, so collection finds nothing to move there.
//!
//! Not modelled: that reads for what is moved lie on other dies than its program.

use crate::sim::spec::{FlashSpec, SLOT};
use crate::units::{Bytes, Duration};

/// Streams that are remembered.
const STREAMS: usize = 64;
/// The length from which data in order is a stream.
const LONG: Bytes = Bytes::mebi(1);

/// Collection that goes on beside writes at a measured cost.
#[derive(Clone, Debug)]
pub(super) struct Beside {
    /// The time for which a unit that is moved keeps its die.
    pub(super) time: Duration,
    /// Slots moved for each slot that is written in no order.
    moved_per_slot: f64,
    /// Slots that are to be moved.
    debt: f64,
    /// Extents that were written in order lately, first slot and end.
    extents: [(u64, u64); STREAMS],
    /// The extent that is forgotten next.
    oldest: usize,
    /// The die that moves the next unit.
    turn: u32,
}

impl Beside {
    /// The collection of `flash`; none where that is simulated.
    pub(super) fn of(flash: &FlashSpec) -> Option<Self> {
        let share = flash.translation.beside_collection?;
        Some(Self::new(1.0 / share.get() - 1.0, flash.moving_time(share)))
    }

    fn new(moved_per_slot: f64, time: Duration) -> Self {
        Self { time, moved_per_slot, debt: 0.0, extents: [(0, 0); STREAMS], oldest: 0, turn: 0 }
    }

    /// A command will write the slots from `first` up to `end`.
    pub(super) fn expect(&mut self, first: u64, end: u64) {
        if let Some(extent) = self.extents.iter_mut().find(|extent| extent.1 == first) {
            extent.1 = end;
            return;
        }
        self.extents[self.oldest] = (first, end);
        self.oldest = (self.oldest + 1) % STREAMS;
    }

    /// The slots from `first` up to `end`, of one command, are written.
    pub(super) fn writes(&mut self, first: u64, end: u64) {
        let within = |extent: &&(u64, u64)| extent.0 <= first && end <= extent.1;
        let extent = self.extents.iter().find(within);
        let is_in_order = extent.is_some_and(|extent| SLOT * (extent.1 - extent.0) >= LONG);
        if !is_in_order {
            self.debt += (end - first) as f64 * self.moved_per_slot;
        }
    }

    /// The die that moves a unit of `slots` now, of `dies`; none where less than that is to be moved.
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
        let mut beside = Beside::new(1.0 / share - 1.0, Duration::ZERO);
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
    fn data_in_no_order_pays_for_what_is_moved_and_a_long_stream_does_not() {
        let scattered = |length: u64| (0..4096).map(move |one| (one * 7919 % 65_536 * 64, length));
        for (share, moves) in [(0.25, 3.0), (0.5, 1.0), (1.0, 0.0)] {
            for length in [1, 4, 32] {
                let commands = scattered(length).map(|(first, length)| (first, first + length));
                let found = moved(share, commands);
                assert!((found - moves).abs() < 0.01, "{share} {length}: {found}");
            }
        }
        let in_order = (0..8192).map(|one| (one * 32, one * 32 + 32));
        assert!(moved(0.25, in_order).abs() < 0.01, "the first mebibyte alone is paid for");
    }

    #[test]
    fn streams_beside_each_other_are_streams() {
        let two = (0..8192).map(|one| {
            let first = one / 2 * 32 + one % 2 * 1_000_000;
            (first, first + 32)
        });
        assert!(moved(0.25, two).abs() < 0.02);
    }
}

//! The bytes of a faulty range that are still bad: initially all, and fewer after each write.
//!
//! The number of ranges is bounded, so that days of random writes do not fill the memory. Once the bound is reached, a
//! write that splits a range also heals the shorter of the two parts.

use std::collections::BTreeMap;

use lanemark_schema::units::Bytes;
use lanemark_schema::workload::fault::ByteRange;

/// Maximum number of ranges; this many ranges take about 32 MB.
const RANGES_MAX: usize = 1 << 20;

/// Disjoint ranges, as a map from the first byte of each range to the first byte after it.
#[derive(Clone, Debug)]
pub(super) struct BadRanges(BTreeMap<u64, u64>);

impl BadRanges {
    pub(super) fn new(range: ByteRange) -> Self {
        Self(BTreeMap::from([(range.start.get(), range.end.get())]))
    }

    /// Returns whether any byte from `start` up to `end` (excluded) is bad.
    pub(super) fn touch(&self, start: Bytes, end: Bytes) -> bool {
        // The ranges are disjoint, so the last range that begins before `end` also ends last.
        let last = self.0.range(..end.get()).next_back();
        last.is_some_and(|(_, last)| *last > start.get())
    }

    /// Heals the bytes from `start` up to `end` (excluded).
    pub(super) fn mark_good(&mut self, start: Bytes, end: Bytes) {
        let start = start.get();
        let end = end.get();
        if start >= end {
            return;
        }
        while let Some((&first, &last)) = self.0.range(..end).next_back()
            && last > start
        {
            self.0.remove(&first);
            let before = start.saturating_sub(first);
            let after = last.saturating_sub(end);
            let both_fit = self.0.len() + 2 <= RANGES_MAX;
            if before > 0 && (both_fit || before > after) {
                self.0.insert(first, start);
            }
            if after > 0 && (both_fit || before <= after) {
                self.0.insert(end, last);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_number_of_ranges_is_bounded_and_writes_heal() {
        let mut ranges = BadRanges::new(ByteRange::WHOLE);
        let count = RANGES_MAX as u64 + 1_000;
        for number in 1..=count {
            ranges.mark_good(Bytes(number * 1024), Bytes(number * 1024 + 512));
            assert!(!ranges.touch(Bytes(number * 1024), Bytes(number * 1024 + 512)));
            assert!(ranges.touch(Bytes(number * 1024 + 512), Bytes(u64::MAX)));
        }
        assert_eq!(ranges.0.len(), RANGES_MAX);
        assert!(ranges.touch(Bytes(0), Bytes(512)));
    }

    proptest! {
        /// Compares the ranges with a list of all bytes.
        #[test]
        fn written_bytes_are_good_and_all_others_stay_bad(
            writes in proptest::collection::vec((0u64..64, 0u64..20), 0..20),
            first in 0u64..30, length in 1u64..34,
        ) {
            let range = ByteRange { start: Bytes(first), end: Bytes(first + length) };
            let mut ranges = BadRanges::new(range);
            let mut bad: Vec<bool> = (0..90).map(|at| (first..first + length).contains(&at)).collect();
            for (start, length) in writes {
                ranges.mark_good(Bytes(start), Bytes(start + length));
                bad[start as usize..(start + length) as usize].fill(false);
                for from in 0..80 {
                    for to in from + 1..=80 {
                        let any = bad[from..to].iter().any(|bad| *bad);
                        prop_assert_eq!(ranges.touch(Bytes(from as u64), Bytes(to as u64)), any);
                    }
                }
            }
        }
    }
}

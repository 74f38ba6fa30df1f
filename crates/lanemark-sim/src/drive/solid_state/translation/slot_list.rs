//! The logical slots of a superblock's flash slots, in the order in which they were written.
//!
//! Slots that were written in order are stored as runs, which take a few bytes for a whole superblock. If the runs are
//! shorter than [`RUN_MIN`] slots on average, the list stores each slot instead.

use super::layout::EMPTY;

/// Minimum mean length of the runs.
const RUN_MIN: usize = 4;
/// Number of runs before their mean length is tested.
const RUNS_UNTESTED: usize = 64;

/// Returns the number `count` after `number`; the numbers after [`EMPTY`] are all [`EMPTY`].
#[inline]
pub(super) fn advance(number: u32, count: u32) -> u32 {
    if number == EMPTY { EMPTY } else { number + count }
}

/// Slots that follow each other, or empty flash slots.
#[derive(Clone, Copy, Debug)]
struct ListedRun {
    /// The index of the first slot in the list.
    at: u32,
    slot: u32,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct SlotList {
    length: u32,
    capacity: u32,
    runs: Vec<ListedRun>,
    /// Each slot, if there are many runs.
    each: Option<Vec<u32>>,
}

impl SlotList {
    /// Creates an empty list that will contain up to `capacity` slots.
    pub(crate) fn new(capacity: u32) -> Self {
        Self { capacity, ..Self::default() }
    }

    pub(crate) fn len(&self) -> u32 {
        self.length
    }

    /// Returns the size in memory, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let each = self.each.as_ref().map_or(0, |each| each.capacity() * size_of::<u32>());
        (each + self.runs.capacity() * size_of::<ListedRun>()) as u64
    }

    #[inline]
    pub(crate) fn push(&mut self, slot: u32) {
        if let Some(each) = &mut self.each {
            each.push(slot);
        } else if self.runs.last().is_none_or(|run| slot != advance(run.slot, self.length - run.at))
        {
            self.begin_run(slot);
        }
        self.length += 1;
    }

    fn begin_run(&mut self, slot: u32) {
        let many = self.runs.len() >= RUNS_UNTESTED;
        if many && self.runs.len() * RUN_MIN > self.length as usize {
            let mut each = Vec::with_capacity(self.capacity.max(self.length + 1) as usize);
            each.extend((0..self.length).filter_map(|at| self.get(at)));
            each.push(slot);
            (self.each, self.runs) = (Some(each), Vec::new());
        } else {
            self.runs.push(ListedRun { at: self.length, slot });
        }
    }

    pub(crate) fn get(&self, at: u32) -> Option<u32> {
        let mut found = [(0, EMPTY)];
        (self.find(at, 0, &mut found) > 0).then_some(found[0].1)
    }

    /// Writes the slots from index `within` onward to `found` until `found` is full, each with its flash slot. The
    /// first slot of the list is at the flash slot `first`. Returns the number of slots that were written.
    pub(crate) fn find(&self, within: u32, first: u32, found: &mut [(u32, u32)]) -> usize {
        let places = first + within..;
        if let Some(each) = &self.each {
            let slots = each.get(within as usize..).unwrap_or_default();
            let found = found.iter_mut().zip(places.zip(slots));
            return found.map(|(found, (place, &slot))| *found = (place, slot)).count();
        }
        let mut run = self.runs.partition_point(|run| run.at <= within).saturating_sub(1);
        let found = found.iter_mut().zip(places.zip(within..self.length));
        found
            .map(|(found, (place, at))| {
                while self.runs.get(run + 1).is_some_and(|next| next.at <= at) {
                    run += 1;
                }
                *found = (place, advance(self.runs[run].slot, at - self.runs[run].at));
            })
            .count()
    }

    /// Removes all slots from index `length` onward.
    pub(crate) fn truncate(&mut self, length: u32) {
        self.length = self.length.min(length);
        match &mut self.each {
            Some(each) => each.truncate(length as usize),
            None => self.runs.truncate(self.runs.partition_point(|run| run.at < length)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_is_a_list(
            runs in proptest::collection::vec((0u32..5000, 1u32..9), 0..300), cut in 0u32..2000, most in 1u32..9,
        ) {
            let mut list = SlotList::new(1000);
            let mut expected = Vec::new();
            for (turn, (slot, count)) in runs.into_iter().enumerate() {
                let slot = if slot % 7 == 0 { EMPTY } else { slot };
                for at in 0..count.min(most) {
                    list.push(advance(slot, at));
                    expected.push(advance(slot, at));
                }
                if turn == 200 {
                    list.truncate(cut);
                    expected.truncate(cut as usize);
                }
            }
            prop_assert_eq!(list.len() as usize, expected.len());
            for at in 0..expected.len() + 2 {
                prop_assert_eq!(list.get(at as u32), expected.get(at).copied());
            }
            let mut found = [(0, 0); 32];
            let count = list.find(cut, 100, &mut found);
            let wanted = expected.iter().copied().enumerate().skip(cut as usize).take(32);
            let wanted: Vec<(u32, u32)> = wanted.map(|(at, slot)| (100 + at as u32, slot)).collect();
            prop_assert_eq!(&found[..count], &wanted[..]);
        }
    }

    #[test]
    fn memory_follows_the_number_of_runs() {
        let mut in_order = SlotList::new(1 << 20);
        let mut scattered = SlotList::new(1 << 20);
        for slot in 0..1 << 20 {
            in_order.push(slot);
            scattered.push(slot * 7);
        }
        assert!(in_order.bytes() < 100, "{}", in_order.bytes());
        assert_eq!(scattered.bytes(), 4 << 20);
    }
}

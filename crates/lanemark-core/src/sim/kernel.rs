//! The event kernel: what happens next, at which instant.
//!
//! Events are ordered by (time, sequence of scheduling), so events of one instant happen in the order
//! in which they were scheduled and a trajectory has no ties to break.
//!
//! Simulated time only goes forward, so the queue is a radix heap (Ahuja, Mehlhorn, Orlin and Tarjan,
//! "Faster algorithms for the shortest path problem", JACM 37(2), 1990) to the base of 32: an event waits in the
//! bucket of the highest digit in which its time differs from the present, and of its own digit
//! there. When a bucket's turn comes, its earliest event becomes the present and the others fall into lower
//! buckets, each a few times in its life. There is no comparison to mispredict on the way in, and the cost
//! follows the spread of times and hardly the number of events. Events of one instant always share a bucket and
//! keep their order in it, so they need no number. The buckets grow to the most events ever pending, and
//! allocate nothing after that.

use crate::units::Instant;

/// Pending events of kind `E`.
#[derive(Clone, Debug)]
pub(super) struct EventQueue<E> {
    /// The present: no event is scheduled before it.
    now: u64,
    /// Events of the present, of which the first `done` have happened.
    due: Vec<E>,
    done: usize,
    /// Events by the highest digit that differs from the present, and its value.
    buckets: Box<[Vec<Entry<E>>; DIGITS * VALUES]>,
    /// Digits that have occupied buckets, and the values of each.
    occupied: u16,
    values: [u32; DIGITS],
}

#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    at: u64,
    event: E,
}

/// Bits of a digit, digits of a time, and values of a digit.
const BITS: usize = 5;
const DIGITS: usize = (u64::BITS as usize).div_ceil(BITS);
const VALUES: usize = 1 << BITS;
/// A bucket of so many events is that of those which come before long.
const SOON: std::ops::RangeInclusive<usize> = 4..=64;

impl<E: Copy> EventQueue<E> {
    /// A queue with room for `capacity` events of one instant before it grows.
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self {
            now: 0,
            due: Vec::with_capacity(capacity),
            done: 0,
            buckets: Box::new([const { Vec::new() }; VALUES * DIGITS]),
            occupied: 0,
            values: [0; DIGITS],
        }
    }

    /// The instant of the next event.
    pub(super) fn next_at(&self) -> Option<Instant> {
        if self.done < self.due.len() {
            return Some(Instant::from_picoseconds(self.now));
        }
        let earliest = self.lowest()?.iter().map(|entry| entry.at).min()?;
        Some(Instant::from_picoseconds(earliest))
    }

    fn lowest(&self) -> Option<&Vec<Entry<E>>> {
        (self.occupied != 0).then(|| &self.buckets[self.lowest_bucket()])
    }

    /// The bucket of the earliest events; there must be some.
    #[inline]
    fn lowest_bucket(&self) -> usize {
        let digit = self.occupied.trailing_zeros() as usize % DIGITS;
        digit * VALUES + self.values[digit].trailing_zeros() as usize % VALUES
    }

    /// Marks a bucket as empty.
    #[inline]
    fn vacate(&mut self, bucket: usize) {
        let (digit, value) = (bucket / VALUES, bucket % VALUES);
        self.values[digit] &= !(1 << value);
        if self.values[digit] == 0 {
            self.occupied &= !(1 << digit);
        }
    }

    /// Lets `event` happen at `at`, after all that are already scheduled for that instant. `at` must not lie
    /// before the event that was taken last.
    #[inline]
    pub(super) fn schedule(&mut self, at: Instant, event: E) {
        debug_assert!(at.picoseconds() >= self.now, "time goes forward");
        self.put(Entry { at: at.picoseconds(), event });
    }

    #[inline]
    fn put(&mut self, entry: Entry<E>) {
        let differs = entry.at ^ self.now;
        if differs == 0 {
            self.due.push(entry.event);
            return;
        }
        let digit = differs.ilog2() as usize / BITS;
        let value = (entry.at >> (digit * BITS)) as usize % VALUES;
        self.occupied |= 1 << digit;
        self.values[digit] |= 1 << value;
        self.buckets[digit * VALUES + value].push(entry);
    }

    /// Forgets the events of which `which` holds; the others stay in their order.
    pub(super) fn forget(&mut self, mut which: impl FnMut(E) -> bool) {
        self.due.drain(..self.done);
        self.done = 0;
        self.due.retain(|event| !which(*event));
        for bucket in 0..self.buckets.len() {
            if !self.buckets[bucket].is_empty() {
                self.buckets[bucket].retain(|entry| !which(entry.event));
                if self.buckets[bucket].is_empty() {
                    self.vacate(bucket);
                }
            }
        }
    }

    /// Takes the next event.
    pub(super) fn pop(&mut self) -> Option<(Instant, E)> {
        self.pop_until(Instant::from_picoseconds(u64::MAX), None::<fn(E)>)
    }

    /// Takes the next event, where it comes no later than `limit`. `soon` is told of events that come before long,
    /// several at a time, so that what they need can be brought near; of which is left open.
    #[inline]
    pub(super) fn pop_until(
        &mut self,
        limit: Instant,
        soon: Option<impl FnMut(E)>,
    ) -> Option<(Instant, E)> {
        if self.done == self.due.len() {
            if self.done > 0 {
                self.due.clear();
                self.done = 0;
            }
            return self.advance(limit.picoseconds(), soon);
        }
        if self.now > limit.picoseconds() {
            return None;
        }
        let event = self.due[self.done];
        self.done += 1;
        Some((Instant::from_picoseconds(self.now), event))
    }

    /// Makes the time of the earliest event the present, where it comes no later than `limit`, and takes that event;
    /// others of the same time are due.
    #[inline]
    fn advance(&mut self, limit: u64, soon: Option<impl FnMut(E)>) -> Option<(Instant, E)> {
        if self.occupied == 0 {
            return None;
        }
        let lowest = self.lowest_bucket();
        let bucket = &mut self.buckets[lowest];
        if let [only] = bucket[..] {
            if only.at > limit {
                return None;
            }
            self.now = only.at;
            bucket.clear();
            self.vacate(lowest);
            return Some((Instant::from_picoseconds(only.at), only.event));
        }
        let earliest = bucket.iter().fold(u64::MAX, |least, entry| least.min(entry.at));
        if earliest > limit {
            return None;
        }
        self.now = earliest;
        let mut moving = std::mem::take(bucket);
        self.vacate(lowest);
        if let Some(soon) = soon
            && SOON.contains(&moving.len())
        {
            moving.iter().map(|entry| entry.event).for_each(soon);
        }
        let first = moving.iter().position(|entry| entry.at == earliest)?;
        let (before, behind) = (&moving[..first], &moving[first + 1..]);
        before.iter().chain(behind).for_each(|&entry| self.put(entry));
        let event = moving[first].event;
        moving.clear();
        // It is empty, and keeps the memory that it had.
        self.buckets[lowest] = moving;
        Some((Instant::from_picoseconds(earliest), event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_order_of_time_and_then_of_scheduling(
            steps in proptest::collection::vec((0u64..50, 0u32..40, 0usize..3), 0..400),
        ) {
            let mut queue = EventQueue::with_capacity(8);
            let mut expected: Vec<(u64, usize)> = Vec::new();
            let mut now = 0;
            for (index, &(delay, shift, pops)) in steps.iter().enumerate() {
                let at = now + (delay << shift);
                queue.schedule(Instant::from_picoseconds(at), index);
                expected.push((at, index));
                expected.sort_unstable();
                for _ in 0..pops.min(expected.len()) {
                    let (time, index) = expected.remove(0);
                    now = time;
                    prop_assert_eq!(queue.next_at(), Some(Instant::from_picoseconds(time)));
                    let early = Instant::from_picoseconds(time.saturating_sub(1));
                    if time > 0 {
                        prop_assert_eq!(queue.pop_until(early, Some(drop)), None);
                    }
                    prop_assert_eq!(queue.pop(), Some((Instant::from_picoseconds(time), index)));
                }
            }
            let gone = |index: usize| index % 3 == steps.len() % 3;
            queue.forget(gone);
            for (time, index) in expected.into_iter().filter(|(_, index)| !gone(*index)) {
                prop_assert_eq!(queue.pop(), Some((Instant::from_picoseconds(time), index)));
            }
            prop_assert_eq!(queue.pop(), None);
        }
    }
}

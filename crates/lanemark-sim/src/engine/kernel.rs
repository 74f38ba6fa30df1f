//! The event kernel, which determines the next event and its instant.
//!
//! Events are ordered by time, and events at the same instant by the order in which they were scheduled, so a
//! trajectory contains no ambiguous ties.
//!
//! Simulated time only moves forward, so the queue is a radix heap (Ahuja, Mehlhorn, Orlin and Tarjan, "Faster
//! algorithms for the shortest path problem", JACM 37(2), 1990) with base 32: an event waits in the bucket for the
//! highest digit in which its time differs from the present, and for the value of that digit. When a bucket is reached,
//! the time of its earliest event becomes the present, and the other events move to lower buckets. Each event moves a
//! few times. Insertion contains no comparison that the processor could mispredict, and the cost depends on the spread
//! of the times, and hardly on the number of events. Events of one instant always share a bucket and keep their order
//! in it, so they need no sequence number. The buckets grow until they fit the maximum number of pending events, and do
//! not allocate memory after that.

use lanemark_schema::units::Instant;

/// Pending events of kind `E`.
#[derive(Clone, Debug)]
pub(crate) struct EventQueue<E> {
    /// The present: no event is scheduled before it.
    now: u64,
    /// Events of the present; the first `done` of them have happened.
    due: Vec<E>,
    done: usize,
    /// Events by the highest digit in which their time differs from the present, and by the value of this digit.
    buckets: Box<[Vec<QueuedEvent<E>>; DIGITS * VALUES]>,
    /// Digits with occupied buckets, as a bit set.
    occupied: u16,
    /// For each digit, the values with occupied buckets, as a bit set.
    values: [u32; DIGITS],
}

#[derive(Clone, Copy, Debug)]
struct QueuedEvent<E> {
    at: u64,
    event: E,
}

/// Number of bits in a digit.
const BITS: usize = 5;
const DIGITS: usize = (u64::BITS as usize).div_ceil(BITS);
/// Number of values of a digit.
const VALUES: usize = 1 << BITS;
/// Bucket sizes for which `soon` is called: the events of these buckets follow shortly.
const SOON: std::ops::RangeInclusive<usize> = 4..=64;

impl<E: Copy> EventQueue<E> {
    /// Creates a queue with room for `capacity` events at one instant.
    pub(crate) fn with_capacity(capacity: usize) -> Self {
        Self {
            now: 0,
            due: Vec::with_capacity(capacity),
            done: 0,
            buckets: Box::new([const { Vec::new() }; VALUES * DIGITS]),
            occupied: 0,
            values: [0; DIGITS],
        }
    }

    pub(crate) fn next_at(&self) -> Option<Instant> {
        if self.done < self.due.len() {
            return Some(Instant::from_picoseconds(self.now));
        }
        let earliest = self.lowest()?.iter().map(|entry| entry.at).min()?;
        Some(Instant::from_picoseconds(earliest))
    }

    fn lowest(&self) -> Option<&Vec<QueuedEvent<E>>> {
        (self.occupied != 0).then(|| &self.buckets[self.lowest_bucket()])
    }

    /// Returns the bucket of the earliest events; the queue must not be empty.
    #[inline]
    fn lowest_bucket(&self) -> usize {
        let digit = self.occupied.trailing_zeros() as usize % DIGITS;
        digit * VALUES + self.values[digit].trailing_zeros() as usize % VALUES
    }

    /// Marks a bucket as empty.
    #[inline]
    fn vacate(&mut self, bucket: usize) {
        let digit = bucket / VALUES;
        let value = bucket % VALUES;
        self.values[digit] &= !(1 << value);
        if self.values[digit] == 0 {
            self.occupied &= !(1 << digit);
        }
    }

    /// Schedules `event` at `at`, after all events that are already scheduled for that instant. `at` must not be before
    /// the last event that was taken.
    #[inline]
    pub(crate) fn schedule(&mut self, at: Instant, event: E) {
        debug_assert!(at.picoseconds() >= self.now, "an event is scheduled in the past");
        self.put(QueuedEvent { at: at.picoseconds(), event });
    }

    #[inline]
    fn put(&mut self, entry: QueuedEvent<E>) {
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

    /// Removes the events for which `which` returns true; the others keep their order.
    pub(crate) fn forget(&mut self, mut which: impl FnMut(E) -> bool) {
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

    /// Removes and returns the next event.
    pub(crate) fn pop(&mut self) -> Option<(Instant, E)> {
        self.pop_until(Instant::from_picoseconds(u64::MAX), None::<fn(E)>)
    }

    /// Removes and returns the next event if it happens no later than `limit`. Calls `soon` with some of the events
    /// that follow shortly, several at a time, so that their data can be prefetched.
    #[inline]
    pub(crate) fn pop_until(
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

    /// If the earliest event is no later than `limit`, makes its time the present, and removes and returns this event.
    /// Other events at the same time become due.
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
        let before = &moving[..first];
        let behind = &moving[first + 1..];
        before.iter().chain(behind).for_each(|&entry| self.put(entry));
        let event = moving[first].event;
        moving.clear();
        // The bucket is empty and keeps its memory.
        self.buckets[lowest] = moving;
        Some((Instant::from_picoseconds(earliest), event))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(picoseconds: u64) -> Instant {
        Instant::from_picoseconds(picoseconds)
    }

    /// A queue, and a simple list for comparison: the list is sorted by time, and events of one instant keep their
    /// order.
    struct Bench {
        queue: EventQueue<usize>,
        expected: Vec<(u64, usize)>,
        now: u64,
    }

    impl Bench {
        fn new() -> Self {
            Self { queue: EventQueue::with_capacity(8), expected: Vec::new(), now: 0 }
        }

        fn schedule(&mut self, time: u64, event: usize) {
            self.queue.schedule(at(time), event);
            let behind = self.expected.partition_point(|(other, _)| *other <= time);
            self.expected.insert(behind, (time, event));
        }

        /// Takes the next event from the queue and from the list, and checks that both agree and that time does not
        /// decrease.
        fn pop(&mut self) {
            if self.expected.is_empty() {
                assert_eq!((self.queue.next_at(), self.queue.pop()), (None, None));
                return;
            }
            let (time, event) = self.expected.remove(0);
            self.now = time;
            assert_eq!(self.queue.next_at(), Some(at(time)));
            if time > 0 {
                assert_eq!(self.queue.pop_until(at(time - 1), Some(drop)), None);
            }
            assert_eq!(self.queue.pop_until(at(time), Some(drop)), Some((at(time), event)));
        }

        fn forget(&mut self, gone: impl Fn(usize) -> bool) {
            self.queue.forget(&gone);
            self.expected.retain(|(_, event)| !gone(*event));
        }

        fn drain(&mut self) {
            (0..=self.expected.len()).for_each(|_| self.pop());
        }
    }

    proptest! {
        /// The times come from a few instants, so that most events have ties, both near the present and far from it.
        #[test]
        fn events_come_in_order_of_time_and_then_of_scheduling(
            steps in proptest::collection::vec(
                (0u64..3, 0usize..5, 0usize..4, proptest::bool::weighted(0.05)), 0..300,
            ),
        ) {
            let mut bench = Bench::new();
            let mut number = 0;
            for (step, &(delay, scale, pops, forgets)) in steps.iter().enumerate() {
                // The instants are multiples of the scale, so they repeat as long as they are not in the past.
                let scale = [1u64, 31, 32, 1 << 12, 1 << 33][scale];
                let time = (bench.now / scale + delay) * scale;
                for _ in 0..2 {
                    bench.schedule(time.max(bench.now), number);
                    number += 1;
                }
                (0..pops).for_each(|_| bench.pop());
                if forgets {
                    bench.forget(|event| event % 3 == step % 3);
                }
            }
            bench.drain();
        }
    }
}

//! The event kernel: what happens next, at which instant.
//!
//! Events are ordered by (time, sequence of scheduling), so events of one instant happen in the order
//! in which they were scheduled and a trajectory has no ties to break. The queue is an implicit 4-ary
//! heap in one vector: it grows to the most events ever pending, about the queue depth, and allocates
//! nothing after that. Four children share a cache line and a half, and the tree is half as high as a
//! binary one.

use crate::units::Instant;

/// Pending events of kind `E`.
#[derive(Clone, Debug)]
pub struct EventQueue<E> {
    heap: Vec<Entry<E>>,
    scheduled: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    at: Instant,
    sequence: u64,
    event: E,
}

impl<E: Copy> Entry<E> {
    fn key(&self) -> (Instant, u64) {
        (self.at, self.sequence)
    }
}

const ARITY: usize = 4;

impl<E: Copy> EventQueue<E> {
    /// A queue with room for `capacity` events before it grows.
    pub fn with_capacity(capacity: usize) -> Self {
        Self { heap: Vec::with_capacity(capacity), scheduled: 0 }
    }

    /// Events scheduled since the start.
    pub fn scheduled(&self) -> u64 {
        self.scheduled
    }

    /// The instant of the next event.
    pub fn next_at(&self) -> Option<Instant> {
        self.heap.first().map(|entry| entry.at)
    }

    /// Lets `event` happen at `at`, after all that are already scheduled for that instant.
    pub fn schedule(&mut self, at: Instant, event: E) {
        let entry = Entry { at, sequence: self.scheduled, event };
        self.scheduled += 1;
        let mut hole = self.heap.len();
        self.heap.push(entry);
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.heap[parent].key() <= entry.key() {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = entry;
    }

    /// Takes the next event.
    pub fn pop(&mut self) -> Option<(Instant, E)> {
        let last = self.heap.pop()?;
        let Some(&first) = self.heap.first() else {
            return Some((last.at, last.event));
        };
        self.sift_down(last);
        Some((first.at, first.event))
    }

    /// Puts `entry` where the root was, and below all that come before it.
    fn sift_down(&mut self, entry: Entry<E>) {
        let length = self.heap.len();
        let mut hole = 0;
        loop {
            let first_child = hole * ARITY + 1;
            if first_child >= length {
                break;
            }
            let children = &self.heap[first_child..length.min(first_child + ARITY)];
            let mut least = 0;
            for index in 1..children.len() {
                if children[index].key() < children[least].key() {
                    least = index;
                }
            }
            if entry.key() <= children[least].key() {
                break;
            }
            self.heap[hole] = children[least];
            hole = first_child + least;
        }
        self.heap[hole] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_order_of_time_and_then_of_scheduling(
            times in proptest::collection::vec(0u64..50, 0..300), pops in 0usize..100,
        ) {
            let mut queue = EventQueue::with_capacity(8);
            let mut expected: Vec<(u64, usize)> = Vec::new();
            for (index, &time) in times.iter().enumerate() {
                queue.schedule(Instant::from_picoseconds(time), index);
                expected.push((time, index));
                if index == pops {
                    expected.sort_unstable();
                    let (time, index) = expected.remove(0);
                    prop_assert_eq!(queue.pop(), Some((Instant::from_picoseconds(time), index)));
                }
            }
            expected.sort_unstable();
            for (time, index) in expected {
                prop_assert_eq!(queue.next_at(), Some(Instant::from_picoseconds(time)));
                prop_assert_eq!(queue.pop(), Some((Instant::from_picoseconds(time), index)));
            }
            prop_assert_eq!(queue.pop(), None);
        }
    }
}

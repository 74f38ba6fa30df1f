//! Arbitration: the choice of the submission queue that a drive's command engines serve next.
//!
//! The model follows NVM Express 1.2, 4.11.1 (round robin): all queues are equal, and the controller visits them by
//! number and takes one command per visit, the default of feature 01h (Arbitration).
//!
//! Queues with commands are bits in a set of words, so that the arbiter finds the next queue without testing empty
//! queues. Memory is allocated only for queue numbers up to the highest number in use.
//!
//! Not modelled: weighted round robin and longer bursts (4.11.2); the admin queue; controllers that read an entry only
//! after they have chosen its queue (here, entries are read as doorbells arrive, and wait for a command engine); fused
//! commands.

use crate::engine::number::QueueNumber;
use crate::engine::slab::{CommandHandle, Commands, Linked, Slab, SlabQueue};
use crate::spec::{ProtocolKind, ProtocolSpec};

/// The arbiter of a drive's queues, and the commands that wait in these queues.
#[derive(Clone, Debug)]
pub(crate) struct Arbiter {
    queues: Vec<SlabQueue<Commands>>,
    waiting: usize,
    /// The queues with commands.
    ready: QueueSet,
    /// The queue that was served last.
    last: u32,
}

impl Arbiter {
    /// Creates the arbiter of a drive if the protocol has several queues.
    pub(crate) fn for_protocol(protocol: &ProtocolSpec) -> Option<Self> {
        let several = protocol.kind == ProtocolKind::Nvme && protocol.queues > 1;
        several.then(Self::new)
    }

    /// Creates an arbiter with empty queues.
    pub(crate) fn new() -> Self {
        // The first search begins after the last queue, at queue 0.
        Self { queues: Vec::new(), waiting: 0, ready: QueueSet::default(), last: u32::MAX }
    }

    /// Returns whether there are no waiting commands.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// Adds `command` to the waiting commands of `queue`.
    pub(crate) fn push<T: Linked<Kind = Commands>>(
        &mut self,
        slab: &mut Slab<T, Commands>,
        queue: QueueNumber,
        command: CommandHandle,
    ) {
        let index = usize::from(queue);
        let queue = queue.0;
        if index >= self.queues.len() {
            self.queues.resize(index + 1, SlabQueue::EMPTY);
        }
        if self.queues[index].is_empty() {
            self.ready.insert(queue);
        }
        self.queues[index].push(slab, command);
        self.waiting += 1;
    }

    /// Removes and returns the command whose turn it is.
    pub(crate) fn pop<T: Linked<Kind = Commands>>(
        &mut self,
        slab: &mut Slab<T, Commands>,
    ) -> Option<CommandHandle> {
        let after = self.last.wrapping_add(1);
        let queue = self.ready.first_from(after).or_else(|| self.ready.first_from(0))?;
        let command = self.queues[queue as usize].pop(slab)?;
        self.waiting -= 1;
        if self.queues[queue as usize].is_empty() {
            self.ready.remove(queue);
        }
        self.last = queue;
        Some(command)
    }

    /// Counts a command of `queue` as the queue's turn. The command did not wait, or waited while no other queue had
    /// commands.
    #[inline]
    pub(crate) fn account_command(&mut self, QueueNumber(queue): QueueNumber) {
        self.last = queue;
    }
}

/// A set of queue numbers: one bit for each queue and, above 64 queues, one bit for each word.
#[derive(Clone, Debug, Default)]
struct QueueSet {
    words: Vec<u64>,
    /// Bits of the words that are not empty.
    used: Vec<u64>,
}

const BITS: usize = u64::BITS as usize;

impl QueueSet {
    /// Adds `queue`, which must not be in the set.
    fn insert(&mut self, queue: u32) {
        let word = queue as usize / BITS;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
            self.used.resize(word / BITS + 1, 0);
        }
        self.words[word] |= bit(queue as usize);
        self.used[word / BITS] |= bit(word);
    }

    /// Removes `queue`, which must be in the set.
    fn remove(&mut self, queue: u32) {
        let word = queue as usize / BITS;
        self.words[word] &= !bit(queue as usize);
        if self.words[word] == 0 {
            self.used[word / BITS] &= !bit(word);
        }
    }

    /// Returns the lowest member that is `queue` or higher.
    fn first_from(&self, queue: u32) -> Option<u32> {
        let word = queue as usize / BITS;
        if let Some(found) = first_bit(self.words.get(word)?, queue as usize) {
            return Some((word * BITS + found) as u32);
        }
        let behind = word + 1;
        let group = behind / BITS;
        let used = match first_bit(self.used.get(group)?, behind) {
            Some(found) => group * BITS + found,
            None => {
                let later = group + 1..self.used.len();
                let group = later.into_iter().find(|&group| self.used[group] != 0)?;
                group * BITS + self.used[group].trailing_zeros() as usize
            }
        };
        Some((used * BITS) as u32 + self.words[used].trailing_zeros())
    }
}

fn bit(index: usize) -> u64 {
    1 << (index % BITS)
}

/// Returns the position of the first set bit of `word` at `index` or above.
fn first_bit(word: &u64, index: usize) -> Option<usize> {
    let rest = word & (u64::MAX << (index % BITS));
    (rest != 0).then(|| rest.trailing_zeros() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::slab::Handle;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    struct WaitingCommands {
        queue: u32,
        number: u32,
        next: CommandHandle,
    }
    impl Linked for WaitingCommands {
        type Kind = Commands;
        fn next(&mut self) -> &mut CommandHandle {
            &mut self.next
        }
    }

    /// An arbiter and its commands, which are numbered in the order of arrival.
    struct Bench {
        arbiter: Arbiter,
        slab: Slab<WaitingCommands, Commands>,
        numbered: u32,
    }

    impl Bench {
        fn new() -> Self {
            Self { arbiter: Arbiter::new(), slab: Slab::new(), numbered: 0 }
        }

        fn push(&mut self, queue: u32) {
            let command = self.slab.insert(WaitingCommands {
                queue,
                number: self.numbered,
                next: Handle::NONE,
            });
            self.numbered += 1;
            self.arbiter.push(&mut self.slab, QueueNumber(queue), command);
        }

        fn pop(&mut self) -> Option<(u32, u32)> {
            let command = self.arbiter.pop(&mut self.slab)?;
            self.slab.free(command);
            Some((self.slab[command].queue, self.slab[command].number))
        }
    }

    #[test]
    fn round_robin_follows_the_numbers_of_queues_at_any_depth() {
        let mut bench = Bench::new();
        for queue in [7, 7, 7, 7, 7, 2, 300, 300, 65_534] {
            bench.push(queue);
        }
        let order: Vec<u32> = std::iter::from_fn(|| bench.pop()).map(|(queue, _)| queue).collect();
        assert_eq!(order, [2, 7, 300, 65_534, 7, 300, 7, 7, 7]);
    }

    #[test]
    fn a_command_that_did_not_wait_counts_as_a_turn() {
        let mut bench = Bench::new();
        bench.arbiter.account_command(QueueNumber(0));
        (0..2).for_each(|_| bench.push(0));
        bench.push(1);
        let order: Vec<u32> = std::iter::from_fn(|| bench.pop()).map(|(queue, _)| queue).collect();
        assert_eq!(order, [1, 0, 0]);
    }

    proptest! {
        /// Every command is served once, in the order of its queue, and the arbiter serves commands until the queues
        /// are empty.
        #[test]
        fn no_command_is_lost_or_overtaken_in_its_queue(
            steps in proptest::collection::vec(proptest::option::weighted(0.6, 0u32..9_000), 0..600),
        ) {
            let mut bench = Bench::new();
            let mut expected: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
            let out = |bench: &mut Bench, expected: &mut BTreeMap<u32, Vec<u32>>| {
                let waiting: usize = expected.values().map(Vec::len).sum();
                prop_assert_eq!(bench.arbiter.is_empty(), waiting == 0);
                match bench.pop() {
                    None => prop_assert_eq!(waiting, 0),
                    Some((queue, number)) => {
                        prop_assert_eq!(expected.get_mut(&queue).unwrap().remove(0), number);
                    }
                }
                Ok(())
            };
            for step in steps {
                match step {
                    // Some queues occur often, and some have distant numbers.
                    Some(queue) => {
                        let queue = if queue % 3 == 0 { queue % 5 } else { queue };
                        expected.entry(queue).or_default().push(bench.numbered);
                        bench.push(queue);
                    }
                    None => out(&mut bench, &mut expected)?,
                }
            }
            while expected.values().any(|numbers| !numbers.is_empty()) {
                out(&mut bench, &mut expected)?;
            }
            prop_assert!(bench.pop().is_none());
        }
    }
}

//! Arbitration: the choice of the submission queue that a drive's command engines serve next.
//!
//! The model follows NVM Express 1.2, 4.11 (Command Arbitration), with the settings of feature 01h (Arbitration). Round
//! robin (4.11.1): all queues are equal, and the controller visits them by number. Weighted round robin with urgent
//! priority class (4.11.2): urgent queues precede all other queues. The high, medium and low levels share the remaining
//! capacity, each with as many commands per round as its weight. A round ends when all levels with waiting commands
//! have used up their credit. Within a class, queues are served round robin. In both modes, a visit to a queue takes up
//! to one arbitration burst of commands.
//!
//! The specification leaves some choices open. Here, the levels of a round are served from high to low; a level that
//! has credit left after it has visited all its queues visits them again; an urgent command precedes even the rest of a
//! burst.
//!
//! Queues with commands are bits in a set of words, so that the arbiter finds the next queue without testing empty
//! queues. Memory is allocated only for queue numbers up to the highest number in use.
//!
//! Not modelled: the admin queue; controllers that read an entry only after they have chosen its queue (here, entries
//! are read as doorbells arrive, and wait for a command engine); fused commands.

use crate::engine::number::QueueNumber;
use crate::engine::slab::{CommandHandle, Commands, Linked, Slab, SlabQueue};
use crate::spec::{ArbitrationSpec, ProtocolKind, ProtocolSpec, QueueClass};

/// The arbiter of a drive's queues, and the commands that wait in these queues.
#[derive(Clone, Debug)]
pub(crate) struct Arbiter {
    spec: ArbitrationSpec,
    burst: u32,
    queues: Vec<SlabQueue<Commands>>,
    waiting: usize,
    /// The urgent, high, medium and low levels; in round robin, all queues belong to the first level.
    levels: [PriorityLevel; LEVELS],
}

/// Index of the level with strict priority, which needs no credit.
const STRICT: usize = 0;
const LEVELS: usize = 4;

/// The queues of one priority level, which take turns.
#[derive(Clone, Debug)]
struct PriorityLevel {
    ready: QueueSet,
    /// The queue that was served last.
    queue: u32,
    /// Number of commands that the visit to `queue` may still take.
    visit: u32,
    /// Number of commands that may still be taken from the level in this round.
    credit: u32,
    weight: u32,
}

impl Arbiter {
    /// Creates the arbiter of a drive if the protocol has several queues.
    pub(crate) fn for_protocol(protocol: &ProtocolSpec) -> Option<Self> {
        let several = protocol.kind == ProtocolKind::Nvme && protocol.queues > 1;
        several.then(|| Self::new(&protocol.arbitration))
    }

    /// Creates an arbiter with empty queues.
    pub(crate) fn new(spec: &ArbitrationSpec) -> Self {
        let weights = spec.weights.unwrap_or_default();
        let level = |weight| PriorityLevel {
            ready: QueueSet::default(),
            // The first search begins after this queue, at queue 0.
            queue: u32::MAX,
            visit: 0,
            credit: weight,
            weight,
        };
        Self {
            spec: spec.clone(),
            burst: spec.burst.unwrap_or(u32::MAX),
            queues: Vec::new(),
            waiting: 0,
            levels: [u32::MAX, weights.high, weights.medium, weights.low].map(level),
        }
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
            let level = self.level_of(queue);
            self.levels[level].ready.insert(queue);
        }
        self.queues[index].push(slab, command);
        self.waiting += 1;
    }

    /// Removes and returns the command whose turn it is.
    pub(crate) fn pop<T: Linked<Kind = Commands>>(
        &mut self,
        slab: &mut Slab<T, Commands>,
    ) -> Option<CommandHandle> {
        let level = self.level_in_turn()?;
        let queue = self.levels[level].queue_in_turn()?;
        let command = self.queues[queue as usize].pop(slab)?;
        self.waiting -= 1;
        if self.queues[queue as usize].is_empty() {
            self.levels[level].ready.remove(queue);
        }
        self.spend(level, queue);
        Some(command)
    }

    /// Charges a command of `queue` to its level. The command did not wait, or waited while no other queue had
    /// commands.
    #[inline]
    pub(crate) fn account_command(&mut self, QueueNumber(queue): QueueNumber) {
        let level = self.level_of(queue);
        if self.levels[level].credit == 0 {
            self.begin_round();
        }
        self.spend(level, queue);
    }

    fn level_of(&self, queue: u32) -> usize {
        if self.spec.weights.is_none() {
            return STRICT;
        }
        match self.spec.class_of(queue) {
            QueueClass::Urgent => STRICT,
            QueueClass::High => 1,
            QueueClass::Medium => 2,
            QueueClass::Low => 3,
        }
    }

    /// Returns the highest level with commands and credit; a new round begins if the levels with commands have used up
    /// their credit.
    fn level_in_turn(&mut self) -> Option<usize> {
        let ready = |level: &PriorityLevel| !level.ready.is_empty();
        if let Some(first) = self.levels.iter().position(|level| ready(level) && level.credit > 0) {
            return Some(first);
        }
        let first = self.levels.iter().position(ready)?;
        self.begin_round();
        Some(first)
    }

    fn begin_round(&mut self) {
        for level in &mut self.levels {
            level.credit = level.weight;
        }
    }

    fn spend(&mut self, index: usize, queue: u32) {
        let level = &mut self.levels[index];
        if level.queue != queue || level.visit == 0 {
            level.queue = queue;
            level.visit = self.burst.min(level.credit);
        }
        level.visit -= 1;
        if index != STRICT {
            level.credit -= 1;
        }
    }
}

impl PriorityLevel {
    /// Returns the queue of the current visit, or the next queue in turn.
    fn queue_in_turn(&self) -> Option<u32> {
        if self.visit > 0 && self.ready.contains(self.queue) {
            return Some(self.queue);
        }
        let behind = self.queue.wrapping_add(1);
        self.ready.first_from(behind).or_else(|| self.ready.first_from(0))
    }
}

/// A set of queue numbers: one bit for each queue and, above 64 queues, one bit for each word.
#[derive(Clone, Debug, Default)]
struct QueueSet {
    words: Vec<u64>,
    /// Bits of the words that are not empty.
    used: Vec<u64>,
    count: u32,
}

const BITS: usize = u64::BITS as usize;

impl QueueSet {
    fn is_empty(&self) -> bool {
        self.count == 0
    }

    fn contains(&self, queue: u32) -> bool {
        let word = self.words.get(queue as usize / BITS);
        word.is_some_and(|word| word & bit(queue as usize) != 0)
    }

    /// Adds `queue`, which must not be in the set.
    fn insert(&mut self, queue: u32) {
        let word = queue as usize / BITS;
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
            self.used.resize(word / BITS + 1, 0);
        }
        self.words[word] |= bit(queue as usize);
        self.used[word / BITS] |= bit(word);
        self.count += 1;
    }

    /// Removes `queue`, which must be in the set.
    fn remove(&mut self, queue: u32) {
        let word = queue as usize / BITS;
        self.words[word] &= !bit(queue as usize);
        if self.words[word] == 0 {
            self.used[word / BITS] &= !bit(word);
        }
        self.count -= 1;
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
    use crate::spec::ClassWeights;
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
        fn new(spec: &ArbitrationSpec) -> Self {
            Self { arbiter: Arbiter::new(spec), slab: Slab::new(), numbered: 0 }
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

        /// Returns the queues of the next `count` commands. Each served command is replaced by another command of the
        /// same queue.
        fn saturated(&mut self, count: usize) -> Vec<u32> {
            let serve = |_| {
                let queue = self.pop().unwrap().0;
                self.push(queue);
                queue
            };
            (0..count).map(serve).collect()
        }
    }

    fn round_robin(burst: Option<u32>) -> ArbitrationSpec {
        ArbitrationSpec { burst, ..ArbitrationSpec::default() }
    }

    fn weighted(weights: [u32; 3], burst: Option<u32>, classes: &[QueueClass]) -> ArbitrationSpec {
        let [high, medium, low] = weights;
        ArbitrationSpec {
            weights: Some(ClassWeights { high, medium, low }),
            burst,
            queue_classes: classes.to_vec(),
        }
    }

    fn share(served: &[u32], queue: u32) -> f64 {
        served.iter().filter(|&&other| other == queue).count() as f64 / served.len() as f64
    }

    #[test]
    fn round_robin_follows_numbers_regardless_of_the_depth() {
        let mut bench = Bench::new(&round_robin(Some(1)));
        for queue in [7, 7, 7, 7, 7, 2, 300, 300, 65_534] {
            bench.push(queue);
        }
        let order: Vec<u32> = std::iter::from_fn(|| bench.pop()).map(|(queue, _)| queue).collect();
        assert_eq!(order, [2, 7, 300, 65_534, 7, 300, 7, 7, 7]);
    }

    #[test]
    fn a_visit_takes_a_burst_and_no_more() {
        let mut bench = Bench::new(&round_robin(Some(4)));
        for queue in [0, 1] {
            (0..6).for_each(|_| bench.push(queue));
        }
        let order: Vec<u32> = std::iter::from_fn(|| bench.pop()).map(|(queue, _)| queue).collect();
        assert_eq!(order, [0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 1, 1]);
        // If the burst is unlimited, a queue keeps its turn while it has commands.
        let mut bench = Bench::new(&round_robin(None));
        [0, 1].into_iter().for_each(|queue| bench.push(queue));
        assert_eq!(share(&bench.saturated(100), 0), 1.0);
    }

    #[test]
    fn a_command_that_did_not_wait_counts_as_a_turn() {
        let mut bench = Bench::new(&round_robin(Some(2)));
        bench.arbiter.account_command(QueueNumber(0));
        (0..3).for_each(|_| bench.push(0));
        bench.push(1);
        let order: Vec<u32> = std::iter::from_fn(|| bench.pop()).map(|(queue, _)| queue).collect();
        assert_eq!(order, [0, 1, 0, 0]);
    }

    /// Commands that did not wait use the credit of their level. When the credit is used up, the next such command
    /// begins a new round.
    #[test]
    fn commands_that_did_not_wait_are_of_the_round_like_any_other() {
        use QueueClass::{High, Low};
        for taken in 0..8u32 {
            let mut bench = Bench::new(&weighted([3, 1, 2], Some(1), &[High, Low]));
            (0..taken).for_each(|_| bench.arbiter.account_command(QueueNumber(0)));
            (0..8).for_each(|_| bench.push(0));
            (0..8).for_each(|_| bench.push(1));
            let order: Vec<u32> =
                std::iter::from_fn(|| bench.pop()).map(|(queue, _)| queue).collect();
            // The rest of the round of three precedes two commands of the other level. If the round is used up, those
            // two commands come first.
            let left = if taken == 0 { 3 } else { (3 - taken % 3) % 3 } as usize;
            let mut expected = vec![0; left];
            while expected.len() < 11 {
                expected.extend([1, 1, 0, 0, 0]);
            }
            assert_eq!(order[..8], expected[..8], "{taken} taken");
        }
    }

    #[test]
    fn saturated_levels_get_the_shares_of_their_weights() {
        use QueueClass::{High, Low, Medium};
        for burst in [Some(1), Some(2), Some(4), Some(64), None] {
            let mut bench = Bench::new(&weighted([32, 12, 4], burst, &[Low, Medium, High, High]));
            (0..4).for_each(|queue| bench.push(queue));
            let served = bench.saturated(48_000);
            let expected = [4.0 / 48.0, 12.0 / 48.0, 32.0 / 48.0];
            let high = share(&served, 2) + share(&served, 3);
            for (seen, expected) in
                [share(&served, 0), share(&served, 1), high].iter().zip(expected)
            {
                assert!((seen / expected - 1.0).abs() < 0.01, "{burst:?}: {seen} for {expected}");
            }
            // The credit ends every visit, so the queues of one level share equally even if the burst is unlimited.
            assert_eq!(share(&served, 2), share(&served, 3), "{burst:?}");
        }
    }

    #[test]
    fn a_level_without_commands_leaves_its_share_to_the_others() {
        use QueueClass::{High, Low, Medium};
        let mut bench = Bench::new(&weighted([8, 3, 1], Some(1), &[High, Medium, Low]));
        [1, 2].into_iter().for_each(|queue| bench.push(queue));
        assert_eq!(share(&bench.saturated(4_000), 1), 0.75);
    }

    #[test]
    fn urgent_commands_starve_all_others_and_share_among_themselves() {
        use QueueClass::{High, Urgent};
        let mut bench = Bench::new(&weighted([256, 1, 1], Some(1), &[High, Urgent, Urgent]));
        (0..4).for_each(|queue| bench.push(queue));
        let served = bench.saturated(1_000);
        assert_eq!([1, 2].map(|queue| share(&served, queue)), [0.5, 0.5]);
        // An urgent command is served between two commands of a burst, and the visit continues after it.
        let mut bench = Bench::new(&weighted([4, 1, 1], Some(2), &[High, Urgent, High]));
        [0, 0, 2, 2].into_iter().for_each(|queue| bench.push(queue));
        let mut order = vec![bench.pop().unwrap().0];
        bench.push(1);
        order.extend(std::iter::from_fn(|| bench.pop()).map(|(queue, _)| queue));
        assert_eq!(order, [0, 1, 0, 2, 2]);
    }

    fn any_arbitration() -> impl Strategy<Value = ArbitrationSpec> {
        let class = prop_oneof![
            Just(QueueClass::Urgent),
            Just(QueueClass::High),
            Just(QueueClass::Medium),
            Just(QueueClass::Low)
        ];
        let weights = proptest::option::of((1u32..9, 1u32..9, 1u32..9));
        let burst = proptest::option::of(1u32..9);
        (weights, burst, proptest::collection::vec(class, 0..200)).prop_map(
            |(weights, burst, queue_classes)| ArbitrationSpec {
                weights: weights.map(|(high, medium, low)| ClassWeights { high, medium, low }),
                burst,
                queue_classes,
            },
        )
    }

    proptest! {
        /// Every command is served once, in the order of its queue, and the arbiter serves commands until the queues
        /// are empty.
        #[test]
        fn no_command_is_lost_or_overtaken_in_its_queue(
            spec in any_arbitration(),
            steps in proptest::collection::vec(proptest::option::weighted(0.6, 0u32..9_000), 0..600),
        ) {
            let mut bench = Bench::new(&spec);
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

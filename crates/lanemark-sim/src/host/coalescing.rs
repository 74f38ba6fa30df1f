//! Interrupts that announce several completions.
//!
//! The model follows NVM Express 1.2, 5.14.1 (features 08h, Interrupt Coalescing, and 09h, Interrupt Vector
//! Configuration) and 7.5: a vector's interrupt is delayed until the number of completions in its queue reaches the
//! aggregation threshold, or until the aggregation time since the first of these completions has passed. A threshold of
//! one or a time of zero means no delay. Each queue has its own vector, and coalescing applies to all vectors.
//!
//! Not modelled: vectors that several queues share or that are exempt from coalescing; a host that reads the queue
//! before the interrupt; the bytes that a suppressed message saves on the link (4 of about 4,000 for a short read).

use crate::engine::number::QueueNumber;
use crate::engine::slab::{CommandHandle, Commands, Linked, Slab, SlabQueue};
use crate::spec::CoalescingSpec;
use lanemark_schema::units::Instant;

/// The completions that wait for an interrupt, by vector.
#[derive(Clone, Debug)]
pub(crate) struct Coalescing {
    spec: CoalescingSpec,
    vectors: Vec<InterruptVector>,
}

#[derive(Clone, Copy, Debug)]
struct InterruptVector {
    waiting: SlabQueue<Commands>,
    count: u32,
    /// End of the aggregation time of the waiting completions.
    deadline: Instant,
    /// Whether an event is scheduled for the end of an aggregation time.
    timed: bool,
}

/// Time at which a completion is announced: now, or later together with other completions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompletionNotice {
    /// The completion waits. If an instant is given, the caller must call [`Coalescing::expire`] at that instant.
    Later(Option<Instant>),
    /// The completion is announced now, together with all waiting completions.
    Together,
}

/// The outcome of the end of an aggregation time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AggregationEnd {
    /// The waiting completions are announced now.
    Announce,
    /// Later completions wait until the instant.
    Again(Instant),
    /// There are no longer any waiting completions.
    Nothing,
}

impl Coalescing {
    /// Creates vectors without waiting completions.
    pub(crate) fn new(spec: CoalescingSpec) -> Self {
        Self { spec, vectors: Vec::new() }
    }

    /// Returns whether coalescing is enabled.
    pub(crate) fn is_on(&self) -> bool {
        self.spec.is_on()
    }

    /// Adds the completion of `command` to the queue of `vector`.
    pub(crate) fn add<T: Linked<Kind = Commands>>(
        &mut self,
        slab: &mut Slab<T, Commands>,
        now: Instant,
        vector: QueueNumber,
        command: CommandHandle,
    ) -> CompletionNotice {
        let index = usize::from(vector);
        if index >= self.vectors.len() {
            let idle = InterruptVector {
                waiting: SlabQueue::EMPTY,
                count: 0,
                deadline: Instant::ZERO,
                timed: false,
            };
            self.vectors.resize(index + 1, idle);
        }
        let vector = &mut self.vectors[index];
        vector.waiting.push(slab, command);
        vector.count += 1;
        if vector.count >= self.spec.threshold {
            return CompletionNotice::Together;
        }
        if vector.count == 1 {
            vector.deadline = now + self.spec.time;
        }
        // One event at a time is sufficient: if it occurs too early, it is scheduled again.
        let timed = std::mem::replace(&mut vector.timed, true);
        CompletionNotice::Later((!timed).then_some(vector.deadline))
    }

    /// Announces the completions of `vector` if its aggregation time has passed.
    pub(crate) fn expire(&mut self, now: Instant, vector: QueueNumber) -> AggregationEnd {
        let vector = &mut self.vectors[usize::from(vector)];
        vector.timed = vector.count > 0 && vector.deadline > now;
        match (vector.count, vector.timed) {
            (0, _) => AggregationEnd::Nothing,
            (_, true) => AggregationEnd::Again(vector.deadline),
            (_, false) => AggregationEnd::Announce,
        }
    }

    /// Removes and returns the next completion that `vector` announces.
    pub(crate) fn pop<T: Linked<Kind = Commands>>(
        &mut self,
        slab: &mut Slab<T, Commands>,
        vector: QueueNumber,
    ) -> Option<CommandHandle> {
        let vector = &mut self.vectors[usize::from(vector)];
        let command = vector.waiting.pop(slab)?;
        vector.count -= 1;
        Some(command)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::slab::Handle;
    use lanemark_schema::units::Duration;

    struct TestCommand(CommandHandle);
    impl Linked for TestCommand {
        type Kind = Commands;
        fn next(&mut self) -> &mut CommandHandle {
            &mut self.0
        }
    }

    fn at(microseconds: u64) -> Instant {
        Instant::ZERO + Duration::from_microseconds(microseconds)
    }

    fn coalescing(threshold: u32, microseconds: u64) -> Coalescing {
        let time = Duration::from_microseconds(microseconds);
        Coalescing::new(CoalescingSpec { threshold, time })
    }

    fn add(
        coalescing: &mut Coalescing,
        slab: &mut Slab<TestCommand, Commands>,
        now: Instant,
        vector: QueueNumber,
    ) -> CompletionNotice {
        let command = slab.insert(TestCommand(Handle::NONE));
        coalescing.add(slab, now, vector, command)
    }

    #[test]
    fn the_threshold_announces_all_in_order() {
        let mut coalescing = coalescing(3, 100);
        let mut slab = Slab::new();
        assert_eq!(
            add(&mut coalescing, &mut slab, at(10), QueueNumber(0)),
            CompletionNotice::Later(Some(at(110))),
            "the first sets the time"
        );
        assert_eq!(
            add(&mut coalescing, &mut slab, at(20), QueueNumber(0)),
            CompletionNotice::Later(None)
        );
        assert_eq!(
            add(&mut coalescing, &mut slab, at(20), QueueNumber(9)),
            CompletionNotice::Later(Some(at(120))),
            "each vector counts for itself"
        );
        assert_eq!(
            add(&mut coalescing, &mut slab, at(30), QueueNumber(0)),
            CompletionNotice::Together
        );
        let announced: Vec<_> =
            std::iter::from_fn(|| coalescing.pop(&mut slab, QueueNumber(0))).collect();
        assert_eq!(announced, [0, 1, 3].map(Handle::from_number));
    }

    #[test]
    fn the_time_is_measured_from_the_first_that_waits() {
        let mut coalescing = coalescing(2, 100);
        let mut slab = Slab::new();
        add(&mut coalescing, &mut slab, at(0), QueueNumber(0));
        assert_eq!(
            add(&mut coalescing, &mut slab, at(60), QueueNumber(0)),
            CompletionNotice::Together
        );
        while coalescing.pop(&mut slab, QueueNumber(0)).is_some() {}
        // The event of the first batch is still pending, so the second batch does not need one yet.
        assert_eq!(
            add(&mut coalescing, &mut slab, at(70), QueueNumber(0)),
            CompletionNotice::Later(None)
        );
        assert_eq!(coalescing.expire(at(100), QueueNumber(0)), AggregationEnd::Again(at(170)));
        assert_eq!(coalescing.expire(at(170), QueueNumber(0)), AggregationEnd::Announce);
        assert!(coalescing.pop(&mut slab, QueueNumber(0)).is_some());
        assert_eq!(coalescing.expire(at(270), QueueNumber(0)), AggregationEnd::Nothing);
    }

    #[test]
    fn an_aggregation_time_is_over_at_its_end_and_not_before() {
        let queue = QueueNumber(0);
        for count in [1, 2] {
            let mut coalescing = coalescing(3, 100);
            let mut slab = Slab::new();
            (0..count).for_each(|number| _ = add(&mut coalescing, &mut slab, at(number), queue));
            let early = Instant::from_picoseconds(at(100).picoseconds() - 1);
            assert_eq!(coalescing.expire(early, queue), AggregationEnd::Again(at(100)));
            // The event for the end of the aggregation time is already scheduled.
            let next = add(&mut coalescing, &mut slab, early, queue);
            let full = count == 2;
            let expected =
                if full { CompletionNotice::Together } else { CompletionNotice::Later(None) };
            assert_eq!(next, expected);
            assert_eq!(coalescing.expire(at(100), queue), AggregationEnd::Announce);
            assert_eq!(
                std::iter::from_fn(|| coalescing.pop(&mut slab, queue)).count() as u64,
                count + 1
            );
            assert_eq!(coalescing.expire(at(100), queue), AggregationEnd::Nothing);
            // The next completion schedules another event.
            let next = add(&mut coalescing, &mut slab, at(300), queue);
            assert_eq!(next, CompletionNotice::Later(Some(at(400))));
        }
    }

    #[test]
    fn a_threshold_of_one_or_no_time_is_off() {
        assert!(coalescing(2, 1).is_on());
        for (threshold, time) in [(1, 100), (8, 0)] {
            assert!(!coalescing(threshold, time).is_on());
        }
    }
}

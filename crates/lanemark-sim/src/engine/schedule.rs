//! The schedule of a system: its events, and the bursts that some of them concern.
//!
//! An [`Event`] is eight bytes, a kind and a handle; larger data is here.

use super::kernel::EventQueue;
use super::slab::{BurstHandle, Bursts, CommandHandle, Slab};
use crate::engine::event::Event;
use lanemark_schema::units::{Bytes, Instant};

/// Pending events of a system.
#[derive(Clone, Debug)]
pub(crate) struct Schedule {
    queue: EventQueue<Event>,
    bursts: Slab<Burst, Bursts>,
}

/// Data of a command that is ready at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Burst {
    /// The command to which the data belongs.
    pub command: CommandHandle,
    /// Length of the burst.
    pub bytes: Bytes,
}

impl Schedule {
    /// A schedule without events.
    pub(crate) fn new() -> Self {
        Self { queue: EventQueue::with_capacity(64), bursts: Slab::new() }
    }

    pub(crate) fn next_at(&self) -> Option<Instant> {
        self.queue.next_at()
    }

    #[inline]
    pub(crate) fn schedule(&mut self, at: Instant, event: Event) {
        self.queue.schedule(at, event);
    }

    /// Schedules an event about a burst at `at`.
    pub(crate) fn schedule_burst(
        &mut self,
        at: Instant,
        burst: Burst,
        event: fn(BurstHandle) -> Event,
    ) {
        let handle = self.bursts.insert(burst);
        self.queue.schedule(at, event(handle));
    }

    /// Takes the burst that an event concerned.
    pub(crate) fn take_burst(&mut self, handle: BurstHandle) -> Burst {
        let burst = self.bursts[handle];
        self.bursts.free(handle);
        burst
    }

    /// Removes the events for which `which` returns true, together with their bursts; `which` receives the command of a
    /// burst.
    pub(crate) fn forget(
        &mut self,
        mut which: impl FnMut(Event, &dyn Fn(BurstHandle) -> CommandHandle) -> bool,
    ) {
        let Self { queue, bursts } = self;
        let mut gone = Vec::new();
        queue.forget(|event| {
            let forgotten = which(event, &|burst| bursts[burst].command);
            if let (true, Event::FromBuffer(burst) | Event::OffMedia(burst)) = (forgotten, event) {
                gone.push(burst);
            }
            forgotten
        });
        gone.into_iter().for_each(|burst| bursts.free(burst));
    }

    #[cfg(test)]
    pub(crate) fn pop(&mut self) -> Option<(Instant, Event)> {
        self.queue.pop()
    }

    /// Takes the next event if it happens no later than `limit`, and passes `soon` some of the events that follow
    /// shortly.
    #[inline]
    pub(crate) fn pop_until(
        &mut self,
        limit: Instant,
        soon: Option<impl FnMut(Event)>,
    ) -> Option<(Instant, Event)> {
        self.queue.pop_until(limit, soon)
    }
}

//! The schedule of a system: its events, and the bursts to which some events refer.
//!
//! An [`Event`] takes eight bytes, a kind and a handle; larger data is stored here.

use super::kernel::EventQueue;
use super::slab::{BurstHandle, Bursts, CommandHandle, Slab};
use crate::engine::event::Event;
use lanemark_schema::units::{Bytes, Instant};

#[derive(Clone, Debug)]
pub(crate) struct EventSchedule {
    queue: EventQueue<Event>,
    bursts: Slab<DataBurst, Bursts>,
}

/// Data of a command that will be ready at the time of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DataBurst {
    /// The command to which the data belongs.
    pub command: CommandHandle,
    /// Length of the burst.
    pub bytes: Bytes,
}

impl EventSchedule {
    /// Creates a schedule without events.
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

    /// Schedules at `at` an event that refers to a burst.
    pub(crate) fn schedule_burst(
        &mut self,
        at: Instant,
        burst: DataBurst,
        event: fn(BurstHandle) -> Event,
    ) {
        let handle = self.bursts.insert(burst);
        self.queue.schedule(at, event(handle));
    }

    /// Removes and returns the burst to which an event referred.
    pub(crate) fn take_burst(&mut self, handle: BurstHandle) -> DataBurst {
        let burst = self.bursts[handle];
        self.bursts.free(handle);
        burst
    }

    /// Removes the events for which `which` returns true, together with their bursts. For an event that refers to a
    /// burst, `which` also receives the burst's command.
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

    /// Removes and returns the next event if it happens no later than `limit`, and calls `soon` with some of the events
    /// that follow shortly.
    #[inline]
    pub(crate) fn pop_until(
        &mut self,
        limit: Instant,
        soon: Option<impl FnMut(Event)>,
    ) -> Option<(Instant, Event)> {
        self.queue.pop_until(limit, soon)
    }
}

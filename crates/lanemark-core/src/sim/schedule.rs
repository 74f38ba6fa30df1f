//! The schedule of a system: its events, and the bursts that some of them are about.
//!
//! An [`Event`] is eight bytes, a kind and a handle; what does not fit lies here.

use super::kernel::EventQueue;
use super::simulator::Event;
use super::slab::{BurstHandle, Bursts, CommandHandle, Slab};
use crate::units::{Bytes, Instant};

/// Pending events of a system.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    queue: EventQueue<Event>,
    bursts: Slab<Burst, Bursts>,
}

/// Data of a command that is ready at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Burst {
    /// The command of the data.
    pub command: CommandHandle,
    /// Length of the burst.
    pub bytes: Bytes,
}

impl Schedule {
    /// A schedule without events.
    pub(super) fn new() -> Self {
        Self { queue: EventQueue::with_capacity(64), bursts: Slab::new() }
    }

    /// The instant of the next event.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.queue.next_at()
    }

    /// Lets `event` happen at `at`.
    #[inline]
    pub(super) fn schedule(&mut self, at: Instant, event: Event) {
        self.queue.schedule(at, event);
    }

    /// Lets an event about a burst happen at `at`.
    pub(super) fn schedule_burst(
        &mut self,
        at: Instant,
        burst: Burst,
        event: fn(BurstHandle) -> Event,
    ) {
        let handle = self.bursts.insert(burst);
        self.queue.schedule(at, event(handle));
    }

    /// The burst that an event was about.
    pub(super) fn take_burst(&mut self, handle: BurstHandle) -> Burst {
        let burst = self.bursts[handle];
        self.bursts.free(handle);
        burst
    }

    /// Forgets the events of which `which` holds, which is told the command of a burst; with them their bursts.
    pub(super) fn forget(
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

    /// Takes the next event.
    #[cfg(test)]
    pub(super) fn pop(&mut self) -> Option<(Instant, Event)> {
        self.queue.pop()
    }

    /// Takes the next event, where it comes no later than `limit`, and tells `soon` of some that come before long.
    #[inline]
    pub(super) fn pop_until(
        &mut self,
        limit: Instant,
        soon: Option<impl FnMut(Event)>,
    ) -> Option<(Instant, Event)> {
        self.queue.pop_until(limit, soon)
    }
}

impl Default for Schedule {
    fn default() -> Self {
        Self::new()
    }
}

//! The time budget of one command while it is under way.

use super::budget::{Budget, Hop};
use super::drive::FlashOperation;
use super::station::Span;
use crate::units::Instant;

/// A budget and the instant up to which it accounts for the time.
#[derive(Clone, Copy, Debug)]
pub struct Trace {
    budget: Budget,
    mark: Instant,
}

impl Trace {
    /// Nothing spent yet at `start`.
    pub fn new(start: Instant) -> Self {
        Self { budget: Budget::default(), mark: start }
    }

    /// The instant up to which the time is accounted for.
    pub fn mark(&self) -> Instant {
        self.mark
    }

    /// The budget so far.
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Accounts for the time up to `span.end`: waiting before `span.start`, service after.
    pub fn spend(&mut self, hop: usize, span: Span) {
        self.mark = self.budget.spend(hop, self.mark, span);
    }

    /// Accounts for the time up to `now` as waiting for `hop`.
    pub fn waited(&mut self, hop: Hop, now: Instant) {
        self.spend(hop as usize, Span { start: now, end: now });
    }

    /// Accounts for the time up to `now` that `operation` spent in the flash.
    pub fn through_flash(&mut self, operation: &FlashOperation, now: Instant) {
        self.budget.add(Hop::Die, operation.die_wait, operation.die_service);
        self.budget.add(Hop::Channel, operation.channel_wait, operation.channel_service);
        self.mark = now;
    }
}

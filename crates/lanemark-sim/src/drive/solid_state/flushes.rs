//! Flushes: data written before a flush must be stored before the flush completes.
//!
//! Each flush ends an *epoch*. A unit belongs to the epoch in which it was assigned to its die. Dies finish out of
//! order; a flush is complete when no unit of its epoch or of an earlier epoch remains.

use std::collections::VecDeque;

use crate::drive::outcome::{DriveOutcome, OutcomeQueue};
use crate::engine::slab::CommandHandle;

#[derive(Clone, Debug)]
pub(crate) struct WaitingFlushes {
    /// Number of units in progress in each epoch from `first` onward; the last is the current epoch.
    under_way: VecDeque<u32>,
    first: u32,
    /// The waiting flush command of each ended epoch.
    waiting: VecDeque<CommandHandle>,
}

impl WaitingFlushes {
    /// Creates an empty list of flushes.
    pub(crate) fn new() -> Self {
        Self { under_way: VecDeque::from([0]), first: 0, waiting: VecDeque::new() }
    }

    /// Counts a unit, and returns its epoch.
    pub(crate) fn begin(&mut self) -> u32 {
        let last = self.under_way.len() - 1;
        self.under_way[last] += 1;
        self.first.wrapping_add(last as u32)
    }

    /// Records that a unit of `epoch` is stored.
    pub(crate) fn end(&mut self, epoch: u32) {
        self.under_way[epoch.wrapping_sub(self.first) as usize] -= 1;
    }

    /// Adds a flush: `command` completes when all units begun so far are stored.
    pub(crate) fn add(&mut self, command: CommandHandle) {
        self.waiting.push_back(command);
        self.under_way.push_back(0);
    }

    pub(crate) fn emit_done(&mut self, outcomes: &mut OutcomeQueue) {
        while let Some(command) = self.next_done() {
            outcomes.emit(DriveOutcome::Done(command));
        }
    }

    fn next_done(&mut self) -> Option<CommandHandle> {
        if self.under_way.len() == 1 || self.under_way.front() != Some(&0) {
            return None;
        }
        self.under_way.pop_front();
        self.first = self.first.wrapping_add(1);
        self.waiting.pop_front()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::slab::Handle;

    #[test]
    fn a_flush_waits_for_what_came_before_it_and_for_nothing_else() {
        let mut flushes = WaitingFlushes::new();
        let first = flushes.begin();
        let second = flushes.begin();
        flushes.add(Handle::from_number(7));
        let third = flushes.begin();
        flushes.add(Handle::from_number(8));
        flushes.end(third);
        flushes.end(second);
        assert_eq!(flushes.next_done(), None, "the first unit is still in progress");
        flushes.end(first);
        assert_eq!(flushes.next_done(), Some(Handle::from_number(7)));
        assert_eq!(flushes.next_done(), Some(Handle::from_number(8)));
        assert_eq!(flushes.next_done(), None);
        flushes.add(Handle::from_number(9));
        // Without units in progress, a flush completes at once.
        assert_eq!(flushes.next_done(), Some(Handle::from_number(9)));
    }
}

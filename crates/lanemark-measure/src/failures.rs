//! Counts the failed requests of one thread, and decides whether the run continues.
//!
//! By default, the first failed request ends the run. With [`ErrorReaction::Continue`], the program must not spin if
//! every request to the target fails immediately: after [`A_SECOND`] failures within a second, slots whose requests
//! fail rest until that second is over. After [`IN_A_ROW`] consecutive failures, the run ends.

use std::collections::VecDeque;

use lanemark_schema::result::{ErrorKind, RequestErrors};

use crate::error::MeasureError;
use crate::settings::ErrorReaction;

/// Maximum number of failures of a thread in a second.
pub(crate) const A_SECOND: u32 = 1_000;
/// Number of consecutive failures that end a run, which takes ten seconds or more.
pub(crate) const IN_A_ROW: u32 = 10_000;
const SECOND_NS: u64 = 1_000_000_000;

#[derive(Debug)]
pub(crate) struct RequestFailures {
    on_error: ErrorReaction,
    /// Failed requests by kind.
    pub(crate) errors: RequestErrors,
    pub(crate) ended_by: Option<MeasureError>,
    /// Resting slots, each with the end time of its rest.
    resting: VecDeque<(u64, u32)>,
    /// Number of failures since `since_ns`.
    recent: u32,
    /// Start of the current second.
    since_ns: u64,
    /// Number of consecutive failures.
    row: u32,
    /// Progress of the thread at the last failure.
    achieved: u64,
}

/// The action for a slot whose request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FailureAction {
    /// The slot takes the next request.
    GoesOn,
    /// The slot takes the next request later.
    RestsUntil(u64),
    Ends,
}

impl RequestFailures {
    pub(crate) fn new(on_error: ErrorReaction) -> Self {
        Self {
            on_error,
            errors: RequestErrors::default(),
            ended_by: None,
            resting: VecDeque::new(),
            recent: 0,
            since_ns: 0,
            row: 0,
            achieved: 0,
        }
    }

    /// Counts a failure. `achieved` grows with every success of the thread.
    pub(crate) fn take(
        &mut self,
        errno: Option<u32>,
        error: MeasureError,
        achieved: u64,
        now: u64,
    ) -> FailureAction {
        match errno {
            Some(errno) => self.errors.record_errno(errno),
            None => self.errors.record(ErrorKind::Ended),
        }
        self.row = if achieved == self.achieved { self.row + 1 } else { 1 };
        self.achieved = achieved;
        if self.ended_by.is_some() {
            return FailureAction::Ends;
        }
        match self.on_error {
            ErrorReaction::Stop => self.ended_by = Some(error),
            ErrorReaction::Continue if self.row >= IN_A_ROW => {
                let requests = self.row;
                self.ended_by = Some(MeasureError::NothingElse { requests, last: Box::new(error) });
            }
            ErrorReaction::Continue => return self.pace(now),
        }
        FailureAction::Ends
    }

    fn pace(&mut self, now: u64) -> FailureAction {
        if now.saturating_sub(self.since_ns) >= SECOND_NS {
            (self.since_ns, self.recent) = (now, 0);
        }
        self.recent += 1;
        if self.recent >= A_SECOND {
            FailureAction::RestsUntil(self.since_ns.saturating_add(SECOND_NS))
        } else {
            FailureAction::GoesOn
        }
    }

    /// Makes a slot rest.
    pub(crate) fn pause_slot(&mut self, until_ns: u64, slot: u32) {
        self.resting.push_back((until_ns, slot));
    }

    /// Returns the time when the next slot ends its rest.
    #[inline]
    pub(crate) fn rest_until(&self) -> Option<u64> {
        self.resting.front().map(|(until_ns, _)| *until_ns)
    }

    /// Returns a slot whose rest is over.
    #[inline]
    pub(crate) fn next_rested_slot(&mut self, now: u64) -> Option<u32> {
        self.rest_until().filter(|until_ns| *until_ns <= now)?;
        self.resting.pop_front().map(|(_, slot)| slot)
    }
}

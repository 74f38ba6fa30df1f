//! The state that the threads of a repeat share.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Instant;

use crate::error::OltpError;
use crate::progress::TransactionCounters;

#[derive(Clone, Copy)]
pub(crate) struct RepeatTimes {
    pub(crate) begins: Instant,
    pub(crate) counts_from: Instant,
    pub(crate) ends: Instant,
}

/// The state that all threads of a repeat share.
pub(crate) struct RepeatState<'a> {
    pub(crate) span: RepeatTimes,
    /// Whether users make the database count their work ([`crate::session::Connection::report`]).
    pub(crate) reports: bool,
    /// Number of users that have passed the first edge.
    pub(crate) past: AtomicU32,
    pub(crate) tallies: Vec<TransactionCounters>,
    pub(crate) failed: AtomicBool,
    pub(crate) failure: Mutex<Option<OltpError>>,
    pub(crate) stop: &'a AtomicBool,
    /// Time when a thread first detected the stop.
    pub(crate) stopped_at: OnceLock<Instant>,
}

impl RepeatState<'_> {
    pub(crate) fn stopped(&self) -> bool {
        if self.stop.load(Ordering::Relaxed) {
            self.stopped_at.get_or_init(Instant::now);
        }
        self.stopped_at.get().is_some() || self.failed.load(Ordering::Relaxed)
    }

    /// Returns the time when counting ends: at the end of the repeat, or at an earlier stop.
    pub(crate) fn counts_until(&self) -> Instant {
        self.stopped_at.get().map_or(self.span.ends, |&stopped| stopped.min(self.span.ends))
    }

    /// Ends the run with an error; only the first error is kept.
    pub(crate) fn fail(&self, error: OltpError) {
        self.failed.store(true, Ordering::Relaxed);
        if let Ok(mut first) = self.failure.lock() {
            first.get_or_insert(error);
        }
    }
}

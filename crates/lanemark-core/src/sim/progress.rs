//! The progress of a simulation, for whoever waits for it and may end it.

use crate::units::Instant;

/// The progress of a test or a replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Requests submitted, or a database's transactions that have ended.
    pub requests: u64,
    /// The simulated time.
    pub now: Instant,
    /// Share of the test that is over, from 0 to 1, where its end is known: a test until it is steady has none.
    pub share: Option<f64>,
}

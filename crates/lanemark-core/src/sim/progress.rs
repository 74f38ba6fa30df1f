//! How far a simulation is, for whoever waits for it and may end it.

use crate::units::Instant;

/// How far a test or a replay is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Requests submitted, or a database's transactions that have ended.
    pub requests: u64,
    /// The simulated time.
    pub now: Instant,
    /// How much of the test is over, from 0 to 1, where its end is known: a test until it is steady has none.
    pub share: Option<f64>,
}

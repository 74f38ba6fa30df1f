//! The progress of a simulation, for a caller that waits for it and may end it.

use lanemark_schema::units::Instant;

/// The progress of a test or a replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Requests submitted, or completed transactions of a database.
    pub requests: u64,
    /// The simulated time.
    pub now: Instant,
    /// Share of the test that is over, from 0 to 1, if its end is known; the end of a test that runs until it is steady
    /// is not known.
    pub share: Option<f64>,
}

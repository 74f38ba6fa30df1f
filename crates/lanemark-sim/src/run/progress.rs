//! The progress of a simulation, for a caller that waits for the result and can end the simulation.

use lanemark_schema::units::Instant;

/// The progress of a test or a replay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Progress {
    /// Number of submitted requests, or of completed transactions of a database.
    pub requests: u64,
    /// The simulated time.
    pub now: Instant,
    /// Completed share of the test, from 0 to 1, if its end is known; the end of a test that runs until it is steady is
    /// not known.
    pub share: Option<f64>,
}

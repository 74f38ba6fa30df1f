//! The figures that a trace replay adds to a sample.

use serde::{Deserialize, Serialize};

use super::direction::DirectionResult;
use crate::units::Duration;

/// The replay of a trace: the counts that exist only for a replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayCounts {
    /// Requests that were submitted.
    pub requests: u64,
    /// Speed as a multiple of the recorded speed; absent if requests were submitted as fast as possible.
    pub speed: Option<f64>,
    /// Number of requests that the replay kept outstanding if it ran as fast as possible.
    pub queue_depth: Option<u32>,
    /// Time from the first to the last request at that speed; absent if the recorded times were ignored.
    #[serde(rename = "span_ns")]
    pub span: Option<Duration>,
    /// Requests that had arrived but were not complete, averaged over time.
    pub outstanding_mean: f64,
    /// Maximum number of requests that had been submitted but were not complete.
    pub outstanding_max: u64,
    /// Number of requests that arrived and had to wait for their submission.
    pub held_back: u64,
    /// Number of requests that were beyond the end of their drive and whose offsets were wrapped.
    pub wrapped: u64,
    /// Reads and writes of length zero, which were skipped.
    pub empty: u64,
    /// The flushes, if there were any.
    pub flushes: Option<DirectionResult>,
    /// The trims, if there were any.
    pub trims: Option<DirectionResult>,
}

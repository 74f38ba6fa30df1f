//! The requests of one direction: reads, writes, flushes or trims.

use serde::{Deserialize, Serialize};

use super::latency::LatencyHistogram;
use crate::units::{Bytes, Duration};

/// The requests of one direction in a sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectionResult {
    /// Data transferred.
    pub bytes: Bytes,
    /// Latency of each request, from submission to completion.
    pub latency: LatencyHistogram,
}

impl DirectionResult {
    /// Creates a result without requests.
    pub fn new() -> Self {
        Self { bytes: Bytes::ZERO, latency: LatencyHistogram::new() }
    }

    /// Counts one request.
    pub fn record(&mut self, length: Bytes, latency: Duration) {
        self.bytes += length;
        self.latency.record(latency);
    }
}

impl Default for DirectionResult {
    fn default() -> Self {
        Self::new()
    }
}

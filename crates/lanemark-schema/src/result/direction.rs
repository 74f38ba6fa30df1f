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

    /// Creates a result without requests, with room for all latencies.
    pub fn preallocated() -> Self {
        Self { bytes: Bytes::ZERO, latency: LatencyHistogram::preallocated() }
    }

    /// Returns the result for a share of the requests and of their data; `factor` is from 0 to 1.
    #[must_use]
    pub fn thinned(&self, factor: f64) -> Self {
        Self {
            bytes: Bytes((self.bytes.get() as f64 * factor).round() as u64),
            latency: self.latency.thinned(factor),
        }
    }

    /// Returns the requests since `earlier`, an earlier state of this result.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            bytes: Bytes(self.bytes.get().saturating_sub(earlier.bytes.get())),
            latency: self.latency.since(&earlier.latency),
        }
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

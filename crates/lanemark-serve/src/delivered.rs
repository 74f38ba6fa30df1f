//! Delivery of replies: their lateness, and their latencies by the wall clock.

use std::sync::{Mutex, PoisonError};

use lanemark_schema::result::{DirectionResult, LatencyHistogram};
use lanemark_schema::units::{Bytes, Instant};
use lanemark_schema::workload::{Access, Operation};

use crate::clock::Clock;

/// The counts of all deliveries, shared by the threads that deliver.
#[derive(Debug, Default)]
pub struct DeliveryCounts(Mutex<Counts>);

/// The lateness and latencies of deliveries.
#[derive(Clone, Debug, Default)]
pub struct Counts {
    /// Delay from the modelled instant of each completion to its reply, by the wall clock.
    pub lateness: LatencyHistogram,
    /// Reads, from the arrival of each request to its reply, by the wall clock.
    pub reads: DirectionResult,
    /// Writes, measured like reads.
    pub writes: DirectionResult,
}

/// A completion to deliver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DueCompletion {
    /// The request.
    pub access: Access,
    /// Instant at which the request arrived.
    pub came: Instant,
    /// Modelled instant of the completion.
    pub at: Instant,
}

impl DeliveryCounts {
    /// Counts a reply that is sent now.
    pub fn count(&self, due: &DueCompletion, clock: &dyn Clock) {
        let now = clock.now().max(due.at);
        let late = clock.real(now.since(due.at));
        let latency = clock.real(now.since(due.came.min(now)));
        let Access { operation, length, .. } = due.access;
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.lateness.record(late);
        match operation {
            Operation::Read => counts.reads.record(length, latency),
            Operation::Write => counts.writes.record(length, latency),
            Operation::Flush | Operation::Trim => {}
        }
    }

    /// Counts a request that was answered at once, in a server without latency.
    pub fn count_at_once(&self, operation: Operation, length: Bytes) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match operation {
            Operation::Read => counts.reads.bytes += length,
            Operation::Write => counts.writes.bytes += length,
            Operation::Flush | Operation::Trim => {}
        }
    }

    /// Returns the counts until now.
    pub fn counts(&self) -> Counts {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

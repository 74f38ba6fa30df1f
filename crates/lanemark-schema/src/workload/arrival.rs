//! A request of a recorded trace.

use super::Access;
use crate::units::Instant;

/// A request of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceArrival {
    /// Arrival time, counted from the first request of the trace; absent if the trace does not contain times.
    pub at: Option<Instant>,
    /// Number of the device in the trace, counted from 0.
    pub device: u32,
    /// Thread or processor that issued the request; 0 if the trace does not state it.
    pub thread: u32,
    /// Operation and range of the request.
    pub access: Access,
    /// Line of the request in the trace, counted from 1.
    pub line: u64,
}

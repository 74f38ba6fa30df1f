//! The window in which a thread counts its requests, and the thread's quota.

use lanemark_schema::workload::Test;

/// A thread's share of the volume, in bytes, and the requests that count toward it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ByteQuota {
    pub(crate) bytes: u64,
    pub(crate) counted: u64,
    pub(crate) outstanding: u64,
    pub(crate) requests: u64,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CountingWindow {
    pub(crate) opens_ns: u64,
    pub(crate) closes_ns: u64,
    /// Start time of the current round, or of a window without rounds.
    pub(crate) since_ns: u64,
    pub(crate) state: ThreadPhase,
}

/// The phase of a thread in its test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ThreadPhase {
    /// Requests are submitted and not counted.
    #[default]
    Ramp,
    /// Requests are submitted and counted.
    Open,
    /// The duration is over: no new requests are submitted, and outstanding requests are counted when they complete.
    Draining,
    /// Requests are no longer counted.
    Closed,
}

impl CountingWindow {
    /// Returns whether a request that completes now is counted.
    pub(crate) fn counts(&self) -> bool {
        matches!(self.state, ThreadPhase::Open | ThreadPhase::Draining)
    }

    /// Returns whether the duration is over.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, ThreadPhase::Draining | ThreadPhase::Closed)
    }
}

/// Returns the number of bytes for thread `thread` if the volume is split over all threads of `test` in whole requests.
pub fn quota(test: &Test, thread: u32) -> u64 {
    let Some(volume) = test.volume else { return u64::MAX };
    let block = test.block_least().get();
    let threads = u64::from(test.threads);
    let requests = volume.get().div_ceil(block);
    (requests / threads + u64::from(u64::from(thread) < requests % threads)) * block
}

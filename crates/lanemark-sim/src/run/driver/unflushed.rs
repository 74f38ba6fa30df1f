//! The time of flushes that write back data from a page cache.
//!
//! fio counts a buffered write as complete when its data is in the page cache, so the time of the next `fdatasync`
//! contains the write to the drive. The simulator sends the write to the drive at once, and measures the flush from the
//! submission of that write. Not modelled: the copy into the page cache, and several writes that are combined.

use lanemark_schema::units::Instant;
use lanemark_schema::workload::{Operation, SyntheticRequests};

use crate::simulator::Completion;

/// For each thread, the submission of the first write that its next flush writes back.
pub(super) struct UnflushedWrites(Vec<Option<Instant>>);

impl UnflushedWrites {
    /// Creates the state of `threads` threads, which is empty if flushes do not write back data.
    pub(super) fn new(requests: &SyntheticRequests, threads: u32) -> Self {
        Self(vec![None; if requests.mix.written_back { threads as usize } else { 0 }])
    }

    /// Returns the submission of the first write that a flush of `thread` writes back, from which the latency of the
    /// flush is measured; `None` for other requests.
    pub(super) fn beginning_of(&mut self, completion: &Completion, thread: u32) -> Option<Instant> {
        let first = self.0.get_mut(thread as usize)?;
        match completion.access.operation {
            Operation::Flush => first.take(),
            Operation::Write => {
                first.get_or_insert(completion.submitted);
                None
            }
            Operation::Read | Operation::Trim => None,
        }
    }
}

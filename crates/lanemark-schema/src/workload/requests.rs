//! The requests of a test: their offsets, directions, sizes and arrival times.

use super::load::Load;
use super::mix::RequestMix;
use super::pattern::Pattern;
use crate::units::{Bytes, Duration, Ratio};

/// The requests of a test that is neither a trace nor a database load.
///
/// ```
/// use lanemark_schema::units::Bytes;
/// use lanemark_schema::workload::{Pattern, SyntheticRequests, Test};
///
/// let block = Bytes::kibi(128);
/// let default = SyntheticRequests::aligned_to(block);
/// let requests = SyntheticRequests { pattern: Pattern::Sequential, queue_depth: 4, ..default };
/// let test = Test { volume: Some(Bytes::mebi(64)), asks: requests.into(), ..Test::of_blocks(block) };
/// assert_eq!((test.queue_depth(), test.check()), (Some(4), Ok(())));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct SyntheticRequests {
    /// Order of the requests' addresses.
    pub pattern: Pattern,
    /// The share of requests that are reads.
    pub read_share: Ratio,
    /// Number of requests outstanding per thread.
    pub queue_depth: u32,
    /// Within the span, every offset is a multiple of this size.
    pub alignment: Bytes,
    /// Time for which a thread waits after each burst, once all its requests are complete.
    pub think: Duration,
    /// Number of requests, not counting flushes, that a thread submits between two waits.
    pub burst: u32,
    /// Requests in addition to reads and writes of one size.
    pub mix: RequestMix,
    /// Arrival of the requests.
    pub load: Load,
}

impl SyntheticRequests {
    /// Returns random reads in the span, at queue depth 1, at multiples of `alignment`.
    pub fn aligned_to(alignment: Bytes) -> Self {
        Self {
            pattern: Pattern::Uniform,
            read_share: Ratio::ONE,
            queue_depth: 1,
            alignment,
            think: Duration::ZERO,
            burst: 1,
            mix: RequestMix::PLAIN,
            load: Load::Closed,
        }
    }

    /// Returns whether successive requests of a thread are adjacent on the target.
    pub fn is_in_order(&self) -> bool {
        matches!(self.pattern, Pattern::Sequential | Pattern::Backward)
    }

    /// Returns the distance between the possible addresses of requests of size `block`: sequential blocks begin at the
    /// next multiple of the alignment, and other blocks at any multiple.
    pub(crate) fn step(&self, block: Bytes) -> u64 {
        if self.is_in_order() {
            block.get().next_multiple_of(self.alignment.get())
        } else {
            self.alignment.get()
        }
    }
}

//! The engines that submit requests to the kernel: the parts that they share, and the selection of an engine.
//!
//! An engine has one slot with a buffer for each request that may be outstanding. A request is pushed to a free slot,
//! and is submitted in a batch or together with a wait; its completion frees the slot. The loop of `worker` is compiled
//! once for each engine.

mod interface;
mod null;
mod ring;
mod synchronous;

pub use interface::{Engine, EngineRequest};
pub use null::NullEngine;
pub use ring::{Ring, RingOptions, open_uring};
pub use synchronous::SynchronousEngine;

lanemark_schema::named_enum! {
    /// The engine that submits requests to the kernel.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum EngineKind {
        /// io_uring with registered buffers and file.
        #[default]
        IoUring = "io_uring",
        /// Calls of `preadv2` and `pwritev2`, one request at a time.
        Synchronous = "sync",
        /// Requests do not reach the target, which shows the cost of the program itself.
        Null = "null",
    }
}

/// Returns the maximum number of requests that one call submits: a quarter of the queue depth, from 4 to 32.
///
/// If all requests are submitted at once, a fast drive runs out of work during the call, so drive and program take
/// turns; if they are submitted one by one, each request costs a call. At queue depth 32 on a virtio disk, 4 KiB random
/// reads reached 74,000 to 84,000 a second in batches of up to 8, and 64,000 to 74,000 in batches of 32. A read took
/// 4.4 µs of processor time without batches, and 3.3 to 4.0 µs in batches of 4. At queue depth 128 on a loop device, a
/// read took 1.17 µs of processor time in batches of 8, 1.06 µs in batches of 16, and 1.01 µs in batches of 32 and
/// more.
pub(crate) fn batch_size(queue_depth: u32) -> usize {
    (queue_depth / 4).clamp(4, 32) as usize
}

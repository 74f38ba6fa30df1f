//! The engines by which requests reach the kernel: their common parts, and the choice between them.
//!
//! An engine has as many slots as requests may be outstanding, each with a buffer. A request is pushed to a free
//! slot, submitted with others or together with a wait, and its slot comes back with the answer. The loop of
//! `worker` is compiled once for each engine.

mod null;
mod ring;
mod synchronous;

use std::io;

use lanemark_core::workload::Operation;

pub(crate) use null::Null;
pub(crate) use ring::{Ring, RingOptions, open_uring};
pub(crate) use synchronous::Synchronous;

/// The engine by which requests reach the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EngineKind {
    /// io_uring with registered buffers and file.
    #[default]
    IoUring,
    /// `preadv2` and `pwritev2`, one request at a time.
    Synchronous,
    /// Requests do not reach the target: shows the cost of the program itself.
    Null,
}

impl EngineKind {
    /// All engines by their names.
    pub const ALL: [(&'static str, Self); 3] =
        [("io_uring", Self::IoUring), ("sync", Self::Synchronous), ("null", Self::Null)];

    /// Returns the engine's name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::IoUring => "io_uring",
            Self::Synchronous => "sync",
            Self::Null => "null",
        }
    }
}

impl std::str::FromStr for EngineKind {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.iter().find(|(name, _)| *name == text);
        found.map(|(_, kind)| *kind).ok_or_else(|| "one of io_uring, sync, null".to_owned())
    }
}

/// A request or what is left of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub(crate) operation: Operation,
    /// Offset on the target.
    pub(crate) offset: u64,
    /// Offset in the slot's buffer.
    pub(crate) skip: u32,
    /// Length in bytes.
    pub(crate) length: u32,
}

/// The most requests that one call submits: a quarter of the queue depth, from 4 to 32.
///
/// Submitting all at once lets a fast drive run dry meanwhile, and drive and program take turns; one by
/// one costs a call each. 4 KiB random reads at queue depth 32 on a virtio disk: 74,000 to 84,000 a
/// second in batches of up to 8, 64,000 to 74,000 in batches of 32; 4.4 us of processor time each one by
/// one, 3.3 to 4.0 in batches of 4. At queue depth 128 on a loop device 1.17 us of processor time each in
/// batches of 8, 1.06 of 16, 1.01 of 32 and more.
pub(crate) fn batch(queue_depth: u32) -> usize {
    (queue_depth / 4).clamp(4, 32) as usize
}

/// The interface of an engine to a thread's loop.
pub(crate) trait Engine {
    /// Returns the reason why something is not registered that should be.
    fn refusal(&self) -> Option<&str>;

    /// Requests pushed whose completion was not taken yet.
    fn outstanding(&self) -> u32;

    /// The buffer of a slot that is not in flight.
    fn buffer_mut(&mut self, slot: u32) -> &mut [u8];

    /// Queues a transfer between the target and the buffer of `slot`, which must not be in flight.
    fn push(&mut self, slot: u32, transfer: Transfer);

    /// Submits what is queued and does not wait. What the kernel does not take stays queued.
    fn submit(&mut self) -> io::Result<()>;

    /// Submits what is queued and waits for one completion, at most `timeout_ns` where that is given. Returning in
    /// time without a completion is not an error. Without a timeout something must be outstanding.
    ///
    /// A timeout costs the kernel a timer, 3% of the processor time of a small request on a fast device.
    fn submit_and_wait(&mut self, timeout_ns: Option<u64>) -> io::Result<()>;

    /// The next of the completions that were there when the last wait ended: the slot, and bytes moved or a
    /// negative error number.
    fn next_completion(&mut self) -> Option<(u32, i32)>;
}

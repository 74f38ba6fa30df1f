//! The interface between an engine and a thread's loop, and the transfers that pass through it.

use std::io;

use lanemark_schema::workload::Operation;

/// A request, or the rest of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EngineRequest {
    /// Read, write, trim or flush.
    pub operation: Operation,
    pub offset: u64,
    /// Offset in the slot's buffer.
    pub skip: u32,
    /// Length in bytes.
    pub length: u32,
}

/// The interface between an engine and a thread's loop.
pub trait Engine {
    /// Returns the reason why a requested registration is missing.
    fn refusal(&self) -> Option<&str>;

    /// Returns the number of pushed requests whose completion has not yet been taken.
    fn outstanding(&self) -> u32;

    /// Returns the buffer of a slot that is not in flight.
    fn buffer_mut(&mut self, slot: u32) -> &mut [u8];

    /// Queues a transfer between the target and the buffer of `slot`, which must not be in flight.
    fn push(&mut self, slot: u32, transfer: EngineRequest);

    /// Submits the queued requests without waiting. Requests that the kernel does not accept stay queued.
    fn submit(&mut self) -> io::Result<()>;

    /// Submits the queued requests and waits for one completion, up to `timeout_ns` if given. The call may return
    /// without a completion before the timeout, which is not an error. Without a timeout, a request must be
    /// outstanding.
    ///
    /// For a timeout, the kernel sets a timer, which takes 3% of the processor time of a small request on a fast
    /// device.
    fn submit_and_wait(&mut self, timeout_ns: Option<u64>) -> io::Result<()>;

    /// Returns the next completion that was available when the last wait ended: the slot, and the number of bytes moved
    /// or a negative error number.
    fn next_completion(&mut self) -> Option<(u32, i32)>;
}

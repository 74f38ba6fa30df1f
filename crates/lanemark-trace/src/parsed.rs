//! A line of a trace as its format's parser understood it, before its device has a number and its time an origin.

use lanemark_core::workload::Operation;

/// A line that has been read.
pub(crate) enum Parsed<'l> {
    /// A line with a request.
    Request(Request<'l>),
    /// A device that is about to be used.
    Device(&'l [u8]),
    /// Line without a request.
    Nothing,
}

/// A request as it stands in its line.
pub(crate) struct Request<'l> {
    /// Picoseconds since anything.
    pub(crate) time: Option<u128>,
    pub(crate) device: &'l [u8],
    pub(crate) thread: u32,
    pub(crate) operation: Operation,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// A flush comes before it.
    pub(crate) flush_first: bool,
}

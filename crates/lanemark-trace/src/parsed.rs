//! The result of parsing a line of a trace, before its device has a number and its time an origin.

use lanemark_schema::workload::Operation;

/// A parsed line.
pub(crate) enum ParsedLine<'l> {
    /// A line with a request.
    Request(Request<'l>),
    /// A device that is about to be used.
    Device(&'l [u8]),
    /// A line without a request.
    Nothing,
}

/// A request as recorded in its line.
pub(crate) struct Request<'l> {
    /// Picoseconds since any origin.
    pub(crate) time: Option<u128>,
    pub(crate) device: &'l [u8],
    pub(crate) thread: u32,
    pub(crate) operation: Operation,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// Whether a flush precedes it.
    pub(crate) flush_first: bool,
}

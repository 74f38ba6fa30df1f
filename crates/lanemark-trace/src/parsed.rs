//! The result of parsing a line of a trace, before the device is numbered and the time is converted.

use lanemark_schema::workload::Operation;

pub(crate) enum ParsedLine<'l> {
    /// The line contains a request.
    Request(RecordedRequest<'l>),
    /// The line names a device that will be used.
    Device(&'l [u8]),
    /// The line does not contain a request.
    Nothing,
}

pub(crate) struct RecordedRequest<'l> {
    /// Time in picoseconds since any origin.
    pub(crate) time: Option<u128>,
    pub(crate) device: &'l [u8],
    pub(crate) thread: u32,
    pub(crate) operation: Operation,
    pub(crate) offset: u64,
    pub(crate) length: u64,
    /// Whether a flush precedes the request.
    pub(crate) flush_first: bool,
}

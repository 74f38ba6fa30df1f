//! The writer of a database's log.

use std::collections::VecDeque;

use lanemark_schema::units::Bytes;

/// A log write, with the users whose transactions it commits.
#[derive(Default)]
pub(super) struct LogWrite {
    pub(super) users: Vec<u32>,
    pub(super) ended: bool,
}

#[derive(Default)]
pub(super) struct LogWriter {
    /// Users that wait for the log and are not part of a write yet.
    pub(super) waiting: Vec<u32>,
    /// Writes in flight, in order.
    pub(super) writes: VecDeque<LogWrite>,
    /// Number of the first write in flight.
    pub(super) first: u64,
    /// Empty lists of users from completed writes, for reuse.
    pub(super) spare: Vec<Vec<u32>>,
    /// Offset of the next log write in the log's area.
    pub(super) place: Bytes,
}

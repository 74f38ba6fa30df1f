//! Reads recorded block I/O line by line.
//!
//! | file | contents |
//! |---|---|
//! | [`Reader`] | any trace as a stream of [`TraceArrival`](lanemark_schema::workload::TraceArrival)s |
//! | [`Format`] | the formats, and their detection from the first line |
//! | `msr`, `blkparse`, `ftrace`, `iolog`, `mqsim`, `disksim`, `columns` | the parser of each format |
//! | `listed` | the columns of formats without names in the first line |
//! | `parsed` | the result of parsing a line |
//! | [`TraceInput`] | gzip or Zstandard input, as text |
//! | `lines`, `field`, `clock`, `devices` | code that the parsers share |
//! | [`IologWriter`] | the writer of fio's iolog |
//! | [`TraceError`] | an error in a trace, with its position |
//!
//! A reader stores only one line at a time, so a trace may be larger than the memory. Times are relative to the first
//! request that is read. A request with an earlier time than the previous request is replayed together with it, and
//! [`TraceNotes`] count these requests.
//!
//! Files that were compressed with programs other than gzip or Zstandard must first be unpacked to a pipe or a file.
//! The binary files of blktrace and blkparse, and recorded latencies of requests, are not read.

#![warn(missing_docs)]

mod blkparse;
mod clock;
mod columns;
mod devices;
mod disksim;
mod error;
mod field;
mod format;
mod ftrace;
mod iolog;
mod lines;
mod listed;
mod mqsim;
mod msr;
mod packed;
mod parsed;
mod reader;
mod rwbs;
mod writer;

pub use blkparse::BlkparseAction;
pub use columns::ColumnList;
pub use error::TraceError;
pub use format::Format;
pub use packed::TraceInput;
pub use reader::{Options, Reader, TraceNotes};
pub use writer::{IologVersion, IologWriter};

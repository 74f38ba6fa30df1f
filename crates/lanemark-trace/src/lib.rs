//! Recorded block I/O, read line by line.
//!
//! | file | contents |
//! |---|---|
//! | [`Reader`] | any trace as a stream of [`Arrival`](lanemark_schema::workload::Arrival)s |
//! | [`Format`] | the formats, and their detection from the first line |
//! | `msr`, `blkparse`, `iolog`, `mqsim`, `disksim`, `columns` | the parser of each format |
//! | `parsed` | the result of parsing a line |
//! | [`TraceInput`] | gzip or Zstandard input, as text |
//! | `lines`, `field`, `clock`, `devices` | the shared parts of the parsers |
//! | [`IologWriter`] | the writer of fio's iolog |
//! | [`TraceError`] | an error in a trace, with its position |
//!
//! A reader stores only one line at a time, so a trace may be larger than memory. Times count from the first
//! request that is read; a request with an earlier time than its predecessor is replayed together with it, and
//! [`TraceNotes`] count these requests.
//!
//! Not read: files compressed by other programs than gzip or Zstandard (unpack them to a pipe or a file first),
//! blktrace's and blkparse's binary files, and the recorded latencies of requests.

mod blkparse;
mod clock;
mod columns;
mod devices;
mod disksim;
mod error;
mod field;
mod format;
mod iolog;
mod lines;
mod mqsim;
mod msr;
mod packed;
mod parsed;
mod reader;
mod writer;

pub use blkparse::Action;
pub use error::TraceError;
pub use format::Format;
pub use packed::TraceInput;
pub use reader::{Options, Reader, TraceNotes};
pub use writer::{IologVersion, IologWriter};

//! Recorded block I/O, read line by line.
//!
//! | file | what it is |
//! |---|---|
//! | [`Reader`] | any trace as a stream of [`Arrival`](lanemark_core::workload::Arrival)s |
//! | [`Format`] | the formats, and how one is told from its first line |
//! | `msr`, `blkparse`, `iolog`, `mqsim`, `columns` | the law of each format, one parser each |
//! | `parsed` | what they make of a line |
//! | [`Unpacked`] | what gzip or Zstandard has packed, as text |
//! | `lines`, `field`, `clock`, `devices` | what the parsers share |
//! | [`IologWriter`] | fio's iolog, written |
//! | [`TraceError`] | what is wrong in a trace, and where |
//!
//! A reader holds one line and never the trace, so a trace may be larger than memory. Times are told
//! since the first request that is read; one that lies before its predecessor is taken to come with it,
//! and [`Notes`] count how often that was so.
//!
//! Not read: files packed otherwise than by gzip or Zstandard (unpack them to a pipe or a file first), blktrace's and blkparse's binary
//! files, and what a format says about how long a request took when it was recorded.

mod blkparse;
mod clock;
mod columns;
mod devices;
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
pub use packed::Unpacked;
pub use reader::{Notes, Options, Reader};
pub use writer::{IologVersion, IologWriter};

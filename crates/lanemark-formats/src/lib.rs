//! The formats of other programs, as text in and text out: this crate opens no file and reads no environment.
//!
//! | module | reads | writes |
//! |---|---|---|
//! | [`fio`] | job files, to a workload and settings | – |
//! | [`fio_json`] | `--output-format=json` and `json+`, to a result | the same, of a result |
//! | [`iometer`] | `.icf`, to a workload | the results file, of a result |
//! | [`crystaldiskmark`] | – | the text that the program copies to the clipboard |
//!
//! The meaning of another program's file is preserved, or the difference is reported: an approximated value gives a
//! [`Note`] with its reason, and an unsupported one gives a [`FormatError`] that names the line. No value is omitted
//! silently.
//!
//! fio's iolog is a trace and is in `lanemark-trace`.

pub mod crystaldiskmark;
mod error;
pub mod fio;
pub mod fio_json;
pub mod iometer;

pub use error::{FormatError, FormatErrors, Kept, Note};

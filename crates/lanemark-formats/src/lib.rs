//! The formats of other programs, as text in and text out: this crate opens no file and reads no environment.
//!
//! | module | what it reads | what it writes |
//! |---|---|---|
//! | [`fio`] | job files, to a workload and settings | – |
//! | [`fio_json`] | `--output-format=json` and `json+`, to a result | the same, of a result |
//! | [`iometer`] | `.icf`, to a workload | the results file, of a result |
//! | [`crystaldiskmark`] | – | the text that the program copies to the clipboard |
//!
//! The meaning of another program's file is kept or told: a value that is only nearly the same is a [`Note`] with its reason, and
//! what cannot be done is a [`FormatError`] that names the line. Nothing is left out in silence.
//!
//! fio's iolog is a trace and is in `lanemark-trace`.

pub mod crystaldiskmark;
mod error;
pub mod fio;
pub mod fio_json;
pub mod iometer;

pub use error::{FormatError, FormatErrors, Kept, Note};

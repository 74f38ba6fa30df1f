//! The formats of other programs, as text in and text out: this crate opens no files and does not read the environment.
//!
//! | module | reads | writes |
//! |---|---|---|
//! | [`fio`] | job files, to a workload and settings | – |
//! | [`fio_json`] | `--output-format=json` and `json+`, to a result | the same, of a result |
//! | `fio_text` | the normal and the terse output, to a result | – |
//! | [`iometer`] | `.icf`, to a workload; the results file, to a result | the results file, of a result |
//! | [`crystaldiskmark`] | its texts and KDiskMark's, to a result | the text that the program copies to the clipboard |
//! | `diskspd` | text and XML, to a result | – |
//! | [`drives`] | drives as `nvme list`, `smartctl`, `lsblk` and `lstopo` list them | – |
//! | [`foreign`] | results in any of these formats, which `recognised` distinguishes | – |
//! | `partly`, `stated`, `words`, `xml` | parts of the readers: tests of incomplete descriptions, numbers with units, XML | – |
//!
//! The meaning of another program's file is preserved, or the difference is reported: an approximated value gives a
//! [`Note`] with its reason, and an unsupported one gives a [`FormatError`] that names the line. No value is omitted
//! silently.
//!
//! fio's iolog is a trace and is in `lanemark-trace`.

pub mod crystaldiskmark;
mod diskspd;
pub mod drives;
mod error;
pub mod fio;
pub mod fio_json;
mod fio_text;
pub mod foreign;
pub mod iometer;
mod partly;
mod recognised;
mod stated;
mod words;
pub mod xml;

pub use error::{FormatError, FormatErrors, Note, SupportLevel};
pub use recognised::{KnownFormat, RecognisedFormat, ResultFormat, recognise};

//! Reads and writes the formats of other programs as text. This crate does not open files or read the environment.
//!
//! | module | reads | writes |
//! |---|---|---|
//! | [`fio`] | job files, into a workload and settings | – |
//! | [`fio_json`] | `--output-format=json` and `json+`, into a result | the same format, from a result |
//! | `fio_text` | the normal and the terse output, into a result | – |
//! | [`command_lines`] | command lines of fio, dd, hdparm and diskspd, as job files | – |
//! | [`iometer`] | `.icf`, into a workload; the results file, into a result | |
//! | [`iostat`] | extended statistics, as job files | – |
//! | [`crystaldiskmark`] | its texts and KDiskMark's, into a result | the text that it copies to the clipboard |
//! | `diskspd` | text and XML, into a result | – |
//! | `tables` | kbench, pg_test_fsync, elbencho, spdk_nvme_perf, and fio's logs, into results | – |
//! | [`continuous`] | – | the formats of Bencher and github-action-benchmark, from a result |
//! | [`drives`] | lists of drives from `nvme list`, `smartctl`, `lsblk` and `lstopo` | – |
//! | [`foreign`] | results in any of these formats, which `recognised` distinguishes | – |
//! | `known` | names of other texts, with the text to use instead | – |
//! | `stated`, `partly`, `imported` | shared by the readers: incomplete tests, and the result with these tests | – |
//! | `words`, `xml` | shared by the readers: numbers with units, XML | – |
//!
//! The meaning of another program's file is preserved, or the difference is reported: an approximated value results in
//! an [`OptionNote`] with the reason, and an unsupported value results in a [`FormatError`] that names the line. No
//! value is omitted silently.
//!
//! fio's iolog is a trace, and `lanemark-trace` reads it.

#![warn(missing_docs)]

pub mod command_lines;
pub mod continuous;
pub mod crystaldiskmark;
mod diskspd;
pub mod drives;
mod error;
pub mod fio;
pub mod fio_json;
mod fio_log;
mod fio_text;
pub mod foreign;
mod imported;
pub mod iometer;
pub mod iostat;
mod known;
mod partly;
mod phases;
mod recognised;
mod stated;
mod tables;
mod words;
pub mod xml;

pub use error::{FormatError, FormatErrors, OptionNote, SupportLevel};
pub use imported::{ImportedResult, SuppliedSettings};
pub use known::KnownFormat;
pub use recognised::{RecognisedFormat, ResultFormat, recognise};
pub use tables::TableFormat;

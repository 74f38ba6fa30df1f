//! Iometer's files. Settings (`.icf`) are read as a workload, and results files are read as results.
//!
//! Both kinds of files have the format of Iometer 1.1 (its User's Guide, "Test Configuration File" and "Result File").

mod assembly;
mod csv;
mod settings;

pub(crate) use csv::{is_ours as is_results, read as read_results};
pub use settings::{IometerSettings, read};

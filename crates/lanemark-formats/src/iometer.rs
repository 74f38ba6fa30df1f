//! Iometer's files: reads settings (`.icf`) as a workload, reads a results file as a result, and writes a result as a
//! results file.
//!
//! Both have the format of Iometer 1.1 (its User's Guide, "Test Configuration File" and "Result File").

mod assembly;
mod csv;
mod results;
mod settings;

pub(crate) use csv::{is_ours as is_results, read as read_results};
pub use results::write;
pub use settings::{IometerSettings, read};

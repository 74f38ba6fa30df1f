//! Iometer's files: settings (`.icf`) to a workload, its results file to a result, and a result as its results file.
//!
//! The format of both is the format of Iometer 1.1 (its User's Guide, "Test Configuration File" and "Result File").

mod assembly;
mod csv;
mod results;
mod settings;

pub(crate) use csv::{is_ours as is_results, read as read_results};
pub use results::write;
pub use settings::{IometerSettings, read};

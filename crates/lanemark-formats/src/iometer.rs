//! Iometer's files: settings (`.icf`) to a workload, and a result as its results file.
//!
//! The format of both is the format of Iometer 1.1 (its User's Guide, "Test Configuration File" and "Result File").

mod assembly;
mod results;
mod settings;

pub use results::write;
pub use settings::{IometerSettings, read};

//! The Python package `lanemark`: the laboratory as classes and functions of Python.
//!
//! | file | what it binds |
//! |---|---|
//! | `library`, `system`, `workload` | what can be named, assembled and asked |
//! | `run`, `ask`, `study` | runs and other questions, and what they answer |
//! | `simulator` | the simulator's open interface, for a load of one's own |
//! | `sweep` | chunks of a sweep, for whoever spreads them |
//! | `table` | results as streams of Arrow |
//! | `watch` | work without the interpreter's lock, which a signal ends |
//! | `failure` | errors as exceptions, in the words of the command |
//!
//! Nothing is computed here. The package's Python part (`python/lanemark`) has the names, types and docstrings that a
//! person sees; this module is what they stand on, and promises nothing by itself.

#![expect(clippy::needless_pass_by_value, reason = "arguments come from Python by value")]
#![expect(clippy::too_many_arguments, reason = "the package's own functions name and explain them")]

mod ask;
mod failure;
mod library;
mod run;
mod simulator;
mod study;
mod sweep;
mod system;
mod table;
mod watch;
mod workload;

/// The extension module `lanemark._lanemark`.
#[pyo3::pymodule(gil_used = false)]
mod _lanemark {
    use std::ffi::OsString;

    use pyo3::prelude::*;

    #[pymodule_export]
    use super::ask::{Answer, Fit, bench, fit, inspect, what_if};
    #[pymodule_export]
    use super::library::Library;
    #[pymodule_export]
    use super::run::{Run, simulate};
    #[pymodule_export]
    use super::simulator::{Completion, Simulator};
    #[pymodule_export]
    use super::study::{Study, StudyRun, load};
    #[pymodule_export]
    use super::sweep::{Sweep, load_sweep, merge};
    #[pymodule_export]
    use super::system::System;
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::watch::Cancel;
    #[pymodule_export]
    use super::workload::Workload;

    /// Runs the command `lanemark` with `words`, its name first, and returns its exit code.
    #[pyfunction]
    fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
        py.detach(|| lanemark_cli::main_of(words))
    }

    /// The version of Lanemark.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}

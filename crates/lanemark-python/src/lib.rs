//! The Python package `lanemark`: the laboratory as Python classes and functions.
//!
//! | file | bindings |
//! |---|---|
//! | `library`, `system`, `workload` | the names, systems and tests of a run |
//! | `run`, `ask`, `study` | runs and other queries, and their answers |
//! | `simulator` | the simulator's open interface, for a custom load |
//! | `sweep` | chunks of a sweep, for callers that distribute them |
//! | `trial` | trials of a program on served systems |
//! | `table` | results as streams of Arrow |
//! | `watch` | work that runs without the interpreter's lock and that a signal ends |
//! | `failure` | errors as exceptions, with the command's message |
//!
//! The module does not compute anything itself. The names, types and docstrings that users see are in the package's
//! Python code (`python/lanemark`). That code is built on this module, whose interface is not stable.

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
mod trial;
mod watch;
mod workload;

/// The extension module `lanemark._lanemark`.
#[pyo3::pymodule(gil_used = false)]
mod _lanemark {
    use std::ffi::OsString;

    use pyo3::prelude::*;

    #[pymodule_export]
    use super::ask::{Answer, Fit, bench, compare, fit, inspect};
    #[pymodule_export]
    use super::library::Library;
    #[pymodule_export]
    use super::run::{Run, simulate};
    #[pymodule_export]
    use super::simulator::{Completion, Simulator};
    #[pymodule_export]
    use super::study::{Study, StudyRun, load, results_folder};
    #[pymodule_export]
    use super::sweep::{Sweep, SweepJournal, load_sweep};
    #[pymodule_export]
    use super::system::System;
    #[pymodule_export]
    use super::table::Table;
    #[pymodule_export]
    use super::trial::trial;
    #[pymodule_export]
    use super::watch::Cancel;
    #[pymodule_export]
    use super::workload::Workload;

    /// Runs the command `lanemark` with `words`, which begin with its name, and returns its exit code.
    #[pyfunction]
    fn command(py: Python<'_>, words: Vec<OsString>) -> u8 {
        py.detach(|| lanemark_cli::main_of(words))
    }

    /// Returns the version of Lanemark.
    #[pyfunction]
    fn version() -> &'static str {
        env!("CARGO_PKG_VERSION")
    }
}

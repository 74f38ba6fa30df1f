//! Errors as exceptions: those of `lanemark.errors`, by who can mend them, in the words of the command.

use lanemark_core::sim::SimError;
use lanemark_lab::{Cause, LabError};
use pyo3::prelude::*;
use pyo3::types::PyType;

/// An error on its way to Python.
pub(crate) struct Failure(LabError);

impl<E: Into<LabError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl From<Failure> for PyErr {
    fn from(Failure(error): Failure) -> Self {
        let class = match error.cause {
            Cause::Input => "InputError",
            Cause::Refused => "RefusedError",
            Cause::Run => "RunError",
        };
        Python::attach(|py| {
            let class = || -> PyResult<Bound<'_, PyType>> {
                Ok(py.import("lanemark.errors")?.getattr(class)?.cast_into()?)
            };
            class().map_or_else(
                |told| told,
                |class| Self::from_type(class, (error.message, error.hint)),
            )
        })
    }
}

/// Wrong input without a hint.
pub(crate) fn input(message: impl Into<String>) -> Failure {
    LabError::input(message).into()
}

/// A request or test that the simulator refused.
pub(crate) fn refused(error: SimError) -> Failure {
    input(error.to_string())
}

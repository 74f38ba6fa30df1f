//! Errors as exceptions: each error becomes one of the classes in `lanemark.errors`, depending on who can correct it,
//! with the command's message.

use lanemark_lab::{ErrorCause, LabError};
use lanemark_sim::SimError;
use pyo3::prelude::*;
use pyo3::types::PyType;

/// An error to raise in Python.
pub(crate) struct Failure(LabError);

impl<E: Into<LabError>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl From<Failure> for PyErr {
    fn from(Failure(error): Failure) -> Self {
        let class = match error.cause {
            ErrorCause::Input => "InputError",
            ErrorCause::Refused => "RefusedError",
            ErrorCause::Run => "RunError",
        };
        Python::attach(|py| {
            let class = || -> PyResult<Bound<'_, PyType>> {
                Ok(py.import("lanemark.errors")?.getattr(class)?.cast_into()?)
            };
            class().map_or_else(
                |text| text,
                |class| Self::from_type(class, (error.message, error.hint)),
            )
        })
    }
}

/// Returns an input error without a hint.
pub(crate) fn input(message: impl Into<String>) -> Failure {
    LabError::input(message).into()
}

/// Returns the error for a request or test that the simulator rejected.
pub(crate) fn refused(error: SimError) -> Failure {
    input(error.to_string())
}

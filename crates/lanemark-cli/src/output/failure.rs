//! The end of a command: success, an interruption, or an error with a hint and an exit code.

use std::fmt;

use lanemark_formats::{FormatError, FormatErrors};
use lanemark_inspect::InspectError;
use lanemark_lab::{ErrorCause, LabError};
use lanemark_measure::MeasureError;
use lanemark_oltp::OltpError;
use lanemark_predict::PredictError;
use lanemark_serve::data::DataError;
use lanemark_study::StudyError;
use lanemark_trial::error::{of_data, of_database};

/// The outcome of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CommandOutcome {
    Done,
    /// A check found damage.
    Damaged,
    /// A check could not find out whether data is damaged.
    Unknown,
    Interrupted,
}

#[derive(Debug)]
pub(crate) struct Failure(LabError);

impl Failure {
    /// Creates a failure from a cause, a message and an optional hint.
    pub(crate) fn new(cause: ErrorCause, message: String, hint: Option<String>) -> Self {
        Self(LabError { cause, message, hint })
    }

    /// Returns the failure for invalid input, without a hint.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self(LabError::input(message))
    }

    /// Returns the failure for a target that must not be changed, without a hint.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self(LabError::refused(message))
    }

    /// Returns the failure of a run, without a hint.
    pub(crate) fn run(message: impl Into<String>) -> Self {
        Self(LabError::run(message))
    }

    /// Returns the failure with `text` as its hint.
    #[must_use]
    pub(crate) fn hint(self, text: impl Into<String>) -> Self {
        Self(self.0.hint(text))
    }

    /// Returns the failure with `text` as its hint, unless it has a hint already.
    #[must_use]
    pub(crate) fn or_hint(self, text: &str) -> Self {
        match self.0.hint {
            None => self.hint(text),
            Some(_) => self,
        }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self.0.cause {
            ErrorCause::Run => 1,
            ErrorCause::Input => 2,
            ErrorCause::Refused => 3,
        }
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        Self(error)
    }
}

impl From<OltpError> for Failure {
    fn from(error: OltpError) -> Self {
        of_database(error).into()
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        of_data(error).into()
    }
}

/// Converts errors to failures, with the laboratory's messages.
macro_rules! fails_as_in_the_laboratory {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self(error.into())
            }
        }
    )*};
}
fails_as_in_the_laboratory!(
    StudyError,
    FormatError,
    FormatErrors,
    InspectError,
    PredictError,
    MeasureError
);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LabError { message, hint, .. } = &self.0;
        writeln!(f, "error: {message}")?;
        hint.as_ref().map_or(Ok(()), |hint| writeln!(f, "hint: {hint}"))
    }
}

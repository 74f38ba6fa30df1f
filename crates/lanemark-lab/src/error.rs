//! The errors of the laboratory: one type for all of it, with the words that a person is told.

use lanemark_study::StudyError;

/// The cause of an error, by who can mend it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// An input that is wrong.
    Input,
    /// An obstacle that must not be touched.
    Refused,
    /// Anything else: the run itself, a file that cannot be written.
    Run,
}

/// The error of the laboratory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LabError {
    /// The cause.
    pub cause: Cause,
    /// The error and its place, in words.
    pub message: String,
    /// Advice on how to go on.
    pub hint: Option<String>,
}

impl LabError {
    /// An error about something that was given, without a hint.
    pub fn input(message: impl Into<String>) -> Self {
        Self { cause: Cause::Input, message: message.into(), hint: None }
    }

    /// An error about something that must not be touched, without a hint.
    pub fn refused(message: impl Into<String>) -> Self {
        Self { cause: Cause::Refused, message: message.into(), hint: None }
    }

    /// An error of a run, without a hint.
    pub fn run(message: impl Into<String>) -> Self {
        Self { cause: Cause::Run, message: message.into(), hint: None }
    }

    /// Returns the error with `text` as its hint.
    #[must_use]
    pub fn hint(self, text: impl Into<String>) -> Self {
        Self { hint: Some(text.into()), ..self }
    }
}

impl From<StudyError> for LabError {
    fn from(error: StudyError) -> Self {
        Self { cause: Cause::Input, message: error.to_string(), hint: error.hint }
    }
}

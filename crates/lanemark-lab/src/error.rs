//! The laboratory's error type, which contains the message for the user.

use lanemark_formats::{FormatError, FormatErrors};
use lanemark_inspect::InspectError;
#[cfg(feature = "machine")]
use lanemark_measure::MeasureError;
use lanemark_study::StudyError;

/// The cause of an error, which indicates who can fix it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorCause {
    /// An invalid input.
    Input,
    /// A file or device that must not be touched.
    Refused,
    /// Any other failure: the run itself, or a file that cannot be written.
    Run,
}

/// The error of the laboratory.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LabError {
    /// The cause.
    pub cause: ErrorCause,
    /// The error and its location, as text.
    pub message: String,
    /// Advice on how to continue.
    pub hint: Option<String>,
}

impl LabError {
    /// Creates an error about an input, without a hint.
    pub fn input(message: impl Into<String>) -> Self {
        Self { cause: ErrorCause::Input, message: message.into(), hint: None }
    }

    /// Creates an error about a file or device that must not be touched, without a hint.
    pub fn refused(message: impl Into<String>) -> Self {
        Self { cause: ErrorCause::Refused, message: message.into(), hint: None }
    }

    /// Creates an error of a run, without a hint.
    pub fn run(message: impl Into<String>) -> Self {
        Self { cause: ErrorCause::Run, message: message.into(), hint: None }
    }

    /// Returns the error with `text` as its hint.
    #[must_use]
    pub fn hint(self, text: impl Into<String>) -> Self {
        Self { hint: Some(text.into()), ..self }
    }
}

impl From<StudyError> for LabError {
    fn from(error: StudyError) -> Self {
        Self { cause: ErrorCause::Input, message: error.to_string(), hint: error.hint }
    }
}

impl From<FormatError> for LabError {
    fn from(error: FormatError) -> Self {
        Self { cause: ErrorCause::Input, message: error.to_string(), hint: error.hint }
    }
}

impl From<FormatErrors> for LabError {
    fn from(errors: FormatErrors) -> Self {
        let hint = errors.hint().map(str::to_owned);
        Self { cause: ErrorCause::Input, message: errors.to_string(), hint }
    }
}

impl From<InspectError> for LabError {
    fn from(error: InspectError) -> Self {
        Self { cause: ErrorCause::Input, message: error.to_string(), hint: Some(error.hint()) }
    }
}

#[cfg(feature = "machine")]
impl From<MeasureError> for LabError {
    fn from(error: MeasureError) -> Self {
        use MeasureError as E;
        let message = error.to_string();
        let hint = error.hint();
        let cause = match error {
            E::Exists { .. }
            | E::DanglingLink { .. }
            | E::OverwriteMismatch { .. }
            | E::InUse { .. }
            | E::DeviceInUse { .. }
            | E::Locked { .. }
            | E::DeviceNotOffered { .. }
            | E::OfferMismatch { .. }
            | E::Replaced { .. } => ErrorCause::Refused,
            E::NothingToRun { .. }
            | E::RoundsBeside { .. }
            | E::Transactions { .. }
            | E::NoFolder { .. }
            | E::Permission { .. }
            | E::NoDevice { .. }
            | E::WrongKind { .. }
            | E::NothingToPurge { .. }
            | E::TargetTooSmall { .. }
            | E::Misaligned { .. }
            | E::QueueDepth { .. }
            | E::NoSpace { .. } => ErrorCause::Input,
            _ => ErrorCause::Run,
        };
        Self { cause, message, hint }
    }
}

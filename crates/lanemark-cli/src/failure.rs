//! The end of a command: done, interrupted, or an error with a hint and an exit code.

use std::fmt;

use lanemark_formats::{FormatError, FormatErrors};
use lanemark_inspect::InspectError;
use lanemark_lab::{Cause, LabError};
use lanemark_measure::MeasureError;
use lanemark_predict::PredictError;
use lanemark_study::StudyError;

/// The outcome of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// A check found what must not be.
    Damaged,
    Interrupted,
}

/// The error of a command.
#[derive(Debug)]
pub(crate) struct Failure(LabError);

impl Failure {
    /// A failure by its cause.
    pub(crate) fn new(cause: Cause, message: String, hint: Option<String>) -> Self {
        Self(LabError { cause, message, hint })
    }

    /// Wrong input without a hint.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self(LabError::input(message))
    }

    /// A target that must not be touched, without a hint.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self(LabError::refused(message))
    }

    /// A failed run without a hint.
    pub(crate) fn run(message: impl Into<String>) -> Self {
        Self(LabError::run(message))
    }

    /// Returns the failure with `text` as its hint.
    #[must_use]
    pub(crate) fn hint(self, text: impl Into<String>) -> Self {
        Self(self.0.hint(text))
    }

    /// Returns the failure with `text` as its hint, where it has no hint of its own.
    #[must_use]
    pub(crate) fn or_hint(self, text: &str) -> Self {
        match self.0.hint {
            None => self.hint(text),
            Some(_) => self,
        }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self.0.cause {
            Cause::Run => 1,
            Cause::Input => 2,
            Cause::Refused => 3,
        }
    }
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        Self(error)
    }
}

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Self {
        Self(error.into())
    }
}

impl From<FormatError> for Failure {
    fn from(error: FormatError) -> Self {
        Self::new(Cause::Input, error.to_string(), error.hint)
    }
}

impl From<FormatErrors> for Failure {
    fn from(errors: FormatErrors) -> Self {
        Self::new(Cause::Input, errors.to_string(), errors.hint().map(str::to_owned))
    }
}

impl From<InspectError> for Failure {
    fn from(error: InspectError) -> Self {
        Self::new(Cause::Input, error.to_string(), Some(error.hint()))
    }
}

impl From<PredictError> for Failure {
    fn from(error: PredictError) -> Self {
        Self::new(Cause::Input, error.to_string(), error.hint())
    }
}

impl From<MeasureError> for Failure {
    fn from(error: MeasureError) -> Self {
        use MeasureError as E;
        let (message, hint) = (error.to_string(), error.hint());
        let cause = match error {
            E::Exists { .. }
            | E::DanglingLink { .. }
            | E::OverwriteMismatch { .. }
            | E::InUse { .. }
            | E::DeviceInUse { .. }
            | E::DeviceNotOffered { .. }
            | E::OfferMismatch { .. }
            | E::Replaced { .. } => Cause::Refused,
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
            | E::NoSpace { .. } => Cause::Input,
            _ => Cause::Run,
        };
        Self::new(cause, message, hint)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LabError { message, hint, .. } = &self.0;
        writeln!(f, "error: {message}")?;
        hint.as_ref().map_or(Ok(()), |hint| writeln!(f, "hint: {hint}"))
    }
}

//! How a command ends: done, interrupted, or an error with a hint and an exit code.

use std::fmt;

use lanemark_formats::{FormatError, FormatErrors};
use lanemark_inspect::InspectError;
use lanemark_measure::MeasureError;
use lanemark_predict::PredictError;
use lanemark_study::StudyError;

/// How a command ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Done,
    /// A check found what must not be.
    Damaged,
    Interrupted,
}

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Something that was given is wrong.
    Input { message: String, hint: Option<String> },
    /// A target that must not be touched.
    Refused { message: String, hint: Option<String> },
    /// Anything else.
    Run { message: String, hint: Option<String> },
}

impl Failure {
    /// Wrong input without a hint.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        Self::Input { message: message.into(), hint: None }
    }

    /// A failed run without a hint.
    pub(crate) fn run(message: impl Into<String>) -> Self {
        Self::Run { message: message.into(), hint: None }
    }

    /// The same with a hint.
    #[must_use]
    pub(crate) fn hint(mut self, text: impl Into<String>) -> Self {
        let (Self::Input { hint, .. } | Self::Refused { hint, .. } | Self::Run { hint, .. }) =
            &mut self;
        *hint = Some(text.into());
        self
    }

    /// This failure with `text` as its hint, where it has no hint of its own.
    #[must_use]
    pub(crate) fn or_hint(self, text: &str) -> Self {
        match &self {
            Self::Input { hint: None, .. }
            | Self::Refused { hint: None, .. }
            | Self::Run { hint: None, .. } => self.hint(text),
            _ => self,
        }
    }

    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::Run { .. } => 1,
            Self::Input { .. } => 2,
            Self::Refused { .. } => 3,
        }
    }
}

impl From<StudyError> for Failure {
    fn from(error: StudyError) -> Self {
        Self::Input { message: error.to_string(), hint: error.hint }
    }
}

impl From<FormatError> for Failure {
    fn from(error: FormatError) -> Self {
        Self::Input { message: error.to_string(), hint: error.hint }
    }
}

impl From<FormatErrors> for Failure {
    fn from(errors: FormatErrors) -> Self {
        Self::Input { message: errors.to_string(), hint: errors.hint().map(str::to_owned) }
    }
}

impl From<InspectError> for Failure {
    fn from(error: InspectError) -> Self {
        Self::Input { message: error.to_string(), hint: Some(error.hint()) }
    }
}

impl From<PredictError> for Failure {
    fn from(error: PredictError) -> Self {
        Self::Input { message: error.to_string(), hint: error.hint() }
    }
}

impl From<MeasureError> for Failure {
    fn from(error: MeasureError) -> Self {
        use MeasureError as E;
        let (message, hint) = (error.to_string(), error.hint());
        match error {
            E::Exists { .. }
            | E::DanglingLink { .. }
            | E::OverwriteMismatch { .. }
            | E::InUse { .. }
            | E::DeviceInUse { .. }
            | E::DeviceNotOffered { .. }
            | E::OfferMismatch { .. }
            | E::Replaced { .. } => Self::Refused { message, hint },
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
            | E::NoSpace { .. } => Self::Input { message, hint },
            _ => Self::Run { message, hint },
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Input { message, hint }
        | Self::Refused { message, hint }
        | Self::Run { message, hint }) = self;
        writeln!(f, "error: {message}")?;
        hint.as_ref().map_or(Ok(()), |hint| writeln!(f, "hint: {hint}"))
    }
}

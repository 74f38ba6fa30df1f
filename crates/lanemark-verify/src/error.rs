//! The errors of a verification, in its write phase and in its check.

use std::io;
use std::path::{Path, PathBuf};

use lanemark_measure::MeasureError;

/// An error while writing for a verification, or while checking.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The target could not be opened, written or read.
    #[error(transparent)]
    Target(#[from] MeasureError),
    /// The workload does not contain a test that writes.
    #[error("workload `{workload}` does not write, so there is nothing to verify")]
    NothingWritten { workload: String },
    /// The journal could not be used.
    #[error("{}: the journal can't be {action}: {source}", path.display())]
    Journal {
        path: PathBuf,
        /// Action that was tried.
        action: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A journal is never overwritten.
    #[error("{} exists, and a journal never replaces another file", path.display())]
    JournalExists { path: PathBuf },
    /// The file is not a journal, or its header was never written.
    #[error("{} is not a journal of `lanemark verify write`", path.display())]
    NoJournal { path: PathBuf },
    /// The journal itself is damaged in a form that neither a kill nor a power cut explains.
    #[error(
        "{}: the journal is damaged at record {record}, so it cannot be used for a check",
        path.display()
    )]
    JournalDamaged {
        path: PathBuf,
        /// The first invalid record.
        record: u64,
    },
    /// The target to check is missing or is a folder.
    #[error("{} is missing or is a folder, so there is nothing to check", path.display())]
    NoTarget {
        /// The target as the user wrote it.
        path: PathBuf,
    },
}

impl VerifyError {
    pub(super) fn journal(path: &Path, action: &'static str, source: io::Error) -> Self {
        Self::Journal { path: path.to_owned(), action, source }
    }

    /// Returns one line of advice on how to continue, if there is a remedy.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Target(error) => return error.hint(),
            Self::NothingWritten { .. } => "choose a workload with tests that write",
            Self::JournalExists { .. } => "use a different --journal, or remove the file",
            Self::NoJournal { .. } => "use the file that `lanemark verify write` printed",
            Self::JournalDamaged { .. } => "write the journal to reliable media",
            Self::NoTarget { .. } => "use the target of `lanemark verify write`",
            Self::Journal { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

//! Why something could not be written to be verified, or not be checked.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::MeasureError;

/// Why something could not be written to be verified, or not be checked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The target could not be opened, written or read.
    #[error(transparent)]
    Target(#[from] MeasureError),
    /// No test of the workload writes.
    #[error("workload `{workload}` writes nothing, so there is nothing to verify")]
    NothingWritten {
        /// Its id.
        workload: String,
    },
    /// The journal could not be used.
    #[error("{}: the journal can't be {action}: {source}", path.display())]
    Journal {
        /// Its path.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the kernel answered.
        source: io::Error,
    },
    /// A journal is never written over.
    #[error("{}: exists, and a journal is never written over another file", path.display())]
    JournalExists {
        /// Its path.
        path: PathBuf,
    },
    /// Not a journal, or one whose header was never written.
    #[error("{}: is no journal of `lanemark verify write`", path.display())]
    NoJournal {
        /// Its path.
        path: PathBuf,
    },
    /// The journal itself was damaged, in a way that no kill and no power cut explains.
    #[error(
        "{}: the journal itself is damaged at record {record}, so nothing can be judged by it",
        path.display()
    )]
    JournalDamaged {
        /// Its path.
        path: PathBuf,
        /// The first record that cannot be.
        record: u64,
    },
    /// There is no target to check.
    #[error("{}: there is nothing to check", path.display())]
    NoTarget {
        /// The target as given.
        path: PathBuf,
    },
}

impl VerifyError {
    pub(super) fn journal(path: &Path, action: &'static str, source: io::Error) -> Self {
        Self::Journal { path: path.to_owned(), action, source }
    }

    /// One line on how to go on, where there is a way.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Target(error) => return error.hint(),
            Self::NothingWritten { .. } => "choose a workload with tests that write",
            Self::JournalExists { .. } => "give another --journal, or remove it",
            Self::NoJournal { .. } => "give the file that `lanemark verify write` named",
            Self::JournalDamaged { .. } => "keep the journal on media that can be trusted",
            Self::NoTarget { .. } => "name the target that `lanemark verify write` wrote",
            Self::Journal { .. } => return None,
        };
        Some(hint.to_owned())
    }
}

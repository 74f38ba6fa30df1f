//! The errors of validation. Errors in data state the file and the line.

use std::io;

use lanemark_lab::LabError;
use lanemark_study::StudyError;

/// An error in an experiment, its input, or a document.
#[derive(Debug, thiserror::Error)]
pub enum ValidationError {
    /// A data file that cannot be used: the corpus, or saved figures.
    #[error("{file}:{line}: {reason}")]
    Data {
        /// The file's name.
        file: String,
        /// Line number, counted from 1.
        line: u64,
        /// Description of the error in the line.
        reason: String,
    },
    /// A table whose markers are missing, or that differs from the saved figures.
    #[error("{document}, table `{table}`: {reason}; {advice}")]
    Document {
        /// The document's path from the project's root.
        document: &'static str,
        /// The table's name in its marker.
        table: &'static str,
        /// The first difference.
        reason: String,
        /// The command that fixes the difference.
        advice: String,
    },
    /// An experiment without a result.
    #[error("{0}")]
    Run(String),
    /// An error from `lanemark-lab`.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// An error in a file of the library.
    #[error(transparent)]
    Study(#[from] StudyError),
    /// A file that cannot be written, or an output that is closed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ValidationError {
    /// Creates an error in line `line` of `file`.
    pub(crate) fn data(file: &str, line: u64, reason: impl Into<String>) -> Self {
        Self::Data { file: file.to_owned(), line, reason: reason.into() }
    }
}

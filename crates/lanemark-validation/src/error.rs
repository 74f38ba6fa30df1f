//! The errors of validation, each with the file and line that caused it.

use std::io;

use lanemark_lab::LabError;
use lanemark_study::StudyError;

/// An error of an experiment, of its input, or of a document.
#[derive(Debug, thiserror::Error)]
pub enum ValidationError {
    /// A file of data that cannot be used: the corpus, or saved figures.
    #[error("{file}:{line}: {reason}")]
    Data {
        /// The file's name.
        file: String,
        /// The line, from 1.
        line: u64,
        /// The fault.
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
    /// An error of the laboratory.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// An error of the library's files.
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

//! The errors in a trace: the file, the line, the column, the value, the expected values, and a hint.

use std::fmt;

/// An error in a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct TraceError {
    /// The trace as the user named it.
    pub file: String,
    /// The line, counted from 1; `None` if the error is about the whole file.
    pub line: Option<u64>,
    /// The column in bytes, counted from 1, if a single field is invalid.
    pub column: Option<usize>,
    /// Description of the error, with the value and the expected values.
    pub message: String,
    /// Advice on how to correct the error.
    pub hint: Option<String>,
    /// Whether the file could not be read; otherwise it could not be parsed.
    pub unreadable: bool,
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

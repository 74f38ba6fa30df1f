//! The errors in a trace: the file, the line, the column, the value, the expected value, and a hint.

use std::fmt;

/// An error in a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct TraceError {
    /// The trace's name as the user wrote it.
    pub file: String,
    /// The line, from 1; absent if the error is about the whole file.
    pub line: Option<u64>,
    /// The column in bytes, from 1, if one field is invalid.
    pub column: Option<usize>,
    /// Description of the error, with the value and the expected values.
    pub message: String,
    /// Advice on how to correct the value.
    pub hint: Option<String>,
    /// Whether reading the file failed, as opposed to parsing it.
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

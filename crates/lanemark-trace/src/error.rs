//! The errors in a trace: the file, the line, the column, the value, what was expected, and a hint.

use std::fmt;

/// Something wrong in a trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct TraceError {
    /// The trace as it was named.
    pub file: String,
    /// The line, from 1; absent where it is about the whole file.
    pub line: Option<u64>,
    /// The column in bytes, from 1, where one field is at fault.
    pub column: Option<usize>,
    /// Description of the error, with the value and what was expected.
    pub message: String,
    /// Advice on how to correct the value.
    pub hint: Option<String>,
    /// Whether the file could not be read at all, rather than be understood.
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

//! Reasons why data cannot be opened.

use std::io;
use std::path::PathBuf;

/// A reason why data cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// A target that is rejected so that no data is lost.
    #[error("{}: {why}", path.display())]
    Refused {
        path: PathBuf,
        /// Reason for the rejection.
        why: String,
        /// Advice on how to proceed.
        hint: String,
    },
    /// A file that does not match the request.
    #[error("{}: {why}", path.display())]
    Misfit {
        path: PathBuf,
        /// Reason why the file does not match.
        why: String,
    },
    /// A file that cannot be opened, read or written.
    #[error("{}: can't be {action}: {source}", path.display())]
    System {
        path: PathBuf,
        action: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
}

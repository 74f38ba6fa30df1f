//! The errors in a file, and the values that are only nearly kept: the place, the value, why, and what to do.

use std::fmt;

use lanemark_core::text::is_shown;

/// Something wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FormatError {
    /// The file as it was named.
    pub file: String,
    /// The line, from 1; absent where it is about the whole file.
    pub line: Option<u64>,
    /// Description of the error, with the value and what was expected.
    pub message: String,
    /// Advice on how to correct the value.
    pub hint: Option<String>,
}

/// The errors of a file; at least one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FormatErrors(pub Vec<FormatError>);

/// The degree to which an option is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Nearly what was asked.
    Nearly,
    /// Nothing, and the figures are the same without.
    Needless,
}

/// An option that is not kept to the letter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The file as it was named.
    pub file: String,
    /// The line, from 1.
    pub line: u64,
    /// The option, by the name that the file gives it.
    pub option: String,
    /// Degree to which the value is kept.
    pub kept: Kept,
    /// Action in place of the value.
    pub reason: String,
}

impl FormatError {
    /// Creates an error about a line.
    pub fn at(file: &str, line: u64, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: Some(line), message: message.into(), hint: None }
    }

    /// About a whole file.
    pub fn file(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, message: message.into(), hint: None }
    }

    /// Returns the error with a hint.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl fmt::Display for FormatErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            let gap = if index > 0 { "\n" } else { "" };
            write!(f, "{gap}{error}")?;
            // The last hint is left to whoever shows the whole.
            if let (Some(hint), true) = (&error.hint, index + 1 < self.0.len()) {
                write!(f, " ({hint})")?;
            }
        }
        Ok(())
    }
}

impl FormatErrors {
    /// The hint of the last error.
    pub fn hint(&self) -> Option<&str> {
        self.0.last().and_then(|error| error.hint.as_deref())
    }
}

impl From<FormatError> for FormatErrors {
    fn from(error: FormatError) -> Self {
        Self(vec![error])
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.file, self.line, self.option, self.reason)
    }
}

/// A value as it can be shown on a terminal: printable and not too long.
pub(crate) fn shown(text: &str) -> String {
    const SHOWN_MAX: usize = 60;
    let clean: String = text.chars().take(SHOWN_MAX).flat_map(printable).collect();
    if text.chars().count() > SHOWN_MAX { format!("{clean}…") } else { clean }
}

fn printable(letter: char) -> Vec<char> {
    if is_shown(letter) { vec![letter] } else { letter.escape_default().collect() }
}

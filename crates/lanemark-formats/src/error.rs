//! The errors in a file, and notes on approximated values. Each states the position, the value, the reason, and advice.

use std::fmt;

use lanemark_schema::text::is_shown;

/// An error in a file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FormatError {
    /// The file as the user named it.
    pub file: String,
    /// The line, counted from 1; `None` if the error is about the whole file.
    pub line: Option<u64>,
    /// Description of the error, with the value and the expected values.
    pub message: String,
    /// Advice on how to correct the error.
    pub hint: Option<String>,
}

/// The errors of a file; the list is not empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FormatErrors(pub Vec<FormatError>);

/// The degree to which an option is supported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SupportLevel {
    /// The option is approximated.
    Nearly,
    /// The option is ignored, because it does not change the figures.
    Needless,
}

/// An option that is not supported exactly.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct OptionNote {
    /// The file as the user named it.
    pub file: String,
    /// The line, counted from 1.
    pub line: u64,
    /// The name of the option in the file.
    pub option: String,
    /// The degree to which the value is supported.
    pub kept: SupportLevel,
    /// The reason, and the setting that is used instead of the value.
    pub reason: String,
}

impl FormatError {
    /// Creates an error about a line.
    pub fn at(file: &str, line: u64, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: Some(line), message: message.into(), hint: None }
    }

    /// Creates an error about a whole file.
    pub fn file(file: &str, message: impl Into<String>) -> Self {
        Self { file: file.to_owned(), line: None, message: message.into(), hint: None }
    }

    /// Returns the error of a file without a result.
    pub(crate) fn empty(file: &str) -> Self {
        Self::file(file, "is empty").hint("check that the program had finished")
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
            // The caller displays the errors, followed by the last hint.
            if let (Some(hint), true) = (&error.hint, index + 1 < self.0.len()) {
                write!(f, " ({hint})")?;
            }
        }
        Ok(())
    }
}

impl FormatErrors {
    /// Returns the hint of the last error.
    pub fn hint(&self) -> Option<&str> {
        self.0.last().and_then(|error| error.hint.as_deref())
    }
}

impl From<FormatError> for FormatErrors {
    fn from(error: FormatError) -> Self {
        Self(vec![error])
    }
}

impl fmt::Display for OptionNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}", self.file, self.line, self.option, self.reason)
    }
}

/// Returns a value in a form that can be displayed: printable and not too long.
pub(crate) fn shown(text: &str) -> String {
    const SHOWN_MAX: usize = 60;
    let clean: String = text.chars().take(SHOWN_MAX).flat_map(printable).collect();
    if text.chars().count() > SHOWN_MAX { format!("{clean}…") } else { clean }
}

fn printable(letter: char) -> Vec<char> {
    if is_shown(letter) { vec![letter] } else { letter.escape_default().collect() }
}

//! A job file under construction, and the error about a word that it cannot express.

use lanemark_schema::text::shell_word;

use crate::error::{FormatError, OptionNote, SupportLevel, shown};
use crate::fio::FioCommandLine;

/// A job under construction.
#[derive(Debug, Default)]
pub(super) struct JobDraft {
    options: Vec<(&'static str, String)>,
    notes: Vec<OptionNote>,
}

impl JobDraft {
    pub(super) fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.options.push((name, value.into()));
    }

    /// Adds a note about a word that does not change the requests, or that is approximated.
    pub(super) fn note(&mut self, file: &str, option: &str, kept: SupportLevel, reason: &str) {
        self.notes.push(OptionNote {
            file: file.to_owned(),
            line: 1,
            option: shown(option),
            kept,
            reason: reason.to_owned(),
        });
    }

    pub(super) fn finish(self, name: &str) -> FioCommandLine {
        let mut text = format!("[{name}]");
        for (option, value) in &self.options {
            let clean: String =
                value.chars().filter(|letter| !matches!(letter, '\n' | '\r' | ';' | '#')).collect();
            text += &format!("\n{option}={clean}");
        }
        FioCommandLine { text, notes: self.notes }
    }
}

/// Returns the error about a word without an equivalent.
pub(super) fn unsupported(file: &str, word: &str, reason: &str) -> FormatError {
    let message = format!("`{}`: {reason}", shell_word(&shown(word)));
    FormatError::file(file, message)
        .hint("remove it, or write the load as a fio command line: -- fio --rw=randread --bs=4k")
}

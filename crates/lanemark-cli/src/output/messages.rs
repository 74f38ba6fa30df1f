//! The messages of the command on stderr, through one writer.
//!
//! A message that cannot be written (the reader has closed the pipe, the disk is full) must not end the command, so the
//! functions here cannot fail. `eprintln!` would panic; a test forbids it.

use std::fmt;
use std::io::Write;
use std::path::Path;

use lanemark_schema::text::{shell_word, shown};

/// Prints a line on stderr, formatted as by `format!`.
macro_rules! tell {
    ($($message:tt)*) => { $crate::output::messages::write(format_args!($($message)*)) };
}
pub(crate) use tell;

/// Lists the files that killed runs have left near a target, and the command that removes them.
pub(crate) fn tell_left_over(target: &Path) {
    for left in lanemark_measure::left_over(target) {
        let path = left.path.display();
        let size = left.size;
        tell!(
            "note: {path} ({size}) was left by a run that was killed; to remove it, run: rm -- {}",
            shell_word(&left.path.display().to_string())
        );
    }
}

/// Calls a function that adds remarks to a list, and prints them as notes.
pub(crate) fn with_remarks<R>(act: impl FnOnce(&mut Vec<String>) -> R) -> R {
    let mut remarks = Vec::new();
    let outcome = act(&mut remarks);
    remarks.iter().for_each(|remark| tell!("note: {remark}"));
    outcome
}

/// Writes a message and a line feed, without the passwords of databases, and without control sequences for terminals.
pub(crate) fn write(message: fmt::Arguments<'_>) {
    let text = message.to_string();
    let text = lanemark_oltp::secrets::redacted(&text);
    let lines: Vec<_> = text.trim_end_matches('\n').split('\n').map(shown).collect();
    let _ = writeln!(std::io::stderr().lock(), "{}", lines.join("\n"));
}

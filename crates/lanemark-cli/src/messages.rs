//! The messages of the command beside its data, with one writer to stderr.
//!
//! A message that cannot be written (the reader has gone away, the disk behind it is full) is no reason to end
//! anything, so nothing here fails. `eprintln!` would panic, and a test keeps it out of the tree.

use std::fmt;
use std::io::Write;
use std::path::Path;

use lanemark_core::text::shown;

/// Tells on stderr, as `format!` makes it, a line.
macro_rules! tell {
    ($($message:tt)*) => { $crate::messages::write(format_args!($($message)*)) };
}
pub(crate) use tell;

/// Tells of files that runs which were killed have left where a run is to measure, and how they go.
pub(crate) fn tell_left_over(target: &Path) {
    for left in lanemark_measure::left_over(target) {
        let (path, size) = (left.path.display(), left.size);
        tell!(
            "note: {path} ({size}) was left by a run that was killed; to remove it: rm {}",
            quoted(&left.path)
        );
    }
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+,:@%".contains(letter);
    match text.starts_with('-') || !text.chars().all(plain) {
        true => format!("-- '{}'", text.replace('\'', r"'\''")),
        false => text,
    }
}

/// Writes a message with the end of its last line. Each line is cleaned of what a terminal would obey.
pub(crate) fn write(message: fmt::Arguments<'_>) {
    let text = message.to_string();
    let lines: Vec<_> = text.trim_end_matches('\n').split('\n').map(shown).collect();
    let _ = writeln!(std::io::stderr().lock(), "{}", lines.join("\n"));
}

//! The output of commands: stdout and its style, messages, progress, saved files, and the end of a command.

pub(crate) mod delivery;
pub(crate) mod failure;
pub(crate) mod formats;
pub(crate) mod messages;
pub(crate) mod other_text;
pub(crate) mod outlets;
pub(crate) mod progress;
pub(crate) mod provenance;
pub(crate) mod saving;
pub(crate) mod stop;

use std::borrow::Cow;
use std::io::{self, IsTerminal, Write};

use lanemark_lab::json;
use lanemark_report::Style;
use lanemark_schema::text::{REPLACEMENT, is_shown};

use failure::Failure;

/// Width of the output if stdout is not a terminal.
const WIDTH: usize = 100;

/// Prints `text` to stdout, with a line feed at its end. A closed pipe (`| head`) is not an error. Views clean the
/// names that they show; this function removes any other control sequences.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let text = cleaned(text);
    let mut stdout = io::stdout().lock();
    let end = if text.ends_with('\n') { "" } else { "\n" };
    match write!(stdout, "{text}{end}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        Err(error) => Err(Failure::run(format!("can't write to stdout: {error}"))),
        Ok(()) => Ok(()),
    }
}

/// Prints a sentence to stdout.
pub(crate) fn print_sentence(sentence: &str) -> Result<(), Failure> {
    print(&lanemark_report::paragraph(sentence, &style()))
}

/// Returns `text` without control sequences, except for line feeds and Lanemark's own colours.
fn cleaned(text: &str) -> Cow<'_, str> {
    if text.chars().all(|letter| is_shown(letter) || letter == '\n') {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let length = match letter {
            '\x1b' => colour(rest),
            '\r' if rest.starts_with("\r\n") => 2,
            '\n' | '\t' => 1,
            letter if is_shown(letter) => letter.len_utf8(),
            _ => 0,
        };
        let (kept, after) = match length {
            0 => (None, &rest[letter.len_utf8()..]),
            length => (Some(&rest[..length]), &rest[length..]),
        };
        match kept {
            Some(kept) => clean.push_str(kept),
            None => clean.push(REPLACEMENT),
        }
        rest = after;
    }
    Cow::Owned(clean)
}

/// Returns the length of a colour change, `ESC [ 1 m`, at the start of `text`, or 0 for any other text.
fn colour(text: &str) -> usize {
    let Some(rest) = text.strip_prefix("\x1b[") else { return 0 };
    match rest.find(|letter: char| !letter.is_ascii_digit() && letter != ';') {
        Some(end) if rest[end..].starts_with('m') => 2 + end + 1,
        _ => 0,
    }
}

/// Prints a value as JSON to stdout.
pub(crate) fn print_json<T: serde::Serialize>(value: &T) -> Result<(), Failure> {
    print(&json::text(value)?)
}

/// Returns the style of tables on this stdout: as wide as the terminal, and in colour if stdout is a terminal.
pub(crate) fn style() -> Style {
    let terminal = io::stdout().is_terminal();
    let requested = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    let size = terminal.then(|| rustix::termios::tcgetwinsize(io::stdout()).ok()).flatten();
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    Style {
        width: table_width(size.map(|size| usize::from(size.ws_col)), requested),
        colour: terminal && !plain,
    }
}

/// Returns the width of tables, given the width of the terminal, which is 0 if it is unknown, and the requested width.
fn table_width(terminal: Option<usize>, requested: Option<usize>) -> usize {
    terminal.filter(|&columns| columns > 0).or(requested).unwrap_or(WIDTH).clamp(60, 160)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_as_wide_as_the_terminal_or_as_requested() {
        for (terminal, requested, wanted) in [
            (None, None, WIDTH),
            (Some(0), None, WIDTH),
            (Some(0), Some(90), 90),
            (Some(1), Some(90), 60),
            (Some(120), Some(90), 120),
            (None, Some(90), 90),
            (Some(500), None, 160),
        ] {
            assert_eq!(table_width(terminal, requested), wanted, "{terminal:?} {requested:?}");
        }
    }

    #[test]
    fn colours_and_ends_of_lines_go_through_and_nothing_else_that_is_obeyed() {
        let text = "\x1b[1mhead\x1b[0m\r\na\tb\n\x1b]0;title\x07\x1b[2J\u{202e}x\u{9b}y\rz\x1b[";
        let result = cleaned(text);
        let wanted = "\x1b[1mhead\x1b[0m\r\na\tb\n\u{fffd}]0;title\u{fffd}\u{fffd}[2J\u{fffd}x\u{fffd}y\u{fffd}z\u{fffd}[";
        assert_eq!(result, wanted);
        assert_eq!(cleaned("plain – µ\n"), "plain – µ\n");
    }
}

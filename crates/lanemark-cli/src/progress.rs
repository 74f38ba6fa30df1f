//! One line on stderr that says what is going on; nothing where stderr is no terminal.

use std::io::{IsTerminal, Write};

use lanemark_core::text::shown;

use crate::messages::tell;

/// The line of progress.
pub(crate) struct Progress {
    terminal: bool,
    shown: bool,
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), shown: false }
    }

    /// Replaces the line.
    pub(crate) fn show(&mut self, line: &str) {
        if self.terminal {
            let columns =
                rustix::termios::tcgetwinsize(std::io::stderr()).map_or(0, |size| size.ws_col);
            let line = shown(line);
            let line = cut(&line, usize::from(columns));
            // Progress that cannot be written is no reason to end a run.
            let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
            self.shown = true;
        }
    }

    /// Removes the line and prints a lasting one.
    pub(crate) fn note(&mut self, line: &str) {
        self.clear();
        tell!("{line}");
    }

    /// Removes the line.
    pub(crate) fn clear(&mut self) {
        if self.shown {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
            self.shown = false;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

/// As much of a line as goes on a terminal, since a longer one would leave a part behind; all where its width is not
/// known.
fn cut(line: &str, columns: usize) -> &str {
    match line.char_indices().nth(columns) {
        Some((end, _)) if columns > 0 => &line[..end],
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_on_one_row() {
        assert_eq!(cut("a · b · c", 5), "a · b");
        assert_eq!(
            (cut("a · b", 5), cut("a · b", 80), cut("a · b", 0)),
            ("a · b", "a · b", "a · b")
        );
    }
}

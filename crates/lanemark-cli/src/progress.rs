//! One line on stderr that says what is going on; nothing where stderr is no terminal.

use std::io::{IsTerminal, Write};

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
            // Progress that cannot be written is no reason to end a run.
            let _ = write!(std::io::stderr(), "\r\x1b[K{line}");
            self.shown = true;
        }
    }

    /// Removes the line and prints a lasting one.
    pub(crate) fn note(&mut self, line: &str) {
        self.clear();
        let _ = writeln!(std::io::stderr(), "{line}");
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

//! The line of progress on stderr; nothing where stderr is no terminal.

use std::io::{IsTerminal, Write};

use lanemark_core::text::shown;
use lanemark_lab::Event;

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

/// The line of progress for what a laboratory tells.
pub(crate) struct LabLine {
    progress: Progress,
    /// Name of the units that are counted.
    what: &'static str,
    ended: usize,
    total: usize,
}

impl LabLine {
    pub(crate) fn new(what: &'static str, total: usize) -> Self {
        Self { progress: Progress::new(), what, ended: 0, total }
    }

    /// Draws what the event says.
    pub(crate) fn draw(&mut self, event: &Event<'_>) {
        let told = match event {
            Event::TestEnded { .. } => {
                self.ended += 1;
                String::new()
            }
            Event::Advanced(at, so_far) => {
                let share = so_far.share.map(|share| format!(", {:.0}% of it", share * 100.0));
                let seconds = so_far.now.picoseconds() as f64 / 1e12;
                let (number, share) = (at.test + 1, share.unwrap_or_default());
                format!("; test {number}: {seconds:.1} s simulated{share}")
            }
            Event::Asked { ended, total } => {
                return self.progress.show(&format!("asked {ended} of {total} what would help"));
            }
            Event::Drawing => return self.draw_intervals(),
            Event::Point { ended, total, .. } => {
                return self.progress.show(&format!("simulated {ended} of {total} points"));
            }
            _ => return,
        };
        let Self { what, ended, total, .. } = self;
        self.progress.show(&format!("simulated {ended} of {total} {what}{told}"));
    }

    /// Says that short tests for intervals begin.
    pub(crate) fn draw_intervals(&mut self) {
        self.progress.show("simulating short tests with uncertain values drawn, for 80% intervals");
    }

    /// Removes the line and prints a lasting one.
    pub(crate) fn note(&mut self, line: &str) {
        self.progress.note(line);
    }
}

/// Cuts a line to the terminal's width, since a longer one would leave a part behind; returns all where the width is
/// not known.
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

//! The line of progress on stderr; nothing where stderr is no terminal.
//!
//! Work that tells nothing on its way has a line that a thread of its own keeps moving, by the time that has gone by.

use std::io::{IsTerminal, Write};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use lanemark_core::text::shown;
use lanemark_lab::Event;

use crate::messages::tell;

/// How often a moving line moves.
const MOVES: Duration = Duration::from_millis(250);
/// The signs that go round before a moving line.
const TURNS: [char; 4] = ['|', '/', '-', '\\'];

/// The line of progress.
pub(crate) struct Progress {
    terminal: bool,
    shown: bool,
    moving: Option<Moving>,
}

/// A thread that keeps a line moving until this is dropped.
struct Moving {
    until: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Moving {
    fn start(what: &str, write: impl Fn(&str) + Send + 'static) -> Self {
        let (until, ended) = channel::<()>();
        let (what, began) = (what.to_owned(), Instant::now());
        let run = move || {
            for turn in TURNS.iter().cycle() {
                write(&format!("{turn} {what}: {:.0} s", began.elapsed().as_secs_f64()));
                if ended.recv_timeout(MOVES) != Err(RecvTimeoutError::Timeout) {
                    return;
                }
            }
        };
        // Without a thread there is no line, which is no reason to end a run.
        Self {
            until: Some(until),
            thread: Builder::new().name("progress".to_owned()).spawn(run).ok(),
        }
    }
}

impl Drop for Moving {
    fn drop(&mut self) {
        drop(self.until.take());
        // The thread ends at once; nothing of it is written behind what comes next.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl Progress {
    pub(crate) fn new() -> Self {
        Self { terminal: std::io::stderr().is_terminal(), shown: false, moving: None }
    }

    /// Replaces the line.
    pub(crate) fn show(&mut self, line: &str) {
        self.moving = None;
        if self.terminal {
            write_line(line);
            self.shown = true;
        }
    }

    /// Replaces the line by one that moves until the next, with the seconds that `what` has taken.
    pub(crate) fn keep_moving(&mut self, what: &str) {
        self.moving = None;
        if self.terminal {
            self.moving = Some(Moving::start(what, write_line));
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
        self.moving = None;
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
        self.progress
            .keep_moving("simulating short tests with uncertain values drawn, for 80% intervals");
    }

    /// Says that drives run alone, for what they lose to each other on shared links.
    pub(crate) fn draw_losses(&mut self) {
        self.progress.keep_moving("simulating each drive alone, for what shared links cost");
    }

    /// Removes the line and prints a lasting one.
    pub(crate) fn note(&mut self, line: &str) {
        self.progress.note(line);
    }
}

/// Writes `line` in place of what the terminal's line has.
fn write_line(line: &str) {
    let columns = rustix::termios::tcgetwinsize(std::io::stderr()).map_or(0, |size| size.ws_col);
    let line = shown(line);
    // Progress that cannot be written is no reason to end a run.
    let _ = write!(std::io::stderr(), "\r\x1b[K{}", cut(&line, usize::from(columns)));
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
    use std::sync::{Arc, Mutex};

    use super::*;

    #[test]
    fn a_moving_line_moves_and_is_still_when_it_has_gone() {
        let lines = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&lines);
        let moving = Moving::start("drawing", move |line| {
            written.lock().unwrap().push(line.to_owned());
        });
        let began = Instant::now();
        while lines.lock().unwrap().len() < 3 {
            assert!(began.elapsed() < Duration::from_secs(60), "the line stands still");
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(moving);
        let at_end = lines.lock().unwrap().len();
        std::thread::sleep(MOVES * 2);
        let lines = lines.lock().unwrap();
        assert_eq!(lines.len(), at_end, "a line came after the end");
        assert!(lines[0].starts_with("| drawing: 0 s") && lines[1].starts_with("/ "), "{lines:?}");
    }

    #[test]
    fn a_line_goes_on_one_row() {
        assert_eq!(cut("a · b · c", 5), "a · b");
        assert_eq!(
            (cut("a · b", 5), cut("a · b", 80), cut("a · b", 0)),
            ("a · b", "a · b", "a · b")
        );
    }
}

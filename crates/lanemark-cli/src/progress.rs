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
    counted: Counted,
    /// When the short tests with drawn values began.
    drawing: Option<Instant>,
}

/// Simulations that have ended, of how many: a simulation is one repeat of a test.
struct Counted {
    ended: usize,
    total: usize,
    /// Simulations of a point of a sweep.
    each: u64,
}

impl Counted {
    /// What the event says in words; nothing where it changes nothing.
    fn told(&mut self, event: &Event<'_>, drawing: Duration) -> Option<String> {
        let at = match event {
            Event::Sampled(..) => {
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
                return Some(format!("{ended} of {total} simulations, for what would help"));
            }
            Event::Drawn { ended, total } => {
                return Some(format!(
                    "{ended} of {total} short simulations with uncertain values drawn, for 80% intervals: {:.0} s",
                    drawing.as_secs_f64()
                ));
            }
            Event::Point { ended, total, .. } => {
                let (done, all) = (ended * self.each, total * self.each);
                return Some(format!("{ended} of {total} points, {done} of {all} simulations"));
            }
            _ => return None,
        };
        let Self { ended, total, .. } = self;
        Some(format!("{ended} of {total} simulations{at}"))
    }
}

impl LabLine {
    /// The line of so many simulations.
    pub(crate) fn new(total: usize) -> Self {
        Self::with(Counted { ended: 0, total, each: 1 })
    }

    /// The line of a sweep whose points are so many simulations each.
    pub(crate) fn of_points(each: u32) -> Self {
        Self::with(Counted { ended: 0, total: 0, each: each.into() })
    }

    fn with(counted: Counted) -> Self {
        Self { progress: Progress::new(), counted, drawing: None }
    }

    /// Draws what the event says.
    pub(crate) fn draw(&mut self, event: &Event<'_>) {
        if let Event::Drawn { ended: 0, .. } = event {
            self.drawing.get_or_insert_with(Instant::now);
        }
        let drawing = self.drawing.map_or(Duration::ZERO, |began| began.elapsed());
        if let Some(line) = self.counted.told(event, drawing) {
            self.progress.show(&line);
        }
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

    use lanemark_core::result::{SweepFigures, SweepPoint};
    use lanemark_core::sim;
    use lanemark_core::units::Instant as SimulatedInstant;
    use lanemark_lab::At;

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
    fn simulations_are_counted_by_their_repeats_and_points_by_theirs() {
        let mut counted = Counted { ended: 0, total: 6, each: 3 };
        let mut told = |event: &Event<'_>| counted.told(event, Duration::from_secs(2));
        let at = At { run: 0, test: 1, repeat: 0 };
        assert_eq!(told(&Event::Begun(at)), None);
        let now = SimulatedInstant::from_picoseconds(1_500_000_000_000);
        let progress = sim::Progress { requests: 1, now, share: Some(0.25) };
        let going = told(&Event::Advanced(at, progress)).unwrap();
        assert_eq!(going, "0 of 6 simulations; test 2: 1.5 s simulated, 25% of it");
        let drawn = told(&Event::Drawn { ended: 4, total: 33 }).unwrap();
        assert!(
            drawn.starts_with("4 of 33 short simulations") && drawn.ends_with(": 2 s"),
            "{drawn}"
        );
        let asked = told(&Event::Asked { ended: 1, total: 12 }).unwrap();
        assert!(asked.starts_with("1 of 12 simulations"), "{asked}");
        let point = SweepPoint {
            number: 4,
            system: String::new(),
            test: String::new(),
            values: Vec::new(),
            outcome: Ok(SweepFigures::default()),
        };
        let point = told(&Event::Point { point: &point, ended: 5, total: 16 });
        assert_eq!(point.unwrap(), "5 of 16 points, 15 of 48 simulations");
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

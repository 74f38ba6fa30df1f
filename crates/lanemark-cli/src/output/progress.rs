//! The progress line on stderr. There is no line if stderr is not a terminal.
//!
//! During a stage that does not report its progress, the line shows a spinner and the elapsed seconds.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressState, ProgressStyle};
use lanemark_lab::Event;
use lanemark_schema::text::shown;

use crate::output::messages::tell;

/// Interval at which the spinner moves.
const MOVES: Duration = Duration::from_millis(250);
/// The characters of the spinner, in order; the last is shown at the end.
const TURNS: &str = "|/-\\ ";

pub(crate) struct Progress(ProgressBar);

impl Progress {
    pub(crate) fn new() -> Self {
        Self(ProgressBar::new_spinner())
    }

    pub(crate) fn show(&mut self, line: &str) {
        self.0.disable_steady_tick();
        self.draw(style("{wide_msg}"), line);
    }

    /// Replaces the line with a spinner and the seconds since `what` began.
    pub(crate) fn keep_moving(&mut self, what: &str) {
        let seconds = |state: &ProgressState, text: &mut dyn std::fmt::Write| {
            // A failure to write the line does not end a run.
            let _ = write!(text, "{:.0} s", state.elapsed().as_secs_f64());
        };
        let moving = style("{spinner} {msg}: {seconds}").tick_chars(TURNS);
        self.0.reset_elapsed();
        self.draw(moving.with_key("seconds", seconds), what);
        self.0.enable_steady_tick(MOVES);
    }

    fn draw(&mut self, style: ProgressStyle, message: &str) {
        self.0.set_style(style);
        self.0.set_message(shown(message).into_owned());
        if self.0.is_finished() {
            self.0.reset();
        }
    }

    /// Removes the line and prints a permanent line.
    pub(crate) fn note(&mut self, line: &str) {
        self.0.finish_and_clear();
        tell!("{line}");
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Returns the style of a template, which must be valid.
fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_spinner())
}

/// The progress line for a laboratory's events.
pub(crate) struct LabProgressLine {
    progress: Progress,
    counted: SimulationCounts,
    /// Time at which the short simulations with varied values began.
    drawing: Option<Instant>,
}

/// Number of completed simulations, and total number of simulations. A simulation is one repeat of a test.
struct SimulationCounts {
    ended: usize,
    total: usize,
    /// Number of simulations per point of a sweep.
    each: u64,
}

impl SimulationCounts {
    /// Describes the event as text; `None` if the line does not change.
    fn description(&mut self, event: &Event<'_>, drawing: Duration) -> Option<String> {
        let at = match event {
            Event::Sampled(..) => {
                self.ended += 1;
                String::new()
            }
            Event::Advanced(at, so_far) => {
                let share = so_far.share.map(|share| format!(", {:.0}% done", share * 100.0));
                let seconds = so_far.now.picoseconds() as f64 / 1e12;
                let number = at.test + 1;
                let share = share.unwrap_or_default();
                format!("; test {number}: {seconds:.1} s simulated{share}")
            }
            Event::SensitivityRun { ended, total } => {
                return Some(format!("{ended} of {total} simulations to find the bottleneck"));
            }
            Event::Drawn { ended, total } => {
                return Some(format!(
                    "{ended} of {total} short simulations with varied values for 80% intervals: {:.0} s",
                    drawing.as_secs_f64()
                ));
            }
            Event::Point { ended, total, .. } => {
                let done = ended * self.each;
                let all = total * self.each;
                return Some(format!("{ended} of {total} points, {done} of {all} simulations"));
            }
            _ => return None,
        };
        let Self { ended, total, .. } = self;
        Some(format!("{ended} of {total} simulations{at}"))
    }
}

impl LabProgressLine {
    /// Returns the line for `total` simulations.
    pub(crate) fn new(total: usize) -> Self {
        Self::with(SimulationCounts { ended: 0, total, each: 1 })
    }

    /// Returns the line of a sweep with `each` simulations per point.
    pub(crate) fn of_points(each: u32) -> Self {
        Self::with(SimulationCounts { ended: 0, total: 0, each: each.into() })
    }

    fn with(counted: SimulationCounts) -> Self {
        Self { progress: Progress::new(), counted, drawing: None }
    }

    pub(crate) fn draw(&mut self, event: &Event<'_>) {
        if let Event::Drawn { ended: 0, .. } = event {
            self.drawing.get_or_insert_with(Instant::now);
        }
        let drawing = self.drawing.map_or(Duration::ZERO, |began| began.elapsed());
        if let Some(line) = self.counted.description(event, drawing) {
            self.progress.show(&line);
        }
    }

    /// Shows that each drive is being simulated separately, to measure the loss on shared links.
    pub(crate) fn draw_losses(&mut self) {
        self.progress
            .keep_moving("simulating each drive separately to measure the loss on shared links");
    }

    /// Removes the line and prints a permanent line.
    pub(crate) fn note(&mut self, line: &str) {
        self.progress.note(line);
    }
}

#[cfg(test)]
mod tests {
    use lanemark_lab::TestPosition;
    use lanemark_schema::result::{SweepFigures, SweepPoint};
    use lanemark_schema::units::Instant as SimulatedInstant;

    use super::*;

    #[test]
    fn simulations_are_counted_by_their_repeats_and_points_by_theirs() {
        let mut counted = SimulationCounts { ended: 0, total: 6, each: 3 };
        let mut description =
            |event: &Event<'_>| counted.description(event, Duration::from_secs(2));
        let at = TestPosition { run: 0, test: 1, repeat: 0 };
        assert_eq!(description(&Event::Begun(at)), None);
        let now = SimulatedInstant::from_picoseconds(1_500_000_000_000);
        let progress = lanemark_sim::Progress { requests: 1, now, share: Some(0.25) };
        let going = description(&Event::Advanced(at, progress)).unwrap();
        assert_eq!(going, "0 of 6 simulations; test 2: 1.5 s simulated, 25% done");
        let drawn = description(&Event::Drawn { ended: 4, total: 33 }).unwrap();
        assert!(
            drawn.starts_with("4 of 33 short simulations") && drawn.ends_with(": 2 s"),
            "{drawn}"
        );
        let line = description(&Event::SensitivityRun { ended: 1, total: 12 }).unwrap();
        assert!(line.starts_with("1 of 12 simulations"), "{line}");
        let point = SweepPoint {
            number: 4,
            system: String::new(),
            test: String::new(),
            values: Vec::new(),
            outcome: Ok(SweepFigures::default()),
        };
        let point = description(&Event::Point { point: &point, ended: 5, total: 16 });
        assert_eq!(point.unwrap(), "5 of 16 points, 15 of 48 simulations");
    }
}

//! The phases of a drive on the way to its steady state, found in a series.

use super::drive_use::DriveUse;
use super::series::{Series, SeriesPoint};
use super::steady::{ROUNDS_MAX, SteadyWindow, WINDOW, steady_since};
use crate::units::Duration;

/// The phases of a drive on the way to its steady state, found in a series.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrivePhases {
    /// Time during which the drive did not move data internally, if the drive's writes are known.
    pub nothing_moved: Option<Duration>,
    /// The length of the rounds into which the series was divided.
    pub round: Duration,
    /// Whether the drive still uses up erased flash at the end.
    pub uses_up_flash: bool,
    /// Time from which every window of five rounds is steady, if the last window is steady.
    pub steady_from: Option<Duration>,
    /// The last window; its figures are requests a second.
    pub window: Option<SteadyWindow>,
    /// Write amplification over the last window.
    pub write_amplification: Option<f64>,
}

impl DrivePhases {
    /// Returns the phases of `series`, which is divided into 25 rounds. A series with few points is divided into fewer
    /// rounds, because each round consists of whole points.
    pub fn from_series(series: &Series) -> Self {
        let rounds = series.condensed(ROUNDS_MAX);
        // The last round is often short, and a short round carries little information.
        let whole = if rounds.last < rounds.interval.scaled(1, 2) {
            rounds.points.len().saturating_sub(1)
        } else {
            rounds.points.len()
        };
        let figures: Vec<f64> = (0..whole).map(|index| rounds.iops(index)).collect();
        let moving = |drive: &DriveUse| drive.moved.get() > 0;
        let unmoved =
            series.points.iter().position(|point| point.drive.as_ref().is_some_and(moving));
        let known = series.points.iter().any(|point| point.drive.is_some());
        let uses_up = |point: &SeriesPoint| point.drive.is_some_and(|drive| drive.uses_up_flash());
        let before = rounds.points[..whole].iter().rposition(uses_up).map_or(0, |index| index + 1);
        let (last, _) = rounds.sum(whole.saturating_sub(WINDOW), whole);
        Self {
            nothing_moved: known
                .then(|| unmoved.map_or(series.elapsed(), |index| series.start(index))),
            round: rounds.interval,
            uses_up_flash: last.drive.is_some_and(|drive| drive.uses_up_flash()),
            steady_from: steady_since(&figures, before).map(|index| rounds.start(index)),
            window: SteadyWindow::from_figures(&figures),
            write_amplification: last.write_amplification(),
        }
    }
}

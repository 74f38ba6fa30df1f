//! The steady state of a figure, according to SNIA's Solid State Storage Performance Test Specification 2.0.2.
//!
//! Rounds run in succession. The last five rounds are the *measurement window*. The window is steady if two conditions
//! are true: the range of its figures is within 20% of their mean, and their least-squares line rises or falls by no
//! more than 10% of the mean from the first round to the last. A test ends with the first steady window, or after 25
//! rounds.
//!
//! The rule uses only five figures. A drive that stays fresh for five rounds satisfies it. Therefore the specification
//! first writes twice the capacity. If a simulated drive uses up erased flash in a window, the window is not steady.

use serde::{Deserialize, Serialize};

use super::drive_use::DriveUse;
use crate::workload::RoundSettings;

/// Number of rounds in a measurement window.
pub const WINDOW: usize = 5;
/// Maximum number of rounds of a test.
pub const ROUNDS_MAX: usize = 25;
/// Maximum range of a window's figures, as a share of their mean.
pub const RANGE_MAX: f64 = 0.20;
/// Maximum rise or fall of the best-fit line of a window's figures, as a share of their mean.
pub const SLOPE_MAX: f64 = 0.10;

/// Tolerance for rounding, so that a figure exactly on a bound is accepted.
const ROUNDING: f64 = 1e-12;

/// The rounds of a test, and whether they became steady.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyState {
    /// Length of a round, and the figure that is tracked.
    pub rule: RoundSettings,
    /// Every round, in order.
    pub rounds: Vec<Round>,
    /// Outcome of the test.
    pub outcome: RoundsOutcome,
    /// The last window; the figures of the sample are the figures of its rounds.
    pub window: Option<SteadyWindow>,
}

/// A round of a test.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Round {
    /// Requests a second.
    pub iops: f64,
    /// Bytes a second.
    pub throughput_bytes_per_second: f64,
    /// The mean latency.
    pub latency_mean_ns: f64,
    /// Writes to the drive's flash; known for simulated runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drive: Option<DriveUse>,
}

/// The outcome of a test that runs in rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum RoundsOutcome {
    /// The test is steady.
    Reached {
        /// Round after which the test is steady, counted from 1.
        round: u32,
    },
    /// The test is not steady after all rounds.
    NotReached {
        /// Reason why the test is not steady.
        reason: UnsteadyReason,
    },
}

/// The reason why a window is not steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnsteadyReason {
    /// The test had fewer than five rounds.
    FewRounds,
    /// The figures differ too much.
    Range,
    /// The figures rise or fall.
    Slope,
    /// The figures are zero or not numbers.
    NoFigures,
    /// The figures are steady, but the drive uses up erased flash and will then begin to collect.
    ErasedFlash,
}

/// The figures of a window.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SteadyWindow {
    /// First round of the window, counted from 1.
    pub first_round: u32,
    /// Mean of the figures.
    pub mean: f64,
    /// Range of the figures, as a share of the mean.
    pub range: f64,
    /// The rise of the best-fit line from round to round.
    pub slope: f64,
    /// Rise or fall of the best-fit line over the window, as a share of the mean; never negative.
    pub slope_range: f64,
}

impl SteadyWindow {
    /// Returns the window of the last five `figures`, or of all figures if there are fewer; `None` if there are no
    /// figures or if their mean is not above zero.
    pub fn from_figures(figures: &[f64]) -> Option<Self> {
        let first = figures.len().saturating_sub(WINDOW);
        let window = &figures[first..];
        let count = window.len() as f64;
        let mean = window.iter().sum::<f64>() / count;
        if !mean.is_finite() || mean <= 0.0 {
            return None;
        }
        let least = window.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = window.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let middle = (count - 1.0) / 2.0;
        let from_middle = |index: usize| index as f64 - middle;
        let squares: f64 =
            (0..window.len()).map(|index| from_middle(index) * from_middle(index)).sum();
        let products: f64 =
            window.iter().enumerate().map(|(index, value)| from_middle(index) * value).sum();
        let slope = if squares > 0.0 { products / squares } else { 0.0 };
        Some(Self {
            first_round: first as u32 + 1,
            mean,
            range: (greatest - least) / mean,
            slope,
            slope_range: slope.abs() * (count - 1.0) / mean,
        })
    }

    /// Returns the reason why the window is not steady, or `None` if it is steady.
    pub fn fault(&self) -> Option<UnsteadyReason> {
        let is_within = |value: f64, bound: f64| value <= bound * (1.0 + ROUNDING);
        if !is_within(self.range, RANGE_MAX) {
            Some(UnsteadyReason::Range)
        } else if !is_within(self.slope_range, SLOPE_MAX) {
            Some(UnsteadyReason::Slope)
        } else {
            None
        }
    }
}

/// Applies the rule to the last five `figures`. Returns the outcome, and the window of these figures if there is one.
pub fn judge(figures: &[f64]) -> (RoundsOutcome, Option<SteadyWindow>) {
    let window = SteadyWindow::from_figures(figures);
    let fault = match window {
        _ if figures.len() < WINDOW => Some(UnsteadyReason::FewRounds),
        None => Some(UnsteadyReason::NoFigures),
        Some(window) => window.fault(),
    };
    let outcome = match fault {
        Some(reason) => RoundsOutcome::NotReached { reason },
        None => RoundsOutcome::Reached { round: figures.len() as u32 },
    };
    (outcome, window)
}

/// Returns the index of the first figure after which every window up to the last is steady, or `None` if the last
/// window is not steady. The first `before` figures belong to no steady window.
pub(crate) fn steady_since(figures: &[f64], before: usize) -> Option<usize> {
    let steady = |end: &usize| matches!(judge(&figures[..*end]).0, RoundsOutcome::Reached { .. });
    let windows = (before + WINDOW..=figures.len()).rev().take_while(steady).last()?;
    Some(windows - WINDOW)
}

impl SteadyState {
    /// Creates a state without rounds.
    pub fn new(rule: RoundSettings) -> Self {
        let outcome = RoundsOutcome::NotReached { reason: UnsteadyReason::FewRounds };
        Self { rule, rounds: Vec::new(), outcome, window: None }
    }

    /// Adds a round, and returns whether the test has ended: it is steady, or this was its last round.
    pub fn push(&mut self, round: Round) -> bool {
        self.rounds.push(round);
        let figures: Vec<f64> =
            self.rounds.iter().map(|round| round.figure(self.rule.tracked)).collect();
        (self.outcome, self.window) = judge(&figures);
        let window = &self.rounds[self.rounds.len().saturating_sub(WINDOW)..];
        let uses_up = |round: &Round| round.drive.is_some_and(|drive| drive.uses_up_flash());
        if self.reached() && window.iter().any(uses_up) {
            self.outcome = RoundsOutcome::NotReached { reason: UnsteadyReason::ErasedFlash };
        }
        self.reached() || self.rounds.len() >= ROUNDS_MAX
    }

    /// Returns whether the test became steady.
    pub fn reached(&self) -> bool {
        matches!(self.outcome, RoundsOutcome::Reached { .. })
    }
}

impl Round {
    /// Returns the tracked figure.
    pub fn figure(&self, tracked: crate::workload::TrackedFigure) -> f64 {
        use crate::workload::TrackedFigure;
        match tracked {
            TrackedFigure::Iops => self.iops,
            TrackedFigure::Throughput => self.throughput_bytes_per_second,
            TrackedFigure::Latency => self.latency_mean_ns,
        }
    }
}

#[cfg(test)]
#[path = "steady_tests.rs"]
mod tests;

//! The events of a trial, as values that an observer receives.

use std::fmt;
use std::path::Path;
use std::time::Duration;

/// An event of a trial. As text, it is one line for the user.
#[non_exhaustive]
pub enum TrialEvent<'e> {
    /// A turn that does not count begins, which determines the time scale.
    UncountedTurn {
        /// The system.
        system: &'e str,
        /// The time scale of the turn.
        time_scale: f64,
    },
    /// The check of power cuts begins, without a cut.
    UncutCheck {
        /// The system.
        system: &'e str,
    },
    /// The uncounted turns have ended, so that the duration of the trial is known.
    Expected {
        /// The expected duration of the rest.
        duration: Duration,
        /// The number of turns per system.
        turns: u32,
        /// The number of power cuts per system.
        cuts: u32,
    },
    /// A counted turn begins.
    Turn {
        /// The system.
        system: &'e str,
        /// The number of the turn, from 1.
        number: u32,
        /// The number of turns per system.
        turns: u32,
    },
    /// A turn with a power cut begins.
    PowerCut {
        /// The system.
        system: &'e str,
        /// The number of the cut, from 1.
        number: u32,
        /// The number of cuts per system.
        cuts: u32,
    },
    /// A stage of a database trial, or its progress.
    Stage(&'e str),
    /// A remark that the user should see after the trial too.
    Remark(&'e str),
    /// The trial has created this folder. If the process is ended by force, the folder must be removed.
    FolderCreated(&'e Path),
    /// The turns have ended, and the trial removes its folder.
    CleanUp,
}

impl TrialEvent<'_> {
    /// Returns whether the line should stay visible, unlike the line of a stage, which the next stage replaces.
    pub fn is_lasting(&self) -> bool {
        matches!(self, Self::Expected { .. } | Self::Remark(_))
    }
}

impl fmt::Display for TrialEvent<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UncountedTurn { system, time_scale } => {
                write!(f, "{system} · uncounted turn, time scale {time_scale}")
            }
            Self::UncutCheck { system } => write!(f, "{system} · check without a power cut"),
            Self::Expected { duration, turns, cuts } => {
                let seconds = duration.as_secs_f64();
                let turns =
                    if *turns == 1 { "1 turn".to_owned() } else { format!("{turns} turns") };
                let cuts = match cuts {
                    0 => String::new(),
                    1 => " and 1 power cut".to_owned(),
                    more => format!(" and {more} power cuts"),
                };
                write!(f, "{turns}{cuts} for each system take about ")?;
                match seconds {
                    0.0..100.0 => write!(f, "{seconds:.0} s"),
                    _ => write!(f, "{:.0} min", seconds / 60.0),
                }
            }
            Self::Turn { system, number, turns } => {
                write!(f, "{system} · turn {number} of {turns}")
            }
            Self::PowerCut { system, number, cuts } => {
                write!(f, "{system} · power cut {number} of {cuts}")
            }
            Self::Stage(line) | Self::Remark(line) => f.write_str(line),
            Self::FolderCreated(folder) => write!(f, "created {}", folder.display()),
            Self::CleanUp => f.write_str("cleaning up"),
        }
    }
}

/// An observer of events. The trial calls it on its own thread.
pub type TrialObserver<'w> = dyn FnMut(TrialEvent<'_>) + Send + 'w;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_time_counts_one_turn_or_several() {
        let text = |seconds, turns, cuts| {
            TrialEvent::Expected { duration: Duration::from_secs(seconds), turns, cuts }.to_string()
        };
        assert_eq!(text(12, 3, 0), "3 turns for each system take about 12 s");
        assert_eq!(text(92, 3, 20), "3 turns and 20 power cuts for each system take about 92 s");
        assert_eq!(text(120, 1, 1), "1 turn and 1 power cut for each system take about 2 min");
    }
}

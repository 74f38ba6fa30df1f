//! The power cuts of a trial: whether a check found all acknowledged data after each cut.

use serde::{Deserialize, Serialize};

/// A power cut and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PowerCut {
    /// Number of the cut, from 1.
    pub cut: u32,
    /// Time from the start of the program to the cut, in seconds.
    pub after_s: f64,
    /// Whether the cut happened after the program had ended.
    pub finished_before: bool,
    /// Whether the drive had lost writes that no flush had stored.
    pub lost_writes: bool,
    /// The outcome.
    #[serde(flatten)]
    pub outcome: PowerCutOutcome,
}

/// The state of the acknowledged data after a power cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum PowerCutOutcome {
    /// The check ended with exit code 0.
    Kept,
    /// The check ended with exit code 1.
    Lost {
        /// End of the check's output.
        output: String,
    },
    /// The check did not run on the data that survived the cut, or did not judge it.
    Unknown {
        /// The reason.
        cause: String,
    },
}

impl PowerCutOutcome {
    /// Returns the outcome of a check that ended with `exit_code`, with the end of its output. Only the exit code 1
    /// reports a loss: the shell returns other codes if the check itself fails, such as 127 for a missing program.
    pub fn of_check(exit_code: i32, output: String) -> Self {
        match exit_code {
            0 => Self::Kept,
            1 => Self::Lost { output },
            _ => {
                let printed = if output.is_empty() { "it printed nothing" } else { &output };
                Self::Unknown {
                    cause: format!("the check ended with exit code {exit_code}: {printed}"),
                }
            }
        }
    }

    /// Returns whether acknowledged data was lost.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }

    /// Returns whether it is not known if acknowledged data was lost.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_exit_code_1_of_a_check_is_a_loss() {
        let outcome = |exit_code| PowerCutOutcome::of_check(exit_code, "row 7".to_owned());
        assert_eq!(outcome(0), PowerCutOutcome::Kept);
        assert_eq!(outcome(1), PowerCutOutcome::Lost { output: "row 7".to_owned() });
        for exit_code in [2, 32, 126, 127, 137, -1] {
            let cause = format!("the check ended with exit code {exit_code}: row 7");
            assert_eq!(outcome(exit_code), PowerCutOutcome::Unknown { cause });
        }
    }
}

//! Planning arithmetic that shows every step: the effect of a faster drive on battery life, the interfaces that can
//! carry a stream, and the number of servers that a load needs.
//!
//! Each plan is a list of [`Step`]s with their formulas as text and numbers, so that a reader can check the plan and
//! change an input. A plan is not a simulation, but a simulation can provide its inputs.

mod bandwidth;
mod battery;
mod fleet;
mod life;
#[cfg(test)]
mod worked_tests;

pub use bandwidth::{Carrier, Stream, Video};
pub use battery::Battery;
pub use fleet::{Costs, Fleet, Node, servers_needed};
pub use life::{Amplification, Estimate, Life};

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// Name of the step, such as `energy of the battery`.
    pub name: String,
    /// Formula of the result with its values, such as `9.6 W x 5.2 h`.
    pub formula: String,
    /// Result of the step, in `unit`.
    pub value: f64,
    pub unit: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub question: String,
    pub steps: Vec<Step>,
    /// The answer, as a sentence.
    pub answer: String,
    /// Effects that this arithmetic omits.
    pub left_out: Vec<String>,
    /// Names of the inputs that were not given and therefore have example values.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub of_example: Vec<String>,
    /// Sources of the inputs, as sentences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
}

/// An input that is out of bounds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{input} = {value}: {bound}")]
pub struct PlanError {
    /// The input's name.
    pub input: &'static str,
    /// The value as the user wrote it.
    pub value: String,
    /// The values that are accepted.
    pub bound: &'static str,
}

impl Plan {
    fn new(question: impl Into<String>) -> Self {
        Self {
            question: question.into(),
            steps: Vec::new(),
            answer: String::new(),
            left_out: Vec::new(),
            of_example: Vec::new(),
            sources: Vec::new(),
        }
    }

    /// Adds a step and returns its value.
    fn step(&mut self, name: &str, formula: String, value: f64, unit: &str) -> f64 {
        self.steps.push(Step { name: name.to_owned(), formula, value, unit: unit.to_owned() });
        value
    }

    fn leave_out(&mut self, what: &[&str]) {
        self.left_out.extend(what.iter().map(|&item| item.to_owned()));
    }
}

/// Maximum of any count or price. Larger values are not realistic, and sums of them would lose digits.
const MOST: f64 = 1e12;

/// Checks that an input is a number above zero and up to the maximum.
fn positive(input: &'static str, value: f64) -> Result<f64, PlanError> {
    if value > 0.0 && value <= MOST {
        Ok(value)
    } else {
        Err(PlanError {
            input,
            value: value.to_string(),
            bound: "must be above zero and at most 10^12",
        })
    }
}

/// Checks that an input is a number from zero to the maximum.
fn not_negative(input: &'static str, value: f64) -> Result<f64, PlanError> {
    if (0.0..=MOST).contains(&value) {
        Ok(value)
    } else {
        Err(PlanError {
            input,
            value: value.to_string(),
            bound: "must be zero or more and at most 10^12",
        })
    }
}

/// Checks that an input is in a range; `bound` describes the range as text.
fn check_range(
    input: &'static str,
    value: f64,
    range: RangeInclusive<f64>,
    bound: &'static str,
) -> Result<f64, PlanError> {
    if range.contains(&value) {
        Ok(value)
    } else {
        Err(PlanError { input, value: value.to_string(), bound })
    }
}

/// Formats a number in a formula: a whole number as it is, and any other number with six digits, the precision of an
/// input.
fn number_text(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        return format!("{value:.0}");
    }
    let before = libm::log10(value.abs()).floor().clamp(-9.0, 5.0) as i32;
    let digits = usize::try_from(5 - before).unwrap_or(0);
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_formulas_have_the_digits_of_an_input() {
        for (value, wanted) in [
            (0.1 + 0.2, "0.3"),
            (5.199_999_999_999_999, "5.2"),
            (1.37e6, "1370000"),
            (1_370_000.25, "1370000"),
            (0.001_234_567_8, "0.00123457"),
            (-2.5, "-2.5"),
            (0.0, "0"),
        ] {
            assert_eq!(number_text(value), wanted);
        }
    }
}

//! Planning arithmetic with every step shown: what a faster drive does to a battery, what a stream needs of an interface,
//! and how many servers a load takes.
//!
//! Each plan is a list of [`Step`]s, each with its formula in words and numbers, so that a person can follow it and
//! disagree with one input. None of them is a simulation; what goes in may come from one.

mod bandwidth;
mod battery;
mod fleet;

pub use bandwidth::{Carrier, Stream, Video, carriers};
pub use battery::{Battery, Duty};
pub use fleet::{Costs, Fleet, Node};

use serde::{Deserialize, Serialize};

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// What it is, `energy of the battery`.
    pub name: String,
    /// How it was come by, `9.6 W x 5.2 h`.
    pub formula: String,
    /// What came out.
    pub value: f64,
    /// Its unit.
    pub unit: String,
}

/// A plan worked out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// The question.
    pub question: String,
    /// The steps, in their order.
    pub steps: Vec<Step>,
    /// The answer, in a sentence.
    pub answer: String,
    /// What this arithmetic leaves out.
    pub left_out: Vec<String>,
}

/// An input that no plan can be made of.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{input} = {value}: {bound}")]
pub struct PlanError {
    /// The input's name.
    pub input: &'static str,
    /// As given.
    pub value: String,
    /// What would be accepted.
    pub bound: &'static str,
}

impl Plan {
    fn new(question: impl Into<String>) -> Self {
        Self {
            question: question.into(),
            steps: Vec::new(),
            answer: String::new(),
            left_out: Vec::new(),
        }
    }

    /// Adds a step and gives its value.
    fn step(&mut self, name: &str, formula: String, value: f64, unit: &str) -> f64 {
        self.steps.push(Step { name: name.to_owned(), formula, value, unit: unit.to_owned() });
        value
    }

    fn leave_out(&mut self, what: &[&str]) {
        self.left_out.extend(what.iter().map(|&one| one.to_owned()));
    }
}

/// Checks that an input is a number above zero.
fn positive(input: &'static str, value: f64) -> Result<f64, PlanError> {
    match value.is_finite() && value > 0.0 {
        true => Ok(value),
        false => Err(PlanError { input, value: value.to_string(), bound: "above zero" }),
    }
}

/// Checks that an input is a number that is not negative.
fn not_negative(input: &'static str, value: f64) -> Result<f64, PlanError> {
    match value.is_finite() && value >= 0.0 {
        true => Ok(value),
        false => Err(PlanError { input, value: value.to_string(), bound: "zero or more" }),
    }
}

//! The comparison of two runs, test by test.

use serde::{Deserialize, Serialize};

use super::{FigureMetric, RatioEstimate};

/// Two runs, compared figure by figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedRuns {
    /// [`super::SCHEMA_VERSION`] of the program that wrote it.
    pub schema_version: u32,
    /// The outcome as a sentence.
    pub answer: String,
    /// The first run.
    pub a: ComparedRun,
    /// The run that is compared with the first.
    pub b: ComparedRun,
    /// The figures that are known in both runs.
    pub figures: Vec<ComparedFigure>,
    /// Tests that only the first run contains.
    pub only_in_a: Vec<String>,
    /// Tests that only the second run contains.
    pub only_in_b: Vec<String>,
}

/// One of two compared runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComparedRun {
    /// The file name as the user wrote it.
    pub file: String,
    /// Name of the target.
    pub name: String,
}

/// A figure of a test in both runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedFigure {
    /// Name of the test.
    pub test: String,
    /// Quantity of the figure.
    pub metric: FigureMetric,
    /// Unit of both values.
    pub unit: String,
    /// Value of the first run.
    pub a: f64,
    /// Value of the second run.
    pub b: f64,
    /// The second value divided by the first, with its 80% interval and the verdict.
    #[serde(flatten)]
    pub ratio: RatioEstimate,
}

//! The comparison of two runs, test by test.

use serde::{Deserialize, Serialize};

use super::FigureMetric;

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
    /// The second value divided by the first.
    pub ratio: f64,
    /// Minimum and maximum of the ratio over the repeats; absent if a run has a single repeat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ratio_range: Option<(f64, f64)>,
    /// Whether the repeats show a difference.
    pub verdict: ComparedVerdict,
}

/// The result of comparing the repeats of two runs for one figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparedVerdict {
    /// The second value is higher in every pair of repeats.
    Higher,
    /// The second value is lower in every pair of repeats.
    Lower,
    /// The difference is not larger than the spread.
    NoDifference,
    /// A run has a single repeat.
    SpreadUnknown,
}

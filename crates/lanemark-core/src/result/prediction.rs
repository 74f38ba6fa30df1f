//! The certainty of a simulated figure.

use serde::{Deserialize, Serialize};

/// The 80% interval of a simulated test, over what was simulated: four of five such systems lie in it. Throughput and
/// requests a second are in it as they are, a mean latency inversely.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictionInterval {
    /// The low end over the figure, from 0 to 1.
    pub low_ratio: f64,
    /// The high end over the figure, at least 1.
    pub high_ratio: f64,
    /// The value that widens the interval most, where one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widest: Option<Widest>,
}

/// The uncertain value that widens an interval most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Widest {
    /// Path of the value, `drive.flash.read`.
    pub parameter: String,
    /// The share of the interval's variance that goes with it, from 0 to 1.
    pub share: f64,
}

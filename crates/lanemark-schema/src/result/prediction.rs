//! The uncertainty of a simulated figure.

use serde::{Deserialize, Serialize};

/// The 80% interval of a simulated test, relative to the simulated figure: it covers four of five such systems. The
/// interval applies directly to throughput and to requests a second, and inversely to a mean latency.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictionInterval {
    /// The ratio of the low end to the figure, from 0 to 1.
    pub low_ratio: f64,
    /// The ratio of the high end to the figure, 1 or more.
    pub high_ratio: f64,
    /// The value that widens the interval most, if any value does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widest: Option<MainUncertainty>,
}

/// The uncertain value that widens an interval most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MainUncertainty {
    /// Path of the value, `drive.flash.read`.
    pub parameter: String,
    /// The share of the interval's variance that this value causes, from 0 to 1.
    pub share: f64,
}

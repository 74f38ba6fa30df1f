//! The uncertainty of a simulated figure.

use serde::{Deserialize, Serialize};

/// The 80% interval of a simulated test, relative to the simulated figure. The interval covers four of five systems of
/// this kind. The interval applies directly to throughput and to requests a second, and inversely to a mean latency.
/// Percentiles have separate intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictionInterval {
    /// The ratio of the lower bound to the figure, from 0 to 1.
    pub low_ratio: f64,
    /// The ratio of the upper bound to the figure, 1 or more.
    pub high_ratio: f64,
    /// The value that contributes most to the width of the interval, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widest: Option<MainUncertainty>,
    /// The intervals of latency percentiles, ascending. A percentile is absent if the short tests contain too few
    /// requests to determine it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<PercentileInterval>,
}

/// The 80% interval of a latency percentile over all requests of a test, relative to the simulated percentile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PercentileInterval {
    /// The percentile in per cent, such as 99.9.
    pub percentile: f64,
    /// The ratio of the lower bound to the simulated latency, from 0 to 1.
    pub low_ratio: f64,
    /// The ratio of the upper bound to the simulated latency, 1 or more.
    pub high_ratio: f64,
}

impl PredictionInterval {
    /// Returns the interval of a latency percentile.
    pub fn percentile(&self, percentile: f64) -> Option<&PercentileInterval> {
        self.percentiles.iter().find(|one| (one.percentile - percentile).abs() < 1e-9)
    }
}

/// The uncertain value that contributes most to the width of an interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MainUncertainty {
    /// Path of the value, such as `drive.flash.read`.
    pub parameter: String,
    /// The share of the interval's variance that this value causes, from 0 to 1.
    pub share: f64,
}

//! The uncertainty of a simulated figure.

use serde::{Deserialize, Serialize};

/// The 80% interval of a simulated test, relative to the simulated figure: it covers four of five such systems. The
/// interval applies directly to throughput and to requests a second, and inversely to a mean latency. Percentiles have
/// separate intervals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PredictionInterval {
    /// The ratio of the low end to the figure, from 0 to 1.
    pub low_ratio: f64,
    /// The ratio of the high end to the figure, 1 or more.
    pub high_ratio: f64,
    /// The value that widens the interval most, if any value does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub widest: Option<MainUncertainty>,
    /// The intervals of percentiles of the latency, ascending. A percentile is absent if the short tests have too few
    /// requests for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub percentiles: Vec<PercentileInterval>,
}

/// The 80% interval of a percentile of the latency of all requests of a test, relative to the simulated percentile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PercentileInterval {
    /// The percentile in per cent, such as 99.9.
    pub percentile: f64,
    /// The ratio of the low end to the simulated latency, from 0 to 1.
    pub low_ratio: f64,
    /// The ratio of the high end to the simulated latency, 1 or more.
    pub high_ratio: f64,
}

impl PredictionInterval {
    /// Returns the interval of a percentile of the latency.
    pub fn percentile(&self, percentile: f64) -> Option<&PercentileInterval> {
        self.percentiles.iter().find(|one| (one.percentile - percentile).abs() < 1e-9)
    }
}

/// The uncertain value that widens an interval most.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MainUncertainty {
    /// Path of the value, `drive.flash.read`.
    pub parameter: String,
    /// The share of the interval's variance that this value causes, from 0 to 1.
    pub share: f64,
}

//! A sweep: one test on one system at many points, each with its own values of the swept parameters.
//!
//! Plain data for views; a point holds the figures that curves are drawn of, not the samples.

/// The points of a sweep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sweep {
    /// The names of the swept parameters; the last changes fastest from point to point.
    pub axes: Vec<String>,
    /// The points that ended, in their order.
    pub points: Vec<SweepPoint>,
}

/// A point of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct SweepPoint {
    /// Number of the point in the sweep, from 0.
    pub number: u64,
    /// The system, `drive@platform:port`.
    pub system: String,
    /// The test's name.
    pub test: String,
    /// The value of each axis, as written.
    pub values: Vec<String>,
    /// Figures of the point, or why there are none.
    pub outcome: Result<SweepFigures, String>,
}

/// The figures of a point, over its repeats.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SweepFigures {
    /// Requests a second.
    pub iops: f64,
    /// Throughput, in bytes a second.
    pub bytes_per_second: f64,
    /// Mean latency, in µs.
    pub latency_mean_us: f64,
    /// Percentiles of the latency, 50, 99 and 99.9, where enough requests support them.
    pub latency_percentiles_us: [Option<f64>; 3],
    /// The longest latency.
    pub latency_max_us: Option<f64>,
    /// The hop that was busiest, and how busy it was.
    pub busiest: Option<(String, f64)>,
}

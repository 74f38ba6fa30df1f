//! The result of a what-if: the same work on the present system and on another path.

use serde::{Deserialize, Serialize};

use super::TestResult;

/// A system and another one under the same tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhatIf {
    /// The system that is there, `drive@platform:port`.
    pub present: String,
    /// Name of the other system.
    pub other: String,
    /// The result that was measured on the first, where one was given.
    pub measured: Option<String>,
    /// The tests.
    pub tests: Vec<WhatIfTest>,
}

/// A test on both systems.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhatIfTest {
    /// The test's name.
    pub test: String,
    /// Measured figures of the present system, where there are any.
    pub measured: Option<Outlook>,
    /// Modelled figures of the present system.
    pub present: Outlook,
    /// Modelled figures of the other system.
    pub other: Outlook,
    /// Uncertainty of the throughput on the other system, as a share of it, from the fit's intervals; only where a fit
    /// with intervals was given.
    pub uncertainty: Option<f64>,
    /// Requests that were simulated and counted on either system, where those of the whole test would have been more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortened_to: Option<u64>,
}

/// The figures of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outlook {
    /// Throughput, in bytes a second.
    pub bytes_per_second: f64,
    /// Requests a second.
    pub iops: f64,
    /// Mean latency, in ns.
    pub latency_mean_ns: f64,
    /// The busiest hop with its share of the time; none for measured runs.
    pub busiest: Option<(String, f64)>,
}

impl Outlook {
    /// The figures of a result.
    pub fn of(result: &TestResult) -> Self {
        let path = result.samples.first().and_then(|sample| sample.path.as_ref());
        let busiest =
            path.and_then(|path| path.busiest_hop()).map(|hop| (hop.name.clone(), hop.utilisation));
        Self {
            bytes_per_second: result.throughput_bytes_per_second.value,
            iops: result.iops.value,
            latency_mean_ns: result.latency_mean_ns.value,
            busiest,
        }
    }
}

impl WhatIfTest {
    /// Returns the other system's throughput over that of the present one's model.
    pub fn ratio(&self) -> f64 {
        self.other.bytes_per_second / self.present.bytes_per_second
    }

    /// The throughput to expect on the other system: the model's, or what was measured times the ratio of both models,
    /// which takes out what the model of the present system is off by.
    pub fn expected(&self) -> f64 {
        match &self.measured {
            Some(measured) => measured.bytes_per_second * self.ratio(),
            None => self.other.bytes_per_second,
        }
    }
}

//! The result of a what-if: the same work on the present system and on another path.

use serde::{Deserialize, Serialize};

use super::{HopId, PathLimit, PredictionInterval, TestResult};

/// The share of the time from which a hop that is busy is the limit of a test.
const FULL: f64 = 0.9;

/// A system and another one under the same tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhatIf {
    /// The system that is there, `drive@platform:port`.
    pub present: String,
    /// Name of the other system.
    pub other: String,
    /// Changed values, each with the one before.
    #[serde(default)]
    pub changed: Vec<String>,
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
    /// Whether the test is of random places, so that requests a second count.
    #[serde(default)]
    pub random: bool,
    /// Measured figures of the present system, where there are any.
    pub measured: Option<Outlook>,
    /// Modelled figures of the present system.
    pub present: Outlook,
    /// Modelled figures of the other system.
    pub other: Outlook,
    /// The 80% interval of [`Self::expected`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<PredictionInterval>,
    /// Measured over modelled throughput of the present system, as it goes over to the other one; none where nothing was
    /// measured, or nothing that tells of the other system's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried: Option<f64>,
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
    /// Part of the path that limits the test; none where requests wait for each other's end alone, and for measured runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<PathPart>,
    /// Throughput that the links would carry if nothing else took time, in bytes a second; none for measured runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links_bytes_per_second: Option<f64>,
    /// The use of the path; none for measured runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathLimit>,
}

/// A part of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathPart {
    /// Processor, driver and host protocol.
    Host,
    /// The links between host and drive.
    Link,
    /// The drive behind its port.
    Drive,
}

impl PathPart {
    /// Returns the part that has the hop `id`.
    pub fn of(id: HopId) -> Self {
        match id {
            HopId::Unsubmitted | HopId::Cpu | HopId::Protocol => Self::Host,
            HopId::Link(_) | HopId::SecondLink(_) => Self::Link,
            HopId::Power
            | HopId::FrontEnd
            | HopId::Buffer
            | HopId::DataPath
            | HopId::Channels
            | HopId::Media => Self::Drive,
        }
    }
}

impl Outlook {
    /// The figures of a result.
    pub fn of(result: &TestResult) -> Self {
        let path = result.samples.first().and_then(|sample| sample.path.as_ref());
        let busiest =
            path.and_then(|path| path.busiest_hop()).map(|hop| (hop.name.clone(), hop.utilisation));
        let full = |busy: f64| busy >= FULL;
        let limit = path.and_then(|path| path.busiest_hop());
        let limit = limit.filter(|hop| full(hop.utilisation)).map(|hop| PathPart::of(hop.id));
        let hops = path.map_or(&[][..], |path| &path.hops);
        let links = hops.iter().filter(|hop| PathPart::of(hop.id) == PathPart::Link);
        let carried = links.filter_map(|hop| Some(hop.ceiling?.0 as f64));
        Self {
            limit,
            links_bytes_per_second: carried.min_by(f64::total_cmp),
            bytes_per_second: result.throughput_bytes_per_second.value,
            iops: result.iops.value,
            latency_mean_ns: result.latency_mean_ns.value,
            busiest,
            path: PathLimit::of(result),
        }
    }
}

impl WhatIfTest {
    /// Returns the other system's throughput over that of the present one's model.
    pub fn ratio(&self) -> f64 {
        self.other.bytes_per_second / self.present.bytes_per_second
    }

    /// Returns the share by which the expected throughput differs from that of the present system, measured where it was,
    /// else modelled.
    pub fn change(&self) -> f64 {
        let present = self.measured.as_ref().unwrap_or(&self.present);
        self.expected() / present.bytes_per_second - 1.0
    }

    /// Returns whether the same part of the path limits both systems.
    pub fn limit_stays(&self) -> bool {
        self.present.limit == self.other.limit
    }

    /// Returns the throughput to expect on the other system, in bytes a second.
    ///
    /// The model's own figure times what was measured over what was modelled on the present system, which takes out the
    /// error of that model, and then no more than the other system's links carry. Where nothing measured tells of the
    /// limit on the other system, the model's own figure stands.
    pub fn expected(&self) -> f64 {
        match self.carried {
            Some(carried) => {
                let most = self.other.links_bytes_per_second.unwrap_or(f64::INFINITY);
                (self.other.bytes_per_second * carried).min(most)
            }
            None => self.other.bytes_per_second,
        }
    }
}

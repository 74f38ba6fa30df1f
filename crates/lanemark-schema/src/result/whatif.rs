//! The result of a what-if: the same tests on the current system and on a different path.

use serde::{Deserialize, Serialize};

use super::{
    AssumedLimit, CreditUse, HopId, PathLimit, PredictionInterval, RatioEstimate, TestResult,
    Warning,
};

/// Utilisation from which a hop is treated as the limit of a test.
const FULL: f64 = 0.9;

/// Two systems that run the same tests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhatIf {
    /// The current system, `drive@platform:port`.
    pub present: String,
    /// Name of the other system.
    pub other: String,
    /// Changed values, each with its previous value.
    #[serde(default)]
    pub changed: Vec<String>,
    /// The result that was measured on the current system, if one was given.
    pub measured: Option<String>,
    /// The tests whose measurement contradicts the model of the current system. Unless the prediction is forced, they
    /// are not among [`Self::tests`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contradictions: Vec<Contradiction>,
    /// The predicted tests.
    pub tests: Vec<WhatIfTest>,
    /// The warnings about the simulated runs of the current and of the other system. Assumed limits are part of the
    /// tests instead.
    #[serde(default)]
    pub warnings: [Vec<Warning>; 2],
}

/// A measurement outside the 80% interval that the model has for the measured system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Contradiction {
    /// The test's name.
    pub test: String,
    /// Whether the test has random offsets, so that its main figure is requests a second.
    #[serde(default)]
    pub random: bool,
    /// The measured figures.
    pub measured: WhatIfFigures,
    /// The modelled figures of the measured system.
    pub present: WhatIfFigures,
    /// The 80% interval of the modelled throughput.
    pub interval: PredictionInterval,
    /// The probable difference.
    pub cause: ContradictionCause,
}

/// The probable difference between a measurement and the model of the measured system.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContradictionCause {
    /// The measured rate times the measured latency is fewer outstanding requests than the test states.
    Outstanding {
        /// The mean number of outstanding requests.
        mean: f64,
        /// Queue depth times threads of the test.
        stated: u64,
    },
    /// The measurement used the page cache.
    PageCache,
    /// The measured rate is higher than the links of the model can carry.
    AboveLinks,
    /// The model is limited by this part of the path.
    Section(PathSection),
    /// The model is not limited by one part of the path.
    Unknown,
}

/// A test on both systems.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhatIfTest {
    /// The test's name.
    pub test: String,
    /// Whether the test has random offsets, so that its main figure is requests a second.
    #[serde(default)]
    pub random: bool,
    /// Measured figures of the current system, if there are any.
    pub measured: Option<WhatIfFigures>,
    /// Modelled figures of the current system.
    pub present: WhatIfFigures,
    /// Modelled figures of the other system.
    pub other: WhatIfFigures,
    /// The 80% interval of [`Self::expected`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<PredictionInterval>,
    /// [`Self::expected`] divided by the throughput of the current system, which is measured if a measurement exists,
    /// and modelled otherwise.
    pub change: RatioEstimate,
    /// Measured divided by modelled throughput of the current system, as it applies to the other system. `None` if
    /// there is no measurement, or if the measurement does not contain information about the other system's limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub carried: Option<f64>,
    /// Number of requests that were simulated and counted on each system, if it is lower than in the whole test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shortened_to: Option<u64>,
}

/// The figures of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WhatIfFigures {
    /// The assumed value that is the limit of a simulated system.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumed: Option<AssumedLimit>,
    /// Throughput, in bytes a second.
    pub bytes_per_second: f64,
    /// Requests a second.
    pub iops: f64,
    /// Mean latency, in ns.
    pub latency_mean_ns: f64,
    /// The 99th percentile of latency over all requests, in ns; `None` if too few requests support it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_p99_ns: Option<f64>,
    /// The 99.9th percentile of latency over all requests, in ns; `None` if too few requests support it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_p999_ns: Option<f64>,
    /// The busiest hop and its busy share; `None` for measured runs.
    pub busiest: Option<(String, f64)>,
    /// Part of the path that limits the test; `None` for measured runs, and if requests only wait for the completion of
    /// other requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<PathSection>,
    /// Throughput that the links would carry if all other hops took no time, in bytes a second; `None` for measured
    /// runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links_bytes_per_second: Option<f64>,
    /// The use of the path; `None` for measured runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathLimit>,
    /// The burst credits of cloud volumes; empty for other drives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub credits: Vec<CreditUse>,
}

/// A part of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PathSection {
    /// Processor, driver and host protocol.
    Host,
    /// The links between host and drive.
    Link,
    /// The drive downstream of its port.
    Drive,
}

impl PathSection {
    /// Returns the part that contains the hop `id`.
    pub fn from_hop(id: HopId) -> Self {
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

impl WhatIfFigures {
    /// Returns the figures of a result.
    pub fn from_result(result: &TestResult) -> Self {
        let path = result.samples.first().and_then(|sample| sample.path.as_ref());
        let busiest =
            path.and_then(|path| path.busiest_hop()).map(|hop| (hop.name.clone(), hop.utilisation));
        let full = |busy: f64| busy >= FULL;
        let limit = path.and_then(|path| path.busiest_hop());
        let limit =
            limit.filter(|hop| full(hop.utilisation)).map(|hop| PathSection::from_hop(hop.id));
        let hops = path.map_or(&[][..], |path| &path.hops);
        let links = hops.iter().filter(|hop| PathSection::from_hop(hop.id) == PathSection::Link);
        let carried = links.filter_map(|hop| Some(hop.ceiling?.0 as f64));
        let latency = result.latency();
        let percentile = |at: f64| latency.percentile_ns(at).map(|ns| ns as f64);
        Self {
            assumed: None,
            limit,
            links_bytes_per_second: carried.min_by(f64::total_cmp),
            bytes_per_second: result.throughput_bytes_per_second.value,
            iops: result.iops.value,
            latency_mean_ns: result.latency_mean_ns.value,
            latency_p99_ns: percentile(99.0),
            latency_p999_ns: percentile(99.9),
            busiest,
            path: PathLimit::from_result(result),
            credits: result.samples.first().map_or_else(Vec::new, |one| one.credits.clone()),
        }
    }
}

impl WhatIfTest {
    /// Returns the other system's throughput divided by the throughput of the current system's model.
    pub fn ratio(&self) -> f64 {
        self.other.bytes_per_second / self.present.bytes_per_second
    }

    /// Returns the throughput of the current system in bytes a second: measured if a measurement exists, and modelled
    /// otherwise.
    pub fn present_bytes_per_second(&self) -> f64 {
        self.measured.as_ref().unwrap_or(&self.present).bytes_per_second
    }

    /// Returns whether the same part of the path limits both systems.
    pub fn limit_stays(&self) -> bool {
        self.present.limit == self.other.limit
    }

    /// Returns the expected throughput on the other system, in bytes a second.
    ///
    /// The modelled figure is multiplied by the ratio of measured to modelled throughput on the current system, which
    /// removes the error of that model. The product is limited to the ceiling of the other system's links. If the
    /// measurement does not contain information about the limit on the other system, the modelled figure applies
    /// unchanged.
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

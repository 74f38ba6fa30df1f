//! A system's path: the work of its hops in a run, the ceiling of each hop, and the tree of the platform that contains
//! the path.

use serde::{Deserialize, Serialize};

use super::TestResult;
use super::assumed::AssumedLimit;
use super::hop::HopId;
use super::prediction::PredictionInterval;
use crate::units::{BytesPerSecond, Duration};

/// The use of each hop of a simulated path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathUse {
    /// The hops from the processor to the media. The waits and service times sum to the mean latency.
    pub hops: Vec<HopUse>,
    /// The name of the busiest hop, from [`PathUse::busiest_hop`].
    pub busiest: String,
    /// Number of simulated events.
    pub events: u64,
}

/// The use of one hop of a simulated path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HopUse {
    /// Identity of the hop.
    pub id: HopId,
    /// Name of the hop in the platform or drive, such as `SATA 6 Gb/s`.
    pub name: String,
    /// The share of the time in which the hop was busy, averaged over its parts (dies, channels, cores).
    pub utilisation: f64,
    /// Throughput of the hop for this workload if the hop were the only limit: throughput divided by utilisation.
    pub ceiling: Option<BytesPerSecond>,
    /// Mean time per request spent waiting for the hop, in ns.
    pub wait_ns: f64,
    /// Mean service time per request at the hop, in ns.
    pub service_ns: f64,
}

impl PathUse {
    /// Creates the use of `hops` in a run of `events` events.
    pub fn new(hops: Vec<HopUse>, events: u64) -> Self {
        let mut path = Self { hops, busiest: String::new(), events };
        path.busiest = path.busiest_hop().map_or_else(String::new, |hop| hop.name.clone());
        path
    }

    /// Returns the hop `id` if the path contains it and it was used.
    pub fn hop(&self, id: HopId) -> Option<&HopUse> {
        self.hops.iter().find(|hop| hop.id == id)
    }

    /// Returns the busiest hop; if several are equally busy, the last of them.
    pub fn busiest_hop(&self) -> Option<&HopUse> {
        self.hops.iter().max_by(|a, b| a.utilisation.total_cmp(&b.utilisation))
    }
}

/// The path of a system under one test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestedPath {
    /// `drive@platform:port`.
    pub system: String,
    /// The test to which the ceilings apply.
    pub test: String,
    /// The hops from the processor to the media.
    pub hops: Vec<PathHop>,
    /// Throughput of the whole path in the simulator, if it was run.
    pub simulated: Option<BytesPerSecond>,
    /// The 80% interval of that throughput, if it was requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<PredictionInterval>,
    /// The platform as a tree, the processor at its root.
    pub topology: TopologyNode,
    /// Size of a request if the test has random offsets. If it is known, views also show rates in requests a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_block_bytes: Option<f64>,
    /// Limit of the simulated test, if one was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<PathLimit>,
    /// The assumed value that is the bottleneck of the simulated test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assumed: Option<AssumedLimit>,
}

/// The limit of a simulated test: the use of its hops, and the loss to its busiest link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathLimit {
    /// Use of each hop.
    pub path: PathUse,
    /// Number of requests that the test keeps outstanding.
    pub outstanding: u64,
    /// Loss to the busiest link, if that link is the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LinkLoss>,
}

impl PathLimit {
    /// Returns the limit of a simulated test, based on its first repeat. The loss to the link is absent, because it
    /// requires another simulation.
    pub fn from_result(result: &TestResult) -> Option<Self> {
        let path = result.samples.first()?.path.clone()?;
        Some(Self { path, outstanding: result.test.population(), loss: None })
    }
}

/// Throughput that a test loses to the link that limits it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkLoss {
    /// Name of the link.
    pub link: String,
    /// Number of drives that share the link.
    pub drives: u32,
    /// Factor by which the link was made faster to compute the loss.
    pub times: u32,
    /// The drive's own connector, if the link was made as fast as that connector.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
    /// Loss of throughput without the faster link, as a share of the throughput with it.
    pub share: f64,
    /// Throughput with the faster link, in bytes a second.
    pub bytes_per_second: f64,
    /// Requests a second with the faster link.
    pub iops: f64,
}

/// A hop of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathHop {
    /// Identity of the hop.
    pub id: HopId,
    /// Name of the hop, such as `SATA 6 Gb/s`.
    pub name: String,
    /// The hop's model as text, such as `8b/10b, 8 KiB frames, 0.5 us turn-around`.
    pub law: String,
    /// Maximum throughput of the hop for the test according to its formula, if the hop has a limit.
    pub ceiling: Option<BytesPerSecond>,
    /// Time of a small message through the hop in one direction, if it is known.
    #[serde(rename = "latency_ns")]
    pub latency: Option<Duration>,
}

/// A chip, a port or a drive in the tree of a platform.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TopologyNode {
    /// Display name, such as `chipset`, `port sata` or `Samsung SSD 850 PRO 1TB`.
    pub label: String,
    /// Link from the parent, such as `DMI 3.0: PCIe 3.0 x4`; absent at the root.
    pub link: Option<String>,
    /// Maximum throughput of that link in one direction, which sets its drawn width.
    pub link_rate: Option<BytesPerSecond>,
    /// Minimum throughput of that link, if it is uncertain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_rate_least: Option<BytesPerSecond>,
    /// Hop of the system's path that represents the link, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hop: Option<HopId>,
    /// Whether the system's path includes the node.
    pub on_path: bool,
    /// Nodes below this node.
    pub children: Vec<TopologyNode>,
}

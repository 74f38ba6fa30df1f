//! A system's path: what its hops did in a run, what each could carry, and the tree of the platform around it.

use serde::{Deserialize, Serialize};

use super::TestResult;
use super::hop::{Former, HopId};
use super::prediction::PredictionInterval;
use crate::units::{BytesPerSecond, Duration};

/// The use of each hop of a simulated path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "SavedPath")]
pub struct PathUse {
    /// The hops from the processor to the media. Waits and services sum to the mean latency.
    pub hops: Vec<HopUse>,
    /// The name of the hop that was busiest, as [`PathUse::busiest_hop`] finds it.
    pub busiest: String,
    /// Simulated events.
    pub events: u64,
}

/// The use of one hop of a simulated path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HopUse {
    /// Identity of the hop.
    pub id: HopId,
    /// Name of the hop in the platform or drive, `SATA 6 Gb/s`.
    pub name: String,
    /// The share of the time in which it was busy, averaged over its parts (dies, channels, cores).
    pub utilisation: f64,
    /// Throughput of the hop for this workload if it alone were the limit: throughput over utilisation.
    pub ceiling: Option<BytesPerSecond>,
    /// Mean time per request spent waiting for the hop, in ns.
    pub wait_ns: f64,
    /// Mean time per request spent in the hop, in ns.
    pub service_ns: f64,
}

impl PathUse {
    /// Builds the use of `hops` in a run of that many events.
    pub fn new(hops: Vec<HopUse>, events: u64) -> Self {
        let mut path = Self { hops, busiest: String::new(), events };
        path.busiest = path.busiest_hop().map_or_else(String::new, |hop| hop.name.clone());
        path
    }

    /// The hop `id`, where the path has it and it did anything.
    pub fn hop(&self, id: HopId) -> Option<&HopUse> {
        self.hops.iter().find(|hop| hop.id == id)
    }

    /// The hop that was busiest; of several the last.
    pub fn busiest_hop(&self) -> Option<&HopUse> {
        self.hops.iter().max_by(|a, b| a.utilisation.total_cmp(&b.utilisation))
    }
}

/// A path as files have it, of any version.
#[derive(Deserialize)]
struct SavedPath {
    hops: Vec<SavedHop>,
    busiest: String,
    events: u64,
}

/// A hop as files have it; older ones know its name alone.
#[derive(Deserialize)]
struct SavedHop {
    id: Option<HopId>,
    name: String,
    utilisation: f64,
    ceiling: Option<BytesPerSecond>,
    wait_ns: f64,
    service_ns: f64,
}

impl From<SavedPath> for PathUse {
    fn from(saved: SavedPath) -> Self {
        let mut former = Former::default();
        let identified = |hop: SavedHop| {
            let SavedHop { id, name, utilisation, ceiling, wait_ns, service_ns } = hop;
            let id = id.unwrap_or_else(|| former.identify(&name));
            HopUse { id, name, utilisation, ceiling, wait_ns, service_ns }
        };
        let hops = saved.hops.into_iter().map(identified).collect();
        Self { hops, busiest: saved.busiest, events: saved.events }
    }
}

/// The path of a system under one test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathView {
    /// `drive@platform:port`.
    pub system: String,
    /// The test that the ceilings hold for.
    pub test: String,
    /// The hops from the processor to the media.
    pub hops: Vec<PathHop>,
    /// Throughput of the whole path in the simulator, where it was run.
    pub simulated: Option<BytesPerSecond>,
    /// The 80% interval of that throughput, where it was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<PredictionInterval>,
    /// The platform as a tree, the processor at its root.
    pub topology: TopologyNode,
    /// Size of a request where the test is of random places, so that rates are told in requests a second too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub random_block_bytes: Option<f64>,
    /// Limit of the simulated test, where it was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<PathLimit>,
}

/// Limit of a simulated test: the use of its hops, and the loss to its busiest link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathLimit {
    /// Use of each hop.
    pub path: PathUse,
    /// Requests that the test keeps outstanding.
    pub outstanding: u64,
    /// Loss to the busiest link, where that is the limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<LinkLoss>,
}

impl PathLimit {
    /// The limit of a simulated test, of its first repeat; what its link takes is not known by that alone.
    pub fn of(result: &TestResult) -> Option<Self> {
        let path = result.samples.first()?.path.clone()?;
        Some(Self { path, outstanding: result.test.population(), loss: None })
    }
}

/// Throughput that a test loses to the link that limits it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkLoss {
    /// Name of the link.
    pub link: String,
    /// Drives that share it.
    pub drives: u32,
    /// How many times as fast the link was made.
    pub times: u32,
    /// The drive's own connector, where the link was made as fast as that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub own: Option<String>,
    /// Share of the throughput with such a link that is lost without it.
    pub share: f64,
    /// Throughput with such a link, in bytes a second.
    pub bytes_per_second: f64,
    /// Requests a second with such a link.
    pub iops: f64,
}

/// A hop of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathHop {
    /// Identity of the hop.
    pub id: HopId,
    /// Name of the hop, `SATA 6 Gb/s`.
    pub name: String,
    /// Law of the hop in words, `8b/10b, 8 KiB frames, 0.5 us turn-around`.
    pub law: String,
    /// Greatest throughput of the hop for the test by its law alone, where it has a limit.
    pub ceiling: Option<BytesPerSecond>,
    /// Time of a small message through the hop in one direction, where it is known.
    #[serde(rename = "latency_ns")]
    pub latency: Option<Duration>,
}

/// A chip, a slot or a drive in the tree of a platform.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TopologyNode {
    /// Name for people, `chipset`, `port sata`, `Samsung SSD 850 PRO 1TB`.
    pub label: String,
    /// Link from the parent, `DMI 3.0: PCIe 3.0 x4`; absent at the root.
    pub link: Option<String>,
    /// Greatest throughput of that link in one direction, which sets how wide it is drawn.
    pub link_rate: Option<BytesPerSecond>,
    /// Least throughput of that link, where it is not known for certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_rate_least: Option<BytesPerSecond>,
    /// Hop of a system's path that the link is, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hop: Option<HopId>,
    /// Whether the system's path goes through the node.
    pub on_path: bool,
    /// Nodes below this one.
    pub children: Vec<TopologyNode>,
}

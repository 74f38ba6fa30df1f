//! A system's path laid out: the hops with their ceilings, and the tree of the platform around it.

use serde::{Deserialize, Serialize};

use crate::units::{BytesPerSecond, Duration};

/// The path of a system under one test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathView {
    /// `drive@platform:port`.
    pub system: String,
    /// The test that the ceilings hold for.
    pub test: String,
    /// The hops from the processor to the media.
    pub hops: Vec<PathHop>,
    /// What the whole path carries in the simulator, where it was run.
    pub simulated: Option<BytesPerSecond>,
    /// The platform as a tree, the processor at its root.
    pub topology: TopologyNode,
}

/// One hop of a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PathHop {
    /// Its name, `SATA 6 Gb/s`.
    pub name: String,
    /// What its law says, `8b/10b, 8 KiB frames, 0.5 us turn-around`.
    pub law: String,
    /// The most that it carries for the test by its law alone, where it has a limit.
    pub ceiling: Option<BytesPerSecond>,
    /// What a small message takes through it, one way, where that is known.
    #[serde(rename = "latency_ns")]
    pub latency: Option<Duration>,
}

/// A chip, a slot or a drive in the tree of a platform.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TopologyNode {
    /// Its name for people, `chipset`, `port sata`, `Samsung SSD 850 PRO 1TB`.
    pub label: String,
    /// The link from its parent, `DMI 3.0: PCIe 3.0 x4`; absent at the root.
    pub link: Option<String>,
    /// What that link carries one way, at most, which sets how wide it is drawn.
    pub link_rate: Option<BytesPerSecond>,
    /// The least that it may carry, where that is not known for certain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link_rate_least: Option<BytesPerSecond>,
    /// The place of that link among the hops of a system's path, where it is one of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hop: Option<usize>,
    /// Whether the system's path goes through it.
    pub on_path: bool,
    /// What hangs below it.
    pub children: Vec<TopologyNode>,
}

//! The paths of all inspected devices as one SVG tree, drawn like a modelled platform.

use std::collections::BTreeSet;

use lanemark_schema::result::{
    BlockDeviceKind, Finding, InspectedDevice, InspectedFinding, InspectedPath, Inspection,
    TopologyNode,
};

use super::steps::{PathStep, steps};
use super::{finding, gaps, words};
use crate::path::TreeDrawing;

/// A hop in the tree under construction, identified by its position.
struct HopNode {
    position: String,
    topology: TopologyNode,
    children: Vec<HopNode>,
}

/// Draws the devices of `inspection` as one self-contained SVG file. Line widths represent the rates of links, and the
/// links that a finding names are highlighted.
pub fn inspection_svg(inspection: &Inspection) -> String {
    let on_path = inspection.target.is_some();
    let mut root = HopNode::new("", "CPU".to_owned(), on_path);
    for device in &inspection.devices {
        for path in &device.paths {
            root.add(device, path, on_path);
        }
    }
    let marked: BTreeSet<&str> = inspection
        .findings
        .iter()
        .filter(|finding| !finding.finding.is_note())
        .flat_map(boxes_named)
        .collect();
    let heading = match &inspection.target {
        Some(target) => format!("The path to {target}"),
        None => "Storage paths".to_owned(),
    };
    let topology = root.finish();
    TreeDrawing {
        heading: &heading,
        subtitle: "Line width: the rate of a link in one direction",
        title: &heading,
        topology: &topology,
        narrow: &|node| marked.contains(node.label.split(' ').next().unwrap_or_default()),
        dashed: "Dashed: no link, or a link of unknown rate.",
        sentences: sentences(inspection),
    }
    .svg()
}

impl HopNode {
    fn new(position: &str, label: String, on_path: bool) -> Self {
        let topology = TopologyNode { label, on_path, ..TopologyNode::default() };
        Self { position: position.to_owned(), topology, children: Vec::new() }
    }

    fn add(&mut self, device: &InspectedDevice, path: &InspectedPath, on_path: bool) {
        // The model name of a namespace belongs to its controller, which has a separate box.
        let model = if matches!(device.kind, BlockDeviceKind::NvmeNamespace { .. }) {
            String::new()
        } else {
            words::model(&device.identity)
        };
        let words = words::joined(&[model, device.size.map_or(String::new(), words::capacity)]);
        let mut at = self;
        for step in steps(device, path, words) {
            at = at.child(&step, on_path);
        }
    }

    fn child(&mut self, step: &PathStep<'_>, on_path: bool) -> &mut Self {
        let index = self.children.iter().position(|child| child.position == step.position);
        let index = index.unwrap_or_else(|| {
            let label = format!("{} {}", step.name, step.words);
            let mut node = Self::new(step.position, label.trim_end().to_owned(), on_path);
            node.topology.link = step.link.map(words::link);
            let range = step.link.and_then(|link| link.range());
            node.topology.link_rate = range.map(|(_, most)| most);
            node.topology.link_rate_least = range.map(|(least, _)| least);
            self.children.push(node);
            self.children.len() - 1
        });
        &mut self.children[index]
    }

    fn finish(self) -> TopologyNode {
        let children = self.children.into_iter().map(Self::finish).collect();
        TopologyNode { children, ..self.topology }
    }
}

/// Returns the names of the boxes to whose links a finding refers. A drive's box has the name of its block device.
fn boxes_named(inspected_finding: &InspectedFinding) -> Vec<&str> {
    match &inspected_finding.finding {
        Finding::PcieBelowCapability { hop, .. }
        | Finding::LinkBelowDevice { hop, .. }
        | Finding::SlotBelowDevice { hop, .. }
        | Finding::UsbSlow { hop, .. } => vec![hop.as_str()],
        Finding::SasBelowCapability { hop, .. } => match inspected_finding.devices.as_slice() {
            [device] => vec![hop.as_str(), device.as_str()],
            _ => vec![hop.as_str()],
        },
        Finding::SataPortSlow { .. } | Finding::SataBelowCapability { .. } => {
            inspected_finding.devices.iter().map(String::as_str).collect()
        }
        Finding::PayloadSmall { .. }
        | Finding::SharedUplink { .. }
        | Finding::BehindChipset { .. }
        | Finding::WithoutQueueing { .. }
        | Finding::DrivesHidden { .. }
        | Finding::WriteCacheOff
        | Finding::SchedulerUnsuited { .. }
        | Finding::PartitionMisaligned { .. } => Vec::new(),
    }
}

/// Returns the paragraphs below the tree.
fn sentences(inspection: &Inspection) -> Vec<(&'static str, String)> {
    let made = inspection.devices.iter().filter(|device| !device.below.is_empty());
    let made = made.map(|device| {
        let text = format!("{} ({})", device.name, words::device(device));
        ("note", format!("{text} is on {}.", device.below.join(", ")))
    });
    let found = inspection.findings.iter().map(|found| {
        let class = if found.finding.is_note() { "said" } else { "bottleneck" };
        (class, finding(found))
    });
    let unknown = gaps::sentences(inspection).into_iter().map(|text| ("note", text));
    made.chain(found).chain(unknown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_share_the_boxes_of_their_common_steps() {
        let step = |position: &'static str| PathStep {
            link: None,
            position,
            name: format!("step {position}"),
            words: String::new(),
        };
        let mut root = HopNode::new("", "CPU".to_owned(), false);
        for (controller, device) in [("1", "a"), ("2", "b"), ("2", "c"), ("1", "d"), ("2", "b")] {
            root.child(&step(controller), false).child(&step(device), false);
        }
        let tree = root.finish();
        let labels = |node: &TopologyNode| -> Vec<String> {
            node.children.iter().map(|child| child.label.clone()).collect()
        };
        assert_eq!(labels(&tree), ["step 1", "step 2"]);
        assert_eq!(labels(&tree.children[0]), ["step a", "step d"]);
        assert_eq!(labels(&tree.children[1]), ["step b", "step c"]);
    }
}

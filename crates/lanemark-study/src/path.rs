//! A system's path as a view: the hops with their ceilings, and the platform's tree around it.

use lanemark_core::result::{PathHop, PathView, TopologyNode};
use lanemark_core::sim::ceilings;
use lanemark_core::sim::link::Sas;
use lanemark_core::units::BytesPerSecond;
use lanemark_core::workload::Test;

use crate::drive::Plug;
use crate::platform::{NamedLink, Platform, Port};
use crate::system::{System, Taken};

/// The path of `system` under `test`; `simulated` is what a run of it carried, where there was one.
pub fn view(system: &System, test: &Test, simulated: Option<BytesPerSecond>) -> PathView {
    let hops = ceilings(&system.spec, test).into_iter().map(|ceiling| PathHop {
        name: ceiling.name,
        law: ceiling.law,
        ceiling: ceiling.rate,
        latency: ceiling.latency,
    });
    let hops: Vec<PathHop> = hops.collect();
    PathView {
        system: system.target.system.clone(),
        test: test.name.clone(),
        topology: tree(system, &hops),
        hops,
        simulated,
    }
}

/// The platform with its processor at the root; ports behind the same links hang together. Links of the path know their
/// place among the `hops`.
fn tree(system: &System, hops: &[PathHop]) -> TopologyNode {
    let Platform { name, ports, .. } = &system.platform;
    let mut root = node(name, None, true);
    for port in ports {
        let taken = system.taken.iter().find(|taken| taken.port == port.name);
        let used = taken.is_some();
        let mut parent = &mut root;
        for (depth, link) in port.behind.iter().enumerate() {
            parent = child(parent, link, used);
            if used && parent.hop.is_none() {
                parent.hop = place(hops, depth, &link.spec.name);
            }
        }
        let mut leaf = leaf(port, taken);
        leaf.hop = taken.and_then(|taken| place(hops, port.behind.len(), &taken.link.name));
        parent.children.push(leaf);
    }
    root
}

/// The place among `hops` of a link that so many links lie above: a further drive's own link is that of the first drive's
/// at the same depth, and a second port's comes behind.
fn place(hops: &[PathHop], depth: usize, name: &str) -> Option<usize> {
    /// Before the links come the processor and the protocol.
    const FIRST_LINK: usize = 2;
    let usual = FIRST_LINK + depth;
    match hops.get(usual) {
        Some(hop) if hop.name == name => Some(usual),
        _ => hops.iter().position(|hop| hop.name == name),
    }
}

/// The node at the far end of `link` below `parent`, made where it is not there.
fn child<'n>(
    parent: &'n mut TopologyNode,
    link: &NamedLink,
    on_path: bool,
) -> &'n mut TopologyNode {
    let known = parent.children.iter().position(|node| node.link.as_ref() == Some(&link.spec.name));
    let index = known.unwrap_or_else(|| {
        let mut below = node(&link.to, Some(link.spec.name.clone()), false);
        below.link_rate = Some(link.spec.law.rate());
        parent.children.push(below);
        parent.children.len() - 1
    });
    let found = &mut parent.children[index];
    found.on_path |= on_path;
    found
}

/// A port, and the drive in it where it is the system's.
fn leaf(port: &Port, taken: Option<&Taken>) -> TopologyNode {
    let label = format!("port {}", port.name);
    let mut port_node = node(&label, Some(port.plug.to_string()), taken.is_some());
    port_node.link_rate = Some(rate(port.plug));
    if let Some(Taken { drive, link, .. }) = taken {
        // What the drive trained to may be less than the port.
        port_node.link = Some(link.name.clone());
        port_node.link_rate = Some(link.law.rate());
        port_node.label = format!("{drive} in port {}", port.name);
    }
    port_node
}

fn rate(plug: Plug) -> BytesPerSecond {
    match plug {
        Plug::Sata(rate) => BytesPerSecond(rate.line_rate().0 / 10),
        Plug::Pcie(generation, lanes) => {
            BytesPerSecond(generation.lane_rate().0 * u64::from(lanes))
        }
        Plug::Sas(rate, phys) => Sas::new(rate, phys).port_rate(),
    }
}

fn node(label: &str, link: Option<String>, on_path: bool) -> TopologyNode {
    TopologyNode { label: label.to_owned(), link, on_path, ..TopologyNode::default() }
}

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
    PathView {
        system: system.target.system.clone(),
        test: test.name.clone(),
        hops: hops.collect(),
        simulated,
        topology: tree(system),
    }
}

/// The platform with its processor at the root; ports behind the same links hang together.
fn tree(system: &System) -> TopologyNode {
    let Platform { name, ports, .. } = &system.platform;
    let mut root = node(name, None, true);
    for port in ports {
        let taken = system.taken.iter().find(|taken| taken.port == port.name);
        let used = taken.is_some();
        let mut parent = &mut root;
        for link in &port.behind {
            parent = child(parent, link, used);
        }
        parent.children.push(leaf(port, taken));
    }
    root
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

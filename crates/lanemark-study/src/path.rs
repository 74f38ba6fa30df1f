//! The path of a system as a view: the hops with their ceilings, and the tree of the platform around them.

use lanemark_schema::result::{HopId, PathHop, TestedPath, TopologyNode};
use lanemark_schema::units::BytesPerSecond;
use lanemark_schema::workload::Test;
use lanemark_sim::ceilings;
use lanemark_sim::link::Sas;
use lanemark_sim::spec::{AttachmentSpec, PortPathSpec};

use crate::drive::Connector;
use crate::platform::{NamedLink, Platform, Port};
use crate::system::{System, UsedPort};

/// Returns the path of `system` for `test`; `simulated` is the throughput of a run, if there was one.
pub fn view(system: &System, test: &Test, simulated: Option<BytesPerSecond>) -> TestedPath {
    let hops = ceilings(&system.spec, test).into_iter().map(|ceiling| PathHop {
        id: ceiling.id,
        name: ceiling.name,
        law: ceiling.formula,
        ceiling: ceiling.rate,
        latency: ceiling.latency,
    });
    let hops: Vec<PathHop> = hops.collect();
    TestedPath {
        system: system.target.system.clone(),
        test: test.name.clone(),
        topology: tree(system, &hops),
        hops,
        simulated,
        interval: None,
        random_block_bytes: is_random(test).then(|| test.block_mean()),
        limit: None,
        assumed: None,
    }
}

/// Returns whether the requests of a test have random offsets, so that the result is stated in requests a second.
pub fn is_random(test: &Test) -> bool {
    test.pattern().is_some() && !test.is_in_order()
}

/// Returns the tree of a platform with empty ports.
pub fn platform_tree(platform: &Platform) -> TopologyNode {
    let mut root = node(&platform.name, None, false);
    for port in &platform.ports {
        let port_node =
            port.behind.iter().fold(&mut root, |parent, link| child(parent, link, false));
        port_node.children.push(leaf(port, None));
    }
    root
}

/// Returns the tree of the platform, with the processor at the root. Ports that share links also share the nodes of
/// these links. The links of the path refer to their `hops`.
fn tree(system: &System, hops: &[PathHop]) -> TopologyNode {
    let Platform { name, ports, .. } = &system.platform;
    let mut root = node(name, None, true);
    let port_paths = system.spec.attachments.iter().flat_map(port_paths);
    let taken: Vec<_> = system.taken.iter().zip(port_paths).collect();
    for port in ports {
        let taken = taken.iter().find(|(taken, _)| taken.port == port.name);
        let hop_at = |depth: usize| {
            let (_, (port_path, second)) = taken?;
            let id = hop(port_path, *second, depth);
            hops.iter().any(|hop| hop.id == id).then_some(id)
        };
        let used = taken.is_some();
        let mut parent = &mut root;
        for (depth, link) in port.behind.iter().enumerate() {
            parent = child(parent, link, used);
            if used && parent.hop.is_none() {
                parent.hop = hop_at(depth);
            }
        }
        let mut leaf = leaf(port, taken.map(|(taken, _)| *taken));
        leaf.hop = hop_at(port.behind.len());
        parent.children.push(leaf);
    }
    root
}

/// Returns the paths to a drive, each with whether it leads to the second port.
fn port_paths(attachment_spec: &AttachmentSpec) -> impl Iterator<Item = (&PortPathSpec, bool)> {
    attachment_spec.port_paths().zip([false, true])
}

/// Returns the hop of the link that is `depth` links below the root of a path. The separate links of the other drives
/// have the hop of the first drive's link at the same depth.
fn hop(port_path: &PortPathSpec, second: bool, depth: usize) -> HopId {
    match depth.checked_sub(port_path.trunk) {
        Some(own) if second => HopId::SecondLink(own as u8),
        _ => HopId::Link(depth as u8),
    }
}

/// Returns the node at the far end of `link` below `parent`; creates the node if it is missing.
fn child<'n>(
    parent: &'n mut TopologyNode,
    link: &NamedLink,
    on_path: bool,
) -> &'n mut TopologyNode {
    let known = parent.children.iter().position(|node| node.link.as_ref() == Some(&link.spec.name));
    let index = known.unwrap_or_else(|| {
        let mut child_node = node(&link.to, Some(link.spec.name.clone()), false);
        child_node.link_rate = Some(link.spec.model.rate());
        parent.children.push(child_node);
        parent.children.len() - 1
    });
    let found = &mut parent.children[index];
    found.on_path |= on_path;
    found
}

/// Returns the node of a port, including its drive if the drive belongs to the system.
fn leaf(port: &Port, taken: Option<&UsedPort>) -> TopologyNode {
    let label = format!("port {}", port.name);
    let mut port_node = node(&label, Some(port.plug.to_string()), taken.is_some());
    port_node.link_rate = Some(plug_rate(port.plug));
    if let Some(UsedPort { drive, link, .. }) = taken {
        // The link to the drive may have trained to a lower rate than the port supports.
        port_node.link = Some(link.name.clone());
        port_node.link_rate = Some(link.model.rate());
        port_node.label = format!("{drive} in port {}", port.name);
    }
    port_node
}

/// Returns the rate of a connector in one direction.
pub fn plug_rate(plug: Connector) -> BytesPerSecond {
    match plug {
        Connector::Sata(rate) => BytesPerSecond(rate.line_rate().0 / 10),
        Connector::Pcie(generation, lanes) => {
            BytesPerSecond(generation.lane_rate().0 * u64::from(lanes))
        }
        Connector::Sas(rate, phys) => Sas::new(rate, phys).port_rate(),
    }
}

fn node(label: &str, link: Option<String>, on_path: bool) -> TopologyNode {
    TopologyNode { label: label.to_owned(), link, on_path, ..TopologyNode::default() }
}

//! Path fixtures: a drive at the end of a long path, a server with many ports, and trees that do not occur on any
//! platform.
//!
//! Ceilings and latencies are invented, but similar to real components.

use lanemark_schema::result::{HopId, PathHop, TestedPath, TopologyNode};
use lanemark_schema::units::{BytesPerSecond, Duration};

/// Returns a 2009 desktop computer with a separate SATA controller downstream of a switch in a slot.
pub(crate) fn marvell() -> TestedPath {
    let at = |link, node| TopologyNode { hop: Some(HopId::Link(link)), ..node };
    let drive = at(3, node("Samsung SSD 850 PRO 1TB", Some(("SATA 6 Gb/s", 600)), true, vec![]));
    let controller =
        at(2, node("Marvell 88SE9123", Some(("PCIe 2.0 x1", 500)), true, vec![drive.clone()]));
    let switch = node("PLX PEX8608 switch", Some(("PCIe 2.0 x4", 2000)), true, vec![controller]);
    let other = node("Intel SSD 320 300GB", Some(("SATA 3 Gb/s", 300)), false, vec![]);
    let chipset = node(
        "ICH10R",
        Some(("DMI 1.0: PCIe 1.1 x4", 1000)),
        true,
        vec![
            node("port sata0", Some(("SATA 3 Gb/s", 300)), false, vec![]),
            node("port sata1", None, false, vec![other]),
            at(1, node("slot x4", Some(("PCIe 1.1 x4", 1000)), true, vec![switch])),
            node("slot x1", Some(("PCIe 1.1 x1", 250)), false, vec![]),
        ],
    );
    let graphics = node("slot x16", Some(("PCIe 2.0 x16", 8000)), false, vec![]);
    TestedPath {
        system: "850-pro@desktop-x58:marvell".to_owned(),
        test: "Seq read".to_owned(),
        hops: vec![
            hop(
                HopId::Cpu,
                "CPU",
                "2 us to submit, 1 us to complete, a request a core",
                Some(41_230),
                2_000,
            ),
            hop(HopId::Protocol, "AHCI", "8 us of driver, 128 KiB at most", Some(13_107), 4_800),
            hop(
                HopId::Link(0),
                "DMI 1.0",
                "PCIe 1.1 x4, 8b/10b, payloads of 128 B",
                Some(844),
                150,
            ),
            hop(
                HopId::Link(1),
                "slot x4",
                "PCIe 1.1 x4, 8b/10b, payloads of 128 B",
                Some(844),
                150,
            ),
            hop(
                HopId::Link(2),
                "PCIe 2.0 x1",
                "8b/10b, payloads of 128 B, reads of 512 B",
                Some(412),
                230,
            ),
            hop(
                HopId::Link(3),
                "SATA 6 Gb/s",
                "8b/10b, 8 KiB frames, 0.5 us turn-around",
                Some(556),
                610,
            ),
            PathHop {
                latency: None,
                ..hop(HopId::Channels, "channels", "8 channels of 400 MB/s", Some(3016), 0)
            },
            hop(HopId::Media, "dies", "", None, 52_000),
        ],
        simulated: Some(BytesPerSecond(398_600_000)),
        interval: None,
        random_block_bytes: None,
        limit: None,
        assumed: None,
        topology: node("Core i7-920, X58", None, true, vec![graphics, at(0, chipset)]),
    }
}

/// Returns a server with many drives on each of its ports.
pub(crate) fn server() -> TestedPath {
    let port = |index: u64| {
        let on_path = index == 13;
        let drive = node("Micron 9300 PRO 3.84TB", Some(("PCIe 3.0 x4", 3938)), on_path, vec![]);
        let slot = format!("U.2 bay {index}");
        node(&slot, Some(("PCIe 3.0 x4", 3938)), on_path, vec![drive])
    };
    let switch = |name: &str, ports: std::ops::Range<u64>| {
        let on_path = ports.contains(&13);
        node(name, Some(("PCIe 3.0 x16", 15_754)), on_path, ports.map(port).collect())
    };
    let children = vec![switch("switch A", 0..8), switch("switch B", 8..20)];
    TestedPath { topology: node("2 x EPYC 7B13", None, true, children), ..marvell() }
}

/// Returns a tree of `levels` levels with `wide` children each, and the path through the last child on each level.
pub(crate) fn comb(levels: usize, wide: usize) -> TestedPath {
    let mut below = node("the end of the path", Some(("link", 10)), true, vec![]);
    for level in 1..levels {
        let rate = 10_u64.pow(level as u32 % 6);
        let mut children: Vec<TopologyNode> = (1..wide)
            .map(|index| {
                let below = node("below", Some(("SATA 6 Gb/s", 600)), false, vec![]);
                let children = if index % 3 == 1 { vec![below.clone(), below] } else { vec![] };
                let label = format!("a box with a long name at level {level}, number {index}");
                node(&label, Some(("PCIe 5.0 x16", 63_015)), false, children)
            })
            .collect();
        children.insert(children.len() / 2, below);
        below = node(&format!("level {level}"), Some(("link", rate)), true, children);
    }
    below.link = None;
    below.link_rate = None;
    TestedPath { topology: below, ..marvell() }
}

/// Returns a path that consists only of a processor without any known property.
pub(crate) fn bare() -> TestedPath {
    TestedPath {
        hops: Vec::new(),
        simulated: None,
        topology: node("processor", None, true, vec![]),
        ..marvell()
    }
}

/// Returns the path without rates, ceilings and latencies.
pub(crate) fn unknown() -> TestedPath {
    let mut view = marvell();
    for hop in &mut view.hops {
        (hop.ceiling, hop.latency) = (None, None);
    }
    change_each(&mut view.topology, &mut |node| node.link_rate = None);
    TestedPath { simulated: None, ..view }
}

/// Returns the path with `hostile` as every name.
pub(crate) fn named(hostile: &str) -> TestedPath {
    let mut view = marvell();
    for hop in &mut view.hops {
        hostile.clone_into(&mut hop.name);
        hostile.clone_into(&mut hop.law);
    }
    change_each(&mut view.topology, &mut |node| {
        hostile.clone_into(&mut node.label);
        node.link = node.link.as_ref().map(|_| hostile.to_owned());
    });
    TestedPath { system: hostile.to_owned(), test: hostile.to_owned(), ..view }
}

/// Returns all fixtures, including paths with the maximum and the minimum rates.
pub(crate) fn all() -> Vec<TestedPath> {
    let mut extreme = marvell();
    extreme.hops[2].ceiling = Some(BytesPerSecond(0));
    extreme.hops[3].ceiling = Some(BytesPerSecond(u64::MAX));
    let mut index = 0;
    change_each(&mut extreme.topology, &mut |node| {
        index += 1;
        node.link_rate = Some(BytesPerSecond([0, u64::MAX, 1][index % 3]));
    });
    let mut off = marvell();
    change_each(&mut off.topology, &mut |node| node.on_path = false);
    let mut everywhere = server();
    change_each(&mut everywhere.topology, &mut |node| node.on_path = true);
    let mut zero = marvell();
    change_each(&mut zero.topology, &mut |node| node.link_rate = Some(BytesPerSecond(0)));
    vec![
        marvell(),
        server(),
        comb(6, 4),
        comb(2, 20),
        comb(1, 1),
        comb(40, 2),
        bare(),
        unknown(),
        named("<script>alert('x')</script>\x1b[31m\"&\u{ffff}\u{0}"),
        named(&"a very long name ".repeat(20)),
        named(&"unbroken".repeat(30)),
        named("数据读取速率测试数据读取速率测试数据读取速率测试数据读取速率测试"),
        named(""),
        extreme,
        off,
        everywhere,
        zero,
    ]
}

fn node(
    label: &str,
    link: Option<(&str, u64)>,
    on_path: bool,
    children: Vec<TopologyNode>,
) -> TopologyNode {
    TopologyNode {
        label: label.to_owned(),
        link: link.map(|(name, _)| name.to_owned()),
        link_rate: link.map(|(_, megabytes)| BytesPerSecond(megabytes * 1_000_000)),
        on_path,
        children,
        ..TopologyNode::default()
    }
}

fn hop(id: HopId, name: &str, law: &str, megabytes: Option<u64>, latency_ns: u64) -> PathHop {
    PathHop {
        id,
        name: name.to_owned(),
        law: law.to_owned(),
        ceiling: megabytes.map(|megabytes| BytesPerSecond(megabytes * 1_000_000)),
        latency: Some(Duration::from_nanoseconds(latency_ns)),
    }
}

fn change_each(node: &mut TopologyNode, change: &mut impl FnMut(&mut TopologyNode)) {
    change(node);
    for child in &mut node.children {
        change_each(child, change);
    }
}

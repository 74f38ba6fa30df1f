//! Tests of the tree of an inspection as text.

use lanemark_schema::result::{
    BlockDeviceKind, InspectedHop, InspectedHopKind, InspectedLink, InspectedPartition,
    PciFunctionKind, PcieLink, PcieRate, QueueLimits,
};
use lanemark_schema::units::Bytes;

use super::*;
use crate::terminal::Style;

fn device(name: &str) -> InspectedDevice {
    InspectedDevice::new(name, BlockDeviceKind::Disk)
}

fn text(device: &InspectedDevice, all: &[&InspectedDevice], width: usize) -> Vec<String> {
    let mut sheet = TerminalText::new(&Style { width, colour: false });
    let all = all.iter().map(|&one| (one.name.as_str(), one)).collect();
    draw(&mut sheet, device, &all);
    sheet.finish().lines().map(str::to_owned).collect()
}

fn line(step: &PathStep<'_>, depth: usize, strong: bool) -> Vec<String> {
    let mut sheet = TerminalText::new(&Style { width: 60, colour: false });
    draw_line(&mut sheet, step, depth, strong);
    sheet.finish().lines().map(str::to_owned).collect()
}

#[test]
fn a_step_is_indented_by_its_depth_with_its_link_on_the_branch() {
    let current = Some(PcieRate { generation: 3, lanes: 4 });
    let link = InspectedLink::Pcie(PcieLink { current, ..PcieLink::default() });
    let step = |link, words: &str| PathStep {
        link,
        position: "p",
        name: "nvme0".to_owned(),
        words: words.to_owned(),
    };
    assert_eq!(line(&step(None, "controller"), 0, false), ["└─ nvme0 controller"]);
    assert_eq!(line(&step(None, "controller"), 2, true), ["      └─ nvme0  controller"]);
    let linked = step(Some(&link), "controller");
    assert_eq!(line(&linked, 1, false), ["   └═ PCIe 3.0 x4 ═ nvme0 controller"]);
    // Words that do not fit continue on the next line, below the first word.
    let long = step(None, &"word ".repeat(12));
    let wanted = [
        format!("      └─ nvme0 {}", ["word"; 9].join(" ")),
        format!("{}{}", " ".repeat(15), ["word"; 3].join(" ")),
    ];
    assert_eq!(line(&long, 2, false), wanted);
    // If fewer than 24 columns are left, the words are on separate lines, three columns further to the right.
    let deep = line(&step(None, &"word ".repeat(9)), 11, false);
    assert_eq!(deep[0], format!("{}└─ nvme0", " ".repeat(33)));
    assert_eq!(deep[1], format!("{}{}", " ".repeat(36), ["word"; 5].join(" ")));
    assert_eq!(deep.len(), 3);
    // In a path that is deeper than a line is wide, names still have 24 columns.
    let deepest = line(&step(None, ""), 40, false);
    assert_eq!(deepest[0], format!("{}└─ nvme0", " ".repeat(33)));
}

#[test]
fn partitions_are_listed_up_to_a_bound() {
    let with = |count: usize, width: usize| {
        let part = |number: usize| InspectedPartition {
            name: format!("sda{number}"),
            start: None,
            size: Some(Bytes(number as u64 * 1_000_000_000)).filter(|_| number != 2),
            alignment_offset_bytes: None,
        };
        let partitions = (1..=count).map(part).collect();
        text(&InspectedDevice { partitions, ..device("sda") }, &[], width)
    };
    assert_eq!(with(3, 80), ["├─ sda1  1.00 GB", "├─ sda2", "└─ sda3  3.00 GB"]);
    let many = with(PARTITIONS_MAX + 2, 80);
    assert_eq!(many.len(), PARTITIONS_MAX + 1);
    assert_eq!(many[PARTITIONS_MAX], "└─ and 2 more");
    assert!(many[PARTITIONS_MAX - 1].starts_with("├─ sda16"));
    let most = with(PARTITIONS_MAX, 80);
    assert!(most.len() == PARTITIONS_MAX && most[PARTITIONS_MAX - 1].starts_with("└─ sda16"));
}

#[test]
fn components_are_a_tree_in_which_each_device_is_followed_once() {
    let made = |name: &str, below: &[&str]| InspectedDevice {
        below: below.iter().map(|&name| name.to_owned()).collect(),
        size: Some(Bytes(5_000_000)),
        ..device(name)
    };
    let dm = made("dm-0", &["md0", "sda"]);
    let md = made("md0", &["sda", "sdb"]);
    let sda = made("sda", &[]);
    let round = made("sdb", &["dm-0"]);
    assert_eq!(
        text(&dm, &[&dm, &md, &sda, &round], 80),
        [
            "├─ md0 5.00 MB",
            "│  ├─ sda 5.00 MB",
            "│  └─ sdb 5.00 MB",
            "│     └─ dm-0 5.00 MB",
            "└─ sda 5.00 MB",
        ]
    );
    // A component that is not among the devices does not have a description.
    assert_eq!(text(&dm, &[&dm], 80), ["├─ md0", "└─ sda"]);
    let names: Vec<String> = (0..BELOW_MAX + 5).map(|number| format!("x{number}")).collect();
    let wide = InspectedDevice { below: names, ..device("md0") };
    let lines = text(&wide, &[], 80);
    assert_eq!((lines.len(), lines[BELOW_MAX - 1].as_str()), (BELOW_MAX, "└─ and more"));
    let chain: Vec<InspectedDevice> =
        (0..20).map(|number| made(&format!("d{number}"), &[&format!("d{}", number + 1)])).collect();
    let all: Vec<&InspectedDevice> = chain.iter().collect();
    assert_eq!(text(&chain[0], &all, 200).len(), DEPTH_MAX + 1);
}

#[test]
fn a_path_begins_at_its_memory_and_its_last_line_has_the_limits() {
    let part = InspectedHopKind::Pci {
        role: PciFunctionKind::Nvme,
        vendor: None,
        device: None,
        driver: None,
        chipset: false,
    };
    let hop = InspectedHop {
        name: "0000:01:00.0".to_owned(),
        place: "p".to_owned(),
        part,
        link: None,
        numa_node: Some(1),
    };
    let named_path = |name: &str| InspectedPath {
        name: Some(name.to_owned()),
        state: None,
        hops: vec![hop.clone()],
    };
    let queue = QueueLimits { queue_depth: Some(31), ..QueueLimits::default() };
    let own = InspectedDevice {
        paths: vec![named_path("a"), named_path("b")],
        queue,
        ..device("nvme0n1")
    };
    assert_eq!(
        text(&own, &[], 80),
        [
            "CPU, NUMA node 1, a",
            "└─ 0000:01:00.0 NVMe controller",
            "   └─ nvme0n1",
            "CPU, NUMA node 1, b",
            "└─ 0000:01:00.0 NVMe controller",
            "   └─ nvme0n1  queue depth 31",
        ]
    );
}

//! Tests captures of a machine, lspci texts, and the order of devices.

mod tree;

use std::path::Path;

use lanemark_inspect::{Sysfs, inspect};
use lanemark_schema::result::{InspectedHop, InspectedLink, Inspection, PcieLink, PcieRate};
use lanemark_schema::units::Bytes;
use tar::{Builder, EntryType, Header};
use tree::{Tree, device, finding_texts, hops};

const GEN3: &str = "8.0 GT/s PCIe";
const GEN4: &str = "16.0 GT/s PCIe";

fn laptop() -> Tree {
    let tree = Tree::new();
    let most = [(GEN4, 4), (GEN4, 4)];
    let drive = tree.slot("0000:00:06.0", "0000:01:00.0", "0x010802", "nvme", (GEN3, 4), most);
    let controller = tree.nvme(&drive, "nvme0", "Drive X");
    let block = format!("{controller}/nvme0n1");
    tree.block(&block, 1000).partition(&block, "nvme0n1p1", 2048, "0");
    tree
}

fn capture(tree: &Tree) -> Vec<u8> {
    let sysfs = Sysfs::open(tree.root()).unwrap().recording();
    inspect(&sysfs, None).unwrap();
    sysfs.capture().unwrap().unwrap()
}

fn read(tar: &[u8]) -> Result<Inspection, String> {
    let message = |error: lanemark_inspect::InspectError| error.to_string();
    let sysfs = Sysfs::of_capture(tar, Path::new("m.tar")).map_err(message)?;
    inspect(&sysfs, None).map_err(message)
}

#[test]
fn a_capture_contains_the_same_facts_only() {
    let tree = laptop();
    tree.file("devices/secret", "nothing of this");
    let tar = capture(&tree);
    assert_eq!(read(&tar).unwrap(), tree.all());
    assert_eq!(tar, capture(&tree), "one tree, one capture");
    let text = String::from_utf8_lossy(&tar);
    assert!(text.contains("Drive X") && !text.contains("nothing of this"));
    assert!(Sysfs::open(tree.root()).unwrap().capture().is_none());
}

#[test]
fn places_that_are_long_are_captured_whole() {
    let tree = Tree::new();
    let steps: Vec<String> = (0..12).map(|step| format!("0000:{step:02x}:00.0")).collect();
    let function = format!("devices/pci0000:00/{}", steps.join("/"));
    tree.pci(&function, "0x010802", "0x144d", "nvme");
    let controller = tree.nvme(&function, "nvme0", "Far Drive");
    tree.block(&format!("{controller}/nvme0n1"), 1);
    assert!(function.len() > 160);
    assert_eq!(read(&capture(&tree)).unwrap(), tree.all());
}

/// Returns a tar file with the given entries, which may have any names.
fn tar(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
    let mut builder = Builder::new(Vec::new());
    for (name, kind, content) in entries {
        let mut header = Header::new_gnu();
        header.as_gnu_mut().unwrap().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(*kind);
        header.set_mode(0o644);
        header.set_size(if *kind == EntryType::Symlink { 0 } else { content.len() as u64 });
        if *kind == EntryType::Symlink {
            header.as_gnu_mut().unwrap().linkname[..content.len()].copy_from_slice(content);
        }
        header.set_cksum();
        let content: &[u8] = if *kind == EntryType::Symlink { b"" } else { content };
        builder.append(&header, content).unwrap();
    }
    builder.into_inner().unwrap()
}

#[test]
fn a_hostile_capture_is_refused_and_writes_nothing_outside() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().to_str().unwrap().as_bytes().to_vec();
    let long = vec![b'x'; 70_000];
    let file = EntryType::Regular;
    let cases: [(&[(&str, EntryType, &[u8])], &str); 8] = [
        (&[("../evil", file, b"x")], "leads out"),
        (&[("/evil", file, b"x")], "leads out"),
        (&[("a", EntryType::Symlink, &target), ("a/evil", file, b"x")], "below a link"),
        (&[("a", EntryType::Fifo, b"")], "not a folder, link or file"),
        (&[("a", EntryType::Block, b"")], "not a folder, link or file"),
        (&[("a", EntryType::Link, b"")], "not a folder, link or file"),
        (&[("a", file, &long)], "more than 65536 bytes"),
        (&[("a", file, b"x"), ("a", file, b"y")], "File exists"),
    ];
    for (entries, reason) in cases {
        let error = read(&tar(entries)).unwrap_err();
        assert!(error.contains(reason), "{error}");
    }
    assert!(read(b"").is_err());
    assert!(read(&[b'x'; 2048]).is_err());
    let cut = capture(&laptop());
    for end in [100, 513, cut.len() / 2] {
        assert!(read(&cut[..end]).is_err(), "{end}");
    }
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn a_capture_made_by_hand_may_begin_with_the_name_of_the_tree() {
    let file = EntryType::Regular;
    let tar = tar(&[("sys/block/sda/size", file, b"2048\n"), ("sys/devices/x", file, b"")]);
    let inspection = read(&tar).unwrap();
    assert_eq!(device(&inspection, "sda").size.unwrap().get(), 1 << 20);
}

const VERBOSE: &str = include_str!("samples/lspci-verbose.txt");
const CONTROLLERS: &str = include_str!("samples/lspci-controllers.txt");

fn of_lspci(text: &str) -> Result<Inspection, String> {
    let message = |error: lanemark_inspect::InspectError| error.to_string();
    let sysfs = Sysfs::of_lspci(text, Path::new("lspci.txt")).map_err(message)?;
    inspect(&sysfs, None).map_err(message)
}

#[test]
fn lspci_shows_the_path_of_a_drive_and_its_trained_link() {
    for text in [
        VERBOSE.to_owned(),
        VERBOSE
            .replace("PCI bridge:", "PCI bridge [0604]:")
            .replace("Non-Volatile memory controller:", "Non-Volatile memory controller [0108]:"),
        VERBOSE.replace("00:06.0", "0000:00:06.0").replace("\n01:00.0", "\n0000:01:00.0"),
    ] {
        let inspection = of_lspci(&text).unwrap();
        let names: Vec<&str> =
            inspection.devices.iter().map(|device| device.name.as_str()).collect();
        assert_eq!(names, ["nvme0n1", "sata-0000:00:17.0"]);
        let link =
            device(&inspection, "nvme0n1").paths[0].hops.iter().find_map(|hop| match &hop.link {
                Some(InspectedLink::Pcie(link)) => Some(link.clone()),
                _ => None,
            });
        let link = link.unwrap();
        assert_eq!(link.current, Some(PcieRate { generation: 3, lanes: 4 }));
        assert_eq!(link.lower_max, Some(PcieRate { generation: 4, lanes: 4 }));
        assert!(
            finding_texts(&inspection).iter().any(|one| one.contains("runs at PCIe 3.0 x4")),
            "{inspection:?}"
        );
    }
}

#[test]
fn a_tree_of_lspci_shows_the_path_of_a_drive() {
    let text = include_str!("samples/lspci-tree.txt");
    let inspection = of_lspci(text).unwrap();
    assert_eq!(inspection.devices.len(), 3);
    let at = |name: &str| hops(&inspection, name).join(" ");
    assert!(at("nvme0n1").starts_with("0000:00:06.0 0000:01:00.0"), "{}", at("nvme0n1"));
    let far = "0000:00:1c.0 0000:02:00.0 0000:03:01.0 0000:05:00.0";
    assert!(at("nvme2n1").starts_with(far), "{}", at("nvme2n1"));
    let model = device(&inspection, "nvme2n1").identity.model.clone().unwrap();
    assert_eq!(model, "Sandisk Corp NVMe SSD SN850");
}

/// Returns the PCI Express links on the path to a device, in order from the processor.
fn links(inspection: &Inspection, name: &str) -> Vec<PcieLink> {
    let link = |hop: &InspectedHop| match &hop.link {
        Some(InspectedLink::Pcie(link)) => Some(link.clone()),
        _ => None,
    };
    device(inspection, name).paths[0].hops.iter().filter_map(link).collect()
}

#[test]
fn lspci_shows_the_links_of_controllers_without_their_drives() {
    let inspection = of_lspci(CONTROLLERS).unwrap();
    let mut names: Vec<&str> =
        inspection.devices.iter().map(|device| device.name.as_str()).collect();
    names.sort_unstable();
    let known = ["raid-0000:05:00.0", "sas-0000:02:00.0", "sata-0000:00:17.0", "usb-0000:00:14.0"];
    assert_eq!(names, known);
    let at = |name: &str| hops(&inspection, name).join(" ");
    assert_eq!(at("sata-0000:00:17.0"), "0000:00:17.0");
    assert_eq!(at("raid-0000:05:00.0"), "0000:00:1c.0 0000:03:00.0 0000:04:01.0 0000:05:00.0");

    let rate = |lanes| Some(PcieRate { generation: 3, lanes });
    let adapter = &links(&inspection, "sas-0000:02:00.0")[0];
    assert_eq!((adapter.current, adapter.lower_max), (rate(4), rate(8)));
    assert_eq!(adapter.payload_max, Some(Bytes(256)));
    assert_eq!(adapter.read_request_max, Some(Bytes(512)));
    // There are links below the switch's upstream port and below its downstream port, but not inside the switch.
    let raid = links(&inspection, "raid-0000:05:00.0");
    assert_eq!(raid.iter().map(|link| link.current).collect::<Vec<_>>(), [rate(4), rate(1)]);
    let model = device(&inspection, "sas-0000:02:00.0").identity.model.clone().unwrap();
    assert!(model.starts_with("not shown by lspci, on Broadcom / LSI SAS3008"), "{model}");
    let findings = finding_texts(&inspection).join("\n");
    assert!(findings.contains("0000:05:00.0") && findings.contains("PCIe 3.0 x1"), "{findings}");
}

#[test]
fn foreign_and_spoilt_texts_do_no_harm() {
    for text in
        ["", "hello\n", "-[", "-[zz:zz]-+-", "-[0000:00]-+-0", "00:00.0\n", "\u{fffd}\u{fffd}:\n"]
    {
        assert!(of_lspci(text).is_err(), "{text}");
    }
    // The text lists a bridge above itself, and two bridges above each other.
    let round = "01:00.0 PCI bridge: x\n\tBus: primary=01, secondary=01, subordinate=01\n\
                 02:00.0 PCI bridge: x\n\tBus: primary=02, secondary=01, subordinate=01\n\
                 01:01.0 PCI bridge: x\n\tBus: primary=01, secondary=02, subordinate=02\n";
    assert!(of_lspci(round).is_err());
    let mut state = 7_u64;
    for _ in 0..100 {
        let mut spoilt: Vec<char> = VERBOSE.chars().chain(CONTROLLERS.chars()).collect();
        for _ in 0..60 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (state >> 33) as usize % spoilt.len();
            let marks = ['\n', ':', '-', '[', 'é', '0', '/', '\t', '>', '\u{1b}', '\r', ' ', '`'];
            spoilt[at] = marks[(state >> 20) as usize % marks.len()];
        }
        let _ = of_lspci(&spoilt.into_iter().collect::<String>());
    }
}

#[test]
fn real_drives_come_first_and_then_discs_maps_and_loops() {
    let tree = laptop();
    for (name, below) in [("dm-0", "devices/virtual/block"), ("loop3", "devices/virtual/block")] {
        tree.block(&format!("{below}/{name}"), 1);
    }
    tree.block("devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sr0", 1);
    tree.block("devices/pci0000:00/0000:00:17.0/ata2/host1/target1:0:0/1:0:0:0/block/sda", 1);
    let names: Vec<String> = tree.all().devices.into_iter().map(|device| device.name).collect();
    assert_eq!(names, ["nvme0n1", "sda", "sr0", "dm-0", "loop3"]);
}

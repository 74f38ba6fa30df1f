//! Broken or malicious trees: the readable parts are shown, and the reader does not panic or hang.

mod tree;

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use lanemark_inspect::InspectError;
use lanemark_report::{Style, inspection_svg, inspection_text};
use lanemark_schema::result::{Inspection, UnreadFile, UnreadReason};
use proptest::prelude::*;
use tree::{Tree, device};

const DRIVE: &str = "devices/pci0000:00/0000:00:06.0/0000:01:00.0/nvme/nvme0/nvme0n1";

/// Returns a tree with one NVMe drive.
fn drive() -> Tree {
    let tree = Tree::new();
    let four = ("8.0 GT/s PCIe", 4);
    let slot = tree.slot("0000:00:06.0", "0000:01:00.0", "0x010802", "nvme", four, [four, four]);
    tree.nvme(&slot, "nvme0", "Drive");
    tree.block(DRIVE, 500);
    tree
}

/// Returns the reason why `path` was not read.
#[track_caller]
fn reason<'a>(inspection: &'a Inspection, path: &str) -> &'a UnreadReason {
    let is_it = |unread: &&UnreadFile| unread.path.ends_with(path);
    let found = inspection.unread.iter().find(is_it);
    &found.unwrap_or_else(|| panic!("{path} was read: {:?}", inspection.unread)).reason
}

/// Replaces a file of the drive's tree.
fn replace(tree: &Tree, path: &str, content: &[u8]) {
    fs::remove_file(tree.path(path)).unwrap();
    tree.bytes(path, content);
}

#[test]
fn empty_and_missing_folders_are_errors_with_hints() {
    let empty = Tree::new();
    let error = empty.inspect(None).unwrap_err();
    assert!(matches!(error, InspectError::NoDevices { .. }));
    assert!(error.hint().contains("/sys"), "{}", error.hint());
    let none = lanemark_inspect::Sysfs::open(&empty.path("nowhere")).unwrap_err();
    assert!(matches!(none, InspectError::Root { .. }));
}

#[test]
fn an_unknown_device_is_an_error_with_similar_names() {
    let error = drive().inspect(Some("nvme0n2")).unwrap_err();
    assert_eq!(error.to_string(), "there is no block device `nvme0n2`");
    assert!(error.hint().contains("nvme0n1"), "{}", error.hint());
}

#[test]
fn a_path_means_nothing_in_a_foreign_tree() {
    let error = drive().inspect(Some("/home/me/file")).unwrap_err();
    assert!(matches!(error, InspectError::ForeignPath { .. }), "{error}");
    assert!(matches!(
        drive().inspect(Some("/dev/disk/by-id/x")).unwrap_err(),
        InspectError::UnknownDevice { .. }
    ));
}

#[test]
fn a_device_without_any_attribute_is_still_shown() {
    let tree = Tree::new();
    tree.folder("devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda");
    tree.link(
        "block/sda",
        "../devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda",
    );
    let inspection = tree.all();
    assert_eq!(device(&inspection, "sda").paths[0].hops.len(), 3);
    assert_eq!(device(&inspection, "sda").size, None);
    assert_eq!(inspection.unread, []);
}

#[test]
fn links_that_go_round_end() {
    let tree = drive();
    tree.link("block/sda", "sdb").link("block/sdb", "sda").link("block/sdc", "../block/sdc");
    tree.link(&format!("{DRIVE}/slaves/nvme0n1"), "../../nvme0n1");
    let inspection = tree.all();
    assert_eq!(inspection.devices.len(), 1);
    assert_eq!(reason(&inspection, "block/sda"), &UnreadReason::LinkCycle);
    // A device that claims to consist of itself is shown once.
    assert_eq!(tree.inspect(Some("nvme0n1")).unwrap().devices.len(), 1);
    assert!(tree.text().contains("nvme0n1"));
}

#[test]
fn devices_that_are_made_of_each_other_are_drawn_once() {
    let tree = Tree::new();
    for (device, below) in (0..144).map(|pair| (pair / 12, pair % 12)) {
        tree.folder(&format!("block/dm-{device}/slaves/dm-{below}"));
    }
    assert_eq!(tree.inspect(Some("dm-3")).unwrap().devices.len(), 12);
    let text = tree.text();
    assert!(text.lines().count() < 12 * 160, "{} lines", text.lines().count());
    let deep = Tree::new();
    for device in 0..60 {
        deep.folder(&format!("block/dm-{device}/slaves/dm-{}", device + 1));
    }
    assert!(deep.text().lines().all(|line| line.chars().count() <= 100));
}

#[test]
fn links_out_of_the_tree_are_refused() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("size"), "1000").unwrap();
    let tree = drive();
    let up = "../".repeat(32);
    tree.link("block/sda", &format!("{up}{}", outside.path().display()));
    tree.link(&format!("{DRIVE}/serial"), &format!("{up}etc/hostname"));
    let inspection = tree.all();
    assert_eq!(inspection.devices.len(), 1);
    assert_eq!(reason(&inspection, "block/sda"), &UnreadReason::Outside);
    // An absolute link begins at the root of the tree, which does not contain its target.
    let absolute = drive();
    symlink(outside.path(), absolute.path("block/sdb")).unwrap();
    assert_eq!(reason(&absolute.all(), "block/sdb"), &UnreadReason::Dangling);
}

#[test]
fn absolute_links_of_captures_begin_at_the_root() {
    let tree = drive();
    fs::remove_file(tree.path("block/nvme0n1")).unwrap();
    for target in [format!("/sys/{DRIVE}"), format!("/{DRIVE}")] {
        let _ = fs::remove_file(tree.path("block/nvme0n1"));
        tree.link("block/nvme0n1", &target);
        assert_eq!(device(&tree.all(), "nvme0n1").paths[0].hops.len(), 3, "{target}");
    }
}

#[test]
fn huge_files_are_not_read() {
    let tree = drive();
    let huge = File::create(tree.path(&format!("{DRIVE}/size"))).unwrap();
    huge.set_len(100_000_000).unwrap();
    let start = Instant::now();
    let inspection = tree.all();
    assert_eq!(reason(&inspection, "nvme0n1/size"), &UnreadReason::TooLong);
    assert_eq!(device(&inspection, "nvme0n1").size, None);
    assert!(start.elapsed() < Duration::from_secs(5));
}

#[test]
fn pipes_and_folders_in_place_of_files_do_not_hang() {
    let tree = drive();
    let queue = format!("{DRIVE}/queue");
    fs::remove_file(tree.path(&format!("{queue}/scheduler"))).unwrap();
    fs::remove_file(tree.path(&format!("{queue}/rotational"))).unwrap();
    let made = std::process::Command::new("mkfifo")
        .arg(tree.path(&format!("{queue}/scheduler")))
        .status()
        .unwrap();
    assert!(made.success());
    tree.folder(&format!("{queue}/rotational"));
    let inspection = tree.all();
    assert_eq!(reason(&inspection, "scheduler"), &UnreadReason::WrongKind);
    assert_eq!(reason(&inspection, "rotational"), &UnreadReason::WrongKind);
}

#[test]
fn junk_in_attributes_is_written_down_and_passed_over() {
    let tree = drive();
    replace(&tree, &format!("{DRIVE}/size"), b"\xff\xfe\x00junk");
    replace(&tree, &format!("{DRIVE}/queue/rotational"), b"maybe\n");
    let port = "devices/pci0000:00/0000:00:06.0/current_link_speed";
    replace(&tree, port, b"99 GT/s PCIe\n");
    let inspection = tree.all();
    assert_eq!(reason(&inspection, "nvme0n1/size"), &UnreadReason::NotText);
    let value = "maybe".to_owned();
    assert_eq!(reason(&inspection, "rotational"), &UnreadReason::Meaningless { value });
    assert_eq!(device(&inspection, "nvme0n1").paths[0].hops.len(), 3);
}

#[test]
fn names_that_are_no_text_are_shown_as_near_as_can_be() {
    let tree = drive();
    let name = OsStr::from_bytes(b"sd\xff\x1b[31m");
    symlink(format!("../{DRIVE}"), tree.path("block").join(name)).unwrap();
    let text = tree.text();
    assert!(!text.contains('\x1b'), "{text}");
    assert!(!inspection_svg(&tree.all()).contains('\x1b'));
}

#[test]
fn a_short_configuration_is_reported_as_short() {
    let tree = drive();
    let port = "devices/pci0000:00/0000:00:06.0/config";
    tree.bytes(port, &[0xff; 64]);
    assert_eq!(reason(&tree.all(), port), &UnreadReason::Partly { bytes: 64 });
    assert!(tree.text().contains("Only 64 bytes"), "{}", tree.text());
}

#[test]
fn thousands_of_devices_are_read_in_seconds() {
    let tree = Tree::new();
    let function = "devices/pci0000:00/0000:00:06.0";
    tree.pci(function, "0x010700", "0x1000", "mpt3sas");
    for index in 0..2000 {
        let scsi = format!("{function}/host0/0:0:0:0");
        tree.file(&format!("{scsi}/block/sd{index}/size"), "1000");
        tree.link(&format!("block/sd{index}"), &format!("../{scsi}/block/sd{index}"));
    }
    for index in 0..100 {
        tree.file(&format!("block/loop{index}/size"), "0");
    }
    let start = Instant::now();
    let inspection = tree.all();
    assert_eq!((inspection.devices.len(), inspection.empty_skipped), (2000, 100));
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert_eq!(inspection.devices[1999].name, "sd1999");
}

#[test]
fn ways_of_any_depth_end_and_are_drawn_within_the_line() {
    let tree = Tree::new();
    let mut at = "devices/pci0000:00".to_owned();
    for bus in 0..120 {
        at += &format!("/0000:{bus:02x}:00.0");
        tree.file(&format!("{at}/class"), "0x060400");
    }
    tree.block(&format!("{at}/nvme/nvme0/nvme0n1"), 1);
    let inspection = tree.all();
    assert_eq!(device(&inspection, "nvme0n1").paths[0].hops.len(), 64);
    for width in [60, 100] {
        let text = inspection_text(&inspection, &Style { width, colour: false });
        assert!(text.lines().all(|line| line.chars().count() <= width), "{text}");
    }
}

/// Generates hostile content of an attribute: arbitrary bytes, and values that are nearly valid.
fn content() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..300),
        "[0-9]{0,25}".prop_map(String::into_bytes),
        "-?[0-9]{1,3}(\\.[0-9])? (GT/s PCIe|Gbps|Gbit)".prop_map(String::into_bytes),
        "0x[0-9a-f]{0,9}".prop_map(String::into_bytes),
        Just(b"18446744073709551615".to_vec()),
        Just(b"write through".to_vec()),
        Just(Vec::new()),
    ]
}

const ATTRIBUTES: [&str; 26] = [
    "devices/pci0000:00/0000:00:06.0/current_link_speed",
    "devices/pci0000:00/0000:00:06.0/current_link_width",
    "devices/pci0000:00/0000:00:06.0/max_link_speed",
    "devices/pci0000:00/0000:00:06.0/max_link_width",
    "devices/pci0000:00/0000:00:06.0/class",
    "devices/pci0000:00/0000:00:06.0/vendor",
    "devices/pci0000:00/0000:00:06.0/numa_node",
    "devices/pci0000:00/0000:00:06.0/config",
    "devices/pci0000:00/0000:00:06.0/0000:01:00.0/config",
    "devices/pci0000:00/0000:00:06.0/0000:01:00.0/class",
    "devices/pci0000:00/0000:00:06.0/0000:01:00.0/max_link_width",
    "devices/pci0000:00/0000:00:06.0/0000:01:00.0/nvme/nvme0/model",
    "devices/pci0000:00/0000:00:06.0/0000:01:00.0/nvme/nvme0/queue_count",
    "devices/pci0000:00/0000:00:06.0/0000:01:00.0/nvme/nvme0/nvme0n1/size",
    "devices/pci0000:00/0000:00:06.0/0000:01:00.0/nvme/nvme0/nvme0n1/queue/physical_block_size",
    "devices/pci0000:00/0000:00:06.0/0000:01:00.0/nvme/nvme0/nvme0n1/queue/scheduler",
    "devices/pci0000:00/0000:00:06.0/0000:01:00.0/nvme/nvme0/nvme0n1/nvme0n1p1/start",
    "devices/pci0000:00/0000:00:06.0/0000:01:00.0/nvme/nvme0/nvme0n1/nvme0n1p1/alignment_offset",
    "devices/pci0000:00/0000:00:06.0/0000:01:00.0/nvme/nvme0/nvme0n1/nvme0n1p1/partition",
    "devices/pci0000:00/0000:00:17.0/ata1/link1/ata_link/link1/sata_spd",
    "devices/pci0000:00/0000:00:17.0/ata1/link1/ata_link/link1/hw_sata_spd_limit",
    "devices/pci0000:00/0000:00:17.0/ata1/link1/dev1.0/ata_device/dev1.0/id",
    "devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/vendor",
    "devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/queue_depth",
    "devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/vpd_pg80",
    "devices/pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0/block/sda/queue/write_cache",
];

/// Names that the reader searches for.
const NAMES: [&str; 40] = [
    "block",
    "class",
    "devices",
    "nvme",
    "nvme0",
    "nvme0n1",
    "nvme0c0n1",
    "nvme-subsystem",
    "nvme-subsys0",
    "ata1",
    "link1",
    "ata_link",
    "sata_spd",
    "host0",
    "port-0:0",
    "phy-0:0",
    "sas_phy",
    "expander-0:0",
    "end_device-0:0",
    "0:0:0:0",
    "sda",
    "sda1",
    "partition",
    "size",
    "slaves",
    "dm-0",
    "dm",
    "md",
    "queue",
    "scheduler",
    "0000:00:01.0",
    "10000:01:00.0",
    "pci0000:00",
    "usb1",
    "1-1",
    "1-1:1.0",
    "virtio0",
    "subsystem",
    "config",
    "..",
];

/// Generates a path that consists of these names.
fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&NAMES[..]), 1..7).prop_map(|names| names.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn no_attribute_makes_it_panic(
        changes in prop::collection::vec((0..ATTRIBUTES.len(), content()), 1..12)
    ) {
        let tree = drive();
        let host = "devices/pci0000:00/0000:00:17.0";
        tree.pci(host, "0x010601", "0x8086", "ahci");
        tree.ata(host, 1, "sda", ["6.0 Gbps", "6.0 Gbps", "6.0 Gbps"], 0x010e);
        for (index, content) in changes {
            tree.bytes(ATTRIBUTES[index], &content);
        }
        let inspection = tree.all();
        prop_assert_eq!(inspection.devices.len(), 2);
        let text = inspection_text(&inspection, &Style { width: 80, colour: true });
        prop_assert!(text.contains("nvme0n1"));
        prop_assert!(inspection_svg(&inspection).ends_with("</svg>"));
        let json = serde_json::to_string(&inspection).unwrap();
        prop_assert_eq!(serde_json::from_str::<Inspection>(&json).unwrap(), inspection);
    }

    #[test]
    fn no_shape_of_a_tree_makes_it_panic(
        files in prop::collection::vec((path(), content()), 0..20),
        links in prop::collection::vec((path(), path(), any::<bool>()), 0..20),
        devices in prop::collection::vec((prop::sample::select(&NAMES[..39]), path()), 1..6)
    ) {
        let tree = Tree::new();
        // Entries that conflict with existing entries are skipped. All folders are created before the first link, so
        // that no file is created through a link, which may lead out of the tree.
        let plain = |path: &str| !path.split('/').any(|name| name == "..");
        for path in files.iter().map(|(path, _)| path).chain(links.iter().map(|(path, ..)| path)) {
            if plain(path) {
                let _ = fs::create_dir_all(tree.path(path).parent().unwrap());
            }
        }
        for (path, content) in files.iter().filter(|(path, _)| plain(path)) {
            let _ = fs::write(tree.path(path), content);
        }
        for (path, target, absolute) in links.iter().filter(|(path, ..)| plain(path)) {
            let path = tree.path(path);
            let folder = path.parent().and_then(|folder| fs::canonicalize(folder).ok());
            if folder.as_deref() == path.parent() {
                let target = if *absolute { format!("/sys/{target}") } else { target.clone() };
                let _ = symlink(target, path);
            }
        }
        for (name, target) in &devices {
            let _ = symlink(format!("../{target}"), tree.path("block").join(name));
        }
        if let Ok(inspection) = tree.inspect(None) {
            let text = inspection_text(&inspection, &Style { width: 60, colour: false });
            prop_assert!(text.lines().all(|line| line.chars().count() <= 60), "{}", text);
            prop_assert!(inspection_svg(&inspection).ends_with("</svg>"));
            for device in &inspection.devices {
                prop_assert!(tree.inspect(Some(&device.name)).is_ok());
            }
        }
    }
}

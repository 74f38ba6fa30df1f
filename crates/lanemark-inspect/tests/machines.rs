//! Tests complete machines: the values that are read, the drawing and the findings.

mod tree;

use lanemark_schema::result::{BlockDeviceKind, InspectedLink, Inspection};
use lanemark_schema::units::Bytes;
use tree::{Payload, Tree, device, finding_texts, hops};

const GEN4: &str = "16.0 GT/s PCIe";
const GEN5: &str = "32.0 GT/s PCIe";
const NVME: &str = "0x010802";

fn laptop(now: (&str, u32), most: [(&str, u32); 2]) -> Tree {
    let tree = Tree::new();
    let drive = tree.slot("0000:00:06.0", "0000:01:00.0", NVME, "nvme", now, most);
    let controller = tree.nvme(&drive, "nvme0", "Samsung SSD 980 PRO 1TB");
    let block = format!("{controller}/nvme0n1");
    tree.block(&block, 1000).partition(&block, "nvme0n1p1", 2048, "0");
    tree
}

#[test]
fn a_laptop_is_drawn_from_the_processor_down() {
    let tree = laptop((GEN4, 4), [(GEN5, 4), (GEN4, 4)]);
    let payload = |port_type| Payload { port_type, capable: 2, set: 1, request: 2 };
    tree.config("devices/pci0000:00/0000:00:06.0", &payload(4));
    tree.config("devices/pci0000:00/0000:00:06.0/0000:01:00.0", &payload(0));
    assert!(
        tree.text().starts_with(
            "nvme0n1 (Samsung SSD 980 PRO 1TB): its slowest link, PCIe 4.0 x4 of x4, carries 7,183 MB/s; no limit\nfound.\n"
        ),
        "{}",
        tree.text()
    );
    assert_eq!(
        tree.path_text(),
        "\
nvme0n1  Samsung SSD 980 PRO 1TB, 1.00 TB, firmware 1.0
CPU, NUMA node 0
└─ 0000:00:06.0 root port
   └═ PCIe 4.0 x4 of x4, 7,183 MB/s, MPS 256 B ═ 0000:01:00.0 nvme0 Samsung SSD 980 PRO 1TB
      └─ nvme0n1  blocks of 512 B in 4 KiB, scheduler none, write back
         └─ nvme0n1p1  1.07 GB

· nvme0n1: the link to 0000:01:00.0 carries 256 B in a packet, but both ends support 512 B.
  Advice: set the maximum payload in the firmware setup, or boot with pci=pcie_bus_perf.
"
    );
}

#[test]
fn a_partition_is_shown_with_the_drive_below_it() {
    let tree = laptop((GEN4, 4), [(GEN4, 4), (GEN4, 4)]);
    let inspection = tree.inspect(Some("/dev/nvme0n1p1")).unwrap();
    assert_eq!(inspection.target.as_deref(), Some("nvme0n1p1"));
    let names: Vec<&str> = inspection.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["nvme0n1p1", "nvme0n1"]);
    assert!(matches!(&inspection.devices[0].kind, BlockDeviceKind::Partition(part)
        if part.start == Some(Bytes(1 << 20))));
    let text = serde_json::to_string(&inspection).unwrap();
    assert_eq!(serde_json::from_str::<Inspection>(&text).unwrap(), inspection);
}

#[test]
fn a_desktop_has_a_drive_in_a_slow_port_and_one_that_fell_back() {
    let tree = Tree::new();
    let host = "devices/pci0000:00/0000:00:17.0";
    tree.pci(host, "0x010601", "0x8086", "ahci");
    let fast = ["6.0 Gbps", "6.0 Gbps", "6.0 Gbps"];
    tree.ata(host, 1, "sda", fast, 0x010e);
    tree.ata(host, 2, "sdb", ["3.0 Gbps", "3.0 Gbps", "3.0 Gbps"], 0x010e);
    tree.ata(host, 3, "sdc", ["1.5 Gbps", "1.5 Gbps", "6.0 Gbps"], 0x010e);
    tree.ata(host, 4, "sdd", ["3.0 Gbps", "<unknown>", "6.0 Gbps"], 0);
    let alone = tree.ata(host, 5, "sde", fast, 0x010e);
    tree.file(&format!("{alone}/device/queue_depth"), "1");
    tree.file(&format!("{alone}/queue/write_cache"), "write through");
    tree.file(&format!("{alone}/queue/rotational"), "1");
    tree.partition(&alone, "sde1", 63, "3584");
    let inspection = tree.all();
    assert_eq!(
        finding_texts(&inspection),
        [
            "sdb: the drive supports 6 Gb/s, but its port ata2 only 3 Gb/s",
            "sdc: ata3 runs at 1.5 Gb/s, but port and drive support 6 Gb/s",
            "sde: the drive accepts 1 command at a time, but reports that it supports queueing",
            "sde: the write cache is off, so every write waits for the media",
            "sde: the scheduler of a hard disk is none; mq-deadline or bfq is better",
            "sde: sde1 starts 3584 B past the boundary of a physical block of 4 KiB",
            "sdd: ata4 runs at 3 Gb/s, but its port supports 6 Gb/s: the drive is older, or the \
             link fell back",
        ]
    );
    let Some(InspectedLink::Sata(link)) = &device(&inspection, "sda").paths[0].hops[2].link else {
        panic!("no link")
    };
    assert_eq!((link.queueing, link.drive_bits_per_second), (Some(true), Some(6_000_000_000)));
    assert_eq!(device(&inspection, "sda").identity.model.as_deref(), Some("SSD1"));
}

#[test]
fn raid_over_drives_behind_a_volume_management_device_is_followed_down() {
    let tree = Tree::new();
    let vmd = "devices/pci0000:00/0000:00:0e.0";
    tree.pci(vmd, "0x010400", "0x8086", "vmd");
    for index in 0..2 {
        let port = format!("{vmd}/pci10000:e0/10000:e0:1{index}.0");
        let end = format!("{port}/10000:e{}:00.0", index + 1);
        let four = (GEN4, 4);
        tree.pci(&port, "0x060400", "0x8086", "pcieport").pcie(&port, four, four);
        tree.pci(&end, NVME, "0x8086", "nvme").pcie(&end, four, four);
        let controller = tree.nvme(&end, &format!("nvme{index}"), "INTEL SSDPF2KX");
        tree.block(&format!("{controller}/nvme{index}n1"), 3840);
    }
    let md = "devices/virtual/block/md126";
    tree.block(md, 7680).files(
        &format!("{md}/md"),
        &[("level", "raid0"), ("raid_disks", "2"), ("chunk_size", "131072"), ("degraded", "")],
    );
    for index in 0..2 {
        tree.link(
            &format!("{md}/slaves/nvme{index}n1"),
            &format!("../../../../../block/nvme{index}n1"),
        );
    }
    let inspection = tree.inspect(Some("md126")).unwrap();
    let names: Vec<&str> = inspection.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["md126", "nvme0n1", "nvme1n1"]);
    assert!(
        matches!(&inspection.devices[0].kind, BlockDeviceKind::Md { level: Some(level), members: Some(2), .. }
        if level == "raid0")
    );
    assert_eq!(
        hops(&inspection, "nvme0n1"),
        ["0000:00:0e.0", "10000:e0:10.0", "10000:e1:00.0", "nvme0"]
    );
    let text = tree.path_text();
    assert!(
        text.starts_with(
            "\
md126  raid0, 2 members, chunks of 128 KiB, 7.68 TB
blocks of 512 B in 4 KiB, scheduler none, write back
├─ nvme0n1 INTEL SSDPF2KX, 3.84 TB, firmware 1.0
└─ nvme1n1 INTEL SSDPF2KX, 3.84 TB, firmware 1.0

nvme0n1  INTEL SSDPF2KX, 3.84 TB, firmware 1.0
CPU, NUMA node 0
└─ 0000:00:0e.0 volume management device (vmd)
   └─ 10000:e0:10.0 root port
      └═ PCIe 4.0 x4 of x4, 6,616 to 7,811 MB/s, payload unknown ═ 10000:e1:00.0 nvme0
         INTEL SSDPF2KX
"
        ),
        "{text}"
    );
}

#[test]
fn a_virtual_machine_has_its_devices_and_no_false_findings() {
    let tree = Tree::new();
    let bus = "devices/pci0000:00";
    let block = format!("{bus}/0000:00:04.0/virtio1");
    tree.pci(&format!("{bus}/0000:00:04.0"), "0x010000", "0x1af4", "virtio-pci");
    tree.link(&format!("{block}/driver"), "../../../../bus/virtio/drivers/virtio_blk");
    tree.block(&format!("{block}/block/vda"), 100).file("block/vda/queue/rotational", "1");
    let port = format!("{bus}/0000:00:02.0");
    let scsi = format!("{port}/0000:01:00.0/virtio2/host2/target2:0:0/2:0:0:1");
    // QEMU's ports report lanes that do not exist.
    tree.pci(&port, "0x060400", "0x1b36", "pcieport").pcie(&port, (GEN4, 32), (GEN4, 32));
    let end = format!("{port}/0000:01:00.0");
    tree.pci(&end, "0x010000", "0x1af4", "virtio-pci").pcie(&end, ("2.5 GT/s PCIe", 1), (GEN4, 32));
    tree.files(&scsi, &[("vendor", "QEMU"), ("model", "QEMU HARDDISK")]);
    tree.block(&format!("{scsi}/block/sda"), 50);
    tree.file("block/sda/queue/write_cache", "write through");
    for (name, mapped, uuid, below) in
        [("dm-0", "luks", "CRYPT-LUKS2-0a-luks", "vda"), ("dm-1", "vg0-root", "LVM-x", "dm-0")]
    {
        let at = format!("devices/virtual/block/{name}");
        tree.block(&at, 90).files(&format!("{at}/dm"), &[("name", mapped), ("uuid", uuid)]);
        tree.link(&format!("{at}/slaves/{below}"), "/sys/block/vda");
    }
    let inspection = tree.inspect(Some("/dev/mapper/vg0-root")).unwrap();
    let names: Vec<&str> = inspection.devices.iter().map(|device| device.name.as_str()).collect();
    assert_eq!(names, ["dm-1", "dm-0", "vda"]);
    assert_eq!(finding_texts(&tree.all()), Vec::<String>::new());
    assert_eq!(hops(&tree.all(), "sda"), ["0000:00:02.0", "0000:01:00.0", "virtio2", "2:0:0:1"]);
    let text = tree.path_text();
    assert!(
        text.contains(
            "\
dm-0  luks, encrypted, 90.0 GB
blocks of 512 B in 4 KiB, scheduler none, write back
└─ vda 100 GB

dm-1  vg0-root, logical volume, 90.0 GB
blocks of 512 B in 4 KiB, scheduler none, write back
└─ dm-0 luks, encrypted, 90.0 GB
   └─ vda 100 GB
"
        ),
        "{text}"
    );
}

#[test]
fn a_usb_stick_at_usb_2_is_found_behind_its_hub() {
    let tree = Tree::new();
    let host = "devices/pci0000:00/0000:00:14.0";
    tree.pci(host, "0x0c0330", "0x8086", "xhci_hcd");
    let hub = format!("{host}/usb1/1-3");
    tree.files(&hub, &[("speed", "480"), ("bDeviceClass", "09"), ("product", "USB2.0 Hub")]);
    let stick = format!("{hub}/1-3.2");
    tree.files(&stick, &[("speed", "480"), ("bDeviceClass", "00"), ("product", "DataTraveler")]);
    let interface = format!("{stick}/1-3.2:1.0");
    tree.link(&format!("{interface}/driver"), "../../../../bus/usb/drivers/usb-storage");
    let scsi = format!("{interface}/host6/target6:0:0/6:0:0:0");
    tree.files(&scsi, &[("vendor", "Kingston"), ("model", "DataTraveler"), ("queue_depth", "1")]);
    tree.block(&format!("{scsi}/block/sdx"), 32).link(&format!("{scsi}/block/sdx/device"), "../..");
    assert_eq!(
        tree.path_text(),
        "\
sdx  Kingston DataTraveler, 32.0 GB
CPU, NUMA node 0
└─ 0000:00:14.0 USB controller (xhci_hcd)
   └═ USB 480 Mb/s, 60.0 MB/s raw ═ 1-3 hub USB2.0 Hub
      └═ USB 480 Mb/s, 60.0 MB/s raw ═ 1-3.2 USB device DataTraveler (usb-storage)
         └─ sdx  blocks of 512 B in 4 KiB, scheduler none, write back, queue depth 1

! sdx: 1-3 runs at 480 Mb/s.
  Advice: use a USB 3 port and cable: 5 Gb/s ports are often blue or marked SS.
"
    );
}

#[test]
fn a_namespace_with_two_controllers_has_two_paths() {
    let tree = Tree::new();
    let subsystem = "devices/virtual/nvme-subsystem/nvme-subsys1";
    for (index, state) in [(2, "optimized"), (3, "non-optimized")] {
        let port = format!("0000:00:0{index}.0");
        let endpoint = format!("0000:0{index}:00.0");
        let most = [(GEN4, 4), (GEN4, 4)];
        let drive = tree.slot(&port, &endpoint, NVME, "nvme", (GEN4, 2), most);
        let controller = tree.nvme(&drive, &format!("nvme{index}"), "Dual Port");
        tree.file(&format!("{controller}/nvme1c{index}n1/ana_state"), state);
        tree.link(&format!("{subsystem}/nvme{index}"), &format!("../../../../{controller}"));
    }
    tree.block(&format!("{subsystem}/nvme1n1"), 1920);
    // The paths are also block devices, which the kernel shows only in sysfs.
    tree.file("block/nvme1c2n1/hidden", "1");
    let inspection = tree.all();
    assert_eq!(inspection.devices.len(), 1);
    let paths: Vec<(Option<&str>, Option<&str>)> = device(&inspection, "nvme1n1")
        .paths
        .iter()
        .map(|path| (path.name.as_deref(), path.state.as_deref()))
        .collect();
    assert_eq!(
        paths,
        [(Some("nvme1c2n1"), Some("optimized")), (Some("nvme1c3n1"), Some("non-optimized"))]
    );
    assert_eq!(finding_texts(&inspection).len(), 2, "both links trained down");
    assert!(matches!(&device(&inspection, "nvme1n1").kind,
        BlockDeviceKind::NvmeNamespace { subsystem: Some(name), .. } if name == "nvme-subsys1"));
}

/// Returns the identification words of a PATA drive. Of the modes up to Ultra DMA 5, mode 2 is selected, and the words
/// do not mention SATA.
fn pata_words() -> String {
    let mut words = [0_u16; 256];
    (words[53], words[88]) = (0x0007, 0x043f);
    words.map(|word| format!("{word:04x}")).join(" ")
}

#[test]
fn a_parallel_cable_is_distinguished_from_a_serial_link_by_the_class_of_its_host() {
    let unknown = ["<unknown>"; 3];
    for (class, driver, link) in [
        ("0x010180", "ata_piix", Some("PATA, Ultra DMA 2, 33.3 MB/s raw")),
        ("0x010601", "ahci", Some("SATA link")),
        // The class and the mode are unknown.
        ("", "ata_piix", None),
        ("", "pata_via", Some("PATA, Ultra DMA 2, 33.3 MB/s raw")),
    ] {
        let tree = Tree::new();
        let host = "devices/pci0000:00/0000:00:01.1";
        tree.pci(host, class, "0x8086", driver);
        if class.is_empty() {
            std::fs::remove_file(tree.path(&format!("{host}/class"))).unwrap();
        }
        tree.ata(host, 1, "sda", unknown, 0);
        let id = "ata1/link1/dev1.0/ata_device/dev1.0/id";
        tree.file(&format!("{host}/{id}"), &pata_words());
        let text = tree.path_text();
        let expected = link.map(|link| format!("═ {link} ═"));
        let is_shown = expected.as_ref().is_none_or(|link| text.contains(link));
        let none = expected.is_none() && (text.contains("SATA") || text.contains("PATA"));
        assert!(is_shown && !none, "{class} {driver}: {text}");
    }
    // The speed identifies a serial port in the older mode.
    let tree = Tree::new();
    let host = "devices/pci0000:00/0000:00:1f.2";
    tree.pci(host, "0x01018a", "0x8086", "ata_piix");
    tree.ata(host, 1, "sda", ["3.0 Gbps", "<unknown>", "<unknown>"], 0x0106);
    assert!(tree.path_text().contains("SATA 3 Gb/s"), "{}", tree.path_text());
}

#[test]
fn memory_nodes_of_controllers_namespaces_and_paths_are_reported() {
    let alone = |text: &str| text.contains("CPU, NUMA node 1");
    let slot = |tree: &Tree| {
        let four = (GEN4, 4);
        let drive = tree.slot("0000:00:06.0", "0000:01:00.0", NVME, "nvme", four, [four, four]);
        for at in ["devices/pci0000:00/0000:00:06.0", &drive] {
            tree.file(&format!("{at}/numa_node"), "-1");
        }
        tree.nvme(&drive, "nvme0", "NVME")
    };
    for folder in ["", "/nvme0n1"] {
        let tree = Tree::new();
        let controller = slot(&tree);
        tree.block(&format!("{controller}/nvme0n1"), 100);
        assert!(!alone(&tree.path_text()));
        tree.file(&format!("{controller}{folder}/numa_node"), "1");
        assert!(alone(&tree.path_text()), "{folder}: {}", tree.path_text());
    }
    // The device is one path of a namespace with several paths.
    let tree = Tree::new();
    let controller = slot(&tree);
    tree.file(&format!("{controller}/nvme0c0n1/ana_state"), "optimized");
    tree.file(&format!("{controller}/nvme0c0n1/numa_node"), "1");
    let subsystem = "devices/virtual/nvme-subsystem/nvme-subsys0";
    tree.block(&format!("{subsystem}/nvme0n1"), 100);
    tree.link(&format!("{subsystem}/nvme0"), &format!("../../../../{controller}"));
    assert!(alone(&tree.path_text()), "{}", tree.path_text());
    // The device is persistent memory.
    let tree = Tree::new();
    let namespace = "devices/LNXSYSTM:00/ndbus0/region0/namespace0.0";
    tree.file(&format!("{namespace}/numa_node"), "1");
    tree.link(&format!("{namespace}/subsystem"), "../../../../../bus/nd");
    tree.link(&format!("{namespace}/driver"), "../../../../../bus/nd/drivers/nd_pmem");
    tree.block(&format!("{namespace}/block/pmem0"), 100);
    assert!(alone(&tree.path_text()), "{}", tree.path_text());
}

#[test]
fn without_known_links_no_limits_are_reported() {
    let tree = Tree::new();
    let function = "devices/pci0000:00/0000:00:02.0";
    tree.pci(function, "0x010000", "0x1af4", "virtio-pci");
    tree.block(&format!("{function}/virtio0/block/vda"), 100);
    let nothing = "No limits were found";
    let unknown = "No link to vda reports its rate";
    let text = tree.path_text();
    assert!(!text.contains(nothing) && text.contains(unknown), "{text}");
    // Each gap is reported, even if the limits of another drive are known.
    let four = (GEN4, 4);
    let drive = tree.slot("0000:00:06.0", "0000:01:00.0", NVME, "nvme", four, [four, four]);
    let controller = tree.nvme(&drive, "nvme0", "NVME");
    tree.block(&format!("{controller}/nvme0n1"), 100);
    let text = tree.path_text();
    assert!(text.contains("No limits were found for nvme0n1."), "{text}");
    assert!(text.contains(unknown), "{text}");
    for end in ["devices/pci0000:00/0000:00:06.0", &drive] {
        for file in ["current_link_speed", "current_link_width", "max_link_speed"] {
            tree.file(&format!("{end}/{file}"), "Unknown");
        }
    }
    assert!(!tree.path_text().contains(nothing), "{}", tree.path_text());
}

//! Tests machines in which several drives share a link: a SAS server, a PCIe switch and an Intel chipset.

mod tree;

use lanemark_inspect::Sysfs;
use lanemark_schema::result::Inspection;
use tree::{Tree, finding_texts, hops};

const GEN3: &str = "8.0 GT/s PCIe";
const NVME: &str = "0x010802";

fn sas_server() -> Tree {
    let tree = Tree::new();
    let most = [(GEN3, 16), (GEN3, 8)];
    let adapter = tree.slot("0000:00:03.0", "0000:03:00.0", "0x010700", "mpt3sas", (GEN3, 8), most);
    let host = format!("{adapter}/host0");
    let phys = ["phy-0:0", "phy-0:1", "phy-0:2", "phy-0:3"];
    let port = tree.sas_port(&host, "port-0:0", &phys, "12.0 Gbit", "12.0 Gbit");
    let expander = format!("{port}/expander-0:0");
    tree.files(
        &format!("{expander}/sas_expander/expander-0:0"),
        &[("vendor_id", "HGST"), ("product_id", "4U60")],
    );
    for index in 0..6 {
        let name = format!("port-0:0:{index}");
        let phy = format!("phy-0:0:{index}");
        let now = if index == 5 { "6.0 Gbit" } else { "12.0 Gbit" };
        let port = tree.sas_port(&expander, &name, &[&phy], now, "12.0 Gbit");
        let end = format!("{port}/end_device-0:0:{index}");
        tree.file(
            &format!("{end}/sas_device/end_device-0:0:{index}/sas_address"),
            "0x5000cca25106f64e",
        );
        let scsi = format!("{end}/target0:0:{index}/0:0:{index}:0");
        tree.files(&scsi, &[("vendor", "HITACHI"), ("model", "HUSMM1640"), ("rev", "A1")]);
        let letter = char::from(b'a' + index);
        tree.block(&format!("{scsi}/block/sd{letter}"), 400);
    }
    tree
}

#[test]
fn a_sas_server_has_its_wide_port_and_expander() {
    let tree = sas_server();
    let inspection = tree.inspect(Some("sda")).unwrap();
    assert_eq!(
        hops(&inspection, "sda"),
        ["0000:00:03.0", "0000:03:00.0", "expander-0:0", "0:0:0:0"]
    );
    let text = tree.path_text();
    let first: Vec<&str> = text.lines().take(7).collect();
    assert_eq!(
        first,
        [
            "sda  HITACHI HUSMM1640, 400 GB, firmware A1",
            "CPU, NUMA node 0",
            "└─ 0000:00:03.0 root port",
            "   └═ PCIe 3.0 x8 of x8, 6,616 to 7,811 MB/s, payload unknown ═ 0000:03:00.0 SAS adapter (mpt3sas)",
            "      └═ SAS 12 Gb/s x4, 4,635 MB/s ═ expander-0:0 expander HGST 4U60",
            "         └═ SAS 12 Gb/s, 1,159 MB/s ═ sda  blocks of 512 B in 4 KiB, scheduler none, write back",
            "",
        ]
    );
}

#[test]
fn drives_that_outrun_their_wide_port_and_a_slow_phy_are_found() {
    assert_eq!(
        finding_texts(&sas_server().all()),
        [
            "sdf: the link to 0:0:5:0 runs at 6 Gb/s per phy, but supports 12 Gb/s",
            "sda sdb sdc sdd sde sdf: the link to expander-0:0 carries 4,635 MB/s, and the links \
             below it 6,373 MB/s in all",
        ]
    );
}

fn switch() -> Tree {
    let tree = Tree::new();
    tree.switch(4);
    tree
}

#[test]
fn a_switch_lacks_links_between_its_own_ports() {
    let tree = switch();
    let text = tree.path_text();
    let first: Vec<&str> = text.lines().take(7).collect();
    assert_eq!(
        first,
        [
            "nvme0n1  Samsung PM1733, 3.84 TB, firmware 1.0",
            "CPU, NUMA node 0",
            "└─ 0000:00:01.0 root port",
            "   └═ PCIe 4.0 x8 of x8, 13,232 to 15,621 MB/s, payload unknown ═ 0000:01:00.0",
            "      switch, upstream port",
            "      └─ 0000:02:00.0 switch, downstream port",
            "         └═ PCIe 4.0 x4 of x4, 6,616 to 7,811 MB/s, payload unknown ═ 0000:03:00.0 nvme0",
        ]
    );
    assert_eq!(
        finding_texts(&tree.all()),
        ["nvme0n1 nvme1n1 nvme2n1 nvme3n1: the link to 0000:01:00.0 carries at most 15,621 MB/s, \
             and the links below it at least 26,464 MB/s in all"]
    );
}

#[test]
fn drives_on_an_intel_chipset_share_its_uplink() {
    let tree = Tree::new();
    let bus = "devices/pci0000:00";
    tree.pci(&format!("{bus}/0000:00:1f.0"), "0x060100", "0x8086", "lpc");
    for (index, port) in ["0000:00:1b.0", "0000:00:1c.0"].into_iter().enumerate() {
        let endpoint = format!("0000:0{}:00.0", index + 1);
        let most = [(GEN3, 4), (GEN3, 4)];
        let drive = tree.slot(port, &endpoint, NVME, "nvme", (GEN3, 4), most);
        let controller = tree.nvme(&drive, &format!("nvme{index}"), "Drive");
        tree.block(&format!("{controller}/nvme{index}n1"), 500);
    }
    assert_eq!(
        finding_texts(&tree.all()),
        [
            "nvme0n1 nvme1n1: these devices share the uplink of the chipset; their links carry 6,616 MB/s \
          in all"
        ]
    );
    // In a virtual machine, the same addresses do not identify a chipset.
    tree.file(&format!("{bus}/0000:00:1f.0/subsystem_vendor"), "0x1af4");
    assert_eq!(finding_texts(&tree.all()), Vec::<String>::new());
}

#[test]
fn an_inspection_comes_back_from_json_as_it_was() {
    for tree in [sas_server(), switch()] {
        let inspection = tree.all();
        let text = serde_json::to_string(&inspection).unwrap();
        assert_eq!(serde_json::from_str::<Inspection>(&text).unwrap(), inspection);
        assert!(text.contains("\"usable_bytes_per_second\":"), "{text}");
    }
}

#[test]
fn online_processors_are_counted_by_their_ranges() {
    let tree = tempfile::tempdir().unwrap();
    let folder = tree.path().join("devices/system/cpu");
    std::fs::create_dir_all(&folder).unwrap();
    let sysfs = Sysfs::open(tree.path()).unwrap();
    assert_eq!(sysfs.processors(), None);
    for (text, wanted) in [
        ("0\n", Some(1)),
        ("0-3\n", Some(4)),
        ("0-3,8\n", Some(5)),
        ("0,2,4-5\n", Some(4)),
        ("3-0\n", None),
        ("all\n", None),
        ("0-4294967295\n", None),
    ] {
        std::fs::write(folder.join("online"), text).unwrap();
        assert_eq!(Sysfs::open(tree.path()).unwrap().processors(), wanted, "{text}");
    }
}

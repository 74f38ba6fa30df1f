//! Tests platform files of inspected machines: the files contain the values from sysfs, and each port accepts a drive.

mod tree;

use lanemark_study::document::{Context, Document};
use lanemark_study::inspected::platform_file;
use lanemark_study::platform::Platform;
use lanemark_study::{Ledger, Overrides};
use tree::{Payload, Tree};

const GEN3: &str = "8.0 GT/s PCIe";
const GEN4: &str = "16.0 GT/s PCIe";
const NVME: &str = "0x010802";

/// Returns the ports of a tree's platform as `name: connector behind links`, and the text of the platform file.
fn ports(tree: &Tree) -> (Vec<String>, String) {
    let made = platform_file(&tree.all(), "a \"machine\"", None).unwrap();
    let document = Document::parse("made.toml", &made.text).unwrap();
    let context = Context { ledger: &Ledger::default(), overrides: &Overrides::default() };
    let platform = Platform::read(&document, context).unwrap();
    assert_eq!(platform.name, "a \"machine\"");
    let summary = |port: &lanemark_study::platform::Port| {
        let behind: Vec<&str> = port.behind.iter().map(|link| link.name.as_str()).collect();
        format!("{}: {} behind {}", port.name, port.plug, behind.join(", "))
    };
    (platform.ports.iter().map(summary).collect(), made.text)
}

#[test]
fn a_port_has_its_ends_capability_and_the_configured_payload() {
    let tree = Tree::new();
    // The drive limits the link to generation 3; another part limits it to two lanes.
    let most = [(GEN4, 4), (GEN3, 4)];
    let drive = tree.slot("0000:00:06.0", "0000:01:00.0", NVME, "nvme", (GEN3, 2), most);
    let payload = |port_type| Payload { port_type, capable: 2, set: 2, request: 3 };
    tree.config("devices/pci0000:00/0000:00:06.0", &payload(4));
    tree.config(&drive, &payload(0));
    let controller = tree.nvme(&drive, "nvme0", "Drive \" of [[port]]");
    tree.block(&format!("{controller}/nvme0n1"), 1000);
    tree.block(&format!("{controller}/nvme0n2"), 1000);
    let (ports, text) = ports(&tree);
    assert_eq!(ports, ["nvme0n1: PCIe 4.0 x2 behind "], "{text}");
    assert!(text.contains("payload_max = { value = \"512 B\", source = \"sysfs"), "{text}");
    assert!(text.contains("read_request_max = { value = \"1024 B\", source = \"sysfs"), "{text}");
}

#[test]
fn drives_on_a_switch_or_an_adapter_are_behind_its_link() {
    let tree = Tree::new();
    tree.switch(2);
    let most = [(GEN3, 16), (GEN3, 8)];
    let adapter = tree.slot("0000:00:03.0", "0000:07:00.0", "0x010700", "mpt3sas", (GEN3, 8), most);
    let port = tree.sas_port(
        &format!("{adapter}/host0"),
        "port-0:0",
        &["phy-0:0"],
        "12.0 Gbit",
        "12.0 Gbit",
    );
    let scsi = format!("{port}/end_device-0:0/target0:0:0/0:0:0:0");
    tree.files(&scsi, &[("vendor", "HITACHI"), ("model", "HUSMM1640"), ("rev", "A1")]);
    tree.block(&format!("{scsi}/block/sda"), 400);
    let (ports, text) = ports(&tree);
    assert_eq!(
        ports,
        [
            "nvme0n1: PCIe 4.0 x4 behind 0000-01-00-0",
            "nvme1n1: PCIe 4.0 x4 behind 0000-01-00-0",
            "sda: SAS 12 Gb/s behind 0000-07-00-0",
        ],
        "{text}"
    );
    let shared = "name = \"0000-01-00-0\"\nto = \"0000:01:00.0\"\nlabel = \"link to 0000:01:00.0\"\n\
                  pcie = { generation = 4, lanes = 8, source = \"sysfs: the trained rate of the link\" }";
    let count = |part: &str| text.matches(part).count();
    assert_eq!(count(shared), 1, "{text}");
    assert_eq!(count("[[link]]"), 2, "{text}");
    assert!(text.contains("cores = { value = 8, assumed"), "{text}");
}

#[test]
fn a_machine_without_a_describable_port_is_an_error_with_the_reasons() {
    let tree = Tree::new();
    tree.block("devices/virtual/block/loop0", 1);
    let error = platform_file(&tree.all(), "none", Some(4)).unwrap_err().to_string();
    assert!(error.contains("no device is attached by a link"), "{error}");
}

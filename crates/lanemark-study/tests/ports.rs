//! Ports of drives in files: commands, payloads and second ports.

use lanemark_schema::result::Provenance;
use lanemark_sim::link::{LinkModel, Sata, SataCommands, SataRate};
use lanemark_sim::spec::PortPathSpec;
use lanemark_study::system::SystemName;
use lanemark_study::{path, workload};
use lanemark_testbed::systems::{DRIVE, NVME, SATA};

mod spoilt;
use spoilt::{Spoilt, system_says};

#[test]
fn pio_is_read_as_written_and_only_for_sata() {
    let port = |keys: &str| format!("protocol = \"ahci\", {keys}, sata");
    let from = "protocol = \"ahci\", sata";
    let spoilt = Spoilt::new(DRIVE, from, &port("commands = \"pio\""));
    let spec = spoilt.system(SATA).unwrap().spec;
    assert_eq!(spec.attachments[0].protocol.queue_depth, 1);
    assert_eq!(
        spec.attachments[0].port_path.links[1].model,
        LinkModel::Sata(Sata::new(SataRate::Gen3, SataCommands::Pio))
    );
    let says = |keys: &str, expected: &str| system_says(SATA, DRIVE, from, &port(keys), expected);
    says("commands = \"poi\"", "unknown commands `poi` | did you mean `pio`?");
    let nvme = "library/drives/samsung-950-pro-512gb.toml";
    let to = "protocol = \"nvme\", commands = \"pio\",";
    let expected = "PIO is a mode of SATA and does not run over PCIe 3.0 x4";
    system_says(NVME, nvme, "protocol = \"nvme\",", to, expected);
}

const NVME_DRIVE: &str = "library/drives/samsung-950-pro-512gb.toml";

#[test]
fn a_payload_of_a_drive_is_a_power_of_two_and_a_port_has_its_own_key() {
    let says = |size: &str, expected: &str| {
        system_says(
            NVME,
            NVME_DRIVE,
            "{ value = \"128 B\",",
            &format!("{{ value = {size},"),
            expected,
        );
    };
    for size in ["96 B", "32 B", "0 B", "8 KiB", "1 TiB"] {
        says(&format!("\"{size}\""), "payload_max = ");
        says(&format!("\"{size}\""), ": must be a power of two from 64 B to 4 KiB");
    }
    says("128", "payload_max = 128: `128` lacks a unit");
    says("\"18446744073709551615 B\"", "is too large for data");
    let from = "lanes = 16,";
    let to = "lanes = 16, payload_max = \"256 B\",";
    system_says(
        NVME,
        "library/platforms/workstation-z170.toml",
        from,
        to,
        "unknown key `payload_max`",
    );
}

const KIOXIA: &str = "library/drives/kioxia-rm5-960gb.toml";
const BOTH: &str = "kioxia-rm5-960gb@dell-r730xd:sas|sas-2";

#[test]
fn a_drive_in_two_ports_has_half_of_its_phys_in_each() {
    let spoilt = Spoilt::new(KIOXIA, "tlc", "tlc");
    let system = spoilt.system(BOTH).unwrap();
    let second = system.spec.attachments[0].second.as_ref().unwrap();
    assert_eq!(second.port_path.trunk, 1);
    let names = |port_path: &PortPathSpec| {
        system.spec.links(port_path).map(|link| link.name.clone()).collect::<Vec<_>>()
    };
    let adapter = "adapter, PCIe 3.0 x8";
    assert_eq!(names(&system.spec.first().port_path), [adapter, "SAS 12 Gb/s, port sas"]);
    assert_eq!(names(&second.port_path), [adapter, "SAS 12 Gb/s, port sas-2"]);
    assert_eq!(system.target.port, "sas and sas-2");
    assert_eq!(system.warnings, [], "one phy a port is all that the drive has for it");
    assert_eq!(SystemName::parse(BOTH).unwrap().to_string(), BOTH);
    // The path contains both hops, and the tree shows the drive in both ports.
    let workload = workload::open(&spoilt.library(), "iometer-128k-qd32").unwrap();
    let view = path::view(&system, &workload.tests[0], None);
    let formulas: Vec<&str> = view.hops.iter().map(|hop| hop.law.as_str()).collect();
    let formula = "12 Gb/s x1, frames of 1 KiB, every other command";
    assert_eq!(formulas.iter().filter(|seen| **seen == formula).count(), 2, "{formulas:?}");
    let ports = &view.topology.children.iter().find(|node| node.label == "SAS adapter").unwrap();
    let on_path: Vec<&str> =
        ports.children.iter().filter(|node| node.on_path).map(|node| node.label.as_str()).collect();
    assert_eq!(on_path, ["KIOXIA RM5 960GB in port sas", "KIOXIA RM5 960GB in port sas-2"]);
    // With one port, the result does not change.
    assert_eq!(
        spoilt.system("kioxia-rm5-960gb@dell-r730xd:sas").unwrap().spec.attachments[0].second,
        None
    );
}

#[test]
fn two_ports_that_cannot_be_are_reported_with_both() {
    let spoilt = Spoilt::new(KIOXIA, "tlc", "tlc");
    let says = |system: &str, expected: &str| {
        let seen = spoilt.shown(&spoilt.system(system).unwrap_err());
        assert!(seen.contains(expected), "\n  seen: {seen}\nwanted: {expected}");
    };
    let expected = "Intel SSD DC S4500 960GB has one port and cannot be in `sata` and `sata-2` of \
                    Dell PowerEdge R730xd | a drive with `ports = 2`";
    says("intel-s4500-960gb@dell-r730xd:sata|sata-2", expected);
    let expected =
        "port `sas` of Dell PowerEdge R730xd is taken twice, by both ports of KIOXIA RM5 960GB";
    says("kioxia-rm5-960gb@dell-r730xd:sas|sas", expected);
    let expected =
        "port `sas-2` of Dell PowerEdge R730xd is taken twice, by KIOXIA RM5 960GB and by";
    says("kioxia-rm5-960gb@dell-r730xd:sas|sas-2+sas-2|sas-3", expected);
    says("kioxia-rm5-960gb@dell-r730xd:sas|sat", "unknown port `sat`");
    says("kioxia-rm5-960gb@dell-r730xd:sas|sata", "has SAS 12 Gb/s and does not fit port `sata`");
    let expected = "ports `sas` and `sas-2` of KIOXIA RM5 960GB share link `hba`, which Intel SSD DC S4500 960GB in \
                    `sata` does not use: list KIOXIA RM5 960GB first in the system";
    says("intel-s4500-960gb@dell-r730xd:sata+kioxia-rm5-960gb:sas|sas-2", expected);
    spoilt.system("kioxia-rm5-960gb@dell-r730xd:sas|sas-2+sas-3|sas-4").unwrap();
    for (text, expected) in [
        ("a@b:c|d:e", "both ports of a drive must belong to one platform, not also to `b:c`"),
        ("a@b:c+a:d|b:e", "both ports of a drive must belong to one platform, not also to `a:d`"),
        ("a@b:c|", "`c|`: `a` can be connected through one port or two"),
        ("a@b:c|d|e", "`c|d|e`: `a` can be connected through one port or two"),
    ] {
        let seen = SystemName::parse(text).unwrap_err().to_string();
        assert!(seen.contains(expected), "{seen}");
    }
}

#[test]
fn a_second_port_is_held_to_its_bounds() {
    let says = |to: &str, expected: &str| system_says(BOTH, KIOXIA, "ports = 2", to, expected);
    says("ports = 3", "ports = 3: must be a whole number from 1 to 2");
    let expected = "ports = 2: SAS 12 Gb/s cannot be split in two";
    system_says(BOTH, KIOXIA, "phys = 2", "phys = 1", expected);
    let from = "protocol = \"ahci\",";
    let to = "protocol = \"ahci\", ports = 2,";
    system_says(SATA, DRIVE, from, to, "ports = 2: SATA 6 Gb/s cannot be split in two");
}

/// The drive has two times two lanes instead of four lanes, and one half is downstream of the chipset.
#[test]
fn a_pcie_drive_with_two_ports_splits_its_lanes() {
    let from = "protocol = \"nvme\",";
    let to = "protocol = \"nvme\", ports = 2,";
    let spoilt = Spoilt::new(NVME_DRIVE, from, to);
    let system = spoilt.system("samsung-950-pro-512gb@workstation-z170:pcie-slot|m2").unwrap();
    let second = system.spec.attachments[0].second.as_ref().unwrap();
    assert_eq!(second.port_path.trunk, 0);
    assert_eq!(system.spec.attachments[0].port_path.links[0].name, "PCIe 3.0 x2, port pcie-slot");
    assert_eq!(second.port_path.links[1].name, "PCIe 3.0 x2, port m2");
    let workload = workload::open(&spoilt.library(), "crystaldiskmark-5:4k-qd32-read").unwrap();
    let run = system.run(&workload, Provenance::default()).unwrap();
    let hops = &run.tests[0].samples[0].path.as_ref().unwrap().hops;
    let busy = |name: &str| hops.iter().find(|hop| hop.name == name).unwrap().utilisation;
    for port in ["PCIe 3.0 x2, port pcie-slot", "DMI 3.0", "PCIe 3.0 x2, port m2"] {
        assert!(busy(port) > 0.1, "{port}: {}", busy(port));
    }
    let one = busy("PCIe 3.0 x2, port pcie-slot");
    let other = busy("PCIe 3.0 x2, port m2");
    assert!((one / other - 1.0).abs() < 0.02, "{one} and {other}");
}

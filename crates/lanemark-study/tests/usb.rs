//! USB ports with enclosures, as described in platform files.

use lanemark_schema::workload::Test;
use lanemark_sim::ceilings;
use lanemark_sim::link::{LinkModel, Sata, SataCommands, SataRate, Usb, UsbRate, UsbTransport};
use lanemark_sim::spec::ProtocolKind;
use lanemark_testbed::systems::{DRIVE, NVME, SATA};

mod spoilt;
use spoilt::{Spoilt, system_says};

const PLATFORM: &str = "library/platforms/desktop-usb.toml";
const UASP: &str = "samsung-850-pro-1tb@desktop-usb:usb-5g";
const BULK_ONLY: &str = "samsung-850-pro-1tb@desktop-usb:usb-5g-bulk";
const ENCLOSED_NVME: &str = "samsung-950-pro-512gb@desktop-usb:usb-10g-nvme";

fn says(system: &str, from: &str, to: &str, expected: &str) {
    system_says(system, PLATFORM, from, to, expected);
}

#[test]
fn a_drive_in_an_enclosure_stands_behind_usb_and_bridge() {
    let library = Spoilt::new(PLATFORM, "[uasp]", "[uasp]");
    let asked = [
        (UASP, ProtocolKind::Uasp, 30, UsbTransport::AttachedScsi, SataCommands::Queued),
        (BULK_ONLY, ProtocolKind::BulkOnly, 1, UsbTransport::BulkOnly, SataCommands::Unqueued),
    ];
    for (system, kind, depth, transport, commands) in asked {
        let spec = library.system(system).unwrap().spec;
        let attachment = &spec.attachments[0];
        assert_eq!((attachment.protocol.kind, attachment.protocol.queue_depth), (kind, depth));
        let laws: Vec<LinkModel> =
            attachment.port_path.links.iter().map(|link| link.model).collect();
        let [LinkModel::Pcie(_), usb, LinkModel::Bridge(_), sata] = laws[..] else {
            panic!("{laws:?}")
        };
        assert_eq!(usb, LinkModel::Usb(Usb::new(UsbRate::Gen1, transport)));
        assert_eq!(sata, LinkModel::Sata(Sata::new(SataRate::Gen3, commands)));
    }
    let spec = library.system(ENCLOSED_NVME).unwrap().spec;
    let attachment = &spec.attachments[0];
    assert_eq!(attachment.protocol.kind, ProtocolKind::Uasp);
    assert!(
        matches!(attachment.port_path.links[3].model, LinkModel::Pcie(model) if model.lanes() == 2)
    );
}

/// Enclosures reach their published rates: 400 to 460 MB/s at 5 Gb/s, and 950 to 1,050 MB/s at 10 Gb/s.
#[test]
fn the_ceilings_of_enclosures_are_those_that_are_measured() {
    let library = Spoilt::new(PLATFORM, "[uasp]", "[uasp]");
    let test = Test::sequential_read("1 MiB").volume("1 GiB").build().unwrap();
    for (system, least, most) in [(UASP, 400, 465), (ENCLOSED_NVME, 950, 1_060)] {
        let spec = library.system(system).unwrap().spec;
        let bottleneck = ceilings(&spec, &test)[2..6].iter().filter_map(|hop| hop.rate).min();
        let seen = bottleneck.unwrap().0 / 1_000_000;
        assert!((least..=most).contains(&seen), "{system}: {seen} MB/s");
    }
}

#[test]
fn impossible_usb_ports_are_reported() {
    let usb = "usb    = { value = \"5 Gb/s\", derived = \"USB 3.2 generation 1\" }";
    says(
        UASP,
        usb,
        "usb = \"7 Gb/s\"",
        "usb = 7 Gb/s: USB runs at 480 Mb/s, or at 5, 10 or 20 Gb/s",
    );
    says(UASP, usb, "usb = \"5\"", "usb");
    let sata =
        "sata         = { value = \"6 Gb/s\", assumed = \"usual for such bridges since 2012\" }";
    let sas = "sas = { rate = \"12 Gb/s\", phys = 1 }";
    says(UASP, sata, sas, "there are no bridges from USB to SAS");
    says(UASP, "protocol     = \"uasp\"", "protocol = \"uas\"", "unknown protocol `uas`");
    says(UASP, "[port.bridge]", "[port.bridgee]", "bridge");
    let time = "command_time = { value = \"25 us\", assumed = \"about 40,000 commands a second\" }";
    says(UASP, time, "command_time = \"1000 s\"", "bridge.command_time = 1000 s");
    let rate = "rate         = { value = \"430 MB/s\", assumed = \"400 to 460";
    let slow = "rate         = { value = \"4 B/s\", assumed = \"the most that such";
    says(UASP, rate, slow, "bridge.rate = 4 B/s: at least 1 MB/s");
    says(UASP, "[uasp]", "[sas]", "does not have a UASP driver");
}

#[test]
fn a_drive_that_a_bridge_does_not_support_is_reported() {
    let nvme = "library/drives/samsung-950-pro-512gb.toml";
    let expected = "speaks AHCI, but the bridge of port `usb-10g-nvme` speaks NVMe";
    system_says(ENCLOSED_NVME, nvme, "protocol = \"nvme\",", "protocol = \"ahci\",", expected);
}

#[test]
fn a_bridge_does_not_add_a_queue_to_a_drive() {
    let port = "protocol = \"ahci\", commands = \"unqueued\", sata";
    let library = Spoilt::new(DRIVE, "protocol = \"ahci\", sata", port);
    assert_eq!(library.system(UASP).unwrap().spec.attachments[0].protocol.queue_depth, 1);
    for system in [SATA, NVME] {
        let spec = library.system(system).unwrap().spec;
        let bridges = spec.attachments[0].port_path.links.iter();
        assert!(!bridges.map(|link| link.model).any(|model| matches!(model, LinkModel::Bridge(_))));
    }
}

//! Tests of the gaps in an inspection as text.

use lanemark_schema::result::{
    BlockDeviceKind, DeviceIdentity, InspectedFinding, PataLink, PcieRate, SasLink, SataLink,
};
use lanemark_schema::units::BytesPerSecond;

use super::*;

fn hop(name: &str, part: InspectedHopKind, link: Option<InspectedLink>) -> InspectedHop {
    InspectedHop {
        name: name.to_owned(),
        place: format!("devices/{name}"),
        part,
        link,
        numa_node: None,
    }
}

fn pci(name: &str, role: PciFunctionKind, link: Option<InspectedLink>) -> InspectedHop {
    let part =
        InspectedHopKind::Pci { role, vendor: None, device: None, driver: None, chipset: false };
    hop(name, part, link)
}

fn device(name: &str, hops: Vec<InspectedHop>) -> InspectedDevice {
    InspectedDevice {
        paths: vec![InspectedPath { hops, ..InspectedPath::default() }],
        ..InspectedDevice::new(name, BlockDeviceKind::Disk)
    }
}

fn pcie(current: u8, upper: u8, lower: u8) -> Option<InspectedLink> {
    let rate = |lanes: u8| Some(PcieRate { generation: 3, lanes }).filter(|_| lanes > 0);
    Some(InspectedLink::Pcie(PcieLink {
        current: rate(current),
        upper_max: rate(upper),
        lower_max: rate(lower),
        line: Some(BytesPerSecond(985_000_000)).filter(|_| current > 0),
        ..PcieLink::default()
    }))
}

fn sata(negotiated: u64, limit: u64, port: u64, drive: u64) -> Option<InspectedLink> {
    let known = |rate: u64| Some(rate).filter(|&rate| rate > 0);
    Some(InspectedLink::Sata(SataLink {
        negotiated_bits_per_second: known(negotiated),
        limit_bits_per_second: known(limit),
        port_bits_per_second: known(port),
        drive_bits_per_second: known(drive),
        line: Some(BytesPerSecond(600_000_000)),
        ..SataLink::default()
    }))
}

#[test]
fn a_pcie_link_lacks_its_rate_or_one_of_its_ends() {
    let of = |current, upper, lower| {
        find_gaps(&device(
            "nvme0n1",
            vec![pci("d", PciFunctionKind::Nvme, pcie(current, upper, lower))],
        ))
    };
    let name = || "d".to_owned();
    let port = |full: Option<&str>| InspectionGap::Port(name(), full.map(str::to_owned));
    for (rates, wanted) in [
        ((4, 8, 4), vec![]),
        ((0, 8, 4), vec![InspectionGap::Rate(name())]),
        ((4, 8, 0), vec![InspectionGap::Device(name())]),
        // A device at its full capability would not be faster in a faster port.
        ((4, 0, 4), vec![port(Some("PCIe 3.0 x4"))]),
        ((2, 0, 4), vec![port(None)]),
        ((4, 0, 0), vec![InspectionGap::Device(name()), port(None)]),
        ((0, 8, 0), vec![InspectionGap::Rate(name()), InspectionGap::Device(name())]),
        ((0, 0, 0), vec![InspectionGap::AllLinks { on_pci: true }]),
    ] {
        assert_eq!(of(rates.0, rates.1, rates.2), wanted, "{rates:?}");
    }
}

#[test]
fn other_links_lack_ends_and_controllers_lack_downstream_links() {
    let behind = |role| {
        find_gaps(&device(
            "sda",
            vec![pci("c", role, pcie(4, 4, 4)), hop("h", InspectedHopKind::AtaPort, None)],
        ))
    };
    for role in [
        PciFunctionKind::Ahci,
        PciFunctionKind::Ide,
        PciFunctionKind::Sas,
        PciFunctionKind::Raid,
        PciFunctionKind::Storage,
        PciFunctionKind::Usb,
        PciFunctionKind::FibreChannel,
    ] {
        assert_eq!(behind(role), [InspectionGap::Behind("c".to_owned())], "{role:?}");
    }
    for role in [
        PciFunctionKind::Nvme,
        PciFunctionKind::Virtio,
        PciFunctionKind::Network,
        PciFunctionKind::Other,
    ] {
        assert_eq!(behind(role), [], "{role:?}");
    }
    let below = |link| {
        find_gaps(&device(
            "sda",
            vec![
                pci("c", PciFunctionKind::Ahci, pcie(4, 4, 4)),
                hop("p", InspectedHopKind::AtaPort, link),
            ],
        ))
    };
    let ends = || vec![InspectionGap::Ends("p".to_owned())];
    assert_eq!(below(sata(6, 0, 6, 6)), []);
    assert_eq!(below(sata(6, 6, 0, 6)), []);
    assert_eq!(below(sata(0, 0, 6, 6)), ends());
    assert_eq!(below(sata(6, 0, 0, 6)), ends());
    assert_eq!(below(sata(6, 0, 6, 0)), ends());
    let sas = |negotiated, capable| {
        Some(InspectedLink::Sas(SasLink {
            negotiated_bits_per_second: negotiated,
            capable_bits_per_second: capable,
            ..SasLink::default()
        }))
    };
    assert_eq!(below(sas(Some(6), Some(12))), []);
    assert_eq!(below(sas(None, Some(12))), ends());
    assert_eq!(below(sas(Some(6), None)), ends());
    assert_eq!(below(Some(InspectedLink::Pata(PataLink::default()))), ends());
    let fabric = |transport: &str| InspectedHopKind::NvmeController {
        identity: DeviceIdentity::default(),
        transport: Some(transport.to_owned()),
        address: None,
        state: None,
        queues: None,
    };
    let over = |transport| {
        find_gaps(&device(
            "nvme0n1",
            vec![
                pci("c", PciFunctionKind::Network, pcie(4, 4, 4)),
                hop("n", fabric(transport), None),
            ],
        ))
    };
    assert_eq!(over("tcp"), [InspectionGap::Network("n".to_owned())]);
    assert_eq!(over("pcie"), []);
    // If no link is known, lspci helps only if there is a function whose links it shows.
    for (role, on_pci) in [
        (PciFunctionKind::Nvme, true),
        (PciFunctionKind::Sas, true),
        (PciFunctionKind::Virtio, false),
    ] {
        let found = find_gaps(&device("vda", vec![pci("c", role, None)]));
        assert_eq!(found, [InspectionGap::AllLinks { on_pci }], "{role:?}");
    }
}

#[test]
fn gaps_are_sentences_with_their_devices_unless_a_finding_states_them() {
    let narrow = || vec![pci("d", PciFunctionKind::Nvme, pcie(2, 0, 4))];
    let told = |devices: Vec<InspectedDevice>, findings: Vec<InspectedFinding>| {
        sentences(&Inspection { devices, findings, ..Inspection::default() })
    };
    let both =
        "`sudo lspci -vvv` of the whole machine, or `lanemark inspect` on it, shows both ends.";
    let wanted = format!("a, b: the capability of the port of d is not known. {both}");
    assert_eq!(
        told(vec![device("a", narrow()), device("b", narrow())], Vec::new()),
        [wanted.as_str()]
    );
    let rate = |lanes| PcieRate { generation: 3, lanes };
    let finding = |hop: &str, devices: &[&str]| InspectedFinding {
        devices: devices.iter().map(|&name| name.to_owned()).collect(),
        finding: Finding::LinkBelowDevice {
            hop: hop.to_owned(),
            current: rate(2),
            device_max: rate(4),
        },
    };
    assert!(told(vec![device("a", narrow())], vec![finding("d", &["a"])]).is_empty());
    assert_eq!(told(vec![device("a", narrow())], vec![finding("e", &["a"])]).len(), 1);
    assert_eq!(told(vec![device("a", narrow())], vec![finding("d", &["b"])]).len(), 1);
    let mut composed = device("dm-0", narrow());
    composed.below.push("a".to_owned());
    assert!(told(vec![composed], Vec::new()).is_empty());
    for (gap, part) in [
        (
            InspectionGap::AllLinks { on_pci: false },
            "No link to x reports its rate, so no limit on these links can be determined.",
        ),
        (
            InspectionGap::AllLinks { on_pci: true },
            " `sudo lspci -vvv` shows the PCI Express links",
        ),
        (
            InspectionGap::Rate("h".to_owned()),
            "x: the trained rate of the link to h (LnkSta) is not known.",
        ),
        (InspectionGap::Device("h".to_owned()), "x: the capability of h (LnkCap) is not known."),
        (
            InspectionGap::Port("h".to_owned(), Some("PCIe 3.0 x4".to_owned())),
            "x: the link to h runs at PCIe 3.0 x4, the maximum of the device.",
        ),
        (
            InspectionGap::Ends("h".to_owned()),
            "x: the capability of both ends of the link to h is not known.",
        ),
        (
            InspectionGap::Behind("h".to_owned()),
            "x: the rates of the links downstream of h are not known.",
        ),
        (InspectionGap::Network("h".to_owned()), "x: the rate of the network to h is not known."),
    ] {
        let text = gap.sentence("x");
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn a_finding_states_the_kind_and_place_of_its_gap() {
    let sda = device("sda", Vec::new());
    let stated = |gap: InspectionGap, finding: Finding| {
        let findings = vec![InspectedFinding { devices: vec!["sda".to_owned()], finding }];
        is_found(&gap, &sda, &Inspection { findings, ..Inspection::default() })
    };
    let hidden = || Finding::DrivesHidden { adapter: "0000:03:00.0 (megaraid)".to_owned() };
    assert!(stated(InspectionGap::Behind("0000:03:00.0".to_owned()), hidden()));
    assert!(!stated(InspectionGap::Behind("0000:04:00.0".to_owned()), hidden()));
    assert!(!stated(InspectionGap::Ends("0000:03:00.0".to_owned()), hidden()));
    let usb = || Finding::UsbSlow { hop: "1-2".to_owned(), bits_per_second: 480_000_000 };
    assert!(stated(InspectionGap::Ends("1-2".to_owned()), usb()));
    assert!(!stated(InspectionGap::Behind("1-2".to_owned()), usb()));
    let sata = || Finding::SataBelowCapability {
        hop: "ata3".to_owned(),
        negotiated_bits_per_second: 3,
        capable_bits_per_second: 6,
        drive_known: false,
    };
    assert!(stated(InspectionGap::Ends("ata3".to_owned()), sata()));
    assert!(!stated(InspectionGap::Ends("ata4".to_owned()), sata()));
    assert!(!stated(InspectionGap::Port("ata3".to_owned(), None), sata()));
}

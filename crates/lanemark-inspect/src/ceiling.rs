//! Computes the ceilings of a real path's links for a test, with the formulas of the simulator.

use lanemark_schema::result::{
    HopCeiling, InspectedDevice, InspectedHop, InspectedLink, Inspection, LineRate,
};
use lanemark_schema::units::{BitsPerSecond, Bytes};
use lanemark_schema::workload::Test;
use lanemark_sim::link::{
    LinkModel, Pcie, PcieGeneration, Sas, SasRate, Sata, SataCommands, SataRate,
};
use lanemark_sim::over_link;

use crate::rate::PAYLOADS;

/// Assumed maximum length of a command if the kernel does not report it.
const TRANSFER_USUAL: Bytes = Bytes::kibi(128);

/// Returns the ceilings of the links to the inspected device, starting at the processor.
///
/// A device that consists of one other device has the ceilings of that device. For a device that consists of several
/// devices, no ceilings are returned, because the distribution of requests over them is unknown. If there are several
/// paths, the first is used. Other devices are assumed not to use a shared link. There are no formulas for USB and
/// PATA. If the packet sizes of a link are unknown, its ceiling is between the ceilings for the smallest and the
/// largest possible size.
pub fn ceilings(inspection: &Inspection, test: &Test) -> Vec<HopCeiling> {
    let Some(device) = hardware(inspection) else { return Vec::new() };
    let transfer_max = device.queue.transfer_max.filter(|&most| most > Bytes::ZERO);
    let transfer_max = transfer_max.unwrap_or(TRANSFER_USUAL);
    let ceiling = |hop: &InspectedHop| {
        let link = hop.link.as_ref()?;
        let carries = |sizes| Some(over_link(&model(link, sizes)?, transfer_max, test));
        let rate = carries(PAYLOADS.0)?;
        let most = carries(PAYLOADS.1)?;
        let rate_most = Some(most).filter(|&most| most != rate);
        Some(HopCeiling { hop: hop.name.clone(), link: words(link), rate, rate_most })
    };
    let path = device.paths.first().map_or(&[][..], |path| &path.hops);
    path.iter().filter_map(ceiling).collect()
}

/// Follows the devices under the target, and returns the first device that has a path, if there is only one device at
/// each level.
pub fn hardware(inspection: &Inspection) -> Option<&InspectedDevice> {
    let device_named = |name: &str| inspection.devices.iter().find(|device| device.name == name);
    let mut device = device_named(inspection.target.as_deref()?)?;
    // The limit exceeds the depth of any stack that the kernel allows, and ends the search in a cycle.
    for _ in 0..16 {
        match (device.paths.is_empty(), &device.below[..]) {
            (false, _) => return Some(device),
            (true, [one]) => device = device_named(one)?,
            (true, _) => return None,
        }
    }
    None
}

/// Returns the formula of a link. If the link does not report the size of packets or requests, the size is `unknown`.
fn model(link: &InspectedLink, unknown: Bytes) -> Option<LinkModel> {
    match link {
        InspectedLink::Pcie(link) => {
            let rate = link.current?;
            let lanes = u32::from(rate.lanes);
            let generation = PcieGeneration::new(rate.generation.into())?;
            [1, 2, 4, 8, 16].contains(&lanes).then(|| {
                let payload = link.payload_max.unwrap_or(unknown);
                let request_max = link.read_request_max.unwrap_or(unknown);
                LinkModel::Pcie(Pcie::new(generation, lanes, payload, request_max))
            })
        }
        InspectedLink::Sata(link) => {
            let rate = SataRate::new(BitsPerSecond(link.negotiated_bits_per_second?))?;
            let commands = match link.queueing {
                Some(false) => SataCommands::Unqueued,
                _ => SataCommands::Queued,
            };
            Some(LinkModel::Sata(Sata::new(rate, commands)))
        }
        InspectedLink::Sas(link) => {
            let rate = SasRate::new(BitsPerSecond(link.negotiated_bits_per_second?))?;
            (link.phys > 0).then(|| LinkModel::Sas(Sas::new(rate, link.phys)))
        }
        InspectedLink::Usb(_) | InspectedLink::Pata(_) => None,
    }
}

/// Returns the link as text, such as `PCIe 3.0 x4` or `SATA 6 Gb/s`.
fn words(link: &InspectedLink) -> String {
    let rated = |name: &str, rate: Option<u64>| match rate {
        Some(rate) => format!("{name} {}", LineRate(rate)),
        None => name.to_owned(),
    };
    match link {
        InspectedLink::Pcie(link) => {
            link.current.map_or("PCIe".to_owned(), |rate| rate.to_string())
        }
        InspectedLink::Sata(link) => rated("SATA", link.negotiated_bits_per_second),
        InspectedLink::Pata(_) => "PATA".to_owned(),
        InspectedLink::Sas(link) if link.phys > 1 => {
            rated("SAS", link.negotiated_bits_per_second) + &format!(" x{}", link.phys)
        }
        InspectedLink::Sas(link) => rated("SAS", link.negotiated_bits_per_second),
        InspectedLink::Usb(link) => rated("USB", link.bits_per_second),
    }
}

#[cfg(test)]
mod tests {
    use lanemark_schema::result::{
        BlockDeviceKind, InspectedHopKind, InspectedPath, PataLink, PcieLink, PcieRate, SasLink,
        SataLink, UsbLink,
    };

    use super::*;

    fn pcie(lanes: u8, payload_max: Option<Bytes>) -> InspectedLink {
        let current = Some(PcieRate { generation: 4, lanes });
        InspectedLink::Pcie(PcieLink {
            current,
            payload_max,
            read_request_max: payload_max,
            ..PcieLink::default()
        })
    }

    fn sas(bits: u64, phys: u32) -> InspectedLink {
        let negotiated_bits_per_second = Some(bits);
        InspectedLink::Sas(SasLink { negotiated_bits_per_second, phys, ..SasLink::default() })
    }

    fn sata(bits: Option<u64>, queueing: Option<bool>) -> InspectedLink {
        let negotiated_bits_per_second = bits;
        InspectedLink::Sata(SataLink {
            negotiated_bits_per_second,
            queueing,
            ..SataLink::default()
        })
    }

    fn usb(bits_per_second: Option<u64>) -> InspectedLink {
        InspectedLink::Usb(UsbLink { bits_per_second, line: None })
    }

    #[test]
    fn a_link_is_named_with_its_rate_and_its_width() {
        for (link, name) in [
            (pcie(2, None), "PCIe 4.0 x2"),
            (InspectedLink::Pcie(PcieLink::default()), "PCIe"),
            (sata(Some(3_000_000_000), None), "SATA 3 Gb/s"),
            (sata(None, None), "SATA"),
            (sas(12_000_000_000, 4), "SAS 12 Gb/s x4"),
            (sas(12_000_000_000, 2), "SAS 12 Gb/s x2"),
            (sas(12_000_000_000, 1), "SAS 12 Gb/s"),
            (InspectedLink::Pata(PataLink::default()), "PATA"),
            (usb(Some(480_000_000)), "USB 480 Mb/s"),
            (usb(None), "USB"),
        ] {
            assert_eq!(words(&link), name);
        }
    }

    #[test]
    fn a_link_has_the_formula_of_its_rate_its_width_and_its_packets() {
        let unknown = Bytes(512);
        let generation = PcieGeneration::new(4).unwrap();
        let of = |lanes, size| Some(LinkModel::Pcie(Pcie::new(generation, lanes, size, size)));
        for lanes in [1, 2, 4, 8, 16] {
            assert_eq!(
                model(&pcie(lanes, Some(Bytes(256))), unknown),
                of(lanes.into(), Bytes(256))
            );
            assert_eq!(model(&pcie(lanes, None), unknown), of(lanes.into(), Bytes(512)));
        }
        let rate = SataRate::new(BitsPerSecond(3_000_000_000)).unwrap();
        for (queueing, commands) in [
            (Some(false), SataCommands::Unqueued),
            (Some(true), SataCommands::Queued),
            (None, SataCommands::Queued),
        ] {
            let wanted = LinkModel::Sata(Sata::new(rate, commands));
            assert_eq!(model(&sata(Some(3_000_000_000), queueing), unknown), Some(wanted));
        }
        let rate = SasRate::new(BitsPerSecond(12_000_000_000)).unwrap();
        let wide = LinkModel::Sas(Sas::new(rate, 3));
        assert_eq!(model(&sas(12_000_000_000, 3), unknown), Some(wide));
        let single = LinkModel::Sas(Sas::new(rate, 1));
        assert_eq!(model(&sas(12_000_000_000, 1), unknown), Some(single));
        for link in [
            pcie(12, None),
            InspectedLink::Pcie(PcieLink::default()),
            sata(None, None),
            sas(12_000_000_000, 0),
            usb(Some(480_000_000)),
            InspectedLink::Pata(PataLink::default()),
        ] {
            assert_eq!(model(&link, unknown), None, "{link:?}");
        }
    }

    fn device(name: &str, below: &[&str], links: Vec<InspectedLink>) -> InspectedDevice {
        let hop = |(at, link): (usize, InspectedLink)| InspectedHop {
            name: format!("hop{at}"),
            place: format!("hop{at}"),
            part: InspectedHopKind::AtaPort,
            link: Some(link),
            numa_node: None,
        };
        let hops: Vec<InspectedHop> = links.into_iter().enumerate().map(hop).collect();
        let inspected_path = InspectedPath { hops, ..InspectedPath::default() };
        InspectedDevice {
            paths: if inspected_path.hops.is_empty() { Vec::new() } else { vec![inspected_path] },
            below: below.iter().map(|&name| name.to_owned()).collect(),
            ..InspectedDevice::new(name, BlockDeviceKind::Disk)
        }
    }

    #[test]
    fn the_hardware_is_found_below_single_devices_only() {
        let link = || vec![pcie(4, None)];
        let all = |target: Option<&str>| Inspection {
            target: target.map(str::to_owned),
            devices: vec![
                device("dm-0", &["dm-1"], Vec::new()),
                device("dm-1", &["nvme0n1"], Vec::new()),
                device("nvme0n1", &[], link()),
                device("md0", &["nvme0n1", "nvme1n1"], Vec::new()),
                device("nvme1n1", &["md0"], link()),
                device("loop0", &[], Vec::new()),
                device("round", &["round"], Vec::new()),
                device("lost", &["absent"], Vec::new()),
            ],
            ..Inspection::default()
        };
        for (target, found) in [
            (Some("dm-0"), Some("nvme0n1")),
            (Some("nvme0n1"), Some("nvme0n1")),
            (Some("nvme1n1"), Some("nvme1n1")),
            (Some("md0"), None),
            (Some("loop0"), None),
            (Some("round"), None),
            (Some("lost"), None),
            (None, None),
        ] {
            let all = all(target);
            assert_eq!(hardware(&all).map(|one| one.name.as_str()), found, "{target:?}");
        }
    }

    #[test]
    fn the_ceilings_of_a_path_match_its_links() {
        let links = vec![
            pcie(4, Some(Bytes(256))),
            usb(Some(480_000_000)),
            pcie(2, None),
            sas(12_000_000_000, 2),
        ];
        let test = Test::of_blocks(Bytes::kibi(512));
        for (known, most) in [
            (None, Bytes::kibi(128)),
            (Some(Bytes::ZERO), Bytes::kibi(128)),
            (Some(Bytes::kibi(32)), Bytes::kibi(32)),
        ] {
            let mut sda = device("sda", &[], links.clone());
            sda.queue.transfer_max = known;
            let inspection = Inspection {
                target: Some("sda".to_owned()),
                devices: vec![sda],
                ..Inspection::default()
            };
            let of = |at: usize, size: u64| {
                over_link(&model(&links[at], Bytes(size)).unwrap(), most, &test)
            };
            let wanted =
                [(0, None), (2, Some(of(2, 4096))), (3, None)].map(|(at, rate_most)| HopCeiling {
                    hop: format!("hop{at}"),
                    link: words(&links[at]),
                    rate: of(at, 128),
                    rate_most,
                });
            assert!(wanted[1].rate < of(2, 4096));
            assert_eq!(ceilings(&inspection, &test), wanted);
        }
        assert_eq!(ceilings(&Inspection::default(), &test), []);
    }
}

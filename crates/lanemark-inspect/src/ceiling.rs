//! The ceilings of a real path's links for a test, by the formulas of the simulator.

use lanemark_schema::result::{
    Gigabits, HopCeiling, InspectedDevice, InspectedHop, InspectedLink, Inspection,
};
use lanemark_schema::units::{BitsPerSecond, Bytes};
use lanemark_schema::workload::Test;
use lanemark_sim::link::{
    LinkLaw, Pcie, PcieGeneration, Sas, SasRate, Sata, SataCommands, SataRate,
};
use lanemark_sim::over_link;

use crate::rate::PAYLOADS;

/// The maximum length of a command if the kernel does not report it.
const TRANSFER_USUAL: Bytes = Bytes::kibi(128);

/// Returns the ceilings of the links to the inspected device, starting at the processor.
///
/// A device on top of a single other device has the same ceilings. A device that consists of several devices has no
/// ceilings here, since the distribution of requests over them is unknown. If there are several paths, the first is
/// used. A shared link is assumed to be free of other devices. USB and PATA do not have a formula. If the packet sizes
/// of a link are unknown, its ceiling is between the ceilings for the smallest and the largest possible size.
pub fn ceilings(inspection: &Inspection, test: &Test) -> Vec<HopCeiling> {
    let Some(device) = hardware(inspection) else { return Vec::new() };
    let transfer_max = device.queue.transfer_max.filter(|&most| most > Bytes::ZERO);
    let transfer_max = transfer_max.unwrap_or(TRANSFER_USUAL);
    let ceiling = |hop: &InspectedHop| {
        let link = hop.link.as_ref()?;
        let carries = |sizes| Some(over_link(&law(link, sizes)?, transfer_max, test));
        let (rate, most) = (carries(PAYLOADS.0)?, carries(PAYLOADS.1)?);
        let rate_most = Some(most).filter(|&most| most != rate);
        Some(HopCeiling { hop: hop.name.clone(), link: words(link), rate, rate_most })
    };
    let path = device.ways.first().map_or(&[][..], |path| &path.hops);
    path.iter().filter_map(ceiling).collect()
}

/// Follows the devices below the target, and returns the first that has a path, if there is only one device at each
/// level.
pub fn hardware(inspection: &Inspection) -> Option<&InspectedDevice> {
    let named = |name: &str| inspection.devices.iter().find(|device| device.name == name);
    let mut device = named(inspection.target.as_deref()?)?;
    // The limit exceeds the depth of any stack that the kernel allows, and ends the search in a cycle.
    for _ in 0..16 {
        match (device.ways.is_empty(), &device.below[..]) {
            (false, _) => return Some(device),
            (true, [one]) => device = named(one)?,
            (true, _) => return None,
        }
    }
    None
}

/// Returns the formula of a link, with packets and requests of the `unknown` size if the link does not report them.
fn law(link: &InspectedLink, unknown: Bytes) -> Option<LinkLaw> {
    match link {
        InspectedLink::Pcie(link) => {
            let rate = link.current?;
            let lanes = u32::from(rate.lanes);
            let generation = PcieGeneration::new(rate.generation.into())?;
            [1, 2, 4, 8, 16].contains(&lanes).then(|| {
                let payload = link.payload_max.unwrap_or(unknown);
                let request_max = link.read_request_max.unwrap_or(unknown);
                LinkLaw::Pcie(Pcie::new(generation, lanes, payload, request_max))
            })
        }
        InspectedLink::Sata(link) => {
            let rate = SataRate::new(BitsPerSecond(link.negotiated_bits_per_second?))?;
            let commands = match link.queueing {
                Some(false) => SataCommands::Unqueued,
                _ => SataCommands::Queued,
            };
            Some(LinkLaw::Sata(Sata::new(rate, commands)))
        }
        InspectedLink::Sas(link) => {
            let rate = SasRate::new(BitsPerSecond(link.negotiated_bits_per_second?))?;
            (link.phys > 0).then(|| LinkLaw::Sas(Sas::new(rate, link.phys)))
        }
        InspectedLink::Usb(_) | InspectedLink::Pata(_) => None,
    }
}

/// Returns the link as text, `PCIe 3.0 x4` or `SATA 6 Gb/s`.
fn words(link: &InspectedLink) -> String {
    let rated = |name: &str, rate: Option<u64>| match rate {
        Some(rate) => format!("{name} {}", Gigabits(rate)),
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

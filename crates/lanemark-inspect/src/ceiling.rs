//! The ceilings of a real path's links for a test, by the laws of the simulator.

use lanemark_core::result::{
    Gigabits, HopCeiling, InspectedDevice, InspectedHop, InspectedLink, Inspection,
};
use lanemark_core::sim::link::{
    LinkLaw, Pcie, PcieGeneration, Sas, SasRate, Sata, SataCommands, SataRate,
};
use lanemark_core::sim::over_link;
use lanemark_core::units::{BitsPerSecond, Bytes};
use lanemark_core::workload::Test;

use crate::rate::PAYLOADS;

/// The longest command where the kernel does not say.
const TRANSFER_USUAL: Bytes = Bytes::kibi(128);

/// The ceilings of the links to the device that was inspected, from the processor on.
///
/// A device that lies on one other has that one's; what is made of several has none here, since how requests fall
/// on them is not known. Of several ways the first is taken. A link that other devices share is taken as free of them.
/// USB and PATA have no law. Where the sizes of a link's packets are not known, its ceiling lies between those of the smallest and
/// of the largest that it may be set to.
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
    let way = device.ways.first().map_or(&[][..], |way| &way.hops);
    way.iter().filter_map(ceiling).collect()
}

/// The device with a way of its own that the target lies on, where there is exactly one.
pub fn hardware(inspection: &Inspection) -> Option<&InspectedDevice> {
    let named = |name: &str| inspection.devices.iter().find(|device| device.name == name);
    let mut device = named(inspection.target.as_deref()?)?;
    // Deeper than any stack that the kernel allows, so that a cycle ends.
    for _ in 0..16 {
        match (device.ways.is_empty(), &device.below[..]) {
            (false, _) => return Some(device),
            (true, [one]) => device = named(one)?,
            (true, _) => return None,
        }
    }
    None
}

/// The law of a link, with packets and requests of the `unknown` size where the link does not tell.
fn law(link: &InspectedLink, unknown: Bytes) -> Option<LinkLaw> {
    match link {
        InspectedLink::Pcie(link) => {
            let rate = link.current?;
            let lanes = u32::from(rate.lanes);
            let generation = PcieGeneration::new(rate.generation.into())?;
            [1, 2, 4, 8, 16].contains(&lanes).then(|| {
                let payload = link.payload_max.unwrap_or(unknown);
                let asked = link.read_request_max.unwrap_or(unknown);
                LinkLaw::Pcie(Pcie::new(generation, lanes, payload, asked))
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

/// `PCIe 3.0 x4`, `SATA 6 Gb/s`.
fn words(link: &InspectedLink) -> String {
    let told = |name: &str, rate: Option<u64>| match rate {
        Some(rate) => format!("{name} {}", Gigabits(rate)),
        None => name.to_owned(),
    };
    match link {
        InspectedLink::Pcie(link) => {
            link.current.map_or("PCIe".to_owned(), |rate| rate.to_string())
        }
        InspectedLink::Sata(link) => told("SATA", link.negotiated_bits_per_second),
        InspectedLink::Pata(_) => "PATA".to_owned(),
        InspectedLink::Sas(link) if link.phys > 1 => {
            told("SAS", link.negotiated_bits_per_second) + &format!(" x{}", link.phys)
        }
        InspectedLink::Sas(link) => told("SAS", link.negotiated_bits_per_second),
        InspectedLink::Usb(link) => told("USB", link.bits_per_second),
    }
}

//! Links that carry less than they could.

use lanemark_schema::result::{
    Finding, InspectedHop, InspectedHopKind, InspectedLink, PciFunctionKind, PcieLink, SasLink,
    SataLink, UsbLink,
};

use super::device_kind::role;

/// Rate below which a USB device is connected through a USB 2 port or cable.
const USB_FAST: u64 = 5_000_000_000;

/// Finds the limits of the `link` from `above` to `hop`.
pub(super) fn rules(
    above: Option<&InspectedHop>,
    hop: &InspectedHop,
    link: &InspectedLink,
    optical: bool,
) -> Vec<Finding> {
    match link {
        InspectedLink::Pcie(link) => pcie(above, hop, link),
        InspectedLink::Sata(link) if !optical => {
            sata(above.unwrap_or(hop), link).into_iter().collect()
        }
        InspectedLink::Sas(link) => sas(hop, link).into_iter().collect(),
        // Devices under a slow hub are slow because of the hub.
        InspectedLink::Usb(link) if !optical && !above.is_some_and(is_slow_usb) => {
            usb(hop, link).into_iter().collect()
        }
        InspectedLink::Sata(_) | InspectedLink::Pata(_) | InspectedLink::Usb(_) => Vec::new(),
    }
}

fn pcie(above: Option<&InspectedHop>, hop: &InspectedHop, link: &PcieLink) -> Vec<Finding> {
    let mut found = Vec::new();
    let name = || hop.name.clone();
    if let (Some(current), Some(capable)) = (link.current, link.capable())
        && current.below(capable)
    {
        found.push(Finding::PcieBelowCapability { hop: name(), current, capable });
    }
    // The attributes of one end show that the link is slow, but not why.
    if let (Some(current), None, Some(device_max)) = (link.current, link.upper_max, link.lower_max)
        && current.below(device_max)
    {
        found.push(Finding::LinkBelowDevice { hop: name(), current, device_max });
    }
    if let (Some(above), Some(port_max), Some(device_max)) = (above, link.upper_max, link.lower_max)
        && is_storage(hop)
        && port_max.below(device_max)
    {
        found.push(Finding::SlotBelowDevice {
            hop: name(),
            port: above.name.clone(),
            device_max,
            port_max,
        });
    }
    if let (Some(payload), Some(capable)) = (link.payload_max, link.payload_capable)
        && payload < capable
    {
        found.push(Finding::PayloadSmall { hop: name(), payload, capable });
    }
    found
}

fn is_storage(hop: &InspectedHop) -> bool {
    use PciFunctionKind as R;
    role(hop).is_some_and(|role| {
        matches!(role, R::Nvme | R::Ahci | R::Sas | R::Raid | R::Storage | R::FibreChannel)
    })
}

/// Finds the limit of the link of an ATA port.
fn sata(port: &InspectedHop, link: &SataLink) -> Option<Finding> {
    let hop = port.name.clone();
    let port = link.port_bits_per_second.or(link.limit_bits_per_second)?;
    if let Some(drive) = link.drive_bits_per_second.filter(|&drive| drive > port) {
        return Some(Finding::SataPortSlow {
            hop,
            drive_bits_per_second: drive,
            port_bits_per_second: port,
        });
    }
    let negotiated = link.negotiated_bits_per_second?;
    let capable = link.drive_bits_per_second.map_or(port, |drive| drive.min(port));
    (negotiated < capable).then_some(Finding::SataBelowCapability {
        hop,
        negotiated_bits_per_second: negotiated,
        capable_bits_per_second: capable,
        drive_known: link.drive_bits_per_second.is_some(),
    })
}

fn usb(hop: &InspectedHop, link: &UsbLink) -> Option<Finding> {
    let bits_per_second = link.bits_per_second.filter(|&bits| bits < USB_FAST)?;
    Some(Finding::UsbSlow { hop: hop.name.clone(), bits_per_second })
}

fn is_slow_usb(hop: &InspectedHop) -> bool {
    matches!(&hop.link, Some(InspectedLink::Usb(link)) if usb(hop, link).is_some())
}

fn sas(hop: &InspectedHop, link: &SasLink) -> Option<Finding> {
    let negotiated = link.negotiated_bits_per_second?;
    let capable = link.capable_bits_per_second?;
    // A SATA drive on a SAS port negotiates its own rate, and its maximum rate is not reported.
    let sata = matches!(&hop.part, InspectedHopKind::ScsiDevice { identity, .. }
        if identity.vendor.as_deref() == Some("ATA"));
    (negotiated < capable && !sata).then(|| Finding::SasBelowCapability {
        hop: hop.name.clone(),
        negotiated_bits_per_second: negotiated,
        capable_bits_per_second: capable,
    })
}

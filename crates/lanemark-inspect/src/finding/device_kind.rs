//! The kind of a device, and the function of a hop.

use lanemark_schema::result::{HopPart, InspectedDevice, InspectedHop, PciRole};

/// Returns whether a device reads optical discs, which are slow by themselves.
pub(crate) fn is_optical(device: &InspectedDevice) -> bool {
    device.name.strip_prefix("sr").is_some_and(crate::value::is_decimal)
}

/// Returns the function of a hop's PCI device.
pub(super) fn role(hop: &InspectedHop) -> Option<PciRole> {
    match hop.part {
        HopPart::Pci { role, .. } => Some(role),
        _ => None,
    }
}

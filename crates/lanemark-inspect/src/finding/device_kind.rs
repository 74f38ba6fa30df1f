//! Classifies devices, and the PCI functions of hops.

use lanemark_schema::result::{HopPart, InspectedDevice, InspectedHop, PciRole};

/// Returns whether a device reads optical discs, which are slow on any link.
pub(crate) fn is_optical(device: &InspectedDevice) -> bool {
    device.name.strip_prefix("sr").is_some_and(crate::value::is_decimal)
}

/// Returns the role of a hop's PCI function.
pub(super) fn role(hop: &InspectedHop) -> Option<PciRole> {
    match hop.part {
        HopPart::Pci { role, .. } => Some(role),
        _ => None,
    }
}

//! Classifies devices, and the PCI functions of hops.

use lanemark_schema::result::{InspectedDevice, InspectedHop, InspectedHopKind, PciFunctionKind};

/// Returns whether a device reads optical discs, which are slow on any link.
pub(crate) fn is_optical(device: &InspectedDevice) -> bool {
    device.name.strip_prefix("sr").is_some_and(crate::value::is_decimal)
}

/// Returns the role of a hop's PCI function.
pub(super) fn role(hop: &InspectedHop) -> Option<PciFunctionKind> {
    match hop.part {
        InspectedHopKind::Pci { role, .. } => Some(role),
        _ => None,
    }
}

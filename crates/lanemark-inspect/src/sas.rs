//! SAS ports of one or more phys, expanders and end devices.
//!
//! The folder of a port contains a link to each of its phys; each phy reports its negotiated rate and its maximum rate.
//! The rate of a wide port is the number of phys times the rate of the slowest phy.

use lanemark_schema::result::{DeviceIdentity, SasLink};

use crate::rate;
use crate::sysfs::{DevicePosition, Sysfs};
use crate::value::{line_rate, number};

const PHYS_MAX: usize = 256;

pub(crate) fn link(sysfs: &Sysfs, port: &DevicePosition) -> Option<SasLink> {
    let phys: Vec<String> = sysfs
        .names_in(port, ".")
        .into_iter()
        .filter(|name| name.starts_with("phy-"))
        .take(PHYS_MAX)
        .collect();
    let attributes: Vec<DevicePosition> =
        phys.iter().filter_map(|name| phy(sysfs, port, name)).collect();
    let speeds = |name: &str| -> Vec<Option<u64>> {
        attributes.iter().map(|at| sysfs.value(at, name, line_rate).flatten()).collect()
    };
    let slowest = |speeds: &[Option<u64>]| speeds.iter().copied().flatten().min();
    let negotiated = slowest(&speeds("negotiated_linkrate"));
    let capable: Vec<Option<u64>> = speeds("maximum_linkrate")
        .into_iter()
        .zip(speeds("maximum_linkrate_hw"))
        .map(|(set, hardware)| match (set, hardware) {
            (Some(set), Some(hardware)) => Some(set.min(hardware)),
            (set, hardware) => set.or(hardware),
        })
        .collect();
    let counted = u32::try_from(phys.len()).unwrap_or(0);
    let stated_rate = || {
        let name = port.name();
        let inside = sysfs.resolve_from(port, format!("sas_port/{name}"));
        let at = inside.or_else(|| sysfs.position(format!("class/sas_port/{name}")))?;
        sysfs.value(&at, "num_phys", number::<u32>).filter(|&phys| phys <= PHYS_MAX as u32)
    };
    let phys = if counted > 0 { counted } else { stated_rate().unwrap_or(0) };
    if phys == 0 && negotiated.is_none() {
        return None;
    }
    let (line, usable) = negotiated.map_or((None, None), |bits| rate::sas(bits, phys));
    Some(SasLink {
        negotiated_bits_per_second: negotiated,
        capable_bits_per_second: slowest(&capable),
        phys,
        line,
        usable,
    })
}

/// Finds the attributes of the phy `name` of `port`.
fn phy(sysfs: &Sysfs, port: &DevicePosition, name: &str) -> Option<DevicePosition> {
    sysfs
        .resolve_from(port, format!("{name}/sas_phy/{name}"))
        .or_else(|| sysfs.position(format!("class/sas_phy/{name}")))
}

/// Reads the identity of the expander at `at`.
pub(crate) fn expander(sysfs: &Sysfs, at: &DevicePosition) -> DeviceIdentity {
    let name = at.name();
    let inside = sysfs.resolve_from(at, format!("sas_expander/{name}"));
    let position = inside.or_else(|| sysfs.position(format!("class/sas_expander/{name}")));
    let attribute_text =
        |attribute| position.as_ref().and_then(|position| sysfs.text(position, attribute));
    DeviceIdentity {
        vendor: attribute_text("vendor_id"),
        model: attribute_text("product_id"),
        serial: None,
        firmware: attribute_text("product_rev"),
    }
}

/// Returns the address of the end device at `at`.
pub(crate) fn address(sysfs: &Sysfs, at: &DevicePosition) -> Option<String> {
    let name = at.name();
    let inside = sysfs.resolve_from(at, format!("sas_device/{name}"));
    let position = inside.or_else(|| sysfs.position(format!("class/sas_device/{name}")))?;
    sysfs.text(&position, "sas_address")
}

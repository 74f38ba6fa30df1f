//! The rules that find limits of devices in what was read, each with its figures.
//!
//! A rule looks at a device and its hops and names what it found; findings of several devices at one place
//! become one. Nothing is found where a figure is not known.

mod device;
mod link;
mod shared;

use std::collections::BTreeMap;

use lanemark_core::result::{
    Finding, HopPart, InspectedDevice, InspectedFinding, InspectedHop, PciRole,
};

/// Findings as they come in, those of one place and content together.
#[derive(Debug, Default)]
struct Findings {
    order: BTreeMap<String, usize>,
    found: Vec<InspectedFinding>,
}

/// Finds the limits of `devices`: those that cost first, then those that may be wanted.
pub(crate) fn find(devices: &[InspectedDevice]) -> Vec<InspectedFinding> {
    let mut findings = Findings::default();
    for device in devices {
        for way in &device.ways {
            let mut above = None;
            for hop in &way.hops {
                if let Some(link) = &hop.link {
                    for finding in link::rules(above, hop, link, is_optical(device)) {
                        findings.add(&hop.place, finding, &device.name);
                    }
                }
                above = Some(hop);
            }
        }
        for finding in device::rules(device) {
            findings.add("", finding, &device.name);
        }
    }
    findings.found.extend(shared::find(devices));
    findings.found.sort_by_key(|found| found.finding.is_note());
    findings.found
}

impl Findings {
    /// Adds what was found of a device; `place` tells links of one name apart.
    fn add(&mut self, place: &str, finding: Finding, device: &str) {
        let key = format!("{place}\n{finding:?}");
        let next = self.found.len();
        let index = *self.order.entry(key).or_insert(next);
        if index == next {
            self.found.push(InspectedFinding { devices: Vec::new(), finding });
        }
        let devices = &mut self.found[index].devices;
        if devices.last().map(String::as_str) != Some(device) {
            devices.push(device.to_owned());
        }
    }
}

/// Returns whether a device reads optical discs, which are slow by themselves.
pub(crate) fn is_optical(device: &InspectedDevice) -> bool {
    device.name.strip_prefix("sr").is_some_and(crate::value::is_decimal)
}

/// Returns the function of a hop's PCI device.
fn role(hop: &InspectedHop) -> Option<PciRole> {
    match hop.part {
        HopPart::Pci { role, .. } => Some(role),
        _ => None,
    }
}

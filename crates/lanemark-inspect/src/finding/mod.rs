//! The rules that find limits in an inspection.
//!
//! A rule examines a device and its hops, and returns findings with their figures. Equal findings about several devices
//! at one position are merged. If a figure is unknown, the rule does not report a finding.

mod device;
mod device_kind;
mod link;
#[cfg(test)]
mod rules_tests;
mod shared;

use std::collections::BTreeMap;

use lanemark_schema::result::{Finding, InspectedDevice, InspectedFinding};

pub(crate) use device_kind::is_optical;

/// Findings in the order in which they were added, merged by position and content.
#[derive(Debug, Default)]
struct Findings {
    order: BTreeMap<String, usize>,
    found: Vec<InspectedFinding>,
}

/// Finds the limits of `devices`: first the limits that reduce throughput, then the limits that may be intended.
pub(crate) fn find(devices: &[InspectedDevice]) -> Vec<InspectedFinding> {
    let mut findings = Findings::default();
    for device in devices {
        for path in &device.paths {
            let mut above = None;
            for hop in &path.hops {
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
    findings.found.sort_by_key(|finding| finding.finding.is_note());
    findings.found
}

impl Findings {
    /// Adds a finding of a device; `position` distinguishes links with the same name.
    fn add(&mut self, position: &str, finding: Finding, device: &str) {
        let key = format!("{position}\n{finding:?}");
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

//! Links that several devices share.
//!
//! A device can use the full capacity of its last link; a hard disk is limited by its media. If the sum over all
//! devices under a link exceeds the link's capacity, they cannot all work at full speed at the same time. If packet
//! sizes are unknown, the minimum sum of the devices is compared with the maximum capacity of the link.

use std::collections::{BTreeMap, BTreeSet};

use lanemark_schema::result::{
    Finding, InspectedDevice, InspectedFinding, InspectedHop, InspectedHopKind,
};
use lanemark_schema::units::BytesPerSecond;

/// Maximum throughput of the media of a hard disk with one actuator, rounded up, in bytes a second.
const DISK_MAX: u64 = 300_000_000;
/// Throughput of the slowest chipset uplink; a smaller load fits through any uplink.
const UPLINK_MIN: u64 = 1_600_000_000;

/// The load of the devices under a link or chipset.
#[derive(Debug, Default)]
struct UplinkLoad<'a> {
    uplink: Option<(&'a InspectedHop, BytesPerSecond)>,
    /// Throughput of the last link of each path, by its position in the device tree.
    below: BTreeMap<&'a str, u64>,
    devices: BTreeSet<&'a str>,
    /// Whether only the minimum and maximum of a rate are known.
    bounds: bool,
    order: usize,
}

/// Finds uplinks that carry less than the devices under them can use.
pub(super) fn find(devices: &[InspectedDevice]) -> Vec<InspectedFinding> {
    let mut uplinks: BTreeMap<&str, UplinkLoad<'_>> = BTreeMap::new();
    let mut chipset = UplinkLoad::default();
    for (order, device) in devices.iter().enumerate() {
        for path in &device.paths {
            let linked = |hop: &&InspectedHop| hop.link.is_some();
            let Some(last) = path.hops.iter().rev().find(linked) else { continue };
            let Some(rate) = device_demand(device, last) else { continue };
            let behind_chipset = path.hops.first().is_some_and(is_in_chipset);
            for hop in path.hops.iter().filter(|hop| hop.place != last.place) {
                if let Some(carries) = hop.link.as_ref().and_then(|link| link.rate()) {
                    let load = uplinks.entry(&hop.place).or_default();
                    load.uplink = Some((hop, carries));
                    load.bounds |= is_bounded(hop) || is_bounded(last);
                    load.add(&last.place, rate, &device.name, order);
                }
            }
            if behind_chipset {
                chipset.add(&last.place, rate, &device.name, order);
            }
        }
    }
    let mut loads: Vec<UplinkLoad<'_>> = uplinks.into_values().collect();
    loads.sort_by_key(|load| load.order);
    let mut found: Vec<InspectedFinding> = loads.iter().filter_map(UplinkLoad::shared).collect();
    found.extend(chipset.behind_chipset());
    found
}

impl<'a> UplinkLoad<'a> {
    fn add(&mut self, position: &'a str, rate: u64, device: &'a str, order: usize) {
        if self.devices.is_empty() {
            self.order = order;
        }
        self.below.insert(position, rate);
        self.devices.insert(device);
    }

    fn sum(&self) -> u64 {
        self.below.values().fold(0, |sum, &rate| sum.saturating_add(rate))
    }

    fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.devices.iter().map(|&name| name.to_owned()).collect();
        names.sort_by(|a, b| crate::value::natural(a, b));
        names
    }

    fn shared(&self) -> Option<InspectedFinding> {
        let (hop, uplink) = self.uplink?;
        let below = self.sum();
        (self.below.len() > 1 && below > uplink.0).then(|| InspectedFinding {
            devices: self.names(),
            finding: Finding::SharedUplink {
                hop: hop.name.clone(),
                uplink,
                below: BytesPerSecond(below),
                bounds: self.bounds,
            },
        })
    }

    fn behind_chipset(&self) -> Option<InspectedFinding> {
        let below = self.sum();
        (below > UPLINK_MIN).then(|| InspectedFinding {
            devices: self.names(),
            finding: Finding::BehindChipset { below: Some(BytesPerSecond(below)) },
        })
    }
}

/// Returns the maximum throughput of a device through its last link, in bytes a second.
fn device_demand(device: &InspectedDevice, last: &InspectedHop) -> Option<u64> {
    let rate = last.link.as_ref()?.range()?.0.0;
    Some(if device.queue.rotational == Some(true) { rate.min(DISK_MAX) } else { rate })
}

/// Returns whether only the minimum and maximum of the capacity of the link to `hop` are known.
fn is_bounded(hop: &InspectedHop) -> bool {
    hop.link.as_ref().and_then(|link| link.range()).is_some_and(|(least, most)| least != most)
}

fn is_in_chipset(hop: &InspectedHop) -> bool {
    matches!(hop.part, InspectedHopKind::Pci { chipset: true, .. })
}

//! Finds the components of a device: the members of a RAID array, volume or encrypted device, the device that stores
//! the file of a loop device, or the disk of a partition.

use lanemark_schema::result::{BlockDeviceKind, InspectedDevice};
use std::collections::{BTreeMap, BTreeSet};

use crate::block::{self, BlockDevice};
use crate::sysfs::Sysfs;

/// Devices by name; the name of a partition leads to its device.
#[derive(Debug, Default)]
pub(crate) struct DeviceNames(BTreeMap<String, BlockDevice>);

impl DeviceNames {
    /// Collects the names of `blocks` and of their partitions.
    pub(crate) fn new(sysfs: &Sysfs, blocks: &[BlockDevice]) -> Self {
        let mut names = BTreeMap::new();
        for block in blocks {
            for partition in block::partition_names(sysfs, block) {
                names.insert(partition, block.clone());
            }
        }
        for block in blocks {
            names.insert(block.name.clone(), block.clone());
        }
        Self(names)
    }

    /// Returns the device with the name `name`, or the device that has a partition of that name.
    pub(crate) fn get(&self, name: &str) -> Option<&BlockDevice> {
        self.0.get(name)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

/// Finds the components of the device at `block`.
pub(crate) fn devices_below(
    sysfs: &Sysfs,
    block: &BlockDevice,
    kind: &BlockDeviceKind,
) -> Vec<String> {
    let slaves = sysfs.names_in(&block.position, "slaves");
    if !slaves.is_empty() {
        return slaves;
    }
    match kind {
        #[cfg(feature = "machine")]
        BlockDeviceKind::Loop { backing_file: Some(file) } if sysfs.is_live() => {
            let found = crate::locate::locate(file.as_ref()).ok();
            found.and_then(|location| by_number(sysfs, &location.numbers)).into_iter().collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the name of the first device with one of `numbers`.
#[cfg(feature = "machine")]
pub(crate) fn by_number(sysfs: &Sysfs, numbers: &[String]) -> Option<String> {
    let name = |number: &String| Some(sysfs.position(format!("dev/block/{number}"))?.name());
    numbers.iter().find_map(name)
}

/// Returns the device `name` and all its underlying devices from `all`, each once; partitions are read when they are
/// found.
pub(crate) fn stacked_devices(
    sysfs: &Sysfs,
    names: &DeviceNames,
    all: &BTreeMap<String, InspectedDevice>,
    name: &str,
) -> Vec<InspectedDevice> {
    let mut seen = BTreeSet::new();
    let mut pending = vec![name.to_owned()];
    let mut stack = Vec::new();
    while let Some(name) = pending.pop() {
        if !seen.insert(name.clone()) {
            continue;
        }
        let device = match (all.get(&name), names.get(&name)) {
            (Some(device), _) => Some(device.clone()),
            (None, Some(whole)) => block::read_partition(sysfs, whole, &name),
            (None, None) => None,
        };
        if let Some(device) = device {
            pending.extend(device.below.iter().rev().cloned());
            stack.push(device);
        }
    }
    stack
}

//! Runs an inspection from beginning to end.

use std::collections::{BTreeMap, BTreeSet};

use lanemark_schema::result::{
    BlockDeviceKind, InspectedDevice, InspectedFinding, Inspection, UnreadFile,
};

use crate::below::{self, DeviceNames};
use crate::block::{self, BlockDevice};
use crate::error::InspectError;
use crate::finding;
use crate::pci::PciFunctionCache;
use crate::sysfs::Sysfs;
use crate::target;

/// Inspects all devices of a tree, or the device of `target` and all devices that it consists of. A target is the name
/// of a device; in the tree of the running machine, it may also be the device's node or any path on the device.
pub fn inspect(sysfs: &Sysfs, target: Option<&str>) -> Result<Inspection, InspectError> {
    let blocks = block::list(sysfs);
    if blocks.is_empty() {
        return Err(InspectError::NoDevices { root: sysfs.named().to_owned() });
    }
    let names = DeviceNames::new(sysfs, &blocks);
    let target = target.map(|target| target::resolve(sysfs, &names, target)).transpose()?;
    let functions = PciFunctionCache::default();
    let (kept, spare): (Vec<&BlockDevice>, Vec<&BlockDevice>) = blocks.iter().partition(|block| {
        target.as_ref() == Some(&block.name) || !block::is_empty_spare(sysfs, block)
    });
    let devices: Vec<InspectedDevice> =
        kept.iter().map(|block| device(sysfs, &functions, block)).collect();
    // Findings about shared links depend on all devices.
    let findings = finding::find(&devices);
    let Some(target) = target else {
        let mut devices = devices;
        devices.sort_by_key(rank);
        return Ok(Inspection {
            target: None,
            devices,
            findings,
            unread: sysfs.unread(),
            empty_skipped: u32::try_from(spare.len()).unwrap_or(u32::MAX),
        });
    };
    let all: BTreeMap<String, InspectedDevice> =
        devices.into_iter().map(|device| (device.name.clone(), device)).collect();
    let devices = below::stacked_devices(sysfs, &names, &all, &target);
    let positions = positions(&names, &devices);
    Ok(Inspection {
        target: Some(target),
        findings: findings_about(findings, &devices),
        unread: sysfs.unread().into_iter().filter(|unread| is_of(unread, &positions)).collect(),
        devices,
        empty_skipped: 0,
    })
}

/// Returns the rank of a device's kind in a list: drives and arrays of drives come first, then discs, mapped devices,
/// and devices without a drive.
fn rank(device: &InspectedDevice) -> u8 {
    match device.kind {
        _ if finding::is_optical(device) => 1,
        BlockDeviceKind::DeviceMapper { .. } => 2,
        BlockDeviceKind::Loop { .. } => 3,
        BlockDeviceKind::Ram | BlockDeviceKind::Zram => 4,
        _ => 0,
    }
}

fn device(sysfs: &Sysfs, functions: &PciFunctionCache, block: &BlockDevice) -> InspectedDevice {
    let mut device = block::read(sysfs, functions, block);
    device.below = below::devices_below(sysfs, block, &device.kind);
    device
}

/// Returns the findings that concern any of `devices`.
fn findings_about(
    findings: Vec<InspectedFinding>,
    devices: &[InspectedDevice],
) -> Vec<InspectedFinding> {
    let names: BTreeSet<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    let concerns = |finding: &InspectedFinding| {
        finding.devices.iter().any(|device| names.contains(device.as_str()))
    };
    findings.into_iter().filter(concerns).collect()
}

/// Returns the positions of `devices` and their hops in the device tree.
fn positions(names: &DeviceNames, devices: &[InspectedDevice]) -> BTreeSet<String> {
    let blocks = devices.iter().filter_map(|device| names.get(&device.name));
    let hops = devices.iter().flat_map(|device| &device.paths).flat_map(|path| &path.hops);
    blocks.map(|block| block.position.text()).chain(hops.map(|hop| hop.place.clone())).collect()
}

/// Returns whether an unread file belongs to one of the hops or devices, or to no hop or device.
fn is_of(unread: &UnreadFile, positions: &BTreeSet<String>) -> bool {
    let folder = |path: &str| path.rsplit_once('/').map_or("", |(folder, _)| folder).to_owned();
    let folder_path = folder(&unread.path);
    positions.contains(&folder_path)
        || positions.contains(&folder(&folder_path))
        || positions.contains(&unread.path)
        || !unread.path.starts_with("devices/")
}

//! Limits within a device: its queue, cache, scheduler and partitions.

use lanemark_schema::result::{
    BlockDeviceKind, Finding, InspectedDevice, InspectedHop, InspectedHopKind, InspectedLink,
    InspectedPartition, PciFunctionKind, WriteCache,
};

use super::device_kind::{is_optical, role};

/// Finds the limits within `device`.
pub(super) fn rules(device: &InspectedDevice) -> Vec<Finding> {
    let mut found = Vec::new();
    found.extend(hidden_device_finding(device));
    if !is_optical(device) {
        found.extend(queue_finding(device));
        found.extend(cache_finding(device));
        found.extend(scheduler(device));
    }
    found.extend(device.partitions.iter().filter_map(|part| alignment(device, part)));
    found
}

fn hops(device: &InspectedDevice) -> impl Iterator<Item = &InspectedHop> {
    device.paths.iter().flat_map(|path| &path.hops)
}

/// Returns whether the kernel itself sends SCSI or ATA commands to a drive, so that the device is neither a volume of a
/// RAID controller nor a device that another machine or a USB bridge presents.
fn is_plain_drive(device: &InspectedDevice) -> bool {
    let is = |test: fn(&InspectedHopKind) -> bool| hops(device).any(|hop| test(&hop.part));
    is(|part| matches!(part, InspectedHopKind::ScsiDevice { .. }))
        && !is(|part| {
            matches!(part, InspectedHopKind::Virtio { .. } | InspectedHopKind::Other { .. })
        })
        && !hops(device).any(|hop| role(hop) == Some(PciFunctionKind::Raid))
}

/// PCI vendor id of Intel.
const INTEL: u16 = 0x8086;

/// Returns a finding if a device is a volume of an adapter, which hides the drives. A drive that the adapter passes
/// through reports ATA, or a SATA or SAS link. Intel's RAID functions, VMD and the RAID mode of a chipset, show all
/// drives to the kernel.
fn hidden_device_finding(device: &InspectedDevice) -> Option<Finding> {
    let adapter = hops(device).find(|hop| role(hop) == Some(PciFunctionKind::Raid))?;
    let is_intel = matches!(adapter.part, InspectedHopKind::Pci { vendor: Some(INTEL), .. })
        || device.identity.model.as_deref().is_some_and(|model| model.contains("Intel "));
    let passed_on = |hop: &InspectedHop| {
        let ata = matches!(&hop.part, InspectedHopKind::ScsiDevice { identity, .. }
            if identity.vendor.as_deref().is_some_and(|vendor| vendor.trim() == "ATA"));
        ata || matches!(hop.link, Some(InspectedLink::Sata(_) | InspectedLink::Sas(_)))
    };
    (!is_intel && !hops(device).any(passed_on) && !is_optical(device))
        .then(|| Finding::DrivesHidden { adapter: adapter.name.clone() })
}

fn queue_finding(device: &InspectedDevice) -> Option<Finding> {
    let ata = hops(device).any(|hop| matches!(hop.part, InspectedHopKind::AtaPort));
    let queue_depth = device.queue.queue_depth.filter(|&depth| ata && depth <= 1)?;
    let drive_capable = hops(device).find_map(|hop| match &hop.link {
        Some(InspectedLink::Sata(link)) => link.queueing,
        _ => None,
    });
    Some(Finding::WithoutQueueing { queue_depth, drive_capable })
}

fn cache_finding(device: &InspectedDevice) -> Option<Finding> {
    // An NVMe drive that protects its buffer against power loss reports the same value as a drive without a buffer.
    let off = device.queue.write_cache == Some(WriteCache::WriteThrough);
    (off && is_plain_drive(device) && device.read_only != Some(true))
        .then_some(Finding::WriteCacheOff)
}

fn scheduler(device: &InspectedDevice) -> Option<Finding> {
    let scheduler = device.queue.scheduler.as_deref()?;
    let unsuited = |suited: &str, drive: &str| Finding::SchedulerUnsuited {
        scheduler: scheduler.to_owned(),
        suited: suited.to_owned(),
        drive: drive.to_owned(),
    };
    match device.kind {
        BlockDeviceKind::NvmeNamespace { .. } => {
            let sorts = matches!(scheduler, "bfq" | "mq-deadline" | "deadline" | "cfq");
            sorts.then(|| unsuited("none", "an NVMe drive"))
        }
        BlockDeviceKind::Disk
            if is_plain_drive(device) && device.queue.rotational == Some(true) =>
        {
            let passes = matches!(scheduler, "none" | "noop");
            passes.then(|| unsuited("mq-deadline or bfq", "a hard disk"))
        }
        _ => None,
    }
}

fn alignment(device: &InspectedDevice, partition: &InspectedPartition) -> Option<Finding> {
    let physical_block = device.queue.physical_block.filter(|block| block.get() > 0);
    let stated = partition.alignment_offset_bytes;
    let counted_offset = || {
        let off = partition.start?.get() % physical_block?.get();
        i64::try_from(off).ok()
    };
    let offset_bytes = stated.or_else(counted_offset).filter(|&offset| offset != 0)?;
    Some(Finding::PartitionMisaligned {
        partition: partition.name.clone(),
        offset_bytes,
        physical_block,
    })
}

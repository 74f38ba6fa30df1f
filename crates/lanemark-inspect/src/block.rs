//! Lists block devices, and reads their kind and how their requests are queued and split.

use std::collections::BTreeMap;

use lanemark_schema::result::{
    BlockDeviceKind, DeviceIdentity, InspectedDevice, InspectedHop, InspectedHopKind,
    InspectedPartition, InspectedPath, QueueLimits, WriteCache,
};
use lanemark_schema::units::Bytes;

use crate::pci::PciFunctionCache;
use crate::sysfs::{DevicePosition, Sysfs};
use crate::value::{
    bracketed_choice, flag, is_decimal, is_numbered, kibibytes, natural, node, number, sectors,
};
use crate::{nvme, path};

/// A block device found in the tree.
#[derive(Clone, Debug)]
pub(crate) struct BlockDevice {
    /// The kernel's name of the device.
    pub(crate) name: String,
    pub(crate) position: DevicePosition,
}

/// Lists the block devices except partitions, in the order of their names. If two positions have the same name, which
/// occurs only in captures, the position in the device tree is used.
pub(crate) fn list(sysfs: &Sysfs) -> Vec<BlockDevice> {
    let mut positions: BTreeMap<String, DevicePosition> = BTreeMap::new();
    let mut add = |name: String, position: DevicePosition| {
        let replaces_known = positions
            .get(&name)
            .is_none_or(|known| !known.is_below("devices") && position.is_below("devices"));
        if replaces_known && !is_partition(sysfs, &position) && !is_hidden(sysfs, &position) {
            positions.insert(name, position);
        }
    };
    for folder in ["block", "class/block"] {
        let Some(folder) = sysfs.position(folder) else { continue };
        for name in sysfs.names(&folder) {
            if let Some(position) = sysfs.resolve_from(&folder, &name) {
                add(name.to_string_lossy().into_owned(), position);
            }
        }
    }
    for namespace in nvme::namespaces(sysfs) {
        add(namespace.name(), namespace);
    }
    let mut blocks: Vec<BlockDevice> =
        positions.into_iter().map(|(name, position)| BlockDevice { name, position }).collect();
    blocks.sort_by(|a, b| natural(&a.name, &b.name));
    blocks
}

/// Returns whether the device is empty and one of the devices that the kernel creates in advance.
pub(crate) fn is_empty_spare(sysfs: &Sysfs, block: &BlockDevice) -> bool {
    ["loop", "ram", "zram"].iter().any(|prefix| is_numbered(&block.name, prefix))
        && sysfs.value(&block.position, "size", sectors).is_none_or(|size| size == Bytes::ZERO)
}

/// Returns the names of a device's partitions.
pub(crate) fn partition_names(sysfs: &Sysfs, block: &BlockDevice) -> Vec<String> {
    let mut names = sysfs.names_in(&block.position, ".");
    names.retain(|name| {
        name.starts_with(&block.name)
            && sysfs
                .resolve_from(&block.position, name)
                .is_some_and(|position| is_partition(sysfs, &position))
    });
    names
}

/// Reads all attributes of a device except its underlying devices.
pub(crate) fn read(
    sysfs: &Sysfs,
    functions: &PciFunctionCache,
    block: &BlockDevice,
) -> InspectedDevice {
    let at = &block.position;
    let kind = kind(sysfs, block);
    let paths = paths(sysfs, functions, block);
    let kind = match kind {
        BlockDeviceKind::Virtual if paths.iter().any(|path| !path.hops.is_empty()) => {
            BlockDeviceKind::Disk
        }
        kind => kind,
    };
    InspectedDevice {
        name: block.name.clone(),
        number: sysfs.text(at, "dev"),
        size: sysfs.value(at, "size", sectors),
        removable: sysfs.value(at, "removable", flag),
        read_only: sysfs.value(at, "ro", flag),
        identity: identity(sysfs, at, &paths),
        queue: queue(sysfs, at),
        paths,
        below: Vec::new(),
        partitions: partition_names(sysfs, block)
            .iter()
            .filter_map(|name| Some(partition(sysfs, &sysfs.resolve_from(at, name)?)))
            .collect(),
        kind,
    }
}

/// Returns the partition `name` of a device as a separate device.
pub(crate) fn read_partition(
    sysfs: &Sysfs,
    whole: &BlockDevice,
    name: &str,
) -> Option<InspectedDevice> {
    let at = sysfs.resolve_from(&whole.position, name)?;
    let partition = partition(sysfs, &at);
    Some(InspectedDevice {
        number: sysfs.text(&at, "dev"),
        size: partition.size,
        read_only: sysfs.value(&at, "ro", flag),
        below: vec![whole.name.clone()],
        ..InspectedDevice::new(name, BlockDeviceKind::Partition(partition))
    })
}

fn is_partition(sysfs: &Sysfs, position: &DevicePosition) -> bool {
    sysfs.resolve_from(position, "partition").is_some()
}

/// Returns whether a device is only a path to another device, as with NVMe over several controllers.
fn is_hidden(sysfs: &Sysfs, position: &DevicePosition) -> bool {
    sysfs.value(position, "hidden", flag) == Some(true)
}

fn partition(sysfs: &Sysfs, at: &DevicePosition) -> InspectedPartition {
    InspectedPartition {
        name: at.name(),
        start: sysfs.value(at, "start", sectors),
        size: sysfs.value(at, "size", sectors),
        alignment_offset_bytes: sysfs.value(at, "alignment_offset", number),
    }
}

/// Returns the kind of a device according to its folder; [`BlockDeviceKind::Virtual`] if the folder does not show the
/// kind.
fn kind(sysfs: &Sysfs, block: &BlockDevice) -> BlockDeviceKind {
    let at = &block.position;
    let text = |path| sysfs.text(at, path);
    if let Some(namespace) = nvme::Namespace::parse(&block.name) {
        return BlockDeviceKind::NvmeNamespace {
            namespace: sysfs.value(at, "nsid", number).or(number(namespace.number)),
            subsystem: nvme::subsystem(at),
        };
    }
    if is_numbered(&block.name, "loop") {
        return BlockDeviceKind::Loop { backing_file: text("loop/backing_file") };
    }
    if is_numbered(&block.name, "zram") {
        return BlockDeviceKind::Zram;
    }
    if is_numbered(&block.name, "ram") {
        return BlockDeviceKind::Ram;
    }
    if is_numbered(&block.name, "dm-") {
        let maker = text("dm/uuid").and_then(|uuid| {
            let maker = uuid.split('-').next()?;
            (!maker.is_empty() && maker.len() < uuid.len()).then(|| maker.to_owned())
        });
        return BlockDeviceKind::DeviceMapper { mapped_name: text("dm/name"), maker };
    }
    if sysfs.resolve_from(at, "md").is_some() {
        return BlockDeviceKind::Md {
            level: text("md/level"),
            members: sysfs.value(at, "md/raid_disks", leading_number),
            chunk: sysfs.value(at, "md/chunk_size", number).map(Bytes).filter(|c| c.get() > 0),
            degraded: sysfs.value(at, "md/degraded", number),
        };
    }
    BlockDeviceKind::Virtual
}

/// Parses `2`, or the first number of `2 (3)`, which the kernel prints while an array is reshaped.
fn leading_number(text: &str) -> Option<u32> {
    number(text.split_whitespace().next()?)
}

fn paths(sysfs: &Sysfs, functions: &PciFunctionCache, block: &BlockDevice) -> Vec<InspectedPath> {
    if let Some(namespace) = nvme::Namespace::parse(&block.name)
        && nvme::subsystem(&block.position).is_some()
    {
        return nvme::paths(sysfs, &block.position, &namespace)
            .into_iter()
            .filter_map(|path| {
                // The walk does not include the last step, which is the controller itself in this case.
                let inner = sysfs.resolve_from(&path.controller, "state");
                let end = inner.or_else(|| sysfs.resolve_from(&path.controller, "transport"));
                let mut hops = path::walk(sysfs, functions, &end?).hops;
                tell_node(&mut hops, path.numa_node);
                Some(InspectedPath { name: path.name, state: path.state, hops })
            })
            .collect();
    }
    let mut walked = path::walk(sysfs, functions, &block.position);
    tell_node(&mut walked.hops, sysfs.value(&block.position, "numa_node", node).flatten());
    if walked.hops.is_empty() { Vec::new() } else { vec![walked] }
}

/// Sets the NUMA node of the last hop to `numa_node`, the node of a namespace or of its path, if no hop states a NUMA
/// node.
fn tell_node(hops: &mut [InspectedHop], numa_node: Option<u32>) {
    if hops.iter().all(|hop| hop.numa_node.is_none())
        && let Some(last) = hops.last_mut()
    {
        last.numa_node = numa_node;
    }
}

/// Returns a device's identity: the identity of its last hop if the hop has one, and otherwise the device's own
/// attributes.
fn identity(sysfs: &Sysfs, at: &DevicePosition, paths: &[InspectedPath]) -> DeviceIdentity {
    let last = paths.first().and_then(|first| first.hops.last()).map(|hop| &hop.part);
    if let Some(
        InspectedHopKind::ScsiDevice { identity, .. }
        | InspectedHopKind::NvmeController { identity, .. },
    ) = last
    {
        return identity.clone();
    }
    let text_of = |paths: &[&str]| {
        let text = |path: &&str| sysfs.text(at, path).filter(|text| !text.starts_with("0x"));
        paths.iter().find_map(text)
    };
    DeviceIdentity {
        vendor: text_of(&["device/vendor"]),
        model: text_of(&["device/model", "device/name"]),
        serial: text_of(&["device/serial", "serial"]),
        firmware: text_of(&["device/rev", "device/firmware_rev"]),
    }
}

fn queue(sysfs: &Sysfs, at: &DevicePosition) -> QueueLimits {
    let cache = |text: &str| match text {
        "write back" => Some(WriteCache::WriteBack),
        "write through" => Some(WriteCache::WriteThrough),
        _ => None,
    };
    let block = |name| sysfs.value(at, name, number).map(Bytes);
    let queues = sysfs.names_in(at, "mq").iter().filter(|name| is_decimal(name)).count();
    QueueLimits {
        rotational: sysfs.value(at, "queue/rotational", flag),
        scheduler: sysfs.value(at, "queue/scheduler", bracketed_choice),
        write_cache: sysfs.value(at, "queue/write_cache", cache),
        force_unit_access: sysfs.value(at, "queue/fua", flag),
        requests_max: sysfs.value(at, "queue/nr_requests", number),
        queue_depth: sysfs.value(at, "device/queue_depth", number),
        hardware_queues: u32::try_from(queues).ok().filter(|&queues| queues > 0),
        transfer_max: sysfs.value(at, "queue/max_sectors_kb", kibibytes),
        transfer_hardware_max: sysfs.value(at, "queue/max_hw_sectors_kb", kibibytes),
        logical_block: block("queue/logical_block_size"),
        physical_block: block("queue/physical_block_size"),
        polling: sysfs.value(at, "queue/io_poll", flag),
        writeback_latency_target_us: sysfs.value(at, "queue/wbt_lat_usec", number),
    }
}

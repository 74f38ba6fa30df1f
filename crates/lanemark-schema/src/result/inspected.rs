//! The storage paths of a real machine, as its kernel reports them, as plain data.
//!
//! A device has one or several paths from the processor. A path is a sequence of hops, each with the link that leads to
//! it, if there is one. Values that the kernel does not report are absent. Devices that consist of other devices (RAID,
//! LVM, partitions, loops) name those devices in `below`.

use serde::{Deserialize, Serialize};

use super::finding::InspectedFinding;
use super::inspected_link::InspectedLink;
use crate::units::Bytes;

/// The result of an inspection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    /// The requested device, such as `nvme0n1p2`; absent if all devices were requested.
    pub target: Option<String>,
    /// The target and all of its components, or all devices.
    pub devices: Vec<InspectedDevice>,
    /// Limits of these devices, each with its advice.
    pub findings: Vec<InspectedFinding>,
    /// Files that could not be read.
    pub unread: Vec<UnreadFile>,
    /// Number of skipped loop, RAM and compressed devices of size 0.
    pub empty_skipped: u32,
}

/// A part of the tree that could not be read completely.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct UnreadFile {
    /// Path of the file, relative to the root of the tree.
    pub path: String,
    /// Reason why the file could not be read.
    pub reason: UnreadReason,
}

/// The reason why a file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum UnreadReason {
    /// The user lacks the permission.
    Permission,
    /// Only a part of the file could be read. The kernel truncates `config` for users without privileges.
    Partly {
        /// Number of bytes that were read.
        bytes: u64,
    },
    /// The file is longer than any file that the kernel writes there.
    TooLong,
    /// The file is not text.
    NotText,
    /// The text is not a valid content of this file.
    Meaningless {
        /// Text of the file, truncated.
        value: String,
    },
    /// A link that points outside the tree.
    Outside,
    /// Links that form a cycle.
    LinkCycle,
    /// A link whose target does not exist.
    Dangling,
    /// The path is neither a file nor a folder.
    WrongKind,
    /// The folder has more entries than the inspection reads.
    TooMany,
    /// The kernel returned a different error.
    System {
        /// Message of the error.
        message: String,
    },
}

/// A block device with its paths from the processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InspectedDevice {
    /// The kernel's name, such as `nvme0n1`.
    pub name: String,
    /// Device number, such as `259:0`.
    pub number: Option<String>,
    /// Kind of the block device.
    pub kind: BlockDeviceKind,
    /// Size of the device.
    #[serde(rename = "size_bytes")]
    pub size: Option<Bytes>,
    /// Whether the media can be removed.
    pub removable: Option<bool>,
    /// Whether the device cannot be written.
    pub read_only: Option<bool>,
    /// Identity that the device reports.
    pub identity: DeviceIdentity,
    /// Limits and settings of the device's queue.
    pub queue: QueueLimits,
    /// The paths from the processor: several for multipath, empty for a device that consists of other devices.
    #[serde(rename = "ways")]
    pub paths: Vec<InspectedPath>,
    /// Devices below this device, such as its members.
    pub below: Vec<String>,
    /// Partitions of the device.
    pub partitions: Vec<InspectedPartition>,
}

/// Beginning of the model of a device that represents all drives of a controller, because the text that was read does
/// not name them.
pub const DRIVES_NOT_SHOWN: &str = "not shown by lspci";

impl InspectedDevice {
    /// Returns whether the device represents the drives of a controller, whose number is not known.
    pub fn is_of_unknown_drives(&self) -> bool {
        self.identity.model.as_deref().is_some_and(|model| model.starts_with(DRIVES_NOT_SHOWN))
    }

    /// Creates a device with a name and a kind. All other values are unknown.
    pub fn new(name: &str, kind: BlockDeviceKind) -> Self {
        Self {
            name: name.to_owned(),
            number: None,
            kind,
            size: None,
            removable: None,
            read_only: None,
            identity: DeviceIdentity::default(),
            queue: QueueLimits::default(),
            paths: Vec::new(),
            below: Vec::new(),
            partitions: Vec::new(),
        }
    }
}

/// The kind of a block device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum BlockDeviceKind {
    /// A separate physical or virtual disk.
    Disk,
    /// A namespace of an NVMe drive.
    NvmeNamespace {
        /// Number of the namespace in the drive.
        namespace: Option<u32>,
        /// The subsystem, if the kernel combines several paths into one device.
        subsystem: Option<String>,
    },
    /// A part of another device.
    Partition(InspectedPartition),
    /// A device of the device mapper.
    DeviceMapper {
        /// Name of the mapping, such as `vg0-root`.
        mapped_name: Option<String>,
        /// Program that created the mapping, such as `CRYPT`, `LVM` or `mpath`: the first word of the mapping's UUID.
        maker: Option<String>,
    },
    /// An array of the kernel's RAID driver.
    Md {
        /// RAID level, such as `raid1`.
        level: Option<String>,
        /// Number of member devices.
        members: Option<u32>,
        /// Chunk size of the stripes.
        #[serde(rename = "chunk_bytes")]
        chunk: Option<Bytes>,
        /// Number of missing member devices.
        degraded: Option<u32>,
    },
    /// A file as a device.
    Loop {
        /// Path of the backing file.
        backing_file: Option<String>,
    },
    /// Compressed memory.
    Zram,
    /// A disk in memory.
    Ram,
    /// A virtual device of another kind, without hardware.
    Virtual,
}

/// A part of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InspectedPartition {
    /// The kernel's name, such as `nvme0n1p2`.
    pub name: String,
    /// Start of the partition on its device.
    #[serde(rename = "start_bytes")]
    pub start: Option<Bytes>,
    /// Size of the partition.
    #[serde(rename = "size_bytes")]
    pub size: Option<Bytes>,
    /// Distance of the partition's start from the boundary of a physical block; -1 if the partition cannot be aligned.
    pub alignment_offset_bytes: Option<i64>,
}

/// The identity that a device or controller reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceIdentity {
    /// Vendor, such as `SEAGATE`; `ATA` if the device is attached through an ATA host.
    pub vendor: Option<String>,
    /// Model.
    pub model: Option<String>,
    /// Serial number.
    pub serial: Option<String>,
    /// Firmware revision.
    pub firmware: Option<String>,
}

/// The limits and settings of a device's queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueLimits {
    /// Whether the device is rotational.
    pub rotational: Option<bool>,
    /// The scheduler in use, such as `none`.
    pub scheduler: Option<String>,
    /// Kind of write cache that the kernel assumes.
    pub write_cache: Option<WriteCache>,
    /// Whether individual writes can be forced to the media.
    pub force_unit_access: Option<bool>,
    /// Number of requests that the kernel queues for the device.
    pub requests_max: Option<u32>,
    /// Number of commands that a SCSI or ATA device accepts at once.
    pub queue_depth: Option<u32>,
    /// Number of hardware queues.
    pub hardware_queues: Option<u32>,
    /// Maximum size of a request that the kernel issues.
    #[serde(rename = "transfer_max_bytes")]
    pub transfer_max: Option<Bytes>,
    /// Maximum size of a request that the hardware accepts.
    #[serde(rename = "transfer_hardware_max_bytes")]
    pub transfer_hardware_max: Option<Bytes>,
    /// The unit of addressing.
    #[serde(rename = "logical_block_bytes")]
    pub logical_block: Option<Bytes>,
    /// The smallest unit that the device writes without reading first.
    #[serde(rename = "physical_block_bytes")]
    pub physical_block: Option<Bytes>,
    /// Whether the kernel can poll for completions.
    pub polling: Option<bool>,
    /// Read latency above which the kernel throttles writeback; 0 if it never throttles.
    pub writeback_latency_target_us: Option<u64>,
}

/// The type of write cache that the kernel assumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteCache {
    /// The drive has a write cache whose content a power cut may erase.
    WriteBack,
    /// The drive does not have a write cache, the cache is off, or the cache is safe.
    WriteThrough,
}

/// A path from the processor to a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InspectedPath {
    /// Name of the path's device, such as `nvme0c1n1`, if the device has several paths.
    pub name: Option<String>,
    /// State of the path according to the kernel, such as `optimized`.
    pub state: Option<String>,
    /// Hops of the path, in order from the processor.
    pub hops: Vec<InspectedHop>,
}

/// A chip, port or drive on a path.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InspectedHop {
    /// The kernel's name, such as `0000:01:00.0`.
    pub name: String,
    /// Position in the device tree, relative to its root. A hop that two paths share has the same position in both.
    pub place: String,
    /// Kind of the hop, with its properties.
    pub part: InspectedHopKind,
    /// The link from the previous hop, if the kernel reports one.
    pub link: Option<InspectedLink>,
    /// NUMA node of the hop.
    pub numa_node: Option<u32>,
}

/// The kind of a hop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum InspectedHopKind {
    /// A PCI function.
    Pci {
        /// Function of the PCI device.
        role: PciFunctionKind,
        /// PCI vendor id.
        vendor: Option<u16>,
        /// PCI device id.
        device: Option<u16>,
        /// The kernel's driver.
        driver: Option<String>,
        /// Whether the device's address shows that it is in an Intel chipset, whose uplink the kernel does not report.
        chipset: bool,
    },
    /// A port of an ATA host.
    AtaPort,
    /// A SCSI host.
    ScsiHost {
        /// Name of the host's driver, such as `ahci`.
        driver: Option<String>,
    },
    /// A SAS expander.
    SasExpander {
        /// Identity that the hop reports.
        identity: DeviceIdentity,
    },
    /// A SCSI device: a drive, or a logical unit of a drive.
    ScsiDevice {
        /// Identity that the hop reports.
        identity: DeviceIdentity,
        /// The drive's SAS address, if it has one.
        sas_address: Option<String>,
    },
    /// An NVMe controller.
    NvmeController {
        /// Identity that the hop reports.
        identity: DeviceIdentity,
        /// Transport of the controller: `pcie`, `tcp`, `rdma` or `fc`.
        transport: Option<String>,
        /// Address of the fabric target.
        address: Option<String>,
        /// State of the controller, such as `live`.
        state: Option<String>,
        /// Number of queues, including the administration queue.
        queues: Option<u32>,
    },
    /// A USB hub or device.
    Usb {
        /// Whether the device is a hub.
        hub: bool,
        /// Identity that the hop reports.
        identity: DeviceIdentity,
        /// Driver of the storage interface, such as `uas`.
        driver: Option<String>,
    },
    /// A virtio device.
    Virtio {
        /// The kernel's driver.
        driver: Option<String>,
    },
    /// A Fibre Channel or iSCSI session, a memory card, a channel, or any other device on a bus.
    Other {
        /// The kernel's name of the bus.
        bus: String,
        /// The kernel's driver.
        driver: Option<String>,
    },
}

/// The function of a PCI device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PciFunctionKind {
    /// A port of the processor or chipset.
    RootPort,
    /// The side of a switch that faces the processor.
    UpstreamPort,
    /// The side of a switch that faces devices.
    DownstreamPort,
    /// A bridge of another kind.
    Bridge,
    /// An NVMe controller.
    Nvme,
    /// A SATA host.
    Ahci,
    /// An ATA host with the legacy interface.
    Ide,
    /// A SAS host.
    Sas,
    /// A RAID controller.
    Raid,
    /// SCSI or other storage.
    Storage,
    /// A USB host.
    Usb,
    /// A Fibre Channel host.
    FibreChannel,
    /// A network adapter.
    Network,
    /// Intel's Volume Management Device, with a separate PCI domain.
    VolumeManagement,
    /// Virtio over PCI.
    Virtio,
    /// A function of another kind.
    Other,
}

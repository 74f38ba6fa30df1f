//! The storage paths of a real machine, as its kernel tells them: plain data.
//!
//! A device has one way from the processor or several; a way is a row of hops, each with the link that
//! leads to it where there is one. What the kernel does not tell is absent. Devices that are made of
//! others (RAID, LVM, partitions, loops) name those in `below`.

use serde::{Deserialize, Serialize};

use super::finding::InspectedFinding;
use super::inspected_link::InspectedLink;
use crate::units::Bytes;

/// What was inspected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inspection {
    /// The device that was asked for, `nvme0n1p2`; absent where all were.
    pub target: Option<String>,
    /// The target and everything that it is made of, or all devices.
    pub devices: Vec<InspectedDevice>,
    /// What limits these devices, and what to do about it.
    pub findings: Vec<InspectedFinding>,
    /// What could not be read.
    pub unread: Vec<Unread>,
    /// Loop, RAM and compressed devices of size 0 that were left out.
    pub empty_skipped: u32,
}

/// Something of the tree that could not be read, or not whole.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Unread {
    /// Where, relative to the root of the tree.
    pub path: String,
    /// Why.
    pub reason: UnreadReason,
}

/// Why something could not be read.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum UnreadReason {
    /// This user may not.
    Permission,
    /// Only a part of it, as the kernel does with `config` for users without privileges.
    Partly {
        /// The bytes that came.
        bytes: u64,
    },
    /// It is longer than anything that the kernel tells there.
    TooLong,
    /// It is not text.
    NotText,
    /// Text with no meaning there.
    Meaningless {
        /// The text, cut.
        value: String,
    },
    /// A link that leads out of the tree.
    Outside,
    /// Links that lead to each other.
    LinkCycle,
    /// A link to something that is not there.
    Dangling,
    /// Neither a file nor a folder.
    WrongKind,
    /// More entries than are looked at.
    TooMany,
    /// What the kernel answered.
    System {
        /// Its words.
        message: String,
    },
}

/// A block device with its ways from the processor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InspectedDevice {
    /// The kernel's name, `nvme0n1`.
    pub name: String,
    /// Its number, `259:0`.
    pub number: Option<String>,
    /// What it is.
    pub kind: BlockKind,
    /// How much it holds.
    #[serde(rename = "size_bytes")]
    pub size: Option<Bytes>,
    /// Whether it can be taken out.
    pub removable: Option<bool>,
    /// Whether it cannot be written.
    pub read_only: Option<bool>,
    /// Who it says it is.
    pub identity: Identity,
    /// How requests are queued and cut.
    pub queue: QueueLimits,
    /// The ways from the processor: several for multipath, none for what is made of other devices.
    pub ways: Vec<InspectedWay>,
    /// The devices that it is made of or lies on.
    pub below: Vec<String>,
    /// Its partitions.
    pub partitions: Vec<InspectedPartition>,
}

/// What a block device is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum BlockKind {
    /// A device of its own.
    Disk,
    /// A namespace of an NVMe drive.
    NvmeNamespace {
        /// Its number in the drive.
        namespace: Option<u32>,
        /// The subsystem, where the kernel joins several ways to one device.
        subsystem: Option<String>,
    },
    /// A part of another device.
    Partition(InspectedPartition),
    /// Mapped by the device mapper.
    DeviceMapper {
        /// Its name, `vg0-root`.
        mapped_name: Option<String>,
        /// Who made it, `CRYPT`, `LVM`, `mpath`: the first word of its uuid.
        maker: Option<String>,
    },
    /// RAID by the kernel.
    Md {
        /// `raid1`.
        level: Option<String>,
        /// How many devices belong to it.
        members: Option<u32>,
        /// The chunk of its stripes.
        #[serde(rename = "chunk_bytes")]
        chunk: Option<Bytes>,
        /// How many members are missing.
        degraded: Option<u32>,
    },
    /// A file as a device.
    Loop {
        /// The file.
        backing_file: Option<String>,
    },
    /// Compressed memory.
    Zram,
    /// Memory.
    Ram,
    /// Something else that has no hardware of its own.
    Virtual,
}

/// A part of a device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InspectedPartition {
    /// The kernel's name, `nvme0n1p2`.
    pub name: String,
    /// Where it begins.
    #[serde(rename = "start_bytes")]
    pub start: Option<Bytes>,
    /// How much it holds.
    #[serde(rename = "size_bytes")]
    pub size: Option<Bytes>,
    /// How far its beginning is from the device's physical blocks; -1 where it cannot be aligned.
    pub alignment_offset_bytes: Option<i64>,
}

/// Who a device or controller says it is.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its maker, `SEAGATE`; `ATA` behind an ATA host.
    pub vendor: Option<String>,
    /// Its model.
    pub model: Option<String>,
    /// Its serial number.
    pub serial: Option<String>,
    /// The revision of its firmware.
    pub firmware: Option<String>,
}

/// How a device's requests are queued and cut.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueLimits {
    /// Whether it turns.
    pub rotational: Option<bool>,
    /// The scheduler in use, `none`.
    pub scheduler: Option<String>,
    /// What the kernel takes its write cache to be.
    pub write_cache: Option<WriteCache>,
    /// Whether single writes can be forced to the media.
    pub force_unit_access: Option<bool>,
    /// Requests that the kernel keeps for it.
    pub requests_max: Option<u32>,
    /// Commands that a SCSI or ATA device takes at once.
    pub queue_depth: Option<u32>,
    /// Hardware queues.
    pub hardware_queues: Option<u32>,
    /// The longest request that the kernel makes.
    #[serde(rename = "transfer_max_bytes")]
    pub transfer_max: Option<Bytes>,
    /// The longest that the hardware takes.
    #[serde(rename = "transfer_hardware_max_bytes")]
    pub transfer_hardware_max: Option<Bytes>,
    /// The unit of addressing.
    #[serde(rename = "logical_block_bytes")]
    pub logical_block: Option<Bytes>,
    /// The unit that is written without reading.
    #[serde(rename = "physical_block_bytes")]
    pub physical_block: Option<Bytes>,
    /// Whether completions can be polled for.
    pub polling: Option<bool>,
    /// What writeback may delay reads by before it is throttled; 0 where it never is.
    pub writeback_latency_target_us: Option<u64>,
}

/// A write cache as the kernel takes it to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriteCache {
    /// There is one that a power cut may empty.
    WriteBack,
    /// There is none, it is off, or it is safe.
    WriteThrough,
}

/// A way from the processor to a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct InspectedWay {
    /// Its name, `nvme0c1n1`, where the device has several.
    pub name: Option<String>,
    /// What the kernel says of it, `optimized`.
    pub state: Option<String>,
    /// From the processor on.
    pub hops: Vec<InspectedHop>,
}

/// A chip, port or drive on a way.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InspectedHop {
    /// The kernel's name, `0000:01:00.0`.
    pub name: String,
    /// Where in the tree, relative to its root: the same hop of two ways has the same place.
    pub place: String,
    /// What it is.
    pub part: HopPart,
    /// The link from the hop before, where there is one that the kernel tells of.
    pub link: Option<InspectedLink>,
    /// The memory that it is close to.
    pub numa_node: Option<u32>,
}

/// What a hop is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum HopPart {
    /// A PCI function.
    Pci {
        /// What it does.
        role: PciRole,
        /// Who made it.
        vendor: Option<u16>,
        /// Its number among those of its maker.
        device: Option<u16>,
        /// The kernel's driver.
        driver: Option<String>,
        /// Whether its address says that it is in an Intel chipset, whose uplink the kernel does not show.
        chipset: bool,
    },
    /// A port of an ATA host.
    AtaPort,
    /// A SCSI host.
    ScsiHost {
        /// Its driver's name for itself, `ahci`.
        driver: Option<String>,
    },
    /// A SAS expander.
    SasExpander {
        /// Who it says it is.
        identity: Identity,
    },
    /// A SCSI device: a drive, or a unit of it.
    ScsiDevice {
        /// Who it says it is.
        identity: Identity,
        /// The drive's own address, where it has one.
        sas_address: Option<String>,
    },
    /// An NVMe controller.
    NvmeController {
        /// Who it says it is.
        identity: Identity,
        /// `pcie`, `tcp`, `rdma`, `fc`.
        transport: Option<String>,
        /// Where a fabric leads to.
        address: Option<String>,
        /// `live`.
        state: Option<String>,
        /// Its queues, that for administration included.
        queues: Option<u32>,
    },
    /// A USB hub, or a device.
    Usb {
        /// Whether devices hang below it.
        hub: bool,
        /// Who it says it is.
        identity: Identity,
        /// The driver of its storage interface, `uas`.
        driver: Option<String>,
    },
    /// A virtio device.
    Virtio {
        /// The kernel's driver.
        driver: Option<String>,
    },
    /// A Fibre Channel or iSCSI session, a memory card, a channel, and whatever else has a bus.
    Other {
        /// The kernel's name of the bus.
        bus: String,
        /// The kernel's driver.
        driver: Option<String>,
    },
}

/// What a PCI function does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PciRole {
    /// A port of the processor or chipset.
    RootPort,
    /// The side of a switch that faces the processor.
    UpstreamPort,
    /// A side of a switch that faces devices.
    DownstreamPort,
    /// Another bridge.
    Bridge,
    /// NVMe.
    Nvme,
    /// SATA.
    Ahci,
    /// An ATA host of the older kind.
    Ide,
    /// SAS.
    Sas,
    /// RAID.
    Raid,
    /// SCSI or other storage.
    Storage,
    /// USB.
    Usb,
    /// Fibre Channel.
    FibreChannel,
    /// A network adapter.
    Network,
    /// Intel's Volume Management Device, with a PCI domain of its own.
    VolumeManagement,
    /// Virtio over PCI.
    Virtio,
    /// Anything else.
    Other,
}

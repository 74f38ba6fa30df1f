//! The specification of a system: plain, checked values from which the simulator is assembled.
//!
//! The values here do not carry their sources. The study crate reads library files, keeps the source of each value, and
//! returns a [`SystemSpec`].

mod adapter;
mod bounds;
mod checked;
pub(crate) mod cloud;
mod content;
mod disk;
mod example;
mod faults;
mod flash;
mod front_end;
mod journal;
mod media;
mod ports;
mod power;
mod processor;
pub(crate) mod submission;
pub(crate) mod target;
mod volume;

pub use adapter::{
    ADAPTER_CACHE_DEPTH_MAX, ADAPTER_CACHE_GATHER_MAX, ADAPTER_CACHE_MAX, AdapterCacheSpec,
    AdapterSpec, CROWDED_MAX, OverloadCost,
};
pub use bounds::{STEP_TIME_MAX, SpecError};
pub use checked::{CheckedSystem, MEMORY};
pub use cloud::{
    BurstCreditSpec, CLOUD_IOPS, CLOUD_RATE, CLOUD_UNIT, CloudLimitSpec, CloudSpec,
    LognormalLatency,
};
pub use content::{PriorContent, RewrittenSpan};
pub use disk::{DiskSpec, DiskZone, SeekSpec};
pub(crate) use flash::kept_pseudo_slc;
pub use flash::{
    DieSpec, DriveCondition, ERASED_MIN, FlashSpec, MapSpec, PageTimes, PseudoSlcSpec, SLOT,
    SuspendSpec, Technology, TranslationSpec,
};
pub use front_end::FrontEndSpec;
pub use journal::JournalSpec;
pub use media::MediaSpec;
pub use ports::{PortPathSpec, SecondPort};
pub use power::{
    HostPower, MediaPower, POWER_MAX, POWER_STATES_MAX, POWER_TIME_MAX, PowerSpec, PowerState,
};
pub use processor::{CpuSpec, DataWorkSpec};
pub use volume::{CHUNK, VolumeSpec};

use crate::engine::budget::LINKS_MAX;
use crate::link::{Bridge, LinkModel, LinkSpec};
use bounds::{check_rate, check_step_times, check_within};
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, Ratio};
use lanemark_schema::workload::Fault;
use lanemark_schema::workload::bound::QUEUE_DEPTH;

/// Drives in ports of a platform: a processor, the links that several drives share, and each drive with its separate
/// path to the shared links.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemSpec {
    /// The host processor, and its times outside the storage driver.
    pub cpu: CpuSpec,
    /// The links that more than one path uses, the nearest to the host first.
    pub trunk: Vec<LinkSpec>,
    /// The drives, one or more.
    pub attachments: Vec<AttachmentSpec>,
    /// The volume over all drives, if there is one.
    pub volume: Option<VolumeSpec>,
    /// Power of the platform without its drives, if known.
    pub host_power: Option<HostPower>,
    /// Journal of the host's file system, if a flush is a sync of a file in such a file system.
    pub journal: Option<JournalSpec>,
    /// Faults of the plan, and the lasting faults of defective drives.
    pub faults: Vec<Fault>,
}

/// A drive, its protocol, and its path to the host.
#[derive(Clone, Debug, PartialEq)]
pub struct AttachmentSpec {
    /// The protocol that carries commands to the drive.
    pub protocol: ProtocolSpec,
    /// The path to the drive's port.
    pub port_path: PortPathSpec,
    /// Second port of the drive, if both ports are connected.
    pub second: Option<SecondPort>,
    /// The drive.
    pub drive: DriveSpec,
}

/// A host protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct ProtocolSpec {
    /// The kind of protocol.
    pub kind: ProtocolKind,
    /// Number of command queues: 1 for AHCI.
    pub queues: u32,
    /// Depth of each queue in commands: 32 for AHCI.
    pub queue_depth: u32,
    /// Processor time per read in the driver or firmware: submission, interrupt and completion together.
    pub read_time: Duration,
    /// Processor time per write in the driver or firmware: submission, interrupt and completion together.
    pub write_time: Duration,
    /// Share of this processor time that precedes the transmission of the command.
    pub submit_share: Ratio,
    /// Maximum length of a command; longer requests are split.
    pub transfer_max: Bytes,
    /// Time of a 64-byte read of host memory by the controller, in both directions.
    pub memory_read: Duration,
    /// Processor time per interrupt, in addition to the time of the completions that it announces.
    pub interrupt_time: Duration,
    /// The processor of the host bus adapter, if the protocol uses an adapter and its times are known.
    pub adapter: Option<AdapterSpec>,
}

/// The host protocols. A new protocol needs a variant here and arms in `host/protocol.rs`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtocolKind {
    /// Advanced Host Controller Interface.
    Ahci,
    /// NVM Express.
    Nvme,
    /// READ and WRITE DMA from a SATA host without a list of commands.
    AtaDma,
    /// A SAS host bus adapter.
    SasHba,
    /// USB Attached SCSI over an xHCI controller.
    Uasp,
    /// Bulk-only transport over an xHCI controller, one command at a time.
    BulkOnly,
}

impl ProtocolKind {
    /// Returns the minimum time in which a drive with NAND flash can complete a single read over this protocol. A
    /// faster completion comes from a cache or from addresses without data.
    ///
    /// The fastest cells, SLC and other cells in SLC mode, take 20 to 25 µs (tR, data sheets from Micron and others).
    /// The rest is the minimum time for host, frames and firmware.
    pub fn flash_read_least(self) -> Duration {
        Duration::from_microseconds(match self {
            Self::Nvme => 28,
            Self::SasHba => 38,
            Self::Ahci | Self::AtaDma => 42,
            Self::Uasp | Self::BulkOnly => 60,
        })
    }

    /// Returns the display name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ahci => "AHCI",
            Self::Nvme => "NVMe",
            Self::AtaDma => "ATA DMA",
            Self::SasHba => "SAS HBA",
            Self::Uasp => "UASP",
            Self::BulkOnly => "USB bulk-only",
        }
    }

    /// Returns whether commands travel over USB, to a bridge.
    pub fn is_usb(self) -> bool {
        matches!(self, Self::Uasp | Self::BulkOnly)
    }
}

/// A drive.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveSpec {
    /// Capacity that the host can address.
    pub capacity: Bytes,
    /// The controller's command engines: decoding and firmware.
    pub front_end: FrontEndSpec,
    /// Size of the write buffer.
    pub buffer: Bytes,
    /// The behaviour of the write cache, which determines when a write is complete and whether a flush waits.
    pub write_cache: WriteCacheMode,
    /// Distance by which the drive reads ahead of a sequential reader; zero disables read-ahead.
    pub read_ahead: Bytes,
    /// Rate of the controller data path between buffer and link for reads, if it is a limit.
    pub data_path_read: Option<BytesPerSecond>,
    /// Rate of the controller data path between buffer and link for writes, if it is a limit.
    pub data_path_write: Option<BytesPerSecond>,
    /// The media that hold the data.
    pub media: MediaSpec,
    /// Power of the drive, if known.
    pub power: Option<PowerSpec>,
}

lanemark_schema::named_enum! {
    /// The fate of data in the write buffer when the power fails.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum WriteCacheMode {
        /// Data is lost: a flush waits until the data is stored.
        #[default]
        Volatile = "lost",
        /// Data is stored (power-loss protection): a flush completes immediately.
        Protected = "stored",
        /// Data in the buffer does not count as written: a write is complete when it is stored.
        Off = "not-used",
    }
}

impl DriveSpec {
    /// Returns the command engines with their effective times: a flush stores a journal only if a power cut would lose
    /// data in the buffer.
    pub(super) fn front_end_at_work(&self) -> FrontEndSpec {
        let flush_latency = match self.write_cache {
            WriteCacheMode::Volatile => self.front_end.flush_latency,
            WriteCacheMode::Protected | WriteCacheMode::Off => Duration::ZERO,
        };
        FrontEndSpec { flush_latency, ..self.front_end }
    }

    /// Returns the flash of a solid-state drive.
    ///
    /// # Panics
    /// Panics for other media. Callers must know that the media are flash.
    pub fn flash(&self) -> &FlashSpec {
        let MediaSpec::Flash(flash) = &self.media else { panic!("the media are not flash") };
        flash
    }

    /// Returns the flash of a solid-state drive, for modification.
    ///
    /// # Panics
    /// Panics for other media.
    pub fn flash_mut(&mut self) -> &mut FlashSpec {
        let MediaSpec::Flash(flash) = &mut self.media else { panic!("the media are not flash") };
        flash
    }
}

impl ProtocolSpec {
    /// Returns the cache of the adapter, if it has one.
    pub fn adapter_cache(&self) -> Option<AdapterCacheSpec> {
        self.adapter.and_then(|adapter| adapter.cache)
    }
}

impl ProtocolSpec {
    fn check_times(&self) -> Result<(), SpecError> {
        check_step_times([
            ("protocol.read_time", self.read_time),
            ("protocol.write_time", self.write_time),
            ("protocol.memory_read", self.memory_read),
            ("protocol.interrupt_time", self.interrupt_time),
        ])
    }
}

impl AttachmentSpec {
    /// Returns the drive's one or two paths.
    pub fn port_paths(&self) -> impl Iterator<Item = &PortPathSpec> {
        std::iter::once(&self.port_path).chain(self.second.as_ref().map(|port| &port.port_path))
    }

    /// Returns the drive's paths, for modification.
    pub fn ways_mut(&mut self) -> impl Iterator<Item = &mut PortPathSpec> {
        std::iter::once(&mut self.port_path)
            .chain(self.second.as_mut().map(|port| &mut port.port_path))
    }

    /// Returns the maximum command length on which host and drive agree.
    pub fn transfer_max(&self) -> Bytes {
        self.protocol.transfer_max
    }

    fn check(&self) -> Result<(), SpecError> {
        let fail = |field, value: String, bound: &str| {
            Err(SpecError { field, value, bound: bound.to_owned() })
        };
        check_within("protocol.queues", self.protocol.queues.into(), 1, 65_535)?;
        let depth = u64::from(self.protocol.queue_depth);
        check_within(
            "protocol.queue_depth",
            depth,
            QUEUE_DEPTH.min.into(),
            QUEUE_DEPTH.max.into(),
        )?;
        self.protocol.check_times()?;
        let transfer_max = self.protocol.transfer_max;
        self.protocol.adapter.map_or(Ok(()), |adapter| adapter.check(transfer_max))?;
        if self.second.is_some() && self.protocol.adapter_cache().is_some() {
            let bound =
                "a drive with one port: a cache handles only requests through its own adapter";
            return fail("adapter.cache", "a drive with two ports".to_owned(), bound);
        }
        self.drive.front_end.check_times()?;
        check_within("drive.front_end.engines", self.drive.front_end.engines.into(), 1, 1024)?;
        let transfer = self.protocol.transfer_max;
        if transfer < SLOT || !transfer.get().is_multiple_of(SLOT.get()) {
            return fail("transfer_max", transfer.to_string(), "a multiple of 4 KiB");
        }
        let rates = [
            ("drive.data_path.read", self.drive.data_path_read),
            ("drive.data_path.write", self.drive.data_path_write),
        ];
        for (field, rate) in rates {
            rate.map_or(Ok(()), |rate| check_rate(field, rate))?;
        }
        self.drive.power.as_ref().map_or(Ok(()), |power| power.check(&self.drive.media))?;
        self.second.as_ref().map_or(Ok(()), SecondPort::check)?;
        self.drive.media.check(self.drive.capacity)?;
        let (least, what) = self.drive.media.buffer_min();
        let least = transfer.min(Bytes::kibi(128)) + least;
        if self.drive.buffer < least {
            let bound = format!("at least {least}: {what}");
            return fail("drive.buffer", self.drive.buffer.to_string(), &bound);
        }
        Ok(())
    }
}

impl SystemSpec {
    /// Checks all bounds on which the simulator relies.
    ///
    /// # Errors
    /// Returns an error for the first value that is out of bounds, with the bound.
    pub fn check(&self) -> Result<(), SpecError> {
        check_within("platform.cpu.cores", self.cpu.cores.into(), 1, 1024)?;
        check_within("platform.cpu.io_threads", self.cpu.io_threads.into(), 0, 1024)?;
        self.cpu.check_times()?;
        self.host_power.as_ref().map_or(Ok(()), HostPower::check)?;
        self.journal.as_ref().map_or(Ok(()), JournalSpec::check)?;
        check_within("drives", self.attachments.len() as u64, 1, u64::from(u16::MAX) / 2)?;
        self.attachments.iter().try_for_each(|attachment| {
            attachment.port_paths().try_for_each(|port_path| self.check_way(port_path))?;
            attachment.check()
        })?;
        if let Some(volume) = self.volume {
            volume.check(&self.drive_capacities())?;
        }
        self.fault_errors().into_iter().next().map_or(Ok(()), Err)
    }

    fn check_way(&self, port_path: &PortPathSpec) -> Result<(), SpecError> {
        check_within(
            "links of the trunk on a path",
            port_path.trunk as u64,
            0,
            self.trunk.len() as u64,
        )?;
        check_within(
            "links",
            (port_path.trunk + port_path.links.len()) as u64,
            1,
            LINKS_MAX as u64,
        )?;
        for link in self.links(port_path) {
            if let LinkModel::Bridge(Bridge { command_time, rate }) = link.model {
                check_step_times([("bridge.command_time", command_time)])?;
                check_rate("bridge.rate", rate)?;
            }
        }
        check_step_times(self.links(port_path).map(|link| ("latency", link.latency)))
    }

    /// Returns the number of drives of the system.
    pub fn drives(&self) -> usize {
        self.attachments.len()
    }

    pub(crate) fn drive_specs(&self) -> impl Iterator<Item = &DriveSpec> {
        self.attachments.iter().map(|attachment| &attachment.drive)
    }

    fn drive_capacities(&self) -> Vec<Bytes> {
        self.drive_specs().map(|drive| drive.capacity).collect()
    }

    /// Returns the capacity of the volume over the drives, if there is one.
    pub fn volume_capacity(&self) -> Option<Bytes> {
        self.volume.map(|volume| volume.capacity(&self.drive_capacities()))
    }

    /// Returns the total size of the volatile write caches of all drives, if there are any. A power cut may revert
    /// this amount of acknowledged data.
    pub fn volatile_cache(&self) -> Option<Bytes> {
        let volatile = |drive: &&DriveSpec| drive.write_cache == WriteCacheMode::Volatile;
        let caches = self.drive_specs().filter(volatile).map(|drive| drive.buffer);
        caches.reduce(|one, other| one + other)
    }

    /// Returns whether the power of each drive is known.
    pub fn knows_power(&self) -> bool {
        self.drive_specs().all(|drive| drive.power.is_some())
    }

    /// Returns all links of a path, the links of the trunk first.
    pub fn links<'s>(&'s self, port_path: &'s PortPathSpec) -> impl Iterator<Item = &'s LinkSpec> {
        self.trunk[..port_path.trunk].iter().chain(&port_path.links)
    }

    pub(crate) fn second_ports(&self) -> impl Iterator<Item = &SecondPort> {
        self.attachments.iter().filter_map(|attachment| attachment.second.as_ref())
    }

    /// Returns the first drive, which represents all drives if only one is inspected.
    ///
    /// # Panics
    /// Panics if there is no drive, which [`SystemSpec::check`] rejects.
    pub fn first(&self) -> &AttachmentSpec {
        &self.attachments[0]
    }

    /// Returns the first drive, for modification.
    ///
    /// # Panics
    /// Panics if there is no drive, like [`SystemSpec::first`].
    pub fn first_mut(&mut self) -> &mut AttachmentSpec {
        &mut self.attachments[0]
    }
}

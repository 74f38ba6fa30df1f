//! What a system is made of: plain values, checked, from which the simulator is assembled.
//!
//! Nothing here knows where a value came from. The study crate reads library files, keeps each value's
//! source, and hands over a [`SystemSpec`].

mod checked;
mod example;
mod faults;
mod flash;
mod power;

pub use checked::CheckedSystem;
pub use flash::*;
pub use power::*;

use super::budget::LINKS_MAX;
pub use super::drive::disk::{DiskSpec, SeekSpec, Zone};
use super::link::LinkSpec;
use super::multipath::SecondPort;
use super::volume::VolumeSpec;
use crate::units::{Bytes, BytesPerSecond, Duration, Ratio};
use crate::workload::Fault;

/// The unit in which a drive maps logical to physical places.
pub const SLOT: Bytes = Bytes::kibi(4);

/// Drives in ports of a platform: a processor, the links that several of them share, and each drive with its own way
/// to those.
#[derive(Clone, Debug, PartialEq)]
pub struct SystemSpec {
    /// Processor time outside the storage driver.
    pub cpu: CpuSpec,
    /// The links that more than one way goes over, nearest to the host first.
    pub trunk: Vec<LinkSpec>,
    /// The drives, of which there is at least one.
    pub attachments: Vec<AttachmentSpec>,
    /// How all drives are one volume, where they are.
    pub volume: Option<VolumeSpec>,
    /// What the platform takes besides its drives, where that is known.
    pub host_power: Option<HostPower>,
    /// What goes wrong in it, and what its drives are like that are not sound.
    pub faults: Vec<Fault>,
}

/// A drive with how it is spoken to and its way to the host.
#[derive(Clone, Debug, PartialEq)]
pub struct AttachmentSpec {
    /// How commands reach the drive.
    pub protocol: ProtocolSpec,
    /// The way to its port.
    pub way: WaySpec,
    /// Its second port, where it is plugged in by two.
    pub second: Option<SecondPort>,
    /// The drive.
    pub drive: DriveSpec,
    /// How long each of its namespaces is; none where it is one of all its capacity.
    pub namespaces: Vec<Bytes>,
}

/// The links from the host to a port.
#[derive(Clone, Debug, PartialEq)]
pub struct WaySpec {
    /// How many links of the trunk, counted from the host, the way begins with.
    pub trunk: usize,
    /// The links of its own behind those, nearest to the host first.
    pub links: Vec<LinkSpec>,
}

/// A host processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuSpec {
    /// Cores that run benchmark threads, driver and interrupts.
    pub cores: u32,
    /// Time per request from the application to the driver.
    pub request_submit: Duration,
    /// Time per request from the driver back to the application.
    pub request_complete: Duration,
    /// How long a core that has been idle takes to wake for an interrupt (C1E, C6 and their like).
    pub wake: Duration,
    /// How long it must have been idle for that.
    pub idle_after: Duration,
}

/// A host protocol.
#[derive(Clone, Debug, PartialEq)]
pub struct ProtocolSpec {
    /// AHCI or NVMe.
    pub kind: ProtocolKind,
    /// Queues that commands can wait in: 1 for AHCI.
    pub queues: u32,
    /// Commands that each queue holds: 32 for AHCI.
    pub queue_depth: u32,
    /// Processor time per read in the driver or firmware, submission, interrupt and completion together.
    pub read_time: Duration,
    /// The same per write.
    pub write_time: Duration,
    /// The part of it that is spent before the command leaves.
    pub submit_share: Ratio,
    /// The largest command; longer requests are split.
    pub transfer_max: Bytes,
    /// A 64-byte read of host memory by the controller, there and back.
    pub memory_read: Duration,
    /// Processor time per interrupt, besides that of the completions which it announces.
    pub interrupt_time: Duration,
    /// How an NVMe drive chooses between its queues.
    pub arbitration: ArbitrationSpec,
    /// Interrupts of an NVMe drive that announce several completions.
    pub coalescing: CoalescingSpec,
}

/// How a drive chooses between its submission queues: round robin as long as there are no weights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArbitrationSpec {
    /// The weights of weighted round robin with urgent priority class.
    pub weights: Option<ClassWeights>,
    /// The most commands of a queue in a row, where that is limited. NVMe knows 1, 2, 4 and so on to 64.
    pub burst: Option<u32>,
    /// The classes of the first queues, for weighted round robin; all others are medium.
    pub queue_classes: Vec<QueueClass>,
}

/// The priority of a submission queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueClass {
    /// Before all others, whatever they hold.
    Urgent,
    /// The first of the weighted levels.
    High,
    /// The second.
    #[default]
    Medium,
    /// The third.
    Low,
}

/// Commands of each weighted level in one round, 1 to 256.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClassWeights {
    /// High priority.
    pub high: u32,
    /// Medium priority.
    pub medium: u32,
    /// Low priority.
    pub low: u32,
}

/// Interrupt coalescing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoalescingSpec {
    /// Completions that are announced together; one is no coalescing.
    pub threshold: u32,
    /// How long the first of them waits at most; zero is no coalescing.
    pub time: Duration,
}

/// The most commands of a visit to a queue that can be asked for.
pub const BURST_MAX: u32 = 128;
/// The largest weight: an eight-bit field that counts from zero.
pub const WEIGHT_MAX: u32 = 256;
/// The largest aggregation threshold: an eight-bit field that counts from zero.
pub const THRESHOLD_MAX: u32 = 256;
/// The longest that one step of a request can take: a core, a link's latency, a firmware, a die. Far above any that
/// was built, and so short that the times of all requests that can be outstanding add up to less than can be told.
pub const STEP_TIME_MAX: Duration = Duration::from_seconds(60);
/// The longest aggregation time: 255 units of 100 us.
pub const AGGREGATION_TIME_MAX: Duration = Duration::from_microseconds(25_500);

impl Default for ArbitrationSpec {
    /// Round robin, one command at a time.
    fn default() -> Self {
        Self { weights: None, burst: Some(1), queue_classes: Vec::new() }
    }
}

impl ArbitrationSpec {
    /// The class of a queue.
    pub fn class_of(&self, queue: u32) -> QueueClass {
        self.queue_classes.get(queue as usize).copied().unwrap_or_default()
    }
}

impl Default for ClassWeights {
    /// One each.
    fn default() -> Self {
        Self { high: 1, medium: 1, low: 1 }
    }
}

impl Default for CoalescingSpec {
    /// No coalescing.
    fn default() -> Self {
        Self { threshold: 1, time: Duration::ZERO }
    }
}

impl CoalescingSpec {
    /// Whether completions ever wait for each other.
    pub(crate) fn is_on(&self) -> bool {
        self.threshold > 1 && self.time > Duration::ZERO
    }
}

/// The host protocols. A new one is one arm here and in `sim::protocol`.
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
}

impl ProtocolKind {
    /// The name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ahci => "AHCI",
            Self::Nvme => "NVMe",
            Self::AtaDma => "ATA DMA",
            Self::SasHba => "SAS HBA",
        }
    }
}

/// A drive.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveSpec {
    /// What the host can address.
    pub capacity: Bytes,
    /// Command decoding and firmware.
    pub front_end: FrontEndSpec,
    /// The write buffer.
    pub buffer: Bytes,
    /// When a write is complete, and what a flush has to do.
    pub write_cache: WriteCache,
    /// How far a drive reads ahead of a sequential reader; zero where it does not.
    pub read_ahead: Bytes,
    /// The internal path between buffer and link, reading, where it is a limit.
    pub data_path_read: Option<BytesPerSecond>,
    /// The same, writing.
    pub data_path_write: Option<BytesPerSecond>,
    /// What holds the data.
    pub media: MediaSpec,
    /// What it takes, where that is known.
    pub power: Option<PowerSpec>,
}

/// What becomes of data in the write buffer when the power fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteCache {
    /// It is lost: a flush waits until it is stored.
    #[default]
    Volatile,
    /// It is stored (power-loss protection): a flush has nothing to do.
    Protected,
    /// It is not used: a write is complete when it is stored.
    Off,
}

/// What holds the data of a drive. A new kind is one arm here and in `sim::drive`.
#[derive(Clone, Debug, PartialEq)]
pub enum MediaSpec {
    /// NAND flash or its like.
    Flash(FlashSpec),
    /// Platters under an arm.
    Disk(DiskSpec),
}

/// Command decoding and firmware of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrontEndSpec {
    /// Commands worked on at once.
    pub engines: u32,
    /// How long a read keeps an engine: the drive's limit in reads a second.
    pub read_time: Duration,
    /// How long a write keeps an engine.
    pub write_time: Duration,
    /// What a read takes besides, pipelined: firmware, error correction.
    pub read_latency: Duration,
    /// What a write takes besides, pipelined.
    pub write_latency: Duration,
}

/// A value that no system can have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field} = {value}: {bound}")]
pub struct SpecError {
    /// The field's place, `drive.flash.planes`.
    pub field: &'static str,
    /// The value.
    pub value: String,
    /// What would be accepted.
    pub bound: String,
}

impl DriveSpec {
    /// The flash of a solid-state drive.
    ///
    /// # Panics
    /// For a hard disk: ask only where the media are known to be flash.
    pub fn flash(&self) -> &FlashSpec {
        match &self.media {
            MediaSpec::Flash(flash) => flash,
            MediaSpec::Disk(_) => panic!("a hard disk has no flash"),
        }
    }

    /// The same, to change it.
    ///
    /// # Panics
    /// For a hard disk.
    pub fn flash_mut(&mut self) -> &mut FlashSpec {
        match &mut self.media {
            MediaSpec::Flash(flash) => flash,
            MediaSpec::Disk(_) => panic!("a hard disk has no flash"),
        }
    }
}

impl ProtocolSpec {
    fn check_nvme(&self) -> Result<(), SpecError> {
        let ArbitrationSpec { weights, burst, queue_classes } = &self.arbitration;
        within("protocol.arbitration_burst", burst.unwrap_or(1).into(), 1, BURST_MAX.into())?;
        let ClassWeights { high, medium, low } = weights.unwrap_or_default();
        for weight in [high, medium, low] {
            within("protocol.weights", weight.into(), 1, WEIGHT_MAX.into())?;
        }
        within("protocol.classes", queue_classes.len() as u64, 0, self.queues.into())?;
        let CoalescingSpec { threshold, time } = self.coalescing;
        within("protocol.coalescing_threshold", threshold.into(), 1, THRESHOLD_MAX.into())?;
        if time > AGGREGATION_TIME_MAX {
            return Err(SpecError {
                field: "protocol.coalescing_time",
                value: time.to_string(),
                bound: format!("at most {AGGREGATION_TIME_MAX}"),
            });
        }
        Ok(())
    }
}

/// Refuses the first of these times that no step of a request can take.
fn check_step_times(
    times: impl IntoIterator<Item = (&'static str, Duration)>,
) -> Result<(), SpecError> {
    match times.into_iter().find(|(_, time)| *time > STEP_TIME_MAX) {
        None => Ok(()),
        Some((field, time)) => {
            let bound = format!("at most {STEP_TIME_MAX}");
            Err(SpecError { field, value: time.to_string(), bound })
        }
    }
}

impl CpuSpec {
    fn check_times(&self) -> Result<(), SpecError> {
        check_step_times([
            ("platform.cpu.request_submit", self.request_submit),
            ("platform.cpu.request_complete", self.request_complete),
            ("platform.cpu.wake", self.wake),
        ])
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

impl FrontEndSpec {
    fn check_times(&self) -> Result<(), SpecError> {
        check_step_times([
            ("drive.front_end.read_time", self.read_time),
            ("drive.front_end.write_time", self.write_time),
            ("drive.front_end.read_latency", self.read_latency),
            ("drive.front_end.write_latency", self.write_latency),
        ])
    }
}

impl AttachmentSpec {
    /// All of its ways: one, or two.
    pub fn ways(&self) -> impl Iterator<Item = &WaySpec> {
        std::iter::once(&self.way).chain(self.second.as_ref().map(|port| &port.way))
    }

    /// All of its ways, to change them.
    pub fn ways_mut(&mut self) -> impl Iterator<Item = &mut WaySpec> {
        std::iter::once(&mut self.way).chain(self.second.as_mut().map(|port| &mut port.way))
    }

    /// The largest command that host and drive agree on.
    pub fn transfer_max(&self) -> Bytes {
        self.protocol.transfer_max
    }

    fn check(&self) -> Result<(), SpecError> {
        let fail = |field, value: String, bound: &str| {
            Err(SpecError { field, value, bound: bound.to_owned() })
        };
        within("protocol.queues", self.protocol.queues.into(), 1, 65_535)?;
        within("protocol.queue_depth", self.protocol.queue_depth.into(), 1, 65_536)?;
        self.protocol.check_nvme()?;
        self.protocol.check_times()?;
        self.drive.front_end.check_times()?;
        within("drive.front_end.engines", self.drive.front_end.engines.into(), 1, 1024)?;
        let transfer = self.protocol.transfer_max;
        if transfer < SLOT || !transfer.get().is_multiple_of(SLOT.get()) {
            return fail("transfer_max", transfer.to_string(), "a multiple of 4 KiB");
        }
        let rates = [
            ("drive.data_path.read", self.drive.data_path_read),
            ("drive.data_path.write", self.drive.data_path_write),
        ];
        for (field, rate) in rates {
            if rate.is_some_and(|rate| rate.0 < 1_000_000) {
                return fail(field, rate.unwrap_or_default().to_string(), "at least 1 MB/s");
            }
        }
        self.check_namespaces()?;
        self.drive.check_power()?;
        self.second.as_ref().map_or(Ok(()), SecondPort::check)?;
        let (least, what) = match &self.drive.media {
            MediaSpec::Flash(flash) => {
                flash.check(self.drive.capacity)?;
                (flash.unit() * 2, "a burst and two flash units")
            }
            // A burst that is not aligned takes a slot more at either end.
            MediaSpec::Disk(disk) => {
                disk.check(self.drive.capacity)?;
                (SLOT * 2, "a burst that is not aligned")
            }
        };
        let least = transfer.min(Bytes::kibi(128)) + least;
        if self.drive.buffer < least {
            let bound = format!("at least {least}: {what}");
            return fail("drive.buffer", self.drive.buffer.to_string(), &bound);
        }
        Ok(())
    }
}

fn within(field: &'static str, value: u64, low: u64, high: u64) -> Result<(), SpecError> {
    if (low..=high).contains(&value) {
        return Ok(());
    }
    Err(SpecError { field, value: value.to_string(), bound: format!("from {low} to {high}") })
}

impl SystemSpec {
    /// Checks all bounds that the simulator relies on.
    ///
    /// # Errors
    /// The first value out of bounds, with the bound.
    pub fn check(&self) -> Result<(), SpecError> {
        within("platform.cpu.cores", self.cpu.cores.into(), 1, 1024)?;
        self.cpu.check_times()?;
        self.host_power.as_ref().map_or(Ok(()), HostPower::check)?;
        within("drives", self.attachments.len() as u64, 1, u64::from(u16::MAX) / 2)?;
        self.attachments.iter().try_for_each(|attachment| {
            attachment.ways().try_for_each(|way| self.check_way(way))?;
            attachment.check()
        })?;
        self.check_volume()?;
        self.fault_errors().into_iter().next().map_or(Ok(()), Err)
    }

    fn check_way(&self, way: &WaySpec) -> Result<(), SpecError> {
        within("links of the trunk on a way", way.trunk as u64, 0, self.trunk.len() as u64)?;
        within("links", (way.trunk + way.links.len()) as u64, 1, LINKS_MAX as u64)?;
        check_step_times(self.links(way).map(|link| ("latency", link.latency)))
    }

    /// Drives of the system.
    pub fn drives(&self) -> usize {
        self.attachments.len()
    }

    /// All links of a way, those of the trunk first.
    pub fn links<'s>(&'s self, way: &'s WaySpec) -> impl Iterator<Item = &'s LinkSpec> {
        self.trunk[..way.trunk].iter().chain(&way.links)
    }

    /// The second ports of all drives that have one.
    pub(crate) fn second_ports(&self) -> impl Iterator<Item = &SecondPort> {
        self.attachments.iter().filter_map(|attachment| attachment.second.as_ref())
    }

    /// The drive that stands for all of them where one is looked at: the first.
    ///
    /// # Panics
    /// Where there is none, which [`SystemSpec::check`] refuses.
    pub fn first(&self) -> &AttachmentSpec {
        &self.attachments[0]
    }

    /// The first drive, to change it.
    ///
    /// # Panics
    /// As [`SystemSpec::first`].
    pub fn first_mut(&mut self) -> &mut AttachmentSpec {
        &mut self.attachments[0]
    }
}

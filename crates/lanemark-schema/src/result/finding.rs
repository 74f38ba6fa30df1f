//! The findings about an inspected path: a closed list of limits. Each finding has evidence and advice.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::inspected_link::PcieRate;
use crate::text::rate_text;
use crate::units::{Bytes, BytesPerSecond};

/// A finding with the devices that it concerns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct InspectedFinding {
    /// The kernel's names of the devices.
    pub devices: Vec<String>,
    /// Kind of the finding, and its figures.
    #[serde(flatten)]
    pub finding: Finding,
}

/// A property of a path that reduces its speed, or may reduce it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Finding {
    /// A PCIe link trained to less than both of its ends support.
    PcieBelowCapability {
        /// The hop below the link.
        hop: String,
        /// Rate and width to which the link trained.
        current: PcieRate,
        /// Rate and width that both ends support.
        capable: PcieRate,
    },
    /// A PCIe link trained to less than its lower end supports, and the capability of its port is unknown.
    LinkBelowDevice {
        /// The hop below the link.
        hop: String,
        /// Rate and width to which the link trained.
        current: PcieRate,
        /// Rate and width that the hop supports.
        device_max: PcieRate,
    },
    /// A drive or host adapter supports more than its port.
    SlotBelowDevice {
        /// The device.
        hop: String,
        /// Name of the port.
        port: String,
        /// Rate and width that the device supports.
        device_max: PcieRate,
        /// Rate and width that the port supports.
        port_max: PcieRate,
    },
    /// A PCIe link uses a smaller packet payload than both of its ends support.
    PayloadSmall {
        /// The hop below the link.
        hop: String,
        /// Payload size that is set.
        #[serde(rename = "payload_bytes")]
        payload: Bytes,
        /// Payload size that both ends support.
        #[serde(rename = "capable_bytes")]
        capable: Bytes,
    },
    /// The total throughput of the links to the devices below a link exceeds the throughput of the link.
    SharedUplink {
        /// The hop below the link.
        hop: String,
        /// Throughput of the link.
        #[serde(rename = "uplink_bytes_per_second")]
        uplink: BytesPerSecond,
        /// Total throughput of the links to the devices below.
        #[serde(rename = "below_bytes_per_second")]
        below: BytesPerSecond,
        /// Whether the packet size is unknown; in that case `uplink` is an upper bound and `below` is a lower bound.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        bounds: bool,
    },
    /// Several devices are downstream of an Intel chipset, whose uplink the kernel does not report.
    BehindChipset {
        /// Total throughput of the links to these devices, if known.
        #[serde(rename = "below_bytes_per_second")]
        below: Option<BytesPerSecond>,
    },
    /// A drive is faster than its SATA port.
    SataPortSlow {
        /// The port.
        hop: String,
        /// Rate that the drive supports.
        drive_bits_per_second: u64,
        /// Rate that the port supports, or to which it is limited.
        port_bits_per_second: u64,
    },
    /// A SATA link trained to a lower rate than its port supports and, if known, a lower rate than its drive supports.
    SataBelowCapability {
        /// The port.
        hop: String,
        /// Rate to which the link trained.
        negotiated_bits_per_second: u64,
        /// Rate that both ends support.
        capable_bits_per_second: u64,
        /// Whether the drive reports that it also supports that rate.
        drive_known: bool,
    },
    /// A SAS phy trained to a lower rate than it supports.
    SasBelowCapability {
        /// The hop below the link.
        hop: String,
        /// Rate to which the link trained.
        negotiated_bits_per_second: u64,
        /// Rate that both ends support.
        capable_bits_per_second: u64,
    },
    /// An ATA drive accepts only one command at a time.
    WithoutQueueing {
        /// Commands that the drive accepts at once.
        queue_depth: u32,
        /// Whether the drive reports that it supports more commands.
        drive_capable: Option<bool>,
    },
    /// The device is a volume of a RAID adapter that hides its drives.
    DrivesHidden {
        /// The adapter, by the name that the path uses.
        adapter: String,
    },
    /// The drive's write cache is off.
    WriteCacheOff,
    /// The scheduler is unsuitable for this kind of drive.
    SchedulerUnsuited {
        /// Name of the scheduler.
        scheduler: String,
        /// Setting that suits the device.
        suited: String,
        /// The kind of drive, such as `an NVMe drive`.
        drive: String,
    },
    /// A partition does not begin at a physical block.
    PartitionMisaligned {
        /// Name of the partition.
        partition: String,
        /// Offset from alignment, as the kernel reports it.
        offset_bytes: i64,
        /// The device's physical block.
        #[serde(rename = "physical_block_bytes")]
        physical_block: Option<Bytes>,
    },
    /// A USB device runs below 5 Gb/s.
    UsbSlow {
        /// The hop.
        hop: String,
        /// Rate at which the link runs.
        bits_per_second: u64,
    },
}

impl Finding {
    /// Returns whether the finding may be intended and need not reduce the speed.
    pub fn is_note(&self) -> bool {
        matches!(
            self,
            Self::SharedUplink { .. }
                | Self::DrivesHidden { .. }
                | Self::BehindChipset { .. }
                | Self::PayloadSmall { .. }
                | Self::SataBelowCapability { drive_known: false, .. }
        )
    }

    /// Returns the advice for the finding.
    pub fn advice(&self) -> &'static str {
        match self {
            Self::PcieBelowCapability { .. } => {
                "reseat the device, clean its contacts, and check the slot's speed in the firmware \
                 setup; some devices train down when they are idle, so check again under load"
            }
            Self::LinkBelowDevice { .. } => {
                "the whole output of `sudo lspci -vvv`, or `lanemark inspect` on the machine, also \
                 shows the port. If the port is not faster, the slot, an adapter or a riser is the \
                 limit: use another slot. If the port is faster, check again under load, because idle \
                 links save power; then reseat the device and clean its contacts"
            }
            Self::SlotBelowDevice { .. } => {
                "move the device to a slot with as many lanes and as late a generation, and check \
                 how the firmware divides lanes among slots"
            }
            Self::PayloadSmall { .. } => {
                "set the maximum payload in the firmware setup, or boot with pci=pcie_bus_perf"
            }
            Self::SharedUplink { .. } => {
                "expect less than the sum when all devices are busy; if that matters, move some of the devices to \
                 other ports"
            }
            Self::BehindChipset { .. } => {
                "all devices of the chipset share its uplink; look up the uplink's width, and put \
                 fast drives into slots that are attached to the processor"
            }
            Self::SataPortSlow { .. } => "move the drive to a faster port of the board",
            Self::SataBelowCapability { .. } => {
                "change the cable or the port, and search the kernel's log for link errors, which \
                 make a port fall back to a lower rate"
            }
            Self::SasBelowCapability { .. } => {
                "check cables, backplane and the drive's own limit: one phy at a lower rate is \
                 usually a bad contact"
            }
            Self::WithoutQueueing { .. } => {
                "set the controller to AHCI in the firmware setup, and search the kernel's log for \
                 the reason why command queueing is off"
            }
            Self::DrivesHidden { .. } => {
                "query the drives, their links and their health with the adapter's own program: \
                 storcli, perccli, ssacli or arcconf"
            }
            Self::WriteCacheOff => {
                "enable the cache with hdparm -W1 or sdparm --set WCE, unless the drive belongs to a \
                 RAID controller that keeps data when the power fails and requires this setting"
            }
            Self::SchedulerUnsuited { .. } => {
                "write the name of the better scheduler to queue/scheduler, or set it permanently with a udev rule"
            }
            Self::PartitionMisaligned { .. } => {
                "create the partition again at a multiple of 1 MiB; every write that crosses a block \
                 boundary costs two writes"
            }
            Self::UsbSlow { .. } => {
                "use a USB 3 port and cable: 5 Gb/s ports are often blue or marked SS"
            }
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PcieBelowCapability { hop, current, capable } => {
                write!(f, "the link to {hop} runs at {current}, but both ends support {capable}")
            }
            Self::LinkBelowDevice { hop, current, device_max } => write!(
                f,
                "the link to {hop} runs at {current}, but the device supports {device_max}; the \
                 capability of its port is not known"
            ),
            Self::SlotBelowDevice { hop, port, device_max, port_max } => {
                write!(f, "{hop} supports {device_max}, but its port {port} only {port_max}")
            }
            Self::PayloadSmall { hop, payload, capable } => write!(
                f,
                "the link to {hop} carries {payload} in a packet, but both ends support {capable}"
            ),
            Self::SharedUplink { hop, uplink, below, bounds } => {
                let (most, least) = if *bounds { ("at most ", "at least ") } else { ("", "") };
                let [uplink, below] = [uplink, below].map(|rate| megabytes(*rate));
                write!(
                    f,
                    "the link to {hop} carries {most}{uplink}, and the links below it {least}{below} in all"
                )
            }
            Self::BehindChipset { below } => {
                f.write_str("these devices share the uplink of the chipset")?;
                below.map_or(Ok(()), |below| {
                    write!(f, "; their links carry {} in all", megabytes(below))
                })
            }
            Self::SataPortSlow { hop, drive_bits_per_second, port_bits_per_second } => write!(
                f,
                "the drive supports {}, but its port {hop} only {}",
                LineRate(*drive_bits_per_second),
                LineRate(*port_bits_per_second)
            ),
            Self::SataBelowCapability {
                hop,
                negotiated_bits_per_second,
                capable_bits_per_second,
                drive_known,
            } => {
                let runs = LineRate(*negotiated_bits_per_second);
                let could = LineRate(*capable_bits_per_second);
                if *drive_known {
                    write!(f, "{hop} runs at {runs}, but port and drive support {could}")
                } else {
                    write!(
                        f,
                        "{hop} runs at {runs}, but its port supports {could}: the drive is older, \
                         or the link fell back"
                    )
                }
            }
            Self::SasBelowCapability {
                hop,
                negotiated_bits_per_second,
                capable_bits_per_second,
            } => write!(
                f,
                "the link to {hop} runs at {} per phy, but supports {}",
                LineRate(*negotiated_bits_per_second),
                LineRate(*capable_bits_per_second)
            ),
            Self::WithoutQueueing { queue_depth, drive_capable } => {
                write!(f, "the drive accepts {queue_depth} command at a time")?;
                match drive_capable {
                    Some(true) => f.write_str(", but reports that it supports queueing"),
                    Some(false) => f.write_str(", and reports that it does not support queueing"),
                    None => Ok(()),
                }
            }
            Self::DrivesHidden { adapter } => write!(
                f,
                "the RAID adapter {adapter} hides its drives: their number, links and limits are not known"
            ),
            Self::WriteCacheOff => {
                f.write_str("the write cache is off, so every write waits for the media")
            }
            Self::SchedulerUnsuited { scheduler, suited, drive } => {
                write!(f, "the scheduler of {drive} is {scheduler}; {suited} is better")
            }
            Self::PartitionMisaligned { partition, offset_bytes, physical_block } => {
                match offset_bytes {
                    0.. => write!(
                        f,
                        "{partition} starts {offset_bytes} B past the boundary of a physical block"
                    )?,
                    _ => write!(f, "{partition} cannot be aligned to a physical block")?,
                }
                physical_block.map_or(Ok(()), |block| write!(f, " of {block}"))
            }
            Self::UsbSlow { hop, bits_per_second } => {
                write!(f, "{hop} runs at {}", LineRate(*bits_per_second))
            }
        }
    }
}

/// A line rate in its usual notation, such as `6 Gb/s` or `480 Mb/s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineRate(pub u64);

impl fmt::Display for LineRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bits if bits < 1_000_000_000 => write!(f, "{} Mb/s", bits as f64 / 1e6),
            bits => write!(f, "{} Gb/s", bits as f64 / 1e9),
        }
    }
}

/// Formats a rate in MB/s.
fn megabytes(rate: BytesPerSecond) -> String {
    rate_text(rate.0 as f64)
}

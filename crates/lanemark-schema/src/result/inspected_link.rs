//! The links of an inspected path: their trained rates, the rates that both ends support, and the resulting throughput.
//!
//! Rates are computed with the formulas of `sim::link`. The *line* rate includes only the overhead of the line code.
//! The *usable* rate is the throughput of long reads after the overhead of packets or frames. This rate is absent if
//! there is no formula for the link.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, BytesPerSecond};

/// A link between two hops.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum InspectedLink {
    /// PCI Express.
    Pcie(PcieLink),
    /// Serial ATA.
    Sata(SataLink),
    /// Parallel ATA.
    Pata(PataLink),
    /// Serial Attached SCSI, with one phy or several.
    Sas(SasLink),
    /// USB.
    Usb(UsbLink),
}

/// A PCI Express generation and width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PcieRate {
    /// PCI Express generation: 1 for 2.5 GT/s, up to 6 for 64 GT/s.
    pub generation: u8,
    /// Number of lanes.
    pub lanes: u8,
}

/// A PCI Express link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PcieLink {
    /// Rate and width to which the link trained; the smaller values if the two ends report different values.
    pub current: Option<PcieRate>,
    /// Rate and width that the end towards the processor supports.
    pub upper_max: Option<PcieRate>,
    /// Rate and width that the other end supports.
    pub lower_max: Option<PcieRate>,
    /// The maximum payload of a packet (MPS) as set; the smaller of the values at the two ends.
    #[serde(rename = "payload_max_bytes")]
    pub payload_max: Option<Bytes>,
    /// Payload size that both ends support.
    #[serde(rename = "payload_capable_bytes")]
    pub payload_capable: Option<Bytes>,
    /// The maximum read request of the lower end (MRRS).
    #[serde(rename = "read_request_max_bytes")]
    pub read_request_max: Option<Bytes>,
    /// Throughput of one direction after the line code.
    #[serde(rename = "line_bytes_per_second")]
    pub line: Option<BytesPerSecond>,
    /// Throughput of one direction after packet overhead, if `payload_max` is known.
    #[serde(rename = "usable_bytes_per_second")]
    pub usable: Option<BytesPerSecond>,
    /// Throughput of one direction with the minimum payload, 128 B, if `payload_max` is unknown.
    #[serde(
        default,
        rename = "usable_least_bytes_per_second",
        skip_serializing_if = "Option::is_none"
    )]
    pub usable_least: Option<BytesPerSecond>,
    /// Throughput of one direction with the maximum payload, 4 KiB, if `payload_max` is unknown.
    #[serde(
        default,
        rename = "usable_most_bytes_per_second",
        skip_serializing_if = "Option::is_none"
    )]
    pub usable_most: Option<BytesPerSecond>,
}

/// A SATA link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SataLink {
    /// Rate to which the link trained.
    pub negotiated_bits_per_second: Option<u64>,
    /// Limit that the kernel sets.
    pub limit_bits_per_second: Option<u64>,
    /// Rate that the port supports.
    pub port_bits_per_second: Option<u64>,
    /// Rate that the drive reports as supported.
    pub drive_bits_per_second: Option<u64>,
    /// Whether the drive reports support for queued commands.
    pub queueing: Option<bool>,
    /// Throughput after the line code, in one direction at a time.
    #[serde(rename = "line_bytes_per_second")]
    pub line: Option<BytesPerSecond>,
    /// Throughput after frame overhead, for queued reads of 128 KiB.
    #[serde(rename = "usable_bytes_per_second")]
    pub usable: Option<BytesPerSecond>,
}

/// A Parallel ATA cable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PataLink {
    /// The Ultra DMA mode that the drive reports as selected.
    pub ultra_dma: Option<u8>,
    /// Throughput in that mode, for one drive on the cable at a time.
    #[serde(rename = "line_bytes_per_second")]
    pub line: Option<BytesPerSecond>,
}

/// A SAS link or wide port.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SasLink {
    /// Rate to which the slowest phy trained.
    pub negotiated_bits_per_second: Option<u64>,
    /// Rate that both ends of that phy support.
    pub capable_bits_per_second: Option<u64>,
    /// Number of phys that work in parallel.
    pub phys: u32,
    /// Throughput of all phys in one direction after the line code.
    #[serde(rename = "line_bytes_per_second")]
    pub line: Option<BytesPerSecond>,
    /// Throughput after the overhead of full frames.
    #[serde(rename = "usable_bytes_per_second")]
    pub usable: Option<BytesPerSecond>,
}

/// A USB link.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UsbLink {
    /// Rate at which the link runs.
    pub bits_per_second: Option<u64>,
    /// Throughput after the line code.
    #[serde(rename = "line_bytes_per_second")]
    pub line: Option<BytesPerSecond>,
}

impl InspectedLink {
    /// Returns the throughput of one direction after the line code.
    pub fn line(&self) -> Option<BytesPerSecond> {
        match self {
            Self::Pcie(link) => link.line,
            Self::Sata(link) => link.line,
            Self::Pata(link) => link.line,
            Self::Sas(link) => link.line,
            Self::Usb(link) => link.line,
        }
    }

    /// Returns the throughput after the overhead of packets or frames, if there is a formula for it.
    pub fn usable(&self) -> Option<BytesPerSecond> {
        match self {
            Self::Pcie(link) => link.usable,
            Self::Sata(link) => link.usable,
            Self::Sas(link) => link.usable,
            Self::Usb(_) | Self::Pata(_) => None,
        }
    }

    /// Returns the minimum and the maximum throughput of the link, which differ if the payload of a packet is unknown.
    /// Both values include the overhead of packets or frames if there is a formula for it, and otherwise only the line
    /// code.
    pub fn range(&self) -> Option<(BytesPerSecond, BytesPerSecond)> {
        if let Self::Pcie(PcieLink { usable_least: Some(least), usable_most: Some(most), .. }) =
            self
        {
            Some((*least, *most))
        } else {
            self.usable().or(self.line()).map(|rate| (rate, rate))
        }
    }

    /// Returns the maximum throughput of the link.
    pub fn rate(&self) -> Option<BytesPerSecond> {
        self.range().map(|(_, most)| most)
    }
}

impl PcieLink {
    /// Returns the rate that both ends support: the smaller generation and the smaller width.
    pub fn capable(&self) -> Option<PcieRate> {
        Some(self.upper_max?.lesser(self.lower_max?))
    }
}

impl PcieRate {
    /// Returns the smaller generation and the smaller width of two rates.
    pub fn lesser(self, other: Self) -> Self {
        Self {
            generation: self.generation.min(other.generation),
            lanes: self.lanes.min(other.lanes),
        }
    }

    /// Returns whether the generation or the width is smaller than in `other`.
    pub fn below(self, other: Self) -> bool {
        self.generation < other.generation || self.lanes < other.lanes
    }
}

impl fmt::Display for PcieRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PCIe {}.0 x{}", self.generation, self.lanes)
    }
}

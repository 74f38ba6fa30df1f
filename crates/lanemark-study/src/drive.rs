//! `library/drives/*.toml`: a solid-state drive.

use lanemark_core::sim::link::{PcieGeneration, SataRate};
use lanemark_core::sim::spec::{DriveSpec, FlashSpec, FrontEndSpec, ProtocolKind};
use lanemark_core::units::{BitsPerSecond, Bytes};

use crate::document::{Context, Document, Section};
use crate::error::StudyError;

/// A drive as it stands in the library.
#[derive(Clone, Debug, PartialEq)]
pub struct Drive {
    /// The name for people.
    pub name: String,
    /// How it is spoken to.
    pub protocol: ProtocolKind,
    /// What it is plugged in with.
    pub plug: Plug,
    /// Whether it queues commands; a SATA drive may not.
    pub queued: bool,
    /// The largest command that it takes, where it has a limit of its own.
    pub transfer_max: Option<Bytes>,
    /// The model.
    pub spec: DriveSpec,
}

/// What a drive is plugged in with, or a port takes: the most that it can train to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plug {
    /// SATA up to a rate.
    Sata(SataRate),
    /// PCI Express up to a generation and a width.
    Pcie(PcieGeneration, u32),
}

impl std::fmt::Display for Plug {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sata(rate) => write!(f, "SATA {}", rate.line_rate()),
            Self::Pcie(generation, lanes) => write!(f, "PCIe {}.0 x{lanes}", generation.number()),
        }
    }
}

impl Drive {
    /// Reads a drive file.
    ///
    /// # Errors
    /// The first thing wrong in it.
    pub fn read(document: &Document, context: Context<'_>) -> Result<Self, StudyError> {
        let root = document.root("drive", Some(context));
        let drive = root.table("drive")?;
        drive.choice("kind", &[("ssd", ())])?;
        let name = drive.text("name")?;
        let capacity = drive.quantity("capacity")?;
        let port = drive.table("port")?;
        let protocol =
            port.choice("protocol", &[("ahci", ProtocolKind::Ahci), ("nvme", ProtocolKind::Nvme)])?;
        let plug = plug(&port)?;
        if protocol == ProtocolKind::Nvme && matches!(plug, Plug::Sata(_)) {
            return Err(port.error("protocol", "NVMe runs over PCIe, not over SATA"));
        }
        let queued = match port.has("commands") {
            true => port.choice("commands", &[("queued", true), ("unqueued", false)])?,
            false => true,
        };
        port.finish()?;
        drive.finish()?;

        let front_end = root.table("front_end")?;
        let buffer = root.table("buffer")?;
        let data_path = root.optional_table("data_path")?;
        let rate = |key| match &data_path {
            Some(section) => section.optional_quantity(key),
            None => Ok(None),
        };
        let spec = DriveSpec {
            capacity,
            front_end: FrontEndSpec {
                engines: front_end.integer("engines", 1, 1024)? as u32,
                read_time: front_end.quantity("read_time")?,
                write_time: front_end.quantity("write_time")?,
                read_latency: front_end.quantity("read_latency")?,
                write_latency: front_end.quantity("write_latency")?,
            },
            buffer: buffer.quantity("capacity")?,
            data_path_read: rate("read")?,
            data_path_write: rate("write")?,
            flash: flash(&root.table("flash")?)?,
        };
        let transfer_max = front_end.optional_quantity("transfer_max")?;
        front_end.finish()?;
        buffer.finish()?;
        data_path.map_or(Ok(()), |section| section.finish())?;
        root.finish()?;
        Ok(Self { name, protocol, plug, queued, transfer_max, spec })
    }
}

/// Reads `sata = "6 Gb/s"` or `pcie = { generation, lanes }` of a drive's or platform's port.
pub fn plug(port: &Section<'_>) -> Result<Plug, StudyError> {
    let sata: Option<BitsPerSecond> = port.optional_quantity("sata")?;
    let pcie = port.optional_table("pcie")?;
    match (sata, pcie) {
        (Some(rate), None) => match SataRate::new(rate) {
            Some(rate) => Ok(Plug::Sata(rate)),
            None => {
                Err(port.error("sata", format!("sata = {rate}: SATA runs at 1.5, 3 or 6 Gb/s")))
            }
        },
        (None, Some(pcie)) => {
            let (generation, lanes) = pcie_width(&pcie)?;
            pcie.finish()?;
            Ok(Plug::Pcie(generation, lanes))
        }
        (Some(_), Some(_)) => Err(port.error("pcie", "a port is `sata` or `pcie`, not both")),
        (None, None) => Err(StudyError::new(port.location(), "neither `sata` nor `pcie` is given")
            .hint("write sata = \"6 Gb/s\" or pcie = { generation = 3, lanes = 4 }")),
    }
}

/// Reads `generation` and `lanes`.
pub fn pcie_width(section: &Section<'_>) -> Result<(PcieGeneration, u32), StudyError> {
    let number = section.integer("generation", 1, 5)?;
    let lanes = section.integer("lanes", 1, 16)?;
    let generation = PcieGeneration::new(number).ok_or_else(|| {
        section.error("generation", format!("generation = {number}: must be from 1 to 5"))
    })?;
    if !lanes.is_power_of_two() {
        return Err(section.error("lanes", format!("lanes = {lanes}: must be 1, 2, 4, 8 or 16")));
    }
    Ok((generation, lanes as u32))
}

fn flash(section: &Section<'_>) -> Result<FlashSpec, StudyError> {
    section.optional_text("technology")?;
    let spec = FlashSpec {
        channels: section.integer("channels", 1, 256)? as u32,
        dies_per_channel: section.integer("dies_per_channel", 1, 256)? as u32,
        planes: section.integer("planes", 1, 16)? as u32,
        page: section.quantity("page")?,
        pages_per_block: section.integer("pages_per_block", 1, 65_536)? as u32,
        blocks_per_plane: section.integer("blocks_per_plane", 1, 1 << 24)? as u32,
        read: section.quantity("read")?,
        program: section.quantity("program")?,
        erase: section.quantity("erase")?,
        channel_rate: section.quantity("channel_rate")?,
        command_time: section.quantity("command_time")?,
    };
    section.finish()?;
    Ok(spec)
}

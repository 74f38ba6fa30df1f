//! `library/drives/*.toml`: a solid-state drive, or a hard disk.

use lanemark_core::sim::link::{PcieGeneration, SasRate, SataRate};
use lanemark_core::sim::spec::{DriveSpec, FlashSpec, FrontEndSpec, MediaSpec, ProtocolKind};
use lanemark_core::units::{BitsPerSecond, Bytes};

use crate::disk;
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

/// What a drive file describes.
#[derive(Clone, Copy)]
enum Kind {
    SolidState,
    Disk,
}

/// What a drive is plugged in with, or a port takes: the most that it can train to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plug {
    /// SATA up to a rate.
    Sata(SataRate),
    /// PCI Express up to a generation and a width.
    Pcie(PcieGeneration, u32),
    /// SAS up to a rate, over so many phys.
    Sas(SasRate, u32),
}

impl std::fmt::Display for Plug {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Sata(rate) => write!(f, "SATA {}", rate.line_rate()),
            Self::Pcie(generation, lanes) => write!(f, "PCIe {}.0 x{lanes}", generation.number()),
            Self::Sas(rate, 1) => write!(f, "SAS {}", rate.line_rate()),
            Self::Sas(rate, phys) => write!(f, "SAS {} x{phys}", rate.line_rate()),
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
        let kind = drive.choice("kind", &[("ssd", Kind::SolidState), ("hdd", Kind::Disk)])?;
        let name = drive.text("name")?;
        let capacity = drive.quantity("capacity")?;
        let port = drive.table("port")?;
        let protocol = port.choice(
            "protocol",
            &[
                ("ahci", ProtocolKind::Ahci),
                ("nvme", ProtocolKind::Nvme),
                ("sas", ProtocolKind::SasHba),
            ],
        )?;
        let plug = plug(&port)?;
        let fits = match protocol {
            ProtocolKind::Ahci => !matches!(plug, Plug::Sas(..)),
            ProtocolKind::Nvme => matches!(plug, Plug::Pcie(..)),
            ProtocolKind::SasHba => matches!(plug, Plug::Sas(..)),
            ProtocolKind::AtaDma => false,
        };
        if !fits {
            let message = format!("{} does not run over {plug}", protocol.name());
            return Err(port.error("protocol", message));
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
            media: match kind {
                Kind::SolidState => MediaSpec::Flash(flash(&root.table("flash")?)?),
                Kind::Disk => MediaSpec::Disk(disk::read(&root.table("disk")?)?),
            },
        };
        let transfer_max = front_end.optional_quantity("transfer_max")?;
        front_end.finish()?;
        buffer.finish()?;
        data_path.map_or(Ok(()), |section| section.finish())?;
        root.finish()?;
        Ok(Self { name, protocol, plug, queued, transfer_max, spec })
    }
}

/// Reads `sata = "6 Gb/s"`, `pcie = { generation, lanes }` or `sas = { rate, phys }` of a drive's or
/// platform's port.
pub fn plug(port: &Section<'_>) -> Result<Plug, StudyError> {
    let sata: Option<BitsPerSecond> = port.optional_quantity("sata")?;
    let pcie = port.optional_table("pcie")?;
    let sas = port.optional_table("sas")?;
    match (sata, pcie, sas) {
        (Some(rate), None, None) => match SataRate::new(rate) {
            Some(rate) => Ok(Plug::Sata(rate)),
            None => {
                Err(port.error("sata", format!("sata = {rate}: SATA runs at 1.5, 3 or 6 Gb/s")))
            }
        },
        (None, Some(pcie), None) => {
            let (generation, lanes) = pcie_width(&pcie)?;
            pcie.finish()?;
            Ok(Plug::Pcie(generation, lanes))
        }
        (None, None, Some(sas)) => sas_width(&sas),
        (None, None, None) => {
            let message = "none of `sata`, `pcie` and `sas` is given";
            Err(StudyError::new(port.location(), message)
                .hint("write sata = \"6 Gb/s\" or pcie = { generation = 3, lanes = 4 }"))
        }
        _ => Err(StudyError::new(port.location(), "a port is one of `sata`, `pcie` and `sas`")),
    }
}

fn sas_width(section: &Section<'_>) -> Result<Plug, StudyError> {
    let line_rate: BitsPerSecond = section.quantity("rate")?;
    let phys = section.integer("phys", 1, 8)? as u32;
    let Some(rate) = SasRate::new(line_rate) else {
        let message = format!("rate = {line_rate}: SAS runs at 3, 6, 12 or 22.5 Gb/s");
        return Err(section.error("rate", message));
    };
    if !phys.is_power_of_two() {
        return Err(section.error("phys", format!("phys = {phys}: must be 1, 2, 4 or 8")));
    }
    section.finish()?;
    Ok(Plug::Sas(rate, phys))
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

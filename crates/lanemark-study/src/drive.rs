//! `library/drives/*.toml`: a solid-state drive, a hard disk, or a cloud volume.

use lanemark_schema::units::{BitsPerSecond, Bytes, Duration};
use lanemark_sim::link::{PcieGeneration, SasRate, SataCommands, SataRate};
use lanemark_sim::spec::{DriveSpec, FrontEndSpec, MediaSpec, ProtocolKind, WriteCacheMode};

use crate::cloud::{self, CloudVolume};
use crate::disk;
use crate::document::{Context, Document, Section};
use crate::error::StudyError;
use crate::flash;
use crate::power;

/// A drive of the library.
#[derive(Clone, Debug, PartialEq)]
pub struct Drive {
    /// The display name.
    pub name: String,
    /// Protocol of the drive.
    pub protocol: ProtocolKind,
    /// Connector of the drive.
    pub plug: Connector,
    /// The command set of the drive. Some SATA drives do not have a command queue.
    pub commands: SataCommands,
    /// Whether the drive has two ports.
    pub has_two_ports: bool,
    /// The maximum payload of a PCIe packet, if the drive limits it.
    pub payload_max: Option<Bytes>,
    /// The maximum length of a command, if the drive limits it.
    pub transfer_max: Option<Bytes>,
    /// The model of the drive.
    pub spec: DriveSpec,
}

lanemark_schema::named_enum! {
    /// The kind of drive that a file describes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum DriveKind {
        /// A solid-state drive.
        SolidState = "ssd",
        /// A hard disk.
        Disk = "hdd",
        /// A volume of a cloud provider.
        CloudVolume = "cloud-volume",
    }
}

impl DriveKind {
    /// Returns the words that messages use.
    pub fn words(self) -> &'static str {
        match self {
            Self::SolidState => "SSD",
            Self::Disk => "hard disk",
            Self::CloudVolume => "cloud volume",
        }
    }
}

/// The connector of a drive or port: the maximum rate and width of its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connector {
    /// SATA up to a rate.
    Sata(SataRate),
    /// PCI Express up to a generation and a width.
    Pcie(PcieGeneration, u32),
    /// SAS up to a rate, over a number of phys.
    Sas(SasRate, u32),
}

impl Connector {
    /// Returns the connector of each port of a dual-port drive: half of the lanes or phys.
    #[must_use]
    pub fn half(self) -> Self {
        match self {
            Self::Sata(_) => self,
            Self::Pcie(generation, lanes) => Self::Pcie(generation, (lanes / 2).max(1)),
            Self::Sas(rate, phys) => Self::Sas(rate, (phys / 2).max(1)),
        }
    }

    /// Returns whether a drive with this connector fits into a port with the connector `port`. A SATA drive also fits
    /// into a SAS port.
    #[must_use]
    pub fn fits(self, port: Self) -> bool {
        match (self, port) {
            (Self::Sata(_), Self::Sas(..)) => true,
            (own, other) => std::mem::discriminant(&own) == std::mem::discriminant(&other),
        }
    }

    /// Returns the line rate of all lanes or phys in one direction, in bits a second; for PCI Express, the rate after
    /// line coding.
    pub(crate) fn line_rate(self) -> f64 {
        match self {
            Self::Sata(rate) => rate.line_rate().0 as f64,
            Self::Sas(rate, phys) => rate.line_rate().0 as f64 * f64::from(phys),
            Self::Pcie(generation, lanes) => {
                8.0 * generation.lane_rate().0 as f64 * f64::from(lanes)
            }
        }
    }

    /// Returns whether the connector can be split in two.
    fn is_wide(self) -> bool {
        self.half() != self
    }
}

impl std::fmt::Display for Connector {
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
    /// Returns the first error in the file.
    pub fn read(document: &Document, context: Context<'_>) -> Result<Self, StudyError> {
        document.read("drive", Some(context), Self::read_document)
    }

    /// Reads the values on which ratings depend: kind, capacity, protocol and connector of the drive. Returns `None` if
    /// one of them is invalid, and records the error.
    pub(crate) fn read_rated(
        root: &Section<'_>,
    ) -> Result<Option<(DriveKind, (Bytes, ProtocolKind, Connector))>, StudyError> {
        let drive = root.table("drive")?;
        let kind = root.part(|| drive.choice("kind", &DriveKind::NAMES))?;
        let capacity = drive.quantity("capacity")?;
        let port = root.part(|| PortTable::read(&drive))?;
        Ok(kind.zip(port).map(|(kind, port)| (kind, (capacity, port.protocol, port.plug))))
    }

    fn read_document(root: &Section<'_>) -> Result<Self, StudyError> {
        let drive = root.table("drive")?;
        let kind = root.part(|| drive.choice("kind", &DriveKind::NAMES))?;
        let name = drive.text("name")?;
        let capacity = drive.quantity("capacity")?;
        let port = root.part(|| PortTable::read(&drive))?;
        if port.is_some() {
            drive.finish()?;
        }
        // The ratings were already read when the missing values of the file were computed from them.
        root.has("rated");

        // If the kind is invalid, the tables of the file determine how reading continues.
        let kind = kind.unwrap_or(match (root.has("disk"), root.has("cloud")) {
            (true, _) => DriveKind::Disk,
            (false, true) => DriveKind::CloudVolume,
            (false, false) => DriveKind::SolidState,
        });
        let DriveParts { spec, transfer_max } = match kind {
            DriveKind::CloudVolume => {
                let CloudVolume { spec, transfer_max } =
                    cloud::read(&root.table("cloud")?, capacity)?;
                DriveParts { spec, transfer_max }
            }
            DriveKind::SolidState | DriveKind::Disk => parts(root, kind, capacity)?,
        };
        root.finish()?;
        let Some(PortTable { protocol, plug, commands, has_two_ports, payload_max }) = port else {
            return Err(root.error("drive", "the drive does not have a port"));
        };
        Ok(Self { name, protocol, plug, commands, has_two_ports, payload_max, transfer_max, spec })
    }
}

/// The model of a drive, and other values from its tables.
struct DriveParts {
    spec: DriveSpec,
    transfer_max: Option<Bytes>,
}

/// Reads the tables of a solid-state drive or a hard disk.
fn parts(root: &Section<'_>, kind: DriveKind, capacity: Bytes) -> Result<DriveParts, StudyError> {
    let front_end = root.table("front_end")?;
    let buffer = root.table("buffer")?;
    let data_path = root.settings("data_path")?;
    let is_disk = kind == DriveKind::Disk;
    let spec = DriveSpec {
        capacity,
        front_end: FrontEndSpec {
            engines: front_end.integer("engines", 1, 1024)? as u32,
            read_time: front_end.quantity("read_time")?,
            write_time: front_end.quantity("write_time")?,
            read_unit_time: front_end
                .optional_quantity("read_unit_time")?
                .unwrap_or(Duration::ZERO),
            read_latency: front_end.quantity("read_latency")?,
            miss_latency: front_end.optional_quantity("miss_latency")?.unwrap_or(Duration::ZERO),
            write_latency: front_end.quantity("write_latency")?,
            flush_latency: front_end.optional_quantity("flush_latency")?.unwrap_or(Duration::ZERO),
        },
        buffer: buffer.quantity("capacity")?,
        write_cache: buffer.setting("power_loss", &WriteCacheMode::NAMES)?.unwrap_or_default(),
        read_ahead: buffer.optional_quantity("read_ahead")?.unwrap_or_default(),
        data_path_read: data_path.optional_quantity("read")?,
        data_path_write: data_path.optional_quantity("write")?,
        media: if is_disk {
            MediaSpec::Disk(disk::read(&root.table("disk")?)?)
        } else {
            MediaSpec::Flash(flash::read(root)?)
        },
        power: power::drive(root, is_disk)?,
    };
    let transfer_max = front_end.optional_quantity("transfer_max")?;
    front_end.finish()?;
    buffer.finish()?;
    data_path.finish()?;
    Ok(DriveParts { spec, transfer_max })
}

/// The table `[drive.port]`.
struct PortTable {
    protocol: ProtocolKind,
    plug: Connector,
    commands: SataCommands,
    has_two_ports: bool,
    payload_max: Option<Bytes>,
}

impl PortTable {
    fn read(drive: &Section<'_>) -> Result<Self, StudyError> {
        let port = drive.table("port")?;
        let protocols = [
            ("ahci", ProtocolKind::Ahci),
            ("nvme", ProtocolKind::Nvme),
            ("sas", ProtocolKind::SasHba),
        ];
        let protocol = port.part(|| port.choice("protocol", &protocols))?;
        let mut payload_max = None;
        let plug = plug_with(&port, |pcie| {
            let size = pcie.optional_quantity("payload_max")?;
            let checked = |size| packet_size(pcie, "payload_max", size, Bytes::kibi(4));
            payload_max = size.map(checked).transpose()?;
            Ok(())
        })?;
        let fits = match protocol {
            Some(ProtocolKind::Ahci) => !matches!(plug, Connector::Sas(..)),
            Some(ProtocolKind::Nvme) => matches!(plug, Connector::Pcie(..)),
            Some(ProtocolKind::SasHba) => matches!(plug, Connector::Sas(..)),
            Some(_) => false,
            None => true,
        };
        let Some(protocol) = protocol.filter(|_| fits) else {
            let message = match protocol {
                Some(protocol) => format!("{} does not run over {plug}", protocol.name()),
                None => format!("no protocol for {plug}"),
            };
            return Err(port.error("protocol", message));
        };
        let commands = commands(&port, plug)?;
        let has_two_ports = has_two_ports(&port, plug)?;
        port.finish()?;
        Ok(Self { protocol, plug, commands, has_two_ports, payload_max })
    }
}

/// Reads `commands = "queued" | "unqueued" | "pio"` of a drive's port.
fn commands(port: &Section<'_>, plug: Connector) -> Result<SataCommands, StudyError> {
    let commands = port.setting("commands", &SataCommands::NAMES)?.unwrap_or(SataCommands::Queued);
    if commands == SataCommands::Pio && !matches!(plug, Connector::Sata(_)) {
        return Err(
            port.error("commands", format!("PIO is a mode of SATA and does not run over {plug}"))
        );
    }
    Ok(commands)
}

/// Reads `ports` of a drive's port, and returns whether the drive has two ports.
fn has_two_ports(port: &Section<'_>, plug: Connector) -> Result<bool, StudyError> {
    let has_two = port.optional_integer("ports", 1, 2)? == Some(2);
    if has_two && !plug.is_wide() {
        let message = format!("ports = 2: {plug} cannot be split in two");
        return Err(port
            .error("ports", message)
            .hint("a drive with two ports has PCIe lanes or SAS phys for both"));
    }
    Ok(has_two)
}

/// Reads `sata = "6 Gb/s"`, `pcie = { generation, lanes }` or `sas = { rate, phys }` of a platform's port.
pub fn plug(port: &Section<'_>) -> Result<Connector, StudyError> {
    plug_with(port, |_| Ok(()))
}

/// Reads the connector of a port. `rest` reads the other keys of the port's `pcie` table.
fn plug_with(
    port: &Section<'_>,
    rest: impl FnOnce(&Section<'_>) -> Result<(), StudyError>,
) -> Result<Connector, StudyError> {
    let sata: Option<BitsPerSecond> = port.optional_quantity("sata")?;
    let pcie = port.optional_table("pcie")?;
    let sas = port.optional_table("sas")?;
    match (sata, pcie, sas) {
        (Some(rate), None, None) => match SataRate::new(rate) {
            Some(rate) => Ok(Connector::Sata(rate)),
            None => {
                Err(port.error("sata", format!("sata = {rate}: SATA runs at 1.5, 3 or 6 Gb/s")))
            }
        },
        (None, Some(pcie), None) => {
            let (generation, lanes) = pcie_width(&pcie)?;
            rest(&pcie)?;
            pcie.finish()?;
            Ok(Connector::Pcie(generation, lanes))
        }
        (None, None, Some(sas)) => sas_width(&sas),
        (None, None, None) => {
            let message = "one of `sata`, `pcie` and `sas` is required";
            Err(StudyError::new(port.location(), message)
                .hint("write sata = \"6 Gb/s\" or pcie = { generation = 3, lanes = 4 }"))
        }
        _ => Err(StudyError::new(port.location(), "a port is one of `sata`, `pcie` and `sas`")),
    }
}

fn sas_width(section: &Section<'_>) -> Result<Connector, StudyError> {
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
    Ok(Connector::Sas(rate, phys))
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

/// Checks that `size`, the value of `key`, is a power of two from 64 B to `most`.
pub fn packet_size(
    section: &Section<'_>,
    key: &str,
    size: Bytes,
    most: Bytes,
) -> Result<Bytes, StudyError> {
    if size.get().is_power_of_two() && (Bytes(64)..=most).contains(&size) {
        return Ok(size);
    }
    let message = format!("{key} = {size}: must be a power of two from 64 B to {most}");
    Err(section.error(key, message))
}

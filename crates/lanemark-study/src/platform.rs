//! `library/platforms/*.toml`: a host with its processor, protocols, links and ports.

use lanemark_schema::units::{Bytes, Duration, Ratio};
use lanemark_schema::workload::bound::QUEUE_DEPTH;
use lanemark_sim::link::{LinkModel, LinkSpec, Pcie, PcieSetup};
use lanemark_sim::spec::{
    ADAPTER_CACHE_DEPTH_MAX, ADAPTER_CACHE_GATHER_MAX, ADAPTER_CACHE_MAX, AdapterCacheSpec,
    AdapterSpec, CROWDED_MAX, CpuSpec, DataWorkSpec, HostPower, JournalSpec, OverloadCost,
    ProtocolKind, ProtocolSpec, SLOT,
};

use crate::document::{Context, Document, Section};
use crate::drive::{Connector, pcie_width, plug};
use crate::error::StudyError;
use crate::host;
pub use crate::links::NamedLink;
use crate::links::packets;
use crate::power;
use crate::topology;
use crate::usb;

/// The number of commands in the only list of an AHCI port.
pub const AHCI_DEPTH: u32 = 32;
/// The number of commands that Linux's `uas` permits for a bridge with 32 streams (drivers/usb/storage/uas.c).
const UASP_DEPTH: u32 = 30;
/// The number of commands that a SAS drive accepts.
pub const SAS_DEPTH: u32 = 256;
const NVME_QUEUES_MAX: u64 = 65_535;

/// A platform of the library.
#[derive(Clone, Debug, PartialEq)]
pub struct Platform {
    /// The display name, which includes the host.
    pub name: String,
    /// The display name without the host.
    pub board: String,
    /// Processor of the platform.
    pub cpu: CpuSpec,
    /// The power of the platform without its drives, if it is known.
    pub power: Option<HostPower>,
    /// The journal of the file system, if a flush is an `fsync` of a file.
    pub journal: Option<JournalSpec>,
    /// Protocols of the driver stack, with their times.
    pub protocols: Vec<ProtocolSpec>,
    /// Ports for drives.
    pub ports: Vec<Port>,
}

/// A port of a platform, for a drive.
#[derive(Clone, Debug, PartialEq)]
pub struct Port {
    /// Name of the port.
    pub name: String,
    /// Connector of the port.
    pub plug: Connector,
    /// Protocol of a SATA port's controller.
    pub controller: ProtocolKind,
    /// Packet settings for PCI Express drives in the port.
    pub packets: PcieSetup,
    /// The latency of the port's own link, in addition to its transfer time.
    pub latency: Duration,
    /// The links between the port and the processor, nearest to the processor first.
    pub behind: Vec<NamedLink>,
}

impl Platform {
    /// Reads a platform file.
    ///
    /// # Errors
    /// Returns the first error in the file.
    pub fn read(document: &Document, context: Context<'_>) -> Result<Self, StudyError> {
        let mut platform = document.read("platform", Some(context), Self::read_document)?;
        platform.board = document.without_host(&platform.name).to_owned();
        Ok(platform)
    }

    fn read_document(root: &Section<'_>) -> Result<Self, StudyError> {
        let platform = root.table("platform")?;
        let name = platform.text("name")?;
        platform.finish()?;
        let cpu = root.table("cpu")?;
        let pace = Pace::read(&cpu)?;
        let cpu_spec = CpuSpec {
            cores: cpu.integer("cores", 1, 1024)? as u32,
            request_submit: pace.of(cpu.quantity("request_submit")?),
            write_submit: pace.of(cpu.optional_quantity("write_submit")?.unwrap_or_default()),
            request_complete: pace.of(cpu.quantity("request_complete")?),
            pin_per_mib: pace.of(cpu.optional_quantity("pin_per_mib")?.unwrap_or_default()),
            read_work: pace.of_work(data_work(&cpu, "read_work", "read_work_per_mib")?),
            write_work: pace.of_work(data_work(&cpu, "write_work", "write_work_per_mib")?),
            io_threads: cpu.optional_integer("io_threads", 0, 1024)?.unwrap_or_default() as u32,
            wake: cpu.optional_quantity("wake")?.unwrap_or_default(),
            idle_after: cpu.optional_quantity("idle_after")?.unwrap_or_default(),
            deep_wake: cpu.optional_quantity("deep_wake")?.unwrap_or_default(),
            deep_idle_after: cpu.optional_quantity("deep_idle_after")?.unwrap_or_default(),
            thread_growth: cpu.optional_quantity("thread_growth")?.unwrap_or(Ratio::ZERO),
        };
        cpu.finish()?;
        let power = power::host(root)?;
        let journal = file_system(root)?;
        let mut protocols = Vec::new();
        let kinds = [
            ProtocolKind::Ahci,
            ProtocolKind::Nvme,
            ProtocolKind::AtaDma,
            ProtocolKind::SasHba,
            ProtocolKind::Uasp,
            ProtocolKind::BulkOnly,
        ];
        for kind in kinds {
            if let Some(section) = root.optional_table(table_of(kind))? {
                protocols.push(protocol(&section, kind, pace)?);
            }
        }
        let links = root.read_tables("link", |section, links: &[NamedLink]| {
            let link = link(section)?;
            topology::check_link(&link, links).map_err(|message| section.error("name", message))?;
            Ok(link)
        })?;
        let ports = root.read_tables("port", |section, ports: &[Port]| {
            let port = port(section, &links)?;
            if ports.iter().any(|other| other.name == port.name) {
                return Err(section.error("name", format!("port `{}` is defined twice", port.name)));
            }
            let fail = |message| section.error("behind", message);
            topology::check_way(&port.name, &port.behind, ports, fail)?;
            Ok(port)
        })?;
        root.finish()?;
        Ok(Self { board: name.clone(), name, cpu: cpu_spec, power, journal, protocols, ports })
    }
}

/// The ratio by which the processor times of a host file are longer on this platform's processor. A host file states
/// the speed of the processor for which its times hold (`times_for`). The times in a platform file hold for its own
/// processor, so this key is absent.
#[derive(Clone, Copy)]
struct Pace(f64);

impl Pace {
    fn read(cpu: &Section<'_>) -> Result<Self, StudyError> {
        let own = host::processor_speed(cpu, "speed")?;
        let stated = host::processor_speed(cpu, "times_for")?;
        Ok(Self(own.zip(stated).map_or(1.0, |(own, stated)| stated / own)))
    }

    fn of(self, time: Duration) -> Duration {
        Duration::from_picoseconds((time.picoseconds() as f64 * self.0).round() as u64)
    }

    fn of_work(self, work: DataWorkSpec) -> DataWorkSpec {
        DataWorkSpec { command_time: self.of(work.command_time), per_mib: self.of(work.per_mib) }
    }
}

fn data_work(
    cpu: &Section<'_>,
    command_time: &str,
    per_mib: &str,
) -> Result<DataWorkSpec, StudyError> {
    Ok(DataWorkSpec {
        command_time: cpu.optional_quantity(command_time)?.unwrap_or_default(),
        per_mib: cpu.optional_quantity(per_mib)?.unwrap_or_default(),
    })
}

/// Reads `[file_system]`, the journal that a flush commits: `journal_records`, `journal_commit` and `timestamp_step`.
fn file_system(root: &Section<'_>) -> Result<Option<JournalSpec>, StudyError> {
    let Some(section) = root.optional_table("file_system")? else { return Ok(None) };
    let spec = JournalSpec {
        records: section.quantity("journal_records")?,
        commit: section.quantity("journal_commit")?,
        timestamp_step: section.quantity("timestamp_step")?,
    };
    section.finish()?;
    Ok(Some(spec))
}

/// Returns the table of a platform file that describes a protocol's driver.
pub fn table_of(kind: ProtocolKind) -> &'static str {
    match kind {
        ProtocolKind::Ahci => "ahci",
        ProtocolKind::Nvme => "nvme",
        ProtocolKind::AtaDma => "ata_dma",
        ProtocolKind::SasHba => "sas",
        ProtocolKind::Uasp => "uasp",
        ProtocolKind::BulkOnly => "bulk_only",
    }
}

fn protocol(
    section: &Section<'_>,
    kind: ProtocolKind,
    pace: Pace,
) -> Result<ProtocolSpec, StudyError> {
    let transfer_max = section.quantity("transfer_max")?;
    let spec = match kind {
        // All processor time is spent before the command is sent, and the controller does not read commands from
        // memory.
        ProtocolKind::AtaDma => ProtocolSpec {
            kind,
            queues: 1,
            queue_depth: 1,
            read_time: section.quantity("read_time")?,
            write_time: section.quantity("write_time")?,
            submit_share: Ratio::ONE,
            transfer_max,
            memory_read: Duration::ZERO,
            interrupt_time: Duration::ZERO,
            adapter: None,
        },
        ProtocolKind::Ahci
        | ProtocolKind::Nvme
        | ProtocolKind::SasHba
        | ProtocolKind::Uasp
        | ProtocolKind::BulkOnly => {
            let driver_time = pace.of(section.quantity("driver_time")?);
            let (queues, queue_depth) = match kind {
                ProtocolKind::Nvme => (
                    section.integer("queues", 1, NVME_QUEUES_MAX)? as u32,
                    section.bounded("queue_depth", QUEUE_DEPTH)?,
                ),
                ProtocolKind::SasHba => (1, SAS_DEPTH),
                ProtocolKind::Uasp => (1, UASP_DEPTH),
                ProtocolKind::BulkOnly => (1, 1),
                ProtocolKind::Ahci | ProtocolKind::AtaDma => (1, AHCI_DEPTH),
            };
            ProtocolSpec {
                kind,
                queues,
                queue_depth,
                read_time: driver_time,
                write_time: driver_time,
                submit_share: section.quantity("submit_share")?,
                transfer_max,
                memory_read: section.quantity("memory_read")?,
                interrupt_time: section.optional_quantity("interrupt_time")?.unwrap_or_default(),
                adapter: adapter(section, kind, transfer_max)?,
            }
        }
    };
    section.finish()?;
    Ok(spec)
}

/// Reads the `adapter` of `[sas]`, whose maximum command size is `transfer_max`: `command_time`, `cache`, and, for an
/// adapter that slows down with many commands, `crowded` and `crowded_time`.
fn adapter(
    section: &Section<'_>,
    kind: ProtocolKind,
    transfer_max: Bytes,
) -> Result<Option<AdapterSpec>, StudyError> {
    if kind != ProtocolKind::SasHba {
        return Ok(None);
    }
    let Some(table) = section.optional_table("adapter")? else { return Ok(None) };
    let command_time = table.quantity("command_time")?;
    let crowded = if table.has("crowded") || table.has("crowded_time") {
        Some(OverloadCost {
            above: table.integer("crowded", 1, CROWDED_MAX.into())? as u32,
            command_time: table.quantity("crowded_time")?,
        })
    } else {
        None
    };
    if let Some(crowded) = crowded.filter(|crowded| crowded.command_time < command_time) {
        let OverloadCost { command_time: slow, .. } = crowded;
        let message =
            format!("crowded_time = {slow}: must be at least command_time, {command_time}");
        return Err(table.error("crowded_time", message).hint(
            "an adapter with many commands outstanding must be slower; otherwise omit `crowded`",
        ));
    }
    let cache = table.optional_table("cache")?;
    let cache = cache.map(|cache| adapter_cache(&cache, transfer_max)).transpose()?;
    table.finish()?;
    Ok(Some(AdapterSpec { command_time, crowded, cache }))
}

/// Reads the `cache` of a RAID adapter whose maximum command size is `transfer_max`: `size`, `gather` and `depth`.
fn adapter_cache(table: &Section<'_>, transfer_max: Bytes) -> Result<AdapterCacheSpec, StudyError> {
    let size: Bytes = table.quantity("size")?;
    if size < transfer_max || size > ADAPTER_CACHE_MAX {
        let message = format!("size = {size}: must be from {transfer_max} to {ADAPTER_CACHE_MAX}");
        return Err(table
            .error("size", message)
            .hint(format!("the largest command, transfer_max = {transfer_max}, must fit")));
    }
    let gather: Bytes = table.quantity("gather")?;
    let lines = gather > Bytes::ZERO && gather.get().is_multiple_of(SLOT.get());
    if !lines || gather > ADAPTER_CACHE_GATHER_MAX {
        let message = format!(
            "gather = {gather}: must be a multiple of {SLOT} up to {ADAPTER_CACHE_GATHER_MAX}"
        );
        return Err(table
            .error("gather", message)
            .hint("it is the length of the largest write to a drive, which combines neighbours"));
    }
    let depth = table.integer("depth", 1, ADAPTER_CACHE_DEPTH_MAX.into())? as u32;
    table.finish()?;
    Ok(AdapterCacheSpec { size, gather, depth })
}

/// Reads a link between the processor and the ports.
fn link(section: &Section<'_>) -> Result<NamedLink, StudyError> {
    if section.has("behind") {
        return Err(section
            .error("behind", "a link does not state its position, because the ports state it")
            .hint("list the links on each port's path in the port's `behind` key, nearest to the processor first"));
    }
    let name = section.text("name")?;
    let to = section.optional_text("to")?.unwrap_or_else(|| name.clone());
    let pcie = section.table("pcie")?;
    let (generation, lanes) = pcie_width(&pcie)?;
    pcie.finish()?;
    let setup = packets(section)?;
    let latency: Duration = section.quantity("latency")?;
    let pcie = Pcie::with_setup(generation, lanes, latency, &setup);
    let spec =
        LinkSpec { name: section.text("label")?, model: LinkModel::Pcie(pcie), latency, speed: 1 };
    section.finish()?;
    Ok(NamedLink { name, to, spec })
}

fn port(section: &Section<'_>, links: &[NamedLink]) -> Result<Port, StudyError> {
    let name = section.text("name")?;
    let enclosure = if section.has("usb") { Some(usb::enclosure(section, &name)?) } else { None };
    let plug = enclosure.as_ref().map_or_else(|| plug(section), |one| Ok(one.plug))?;
    let packets = match (&enclosure, plug) {
        (Some(one), _) => one.packets,
        (None, Connector::Pcie(..)) => Some(packets(section)?),
        (None, Connector::Sata(_) | Connector::Sas(..)) => None,
    };
    let mut behind = Vec::new();
    for name in section.texts("behind")? {
        let Some(link) = links.iter().find(|link| link.name == name) else {
            let known = links.iter().map(|link| link.name.as_str());
            return Err(StudyError::unknown(section.location_of("behind"), "link", &name, known));
        };
        behind.push(link.clone());
    }
    let controller = if let Some(enclosure) = &enclosure {
        enclosure.protocol
    } else if matches!(plug, Connector::Sas(..)) {
        ProtocolKind::SasHba
    } else if section.has("controller") {
        section.choice(
            "controller",
            &[
                ("ahci", ProtocolKind::Ahci),
                ("ata-dma", ProtocolKind::AtaDma),
                ("sas", ProtocolKind::SasHba),
            ],
        )?
    } else {
        ProtocolKind::Ahci
    };
    behind.extend(enclosure.into_iter().flat_map(|one| one.links));
    let alone = !matches!(plug, Connector::Pcie(..)) && behind.is_empty();
    if alone && controller != ProtocolKind::AtaDma {
        return Err(section
            .error("name", "a SATA or SAS port is downstream of the link of its controller")
            .hint("name that link in `behind`"));
    }
    let port = Port {
        name,
        plug,
        controller,
        packets: packets.unwrap_or(PcieSetup::new(Bytes(128), Bytes(512))),
        latency: section.optional_quantity("latency")?.unwrap_or_default(),
        behind,
    };
    section.finish()?;
    Ok(port)
}

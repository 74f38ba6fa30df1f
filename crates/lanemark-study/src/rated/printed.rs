//! Ratings on a drive's box and in its data sheet, as in `[rated]` of a drive file, and the contradictions between
//! them.

use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, Ratio};
use lanemark_sim::spec::{ProtocolKind, Technology};

use crate::document::Section;
use crate::drive::Connector;
use crate::error::StudyError;

/// The length of a rated random request, in bytes.
pub(crate) const PAGE: f64 = 4096.0;

lanemark_schema::named_enum! {
    /// The market of a drive.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Market {
        /// Client computers. Random writes are rated on a drive with erased flash.
        Client = "client",
        /// Servers. Random writes are rated in steady state, and data in the buffer survives a power failure.
        DataCenter = "data-center",
    }
}

lanemark_schema::named_enum! {
    /// The location of a drive's map.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum MapMemory {
        /// The whole map is in the drive's own memory.
        Dram = "dram",
        /// A part of the map is in host memory.
        Host = "host",
        /// A small part of the map is in the controller, and the rest is in flash.
        None = "none",
    }
}

/// The ratings on a drive's box and in its data sheet. Rates are in bytes a second, and latencies in seconds.
#[derive(Clone, Debug, PartialEq)]
pub struct BoxRatings {
    /// Capacity in bytes.
    pub capacity: f64,
    /// Protocol of the drive.
    pub protocol: ProtocolKind,
    /// Throughput of the link after its line coding, in bytes a second.
    pub link: f64,
    /// Generation of the drive's PCIe link, if the drive has one.
    pub generation: Option<u64>,
    /// Year in which the drive was released.
    pub year: u64,
    /// Market of the drive.
    pub market: Market,
    /// Technology of the cells, if it is stated.
    pub technology: Option<Technology>,
    /// Location of the map.
    pub memory: MapMemory,
    /// Sequential reads.
    pub read: Option<f64>,
    /// Sequential writes.
    pub write: Option<f64>,
    /// Random reads of 4 KiB a second, at a sufficient queue depth.
    pub random_read: Option<f64>,
    /// Random writes of 4 KiB a second, on erased flash or in steady state, depending on the drive's market.
    pub random_write: Option<f64>,
    /// Latency of a random read of 4 KiB with no other request outstanding.
    pub one_read: Option<f64>,
    /// Latency of a random write of 4 KiB with no other request outstanding.
    pub one_write: Option<f64>,
    /// Sequential writes when the cache is full.
    pub steady_write: Option<f64>,
    /// Random writes of 4 KiB a second in steady state.
    pub steady_random_write: Option<f64>,
    /// Capacity of the drive's pseudo-SLC cache.
    pub pseudo_slc: Option<f64>,
    /// The part of the cache that remains on a full drive.
    pub pseudo_slc_kept: Option<f64>,
    /// Published time of a 4 KiB write with a flush, with no other request outstanding.
    pub flush: Option<f64>,
    /// The ratio to which the drive compressed the data in its write ratings.
    pub compresses_to: Option<f64>,
    /// Ratings of a hard disk.
    pub disk: RatedDisk,
}

/// The values in a hard disk's data sheet other than rates.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RatedDisk {
    /// Revolutions a minute.
    pub rpm: Option<u64>,
    /// Number of heads.
    pub heads: Option<u64>,
    /// Average seek time of reads and writes, in seconds.
    pub average_seek: Option<f64>,
    /// Average seek time of writes, in seconds.
    pub average_write_seek: Option<f64>,
    /// Seek time to the next track, in seconds.
    pub track_to_track: Option<f64>,
    /// Cache capacity in bytes.
    pub cache: Option<f64>,
}

/// The capacity from which hard disks have the design of server disks (helium, many platters), regardless of the label.
const SERVER_DISK: Bytes = Bytes(8_000_000_000_000);

/// The capacities in GB of drives with spare flash for collection. Some client drives also have these capacities.
const SERVER_CAPACITIES: [u64; 21] = [
    100, 200, 240, 300, 400, 480, 600, 800, 960, 1_200, 1_600, 1_920, 3_200, 3_840, 6_400, 7_680,
    12_800, 15_360, 25_600, 30_720, 61_440,
];
/// The maximum capacity of a solid-state drive, in bytes. It leaves room for spare flash within the 16 TiB that the
/// simulator can address.
const CAPACITY_MOST: f64 = 16e12;

/// Maximum ratio of rated random writes to random reads for which an NVMe drive with one of these capacities is assumed
/// to be rated in steady state. A fresh drive completes about as many writes as reads, and collection reduces the rate
/// of writes to a small part.
const STEADY_SHARE_NVME: f64 = 0.5;
/// The maximum ratio for SATA. It is below the ratios of two 480 GB client drives, which are 0.39 and 0.44 (Kingston
/// UV400, UV500).
const STEADY_SHARE_SATA: f64 = 0.38;
/// The maximum ratio for a drive of any capacity.
const STEADY_SHARE_ANY: f64 = 0.25;
/// The year from which [`STEADY_SHARE_ANY`] applies; controllers no longer limited random writes by then.
const STEADY_SHARE_FROM: u64 = 2014;

/// Returns the market of a drive whose file does not state it. The market is determined by the connector and the
/// capacity and, for solid-state drives, by the rated random `reads` and `writes`.
fn usual_market(
    is_disk: bool,
    capacity: Bytes,
    protocol: ProtocolKind,
    reads: Option<f64>,
    writes: Option<f64>,
    year: u64,
) -> Market {
    let share = reads.zip(writes).map_or(1.0, |(reads, writes)| writes / reads);
    let gigabytes = (capacity.get() as f64 / 1e9).round() as u64;
    let bound = if protocol == ProtocolKind::Nvme { STEADY_SHARE_NVME } else { STEADY_SHARE_SATA };
    let is_steady = if SERVER_CAPACITIES.contains(&gigabytes) {
        share < bound
    } else {
        share < STEADY_SHARE_ANY && year >= STEADY_SHARE_FROM
    };
    let server = if is_disk {
        protocol == ProtocolKind::SasHba || capacity > SERVER_DISK
    } else {
        protocol == ProtocolKind::SasHba || is_steady
    };
    if server { Market::DataCenter } else { Market::Client }
}

impl BoxRatings {
    /// Reads the table `[rated]` of a drive file; returns `None` if there is no such table.
    pub(crate) fn read(
        root: &Section<'_>,
        is_disk: bool,
        capacity: Bytes,
        protocol: ProtocolKind,
        plug: Connector,
    ) -> Result<Option<Self>, StudyError> {
        let Some(section) = root.optional_table("rated")? else { return Ok(None) };
        let rate = |key: &str| -> Result<Option<f64>, StudyError> {
            Ok(section.optional_quantity::<BytesPerSecond>(key)?.map(|rate| rate.0 as f64))
        };
        let time = |key: &str| -> Result<Option<f64>, StudyError> {
            Ok(section.optional_quantity::<Duration>(key)?.map(Duration::as_seconds))
        };
        let count = |key: &str, most: u64| -> Result<Option<f64>, StudyError> {
            Ok(section.optional_integer(key, 1, most)?.map(|count| count as f64))
        };
        let size = |key: &str| -> Result<Option<f64>, StudyError> {
            Ok(section.optional_quantity::<Bytes>(key)?.map(|size| size.get() as f64))
        };
        const IOPS_MAX: u64 = 1_000_000_000;
        let one_read = count("random_read_qd1", IOPS_MAX)?;
        let latency = time("read_latency")?;
        let one_write = count("random_write_qd1", IOPS_MAX)?;
        let write_latency = time("write_latency")?;
        let mut wrong = Vec::new();
        for (iops, latency, keys) in [
            (one_read, latency, ("random_read_qd1", "read_latency")),
            (one_write, write_latency, ("random_write_qd1", "write_latency")),
        ] {
            if iops.is_some() && latency.is_some() {
                let message = format!("`{}` and `{}` rate the same property", keys.0, keys.1);
                wrong.push(section.error(keys.1, message).hint("omit one of them"));
            }
        }
        let technology =
            if section.has("nand") { section.setting("nand", &Technology::NAMES)? } else { None };
        let year = section.optional_integer("year", 1990, 2100)?.unwrap_or(plug.usual_year());
        let random_read = count("random_read", IOPS_MAX)?;
        let random_write = count("random_write", IOPS_MAX)?;
        let rated = Self {
            capacity: capacity.get() as f64,
            protocol,
            link: plug.rate(),
            generation: plug.generation(),
            year,
            market: section.setting("market", &Market::NAMES)?.unwrap_or(usual_market(
                is_disk,
                capacity,
                protocol,
                random_read,
                random_write,
                year,
            )),
            technology,
            memory: section.setting("memory", &MapMemory::NAMES)?.unwrap_or(MapMemory::Dram),
            read: rate("read")?,
            write: rate("write")?,
            random_read,
            random_write,
            one_read: one_read.map(|iops| 1.0 / iops).or(latency),
            one_write: one_write.map(|iops| 1.0 / iops).or(write_latency),
            steady_write: rate("steady_write")?,
            steady_random_write: count("steady_random_write", IOPS_MAX)?,
            pseudo_slc: size("pseudo_slc")?,
            pseudo_slc_kept: size("pseudo_slc_kept")?,
            flush: time("flush")?,
            compresses_to: compression(&section)?,
            disk: RatedDisk {
                rpm: section.optional_integer("rpm", 1_000, 50_000)?,
                heads: section.optional_integer("heads", 1, 64)?,
                average_seek: time("average_seek")?,
                average_write_seek: time("average_write_seek")?,
                track_to_track: time("track_to_track")?,
                cache: size("cache")?,
            },
        };
        rated.contradictions(&section, plug, is_disk, &mut wrong);
        section.finish()?;
        match wrong.split_first() {
            Some((first, others)) => Err(section.wrong(first.clone(), others)),
            None => Ok(Some(rated)),
        }
    }

    /// Adds the ratings that contradict each other or the link to `wrong`.
    fn contradictions(
        &self,
        section: &Section<'_>,
        plug: Connector,
        is_disk: bool,
        wrong: &mut Vec<StudyError>,
    ) {
        let megabytes = |rate: f64| format!("{:.0} MB/s", rate / 1e6);
        let mut beyond = |key: &str, rate: f64, text: String, most: f64, bound_text: String| {
            if rate > most {
                wrong.push(section.error(key, format!("{key} = {text}: {bound_text}")));
            }
        };
        let bound_text =
            format!("{plug} carries at most {} after its line code", megabytes(self.link));
        for (key, rate) in [("read", self.read), ("write", self.write)] {
            let Some(rate) = rate else { continue };
            beyond(key, rate, megabytes(rate), self.link, bound_text.clone());
        }
        let random = [
            ("random_read", self.random_read, ("read", self.read)),
            ("random_write", self.random_write, ("write", self.write)),
            ("steady_random_write", self.steady_random_write, ("write", self.write)),
        ];
        for (key, iops, (sequential, rate)) in random {
            let Some(iops) = iops else { continue };
            let bytes = iops * PAGE;
            let text = format!("{iops:.0}");
            let of = format!("{} of 4 KiB requests, ", megabytes(bytes));
            match rate {
                Some(rate) if bytes > 1.1 * rate && bytes <= self.link => {
                    let bound_text = format!("{of}more than {sequential} = {}", megabytes(rate));
                    beyond(key, bytes, text, rate, bound_text);
                }
                _ => beyond(key, bytes, text, self.link, format!("{of}and {bound_text}")),
            }
        }
        for (key, one, (all, rate)) in [
            ("random_read_qd1", self.one_read, ("random_read", self.random_read)),
            ("random_write_qd1", self.one_write, ("random_write", self.random_write)),
        ] {
            let (Some(one), Some(rate)) = (one, rate) else { continue };
            let rated_steady = key == "random_write_qd1" && self.market == Market::DataCenter;
            if 1.0 / one > 1.001 * rate && !rated_steady {
                let bound_text = format!("more than {all} = {rate:.0}, with many outstanding");
                beyond(key, 1.0 / one, format!("{:.0}", 1.0 / one), rate, bound_text);
            }
        }
        if let (Some(steady), Some(write)) = (self.steady_write, self.write)
            && steady > write
        {
            let bound_text = format!("more than write = {}", megabytes(write));
            beyond("steady_write", steady, megabytes(steady), write, bound_text);
        }
        if self.capacity > CAPACITY_MOST && !is_disk {
            let terabytes = self.capacity / 1e12;
            let message = format!("capacity = {terabytes:.2} TB: at most 16 TB can be simulated");
            let hint = "a capacity of 15360 GB with the same ratings is as fast";
            wrong.push(section.error("capacity", message).hint(hint));
        }
        let disk = [
            ("rpm", self.disk.rpm.is_some()),
            ("heads", self.disk.heads.is_some()),
            ("average_seek", self.disk.average_seek.is_some()),
            ("average_write_seek", self.disk.average_write_seek.is_some()),
            ("track_to_track", self.disk.track_to_track.is_some()),
            ("cache", self.disk.cache.is_some()),
        ];
        let flash = [
            ("nand", self.technology.is_some()),
            ("pseudo_slc", self.pseudo_slc.is_some()),
            ("pseudo_slc_kept", self.pseudo_slc_kept.is_some()),
            ("compresses_to", self.compresses_to.is_some()),
            ("random_read", self.random_read.is_some()),
            ("random_write", self.random_write.is_some()),
            ("steady_write", self.steady_write.is_some()),
            ("steady_random_write", self.steady_random_write.is_some()),
        ];
        if let Some(kept) = self.pseudo_slc_kept
            && self.pseudo_slc.is_none_or(|all| kept > all)
        {
            let message =
                "`pseudo_slc_kept` must not exceed `pseudo_slc`, because it is a part of it";
            wrong.push(section.error("pseudo_slc_kept", message.to_owned()));
        }
        let (foreign, kind) = if is_disk {
            (flash.as_slice(), "a hard disk")
        } else {
            (disk.as_slice(), "a solid-state drive")
        };
        for (key, _) in foreign.iter().filter(|(_, given)| *given) {
            wrong.push(section.error(key, format!("`{key}` does not affect {kind}")));
        }
    }
}

/// Reads the ratio to which a drive compressed the data of its ratings.
fn compression(section: &Section<'_>) -> Result<Option<f64>, StudyError> {
    let key = "compresses_to";
    let Some(share) = section.optional_quantity::<Ratio>(key)? else { return Ok(None) };
    match share.get() {
        share if share > 0.0 => Ok(Some(share)),
        _ => Err(section.error(key, format!("{key} = {share}: must be above 0%"))),
    }
}

impl Connector {
    /// Returns the rate of the connector in one direction after line coding, in bytes a second.
    fn rate(self) -> f64 {
        match self {
            Self::Sata(rate) => rate.line_rate().0 as f64 / 10.0,
            Self::Pcie(generation, lanes) => generation.lane_rate().0 as f64 * f64::from(lanes),
            Self::Sas(rate, phys) => {
                let line = rate.line_rate().0 as f64;
                // A dword is 40 bits on the wire, or 37.5 bits in packet mode.
                let coded = if line > 2e10 { line / 9.375 } else { line / 10.0 };
                coded * f64::from(phys)
            }
        }
    }

    /// Returns the generation of a PCIe connector.
    fn generation(self) -> Option<u64> {
        match self {
            Self::Pcie(generation, _) => Some(u64::from(generation.number())),
            Self::Sata(_) | Self::Sas(..) => None,
        }
    }

    /// Returns a year in which drives with this connector were common, for a file that does not state the year.
    fn usual_year(self) -> u64 {
        match self {
            Self::Sata(rate) if rate.line_rate().0 <= 3_000_000_000 => 2010,
            Self::Sata(_) => 2017,
            Self::Sas(..) => 2018,
            Self::Pcie(generation, _) => match generation.number() {
                1 | 2 => 2014,
                3 => 2018,
                4 => 2021,
                _ => 2023,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_sim::link::{PcieGeneration, SasRate, SataRate};

    #[test]
    fn a_connector_implies_its_rate_generation_and_usual_year() {
        let pcie = |generation: u64| Connector::Pcie(PcieGeneration::new(generation).unwrap(), 4);
        let sata = |rate| Connector::Sata(rate);
        // A lane of generation 3 transfers 8 GT/s, and 128 of 130 bits are data.
        let gen3 = 8e9 * 128.0 / 130.0 / 8.0;
        let plugs = [
            (sata(SataRate::Gen1), 150e6, None, 2010),
            (sata(SataRate::Gen2), 300e6, None, 2010),
            (sata(SataRate::Gen3), 600e6, None, 2017),
            (Connector::Sas(SasRate::Gen3, 2), 2400e6, None, 2018),
            (pcie(1), 1000e6, Some(1), 2014),
            (pcie(2), 2000e6, Some(2), 2014),
            (pcie(3), 4.0 * gen3, Some(3), 2018),
            (pcie(4), 8.0 * gen3, Some(4), 2021),
            (pcie(5), 16.0 * gen3, Some(5), 2023),
        ];
        for (plug, rate, generation, year) in plugs {
            assert!((plug.rate() / rate - 1.0).abs() < 1e-6, "{}, expected {rate}", plug.rate());
            assert_eq!((plug.generation(), plug.usual_year()), (generation, year), "{rate}");
        }
    }
}

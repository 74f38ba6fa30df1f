//! `library/priors/*.toml`: typical values of components by kind and period, for drives whose own values are unknown.

use std::str::FromStr;

use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, QuantityError, Ratio};
use lanemark_sim::spec::{ProtocolKind, Technology};

use super::printed::{BoxRatings, MapMemory, Market};
use crate::document::{Document, PlaceholderValue, Section};
use crate::error::StudyError;
use crate::flash::{RATIO, ratio};
use crate::library::{Library, LibraryKind};

#[derive(Clone, Debug)]
pub(crate) struct Priors {
    nand: Vec<NandPrior>,
    controllers: Vec<ControllerPrior>,
    caches: Vec<CachePrior>,
    disks: Vec<DiskPrior>,
}

/// A value, with the range that contains 80% of comparable components if the value varies.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Prior {
    /// The value in seconds, bytes or bytes a second, or as a share.
    pub value: f64,
    /// The low and the high bound of the range.
    pub range: Option<[f64; 2]>,
    /// Source of the value, or the reason for it.
    pub why: String,
}

/// The ratio between the read times of the pages in a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PageRatio {
    /// The ratio as text, such as `2:3:2`.
    pub text: String,
    /// Source of the ratio.
    pub why: String,
}

/// A generation of NAND flash.
#[derive(Clone, Debug)]
pub(crate) struct NandPrior {
    /// The display name.
    pub name: String,
    technology: Technology,
    from: u64,
    /// The capacity of a die.
    pub die: Prior,
    /// The capacity of the smaller die in the same generation, in bytes.
    pub die_small: f64,
    /// The number of planes per die.
    pub planes: u64,
    /// The size of a plane's page in bytes.
    pub page: f64,
    /// The number of pages per block.
    pub pages_per_block: u64,
    /// Read time of the array (tR) in seconds.
    pub read: Prior,
    /// The ratio between the read times of the pages in a cell, if it is known.
    pub read_ratio: Option<PageRatio>,
    /// Program time (tPROG) in seconds.
    pub program: Prior,
    /// Erase time (tBERS) in seconds.
    pub erase: f64,
    /// The data rate of a channel.
    pub channel_rate: Prior,
    /// Command cycles in seconds.
    pub command_time: f64,
    /// Read time (tR) of a block with one bit per cell.
    pub slc_read: Prior,
    /// Program time (tPROG) of a block with one bit per cell.
    pub slc_program: Prior,
    /// Whether each plane can read a separate page.
    pub independent_planes: bool,
}

/// Typical values of solid-state drives with one protocol, market and period.
#[derive(Clone, Debug)]
pub(crate) struct ControllerPrior {
    /// The display name.
    pub name: String,
    protocol: ProtocolKind,
    market: Market,
    /// Generation of the drives' PCIe link, if they have one.
    pcie: Option<u64>,
    from: u64,
    /// Technology of the drives' cells.
    pub technology: Technology,
    /// Number of channels.
    pub channels: u64,
    /// Sequential reads.
    pub read: Prior,
    /// Sequential writes.
    pub write: Prior,
    /// Random reads a second.
    pub random_read: Prior,
    /// Random writes a second.
    pub random_write: Prior,
    /// Latency of a read with no other request outstanding.
    pub one_read: Prior,
    /// Latency of a write with no other request outstanding.
    pub one_write: Prior,
    /// Capacity of the write buffer in bytes.
    pub buffer: f64,
    /// Amount of read-ahead in bytes.
    pub read_ahead: f64,
    /// Time of a flush in addition to the program of its data, if a power cut would destroy the data in the buffer.
    pub flush: Option<Prior>,
}

/// Typical pseudo-SLC caches of client drives with one protocol, technology, memory and PCIe generation.
#[derive(Clone, Debug)]
pub(crate) struct CachePrior {
    protocol: ProtocolKind,
    technology: Technology,
    /// Location of the map; `None` for the drives to which no other row applies.
    memory: Option<MapMemory>,
    /// First PCIe generation of the drives, if they have a PCIe link.
    pcie: Option<u64>,
    from: u64,
    /// The capacity of the cache as a share of the drive's capacity.
    pub capacity: Prior,
    /// The rate after the cache is full as a share of the rated sequential writes.
    pub after: Prior,
}

/// Typical values of hard disks with a given rotational speed.
#[derive(Clone, Debug)]
pub(crate) struct DiskPrior {
    /// The display name.
    pub name: String,
    /// Revolutions a minute.
    pub rpm: u64,
    from: u64,
    /// The average seek time of reads.
    pub average_seek: Prior,
    /// The seek time to the next track.
    pub track_to_track: Prior,
    /// The data rate of the outermost tracks.
    pub read: Prior,
    /// The time by which another command must be faster before the firmware of a desktop disk prefers it.
    pub reorder_margin: Prior,
    /// Cache capacity in bytes.
    pub cache: f64,
    /// Number of heads.
    pub heads: u64,
}

impl Priors {
    /// Reads the priors of `library`.
    ///
    /// # Errors
    /// Returns the error of the first file that is missing or invalid.
    pub(crate) fn open(library: &Library) -> Result<Self, StudyError> {
        let [nand, controllers, caches, disks] = ["nand", "controllers", "caches", "disks"]
            .map(|name| library.open(LibraryKind::Prior, name));
        Ok(Self {
            nand: read_rows(&nand?, "nand", nand_row)?,
            controllers: read_rows(&controllers?, "controller", controller_row)?,
            caches: read_rows(&caches?, "cache", cache_row)?,
            disks: read_rows(&disks?, "disk", disk_row)?,
        })
    }

    /// Returns the flash of `technology` in drives of `year`: the latest flash that was available by then, otherwise
    /// the first.
    pub(super) fn nand(&self, technology: Technology, year: u64) -> &NandPrior {
        let candidates: Vec<&NandPrior> =
            self.nand.iter().filter(|nand| nand.technology == technology).collect();
        latest(&candidates, year, |nand| nand.from).unwrap_or(&self.nand[0])
    }

    /// Returns the typical controller with the drive's protocol, market, PCIe generation and year. A new drive with an
    /// older link has the controller of that older link. If there is no controller with the protocol for the market,
    /// the controllers of the other market are used.
    pub(super) fn controller(&self, rated: &BoxRatings) -> &ControllerPrior {
        let rows_of_market = |market: Option<Market>| -> Vec<&ControllerPrior> {
            let fits = |controller: &&ControllerPrior| {
                controller.protocol == rated.protocol
                    && market.is_none_or(|market| controller.market == market)
            };
            of_generation(self.controllers.iter().filter(fits).collect(), rated.generation)
        };
        let latest_of_market =
            latest(&rows_of_market(Some(rated.market)), rated.year, |one| one.from);
        let latest_of_any = || latest(&rows_of_market(None), rated.year, |one| one.from);
        latest_of_market.or_else(latest_of_any).unwrap_or(&self.controllers[0])
    }

    /// Returns the typical pseudo-SLC cache of a client drive with cells of `technology`; `None` if such drives do not
    /// have a cache.
    pub(super) fn cache(&self, rated: &BoxRatings, technology: Technology) -> Option<&CachePrior> {
        let fits = |row: &&CachePrior| {
            row.protocol == rated.protocol
                && row.technology == technology
                && row.memory.is_none_or(|memory| memory == rated.memory)
                && row.from <= rated.year
                && row.pcie.unwrap_or(0) <= rated.generation.unwrap_or(0).max(3)
        };
        let candidates = self.caches.iter().filter(fits);
        let best = candidates.max_by_key(|row| (row.pcie, row.memory.is_some()));
        best.filter(|_| rated.market == Market::Client)
    }

    /// Returns the typical disk in `year` with the most similar rotational speed.
    pub(super) fn disk(&self, rpm: u64, year: u64) -> &DiskPrior {
        let nearest = self.disks.iter().map(|disk| disk.rpm).min_by_key(|disk| disk.abs_diff(rpm));
        let own: Vec<&DiskPrior> =
            self.disks.iter().filter(|disk| Some(disk.rpm) == nearest).collect();
        latest(&own, year, |disk| disk.from).unwrap_or(&self.disks[0])
    }
}

/// Returns the rows for links of this PCIe generation. If there are no such rows, returns the rows of the nearest older
/// generation, then of the nearest newer one, and otherwise all rows.
fn of_generation(rows: Vec<&ControllerPrior>, generation: Option<u64>) -> Vec<&ControllerPrior> {
    let generations = rows.iter().filter_map(|row| row.pcie);
    let nearest = generation.and_then(|generation| {
        let older = generations.clone().filter(|own| *own <= generation).max();
        older.or(generations.min())
    });
    let own: Vec<&ControllerPrior> =
        rows.iter().filter(|row| row.pcie == nearest).copied().collect();
    if own.is_empty() { rows } else { own }
}

/// Returns the last of `rows` that was available by `year`, otherwise the first; the rows are sorted by time.
fn latest<'r, T>(rows: &[&'r T], year: u64, from: impl Fn(&T) -> u64) -> Option<&'r T> {
    let appeared = rows.iter().rfind(|row| from(row) <= year);
    appeared.or(rows.first()).copied()
}

/// Reads all `[[key]]` tables of a priors file.
fn read_rows<T>(
    document: &Document,
    key: &str,
    row: impl Fn(&Section<'_>) -> Result<T, StudyError>,
) -> Result<Vec<T>, StudyError> {
    document.read("priors", None, |root| {
        let about = root.table("priors")?;
        about.text("name")?;
        about.finish()?;
        let rows = root.read_tables(key, |section, _: &[T]| {
            let read_row = row(section)?;
            section.finish()?;
            Ok(read_row)
        })?;
        root.finish()?;
        if rows.is_empty() {
            return Err(root.error(key, format!("there is no [[{key}]]")));
        }
        Ok(rows)
    })
}

fn nand_row(row: &Section<'_>) -> Result<NandPrior, StudyError> {
    let die = prior::<Bytes>(row, "die")?;
    let die_small =
        if row.has("die_small") { prior::<Bytes>(row, "die_small")?.value } else { die.value };
    let technology = row.choice("technology", &Technology::NAMES)?;
    Ok(NandPrior {
        name: row.text("name")?,
        technology,
        from: row.integer("from", 1990, 2100)?,
        die,
        die_small,
        planes: row.integer("planes", 1, 16)?,
        page: page(row)?,
        pages_per_block: row.integer("pages_per_block", 1, 65_536)?,
        read: prior::<Duration>(row, "read")?,
        read_ratio: page_ratio(row, technology)?,
        program: prior::<Duration>(row, "program")?,
        erase: row.quantity::<Duration>("erase")?.as_seconds(),
        channel_rate: prior::<BytesPerSecond>(row, "channel_rate")?,
        command_time: row.quantity::<Duration>("command_time")?.as_seconds(),
        slc_read: prior::<Duration>(row, "slc_read")?,
        slc_program: prior::<Duration>(row, "slc_program")?,
        independent_planes: row.choice("independent_planes", &[("yes", true), ("no", false)])?,
    })
}

fn page_ratio(row: &Section<'_>, technology: Technology) -> Result<Option<PageRatio>, StudyError> {
    let checked = |text: &str| ratio(text, technology.bits()).map(|_| text.to_owned());
    let Some(text) = row.optional_parsed("read_ratio", RATIO, checked)? else { return Ok(None) };
    let (why, _) = row.note_of("read_ratio")?;
    Ok(Some(PageRatio { text, why }))
}

/// Reads the size of a plane's page, in bytes.
fn page(row: &Section<'_>) -> Result<f64, StudyError> {
    let page: Bytes = row.quantity("page")?;
    if page.get().is_power_of_two() {
        Ok(page.get() as f64)
    } else {
        Err(row.error("page", format!("page = {page}: must be a power of two")))
    }
}

/// The protocols for which there are priors.
const PROTOCOLS: [(&str, ProtocolKind); 3] =
    [("ahci", ProtocolKind::Ahci), ("nvme", ProtocolKind::Nvme), ("sas", ProtocolKind::SasHba)];

fn controller_row(row: &Section<'_>) -> Result<ControllerPrior, StudyError> {
    Ok(ControllerPrior {
        name: row.text("name")?,
        protocol: row.choice("protocol", &PROTOCOLS)?,
        market: row.choice("market", &Market::NAMES)?,
        pcie: row.optional_integer("pcie", 1, 7)?,
        from: row.integer("from", 1990, 2100)?,
        technology: row.choice("technology", &Technology::NAMES)?,
        channels: row.integer("channels", 1, 256)?,
        read: prior::<BytesPerSecond>(row, "read")?,
        write: prior::<BytesPerSecond>(row, "write")?,
        random_read: prior::<RequestsPerSecond>(row, "random_read")?,
        random_write: prior::<RequestsPerSecond>(row, "random_write")?,
        one_read: prior::<Duration>(row, "one_read")?,
        one_write: prior::<Duration>(row, "one_write")?,
        buffer: row.quantity::<Bytes>("buffer")?.get() as f64,
        read_ahead: row.quantity::<Bytes>("read_ahead")?.get() as f64,
        flush: row.has("flush").then(|| prior::<Duration>(row, "flush")).transpose()?,
    })
}

fn cache_row(row: &Section<'_>) -> Result<CachePrior, StudyError> {
    row.text("name")?;
    Ok(CachePrior {
        protocol: row.choice("protocol", &PROTOCOLS)?,
        technology: row.choice("technology", &Technology::NAMES)?,
        memory: row.setting("memory", &MapMemory::NAMES)?,
        pcie: row.optional_integer("pcie", 1, 7)?,
        from: row.integer("from", 1990, 2100)?,
        capacity: prior::<Ratio>(row, "capacity")?,
        after: prior::<Ratio>(row, "after")?,
    })
}

fn disk_row(row: &Section<'_>) -> Result<DiskPrior, StudyError> {
    Ok(DiskPrior {
        name: row.text("name")?,
        rpm: row.integer("rpm", 1_000, 50_000)?,
        from: row.integer("from", 1990, 2100)?,
        average_seek: prior::<Duration>(row, "average_seek")?,
        track_to_track: prior::<Duration>(row, "track_to_track")?,
        read: prior::<BytesPerSecond>(row, "read")?,
        reorder_margin: prior::<Duration>(row, "reorder_margin")?,
        cache: row.quantity::<Bytes>("cache")?.get() as f64,
        heads: row.integer("heads", 1, 64)?,
    })
}

/// A quantity that a prior can describe.
trait PriorQuantity: FromStr<Err = QuantityError> + PlaceholderValue {
    fn number(self) -> f64;
}

impl PriorQuantity for Duration {
    fn number(self) -> f64 {
        self.as_seconds()
    }
}
impl PriorQuantity for Bytes {
    fn number(self) -> f64 {
        self.get() as f64
    }
}
impl PriorQuantity for BytesPerSecond {
    fn number(self) -> f64 {
        self.0 as f64
    }
}
impl PriorQuantity for Ratio {
    fn number(self) -> f64 {
        self.get()
    }
}

/// A number of requests a second, without a unit.
#[derive(Clone, Copy, Debug)]
struct RequestsPerSecond(f64);

impl FromStr for RequestsPerSecond {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        // A plain number is parsed as a number of bytes, so that it has the same bounds and messages as any other
        // quantity.
        format!("{} B", text.replace('_', ""))
            .parse::<Bytes>()
            .map(|count| Self(count.get() as f64))
    }
}
impl PlaceholderValue for RequestsPerSecond {
    fn stand_in() -> Self {
        Self(1.0)
    }
}
impl PriorQuantity for RequestsPerSecond {
    fn number(self) -> f64 {
        self.0
    }
}

/// Reads the prior at `key`.
fn prior<T: PriorQuantity>(row: &Section<'_>, key: &str) -> Result<Prior, StudyError> {
    let value = row.quantity::<T>(key)?.number();
    if value <= 0.0 {
        return Err(row.error(key, format!("{key}: must be above 0")));
    }
    let (why, range) = row.note_of(key)?;
    let range = match range {
        None => None,
        Some(ends) => {
            let end = |text: &String| {
                let range_error =
                    |error| row.error(key, format!("range of {key}: {text}: {error}"));
                text.parse::<T>().map(T::number).map_err(range_error)
            };
            Some([end(&ends[0])?, end(&ends[1])?])
        }
    };
    if let Some([low, high]) = range
        && !(low <= value && value <= high && low > 0.0)
    {
        let message =
            format!("range of {key}: it must contain the value and begin with its low end");
        return Err(row.error(key, message));
    }
    Ok(Prior { value, range, why })
}

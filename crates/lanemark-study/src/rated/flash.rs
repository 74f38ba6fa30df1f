//! A solid-state drive from its ratings.

use lanemark_sim::spec::{ProtocolKind, Technology};

use super::completion::{MissingValues, RatingUnit};
use super::flushes::flush;
use super::old_data::{OLD_SHARE, PAGE_RATIO, old_data};
use super::phase_change::phase_change;
use super::printed::{BoxRatings, MapMemory, Market, PAGE};
use super::priors::{CachePrior, ControllerPrior, NandPrior, Prior, Priors};
use super::pseudo_slc::{
    FlashArray, RATED_SPAN, program_after_cache, pseudo_slc, wanted_pseudo_slc,
};
use super::spare::{KEPT_SUPERBLOCKS, amplification, spare_for};

/// Time of a single 4 KiB request on the platform `data-sheet` over NVMe, in seconds: driver, doorbell, command fetch
/// and completion. A test compares it with the simulator.
const HOST_NVME: f64 = 3.6e-6;
/// The corresponding time over AHCI.
const HOST_AHCI: f64 = 10.5e-6;
/// The corresponding time over SAS.
const HOST_SAS: f64 = 6.2e-6;
/// The additional time of a write over NVMe, in seconds.
const WRITE_NVME: f64 = 0.03e-6;
/// The additional time of a write over AHCI, in seconds: the drive requests the data in a round trip.
const WRITE_AHCI: f64 = 0.82e-6;
/// The additional time of a write over SAS, in seconds: the drive requests the data in a round trip.
const WRITE_SAS: f64 = 0.3e-6;
/// The ratio of the flash's throughput to the rating; with a ratio of 1, some dies would be idle while others are busy.
const MARGIN: f64 = 1.25;
/// The assumed minimum time in which flash with one bit per cell reads a part of a page, in seconds. It is between
/// flash made for this purpose (Z-NAND, 3 µs; XL-FLASH, 5 µs) and whole pages in data sheets (20 µs or more).
const SLC_READ_LEAST: f64 = 10e-6;
/// The time of a read whose data was read ahead, in addition to its command, in seconds.
const HIT_LATENCY: f64 = 3e-6;
/// The number of dies below which a drive is assumed to have the smaller dies of its generation.
const DIES_LEAST: f64 = 16.0;
/// The maximum flash capacity that the simulator can address, in bytes: just below 16 TiB.
const FLASH_MOST: f64 = 17.59e12;

/// Completes the file of a solid-state drive.
pub(super) fn complete(rated: &BoxRatings, priors: &Priors, out: &mut MissingValues) {
    let controller = priors.controller(rated);
    let technology = rated.technology.unwrap_or(controller.technology);
    front_end(rated, controller, out);
    if technology == Technology::XPoint {
        return phase_change(rated, controller, out);
    }
    let nand = priors.nand(technology, rated.year);
    let array = array(rated, controller, nand, technology, out);
    let usual = UsualParts { controller, nand, cache: priors.cache(rated, technology) };
    derive_reads(rated, usual, &array, out);
    derive_writes(rated, usual, &array, out);
    map(rated, out);
}

/// Returns the rating, or the value of `prior` if there is no rating.
pub(super) fn rate(rating: Option<f64>, prior: &Prior) -> f64 {
    rating.unwrap_or(prior.value)
}

/// Returns the rating, or the value of `prior` if there is no rating, limited by the throughput of the dies.
fn rate_capped_at(rating: Option<f64>, prior: &Prior, most: f64) -> f64 {
    rating.unwrap_or(prior.value.min(most))
}

pub(super) fn host(protocol: ProtocolKind) -> f64 {
    match protocol {
        ProtocolKind::Nvme => HOST_NVME,
        ProtocolKind::Ahci | ProtocolKind::AtaDma => HOST_AHCI,
        ProtocolKind::SasHba | ProtocolKind::Uasp | ProtocolKind::BulkOnly => HOST_SAS,
    }
}

/// Returns the rated random writes a second in steady state; `None` if they are not rated.
fn steady_write_rate(rated: &BoxRatings) -> Option<f64> {
    rated.steady_random_write.or(match rated.market {
        Market::DataCenter => rated.random_write,
        Market::Client => None,
    })
}

/// Ratio of the time that a read takes for each additional 4 KiB to the time for the first 4 KiB.
const UNIT_SHARE: f64 = 0.55;
/// The maximum share of the time at the sequential rate that the controller may spend on its map.
const UNIT_ROOM: f64 = 0.9;
/// The number of 4 KiB units per command of the rated sequential reads.
const RATED_UNITS: f64 = 32.0;

/// Sets the time of a read for each additional 4 KiB. It is a share of the time for the first 4 KiB, and short enough
/// that sequential reads still reach their rate.
fn unit_time(rated: &BoxRatings, controller: &ControllerPrior, out: &mut MissingValues) {
    let first = 1.0 / rated.random_read.unwrap_or(controller.random_read.value);
    let rate = rated.read.unwrap_or(controller.read.value).min(rated.link);
    let whole = RATED_UNITS * 4096.0 / rate;
    let most = ((whole - first) / (RATED_UNITS - 1.0)).min(whole / RATED_UNITS).max(0.0);
    let time = (UNIT_SHARE * first).min(UNIT_ROOM * most);
    let high = (most / time).min(1.6);
    let high = if high.is_finite() { high } else { 1.0 };
    out.derived_within(
        "front_end.read_unit_time",
        RatingUnit::Time,
        time,
        0.3..=high,
        "each additional 4 KiB takes a lookup: an Intel S4500 is rated at 72,000 4 KiB reads and 48,000 8 KiB reads",
    );
}

/// Sets the times for which commands occupy the controller.
fn front_end(rated: &BoxRatings, controller: &ControllerPrior, out: &mut MissingValues) {
    out.add_assumed(
        "front_end.engines",
        "1".to_owned(),
        "one part of the controller communicates with the host",
    );
    // In a data center drive, collection limits the steady random writes, so the controller can accept more of them.
    let fresh = rated.random_write.filter(|_| rated.market == Market::Client);
    for (place, rating, prior, what) in [
        ("front_end.read_time", rated.random_read, &controller.random_read, "reads"),
        ("front_end.write_time", fresh, &controller.random_write, "writes"),
    ] {
        match rating {
            Some(iops) => {
                let why = format!("{iops:.0} random {what} a second");
                out.derived_within(place, RatingUnit::Time, 1.0 / iops, 0.98..=1.12, why);
            }
            None => out.add_prior(place, RatingUnit::Time, &inverse(prior), 1.0),
        }
    }
    unit_time(rated, controller, out);
    let paths = [
        ("data_path.read", rated.read, &controller.read, "reads"),
        ("data_path.write", rated.write, &controller.write, "writes"),
    ];
    for (place, rating, prior, what) in paths {
        match rating {
            Some(rate) => {
                let why = format!("{:.0} MB/s of sequential {what}", rate / 1e6);
                out.derived_within(place, RatingUnit::Rate, rate, 0.93..=1.01, why);
            }
            None if prior.value < rated.link => out.add_prior(place, RatingUnit::Rate, prior, 1.0),
            None => {}
        }
    }
    out.add_assumed("buffer.capacity", RatingUnit::Size.text(controller.buffer), &controller.name);
    out.add_assumed(
        "buffer.read_ahead",
        RatingUnit::Size.text(controller.read_ahead),
        &controller.name,
    );
    if rated.market == Market::DataCenter {
        let why = "data center drives have power-loss protection";
        out.add_assumed("buffer.power_loss", "stored".to_owned(), why);
    }
}

/// Returns the prior of a time from the prior of its rate.
fn inverse(prior: &Prior) -> Prior {
    Prior {
        value: 1.0 / prior.value,
        range: prior.range.map(|[low, high]| [1.0 / high, 1.0 / low]),
        why: prior.why.clone(),
    }
}

/// Sets the number of channels, dies and blocks.
fn array(
    rated: &BoxRatings,
    controller: &ControllerPrior,
    nand: &NandPrior,
    technology: Technology,
    out: &mut MissingValues,
) -> FlashArray {
    // Flash capacities are powers of two, or 1.5 times these, and exceed the host's capacity by 7% or more.
    let mut raw = (1u64 << 30) as f64;
    while raw < rated.capacity * 1.07 {
        raw *= if raw * 1.5 >= rated.capacity * 1.07 && raw >= 64e9 { 1.5 } else { 2.0 };
    }
    let large = nand.die.value;
    let die = if raw / large < DIES_LEAST { nand.die_small.min(large) } else { large };
    let stacked = 16.0 * die;
    let mut die = die.min(raw / 2.0);
    let most = match rated.memory {
        MapMemory::Dram => controller.channels,
        MapMemory::Host | MapMemory::None => controller.channels.min(4),
    };
    // A channel has up to 256 dies. If there is more flash, up to sixteen dies are modelled as one.
    while raw / die > 256.0 * most as f64 && die < stacked {
        die *= 2.0;
    }
    let dies = (raw / die).round().max(1.0) as u64;
    let channels =
        (1..=most.min(dies)).rev().find(|count| dies.is_multiple_of(*count)).unwrap_or(1);
    let pages = nand.page * nand.planes as f64;
    let unit = pages * dies as f64;
    let superblock = unit * nand.pages_per_block as f64;
    let used = (rated.capacity / superblock).ceil();
    let mut blocks = (raw / superblock).ceil().max(used + KEPT_SUPERBLOCKS);
    let mut origin = "the flash capacity of a die".to_owned();
    if let Some((steady, write)) = steady_write_rate(rated).zip(drain(rated)) {
        // Collection reduces the flash's sequential rate to the rated random writes. This ratio determines the write
        // amplification, and therefore the spare flash. The rest of the flash is used for parity, maps and bad blocks.
        let write_factor = (write / (PAGE * steady)).max(1.01);
        let spare = spare_for(write_factor, nand.read.value / program_time(rated, write, unit));
        blocks = (used * (1.0 + spare)).ceil() + KEPT_SUPERBLOCKS;
        origin = format!(
            "a rating of {steady:.0} steady random writes a second implies {:.0}% spare area",
            100.0 * spare
        );
    }
    let bound = (FLASH_MOST / superblock).floor();
    if blocks > bound {
        (blocks, origin) = (bound, origin + "; less than 16 TiB of flash can be simulated");
    }
    let gibibytes = raw / (1u64 << 30) as f64;
    out.add_assumed(
        "flash.technology",
        technology.to_string(),
        match rated.technology {
            Some(_) => "rated".to_owned(),
            None => format!("usual: {}", controller.name),
        },
    );
    out.add_assumed("flash.channels", channels.to_string(), format!("usual: {}", controller.name));
    let why = format!("{gibibytes:.0} GiB of flash in {:.0} GiB dies", die / (1u64 << 30) as f64);
    out.add_derived("flash.dies_per_channel", (dies / channels).to_string(), why);
    out.add_assumed("flash.planes", nand.planes.to_string(), &nand.name);
    out.add_assumed("flash.page", RatingUnit::Size.text(nand.page), &nand.name);
    out.add_assumed("flash.pages_per_block", nand.pages_per_block.to_string(), &nand.name);
    out.add_derived("flash.blocks_per_plane", RatingUnit::Count.text(blocks), origin);
    out.add_assumed("flash.erase", RatingUnit::Time.text(nand.erase), &nand.name);
    out.add_assumed("flash.command_time", RatingUnit::Time.text(nand.command_time), &nand.name);
    FlashArray {
        dies: dies as f64,
        channels: channels as f64,
        planes: nand.planes as f64,
        unit,
        superblocks: blocks,
        spare: (blocks - used).max(0.0),
        bits: technology.bits() as f64,
    }
}

/// The priors of a drive's parts.
#[derive(Clone, Copy)]
struct UsualParts<'p> {
    controller: &'p ControllerPrior,
    nand: &'p NandPrior,
    /// The pseudo-SLC cache, if such drives have one.
    cache: Option<&'p CachePrior>,
}

/// The maximum rates of the dies if each die executes one operation at a time. A drive with a higher rating has faster
/// flash. For a figure that is not rated, the usual rate applies to usual capacities, but a small drive has fewer dies.
struct MaximumRates {
    read: f64,
    write: f64,
    random_read: f64,
    random_write: f64,
}

impl MaximumRates {
    fn from_ratings(rated: &BoxRatings, usual: UsualParts<'_>, array: &FlashArray) -> Self {
        let nand = usual.nand;
        let cache = wanted_pseudo_slc(rated, usual.cache);
        let (read, program) = if cache.is_some_and(|(wanted, _)| wanted >= RATED_SPAN) {
            (nand.slc_read.value, nand.slc_program.value)
        } else {
            (nand.read.value, nand.program.value)
        };
        let parallel = array.dies * if nand.independent_planes { array.planes } else { 1.0 };
        let write = array.unit / (1.1 * program);
        Self {
            read: array.unit / (1.1 * read),
            write,
            random_read: parallel / (MARGIN * read),
            random_write: write / PAGE,
        }
    }
}

/// Sets tR, the additional times of a read, and channel rates with which the drive reaches its rated reads.
fn derive_reads(
    rated: &BoxRatings,
    usual: UsualParts<'_>,
    array: &FlashArray,
    out: &mut MissingValues,
) {
    let UsualParts { controller, nand, .. } = usual;
    let most = MaximumRates::from_ratings(rated, usual, array);
    let commands = rate(rated.random_read, &controller.random_read);
    let random = rate_capped_at(rated.random_read, &controller.random_read, most.random_read);
    let sequential = rate_capped_at(rated.read, &controller.read, most.read).min(rated.link);
    let channels = array.channels;
    let channel = nand.channel_rate.value;
    let needed = 1.15 * sequential / channels;
    if needed > channel {
        let why = format!("{channels:.0} channels carry the sequential reads");
        out.add_derived("flash.channel_rate", RatingUnit::Rate.text(needed), why);
    } else {
        out.add_prior("flash.channel_rate", RatingUnit::Rate, &nand.channel_rate, 1.0);
    }
    // Ratings apply to a small range that was just written, and that a large enough pseudo-SLC cache contains.
    let cache = wanted_pseudo_slc(rated, usual.cache).map(|(wanted, _)| wanted);
    let cached = cache.is_some_and(|wanted| wanted >= RATED_SPAN);
    let (sense_time, place) =
        if cached { (&nand.slc_read, "pseudo_slc.read") } else { (&nand.read, "flash.read") };
    let alone = array.dies / (MARGIN * random);
    // If the cache is large enough, a rating that the dies do not reach is explained by faster reads of the cache
    // first, and by independent planes only if these reads would be implausibly fast. Without such a cache, independent
    // planes are assumed if the rating requires more parallel page reads than there are dies.
    let least = if cached { SLC_READ_LEAST } else { sense_time.value };
    let independent = nand.independent_planes || least > alone;
    let flag = if independent { "yes" } else { "no" };
    if nand.independent_planes {
        out.add_assumed("die.independent_planes", flag.to_owned(), &nand.name);
    } else {
        out.add_derived("die.independent_planes", flag.to_owned(), "the rated random reads");
    }
    let parallel = array.dies * if independent { array.planes } else { 1.0 };
    // Sequential reads from all dies must also reach the rated rate.
    let longest = (parallel / (MARGIN * random)).min(array.unit / (1.1 * sequential));
    let one_read_rate = rate(rated.one_read, &controller.one_read);
    let fixed = host(rated.protocol)
        + PAGE / (0.85 * rated.link)
        + 1.0 / commands
        + nand.command_time
        + PAGE / channel.max(needed);
    let sense = sense_time.value.min(longest).min((one_read_rate - fixed).max(2e-6));
    if sense < sense_time.value {
        let why = format!("rated reads; usual for {}: {:.0} µs", nand.name, sense_time.value * 1e6);
        out.add_derived(place, RatingUnit::Time.text(sense), why);
    } else {
        out.add_prior(place, RatingUnit::Time, sense_time, 1.0);
    }
    if cached {
        out.add_prior("flash.read", RatingUnit::Time, &old_data(rated, nand), 1.0);
        if let Some(ratio) = &nand.read_ratio {
            out.add_assumed(PAGE_RATIO, ratio.text.clone(), &ratio.why);
        }
    } else if cache.is_some() {
        out.add_prior("pseudo_slc.read", RatingUnit::Time, &nand.slc_read, 1.0);
    }
    // If only a part of the data fits into the cache, the cache serves that share of the reads.
    let share = if cached { 0.0 } else { cache.unwrap_or(0.0) / RATED_SPAN };
    let sense = share * nand.slc_read.value + (1.0 - share) * sense;
    // The latencies of the prior were measured on files that were partly in the cache.
    let sense = match rated.one_read {
        None if cached => sense + OLD_SHARE * (old_data(rated, nand).value - sense),
        _ => sense,
    };
    let known = fixed + sense;
    let rest = (rate(rated.one_read, &controller.one_read) - known).max(0.0);
    let hit = rest.min(HIT_LATENCY);
    let why = "with it, sequential 4 KiB reads at queue depth 1 reach the rate that two boards measured with six drives";
    out.add_assumed("front_end.read_latency", RatingUnit::Time.text(hit), why);
    let place = "front_end.miss_latency";
    further_time(place, rated.one_read, "read", &controller.one_read, known + hit, out);
    for key in ["die.cache_read", "die.cache_program"] {
        out.add_assumed(key, "yes".to_owned(), "all NAND since 2007 supports this command");
    }
    if rated.year >= 2014 {
        out.add_assumed("die.suspend", "20 us".to_owned(), "usual for 3D NAND");
        out.add_assumed("die.resume", "10 us".to_owned(), "usual for 3D NAND");
    }
}

/// Sets tPROG, the pseudo-SLC cache, and the additional times of a write.
fn derive_writes(
    rated: &BoxRatings,
    usual: UsualParts<'_>,
    array: &FlashArray,
    out: &mut MissingValues,
) {
    let UsualParts { controller, nand, .. } = usual;
    let most = MaximumRates::from_ratings(rated, usual, array);
    let sequential = rate_capped_at(rated.write, &controller.write, most.write).min(rated.link);
    let commands = match rated.market {
        Market::Client => rate(rated.random_write, &controller.random_write),
        Market::DataCenter => controller.random_write.value,
    };
    // The flash is a tenth faster than the highest write rating, so that the rest of the controller is the limit.
    let fresh = match rated.market {
        Market::Client => {
            let random =
                rate_capped_at(rated.random_write, &controller.random_write, most.random_write);
            sequential.max(random * PAGE)
        }
        Market::DataCenter => sequential,
    };
    // Data that the drive compresses uses a smaller part of the flash's rate.
    let fresh = match rated.compresses_to {
        None => fresh,
        Some(share) => {
            let why = "the ratings apply to compressible data";
            out.add_derived("translation.compresses_to", format!("{}%", 100.0 * share), why);
            fresh * share
        }
    };
    let cached = pseudo_slc(rated, usual.cache, nand, array, fresh, out);
    let mut slowest = array.unit / (1.1 * fresh);
    let mut why = format!("{:.0} MB/s of writes on {:.0} dies", fresh / 1e6, array.dies);
    if cached {
        slowest = f64::INFINITY;
    }
    if let Some(steady) = steady_write_rate(rated)
        && drain(rated).is_none()
    {
        let amplified = PAGE * steady * amplification(array.superblocks, array.spare);
        if array.unit / amplified < slowest {
            slowest = array.unit / (1.05 * amplified);
            why = format!("{steady:.0} steady random writes a second");
        }
    }
    match drain(rated) {
        Some(rate) => {
            let why = format!("{:.0} MB/s of writes on {:.0} dies", rate / 1e6, array.dies);
            let program = program_time(rated, rate, array.unit);
            out.add_derived("flash.program", RatingUnit::Time.text(program), why);
        }
        None if slowest < nand.program.value => {
            out.add_derived("flash.program", RatingUnit::Time.text(slowest), why);
        }
        None if let Some(cache) = usual.cache.filter(|_| cached) => {
            program_after_cache(cache, array, sequential, out);
        }
        None => out.add_prior("flash.program", RatingUnit::Time, &nand.program, 1.0),
    }
    // The data passes at the rate of the link or of the controller, whichever is lower.
    let transfer_rate = (0.85 * rated.link).min(rate(rated.write, &controller.write));
    let requested_memory = match rated.protocol {
        ProtocolKind::Nvme => WRITE_NVME,
        ProtocolKind::Ahci | ProtocolKind::AtaDma => WRITE_AHCI,
        ProtocolKind::SasHba | ProtocolKind::Uasp | ProtocolKind::BulkOnly => WRITE_SAS,
    };
    let fixed = host(rated.protocol) + requested_memory + PAGE / transfer_rate + 1.0 / commands;
    let place = "front_end.write_latency";
    further_time(place, rated.one_write, "write", &controller.one_write, fixed, out);
    if rated.market == Market::Client {
        let program = if cached { &nand.slc_program } else { &nand.program };
        flush(rated, controller, program.value, out);
    }
}

/// Sets the time at `place` to the rated latency of one request, or to the prior, minus the `known` seconds.
fn further_time(
    place: &'static str,
    rating: Option<f64>,
    what: &str,
    prior: &Prior,
    known: f64,
    out: &mut MissingValues,
) {
    let rest = (rate(rating, prior) - known).max(0.0);
    match rating {
        Some(one) => {
            let why = format!("{:.0} µs per {what} at queue depth 1", one * 1e6);
            out.add_derived(place, RatingUnit::Time.text(rest), why);
        }
        None => {
            let range = prior.range.map(|ends| ends.map(|end| (end - known).max(1e-7)));
            let range = range.filter(|[low, high]| *low <= rest && rest <= *high);
            let why = prior.why.clone();
            out.add_prior(place, RatingUnit::Time, &Prior { value: rest, range, why }, 1.0);
        }
    }
}

/// Returns the rate at which the flash stores sequential writes without a cache, in bytes a second; `None` if unrated.
fn drain(rated: &BoxRatings) -> Option<f64> {
    rated.steady_write.or(rated.write.filter(|_| rated.market == Market::DataCenter))
}

/// Returns the program time in seconds with which all dies together store `unit` bytes at `rate`.
fn program_time(rated: &BoxRatings, rate: f64, unit: f64) -> f64 {
    unit / (1.02 * rate.min(rated.link))
}

/// Sets the location of the map.
fn map(rated: &BoxRatings, out: &mut MissingValues) {
    let why = "a drive without DRAM keeps as much of the map as its controller can store";
    match rated.memory {
        MapMemory::Dram => {}
        MapMemory::Host => {
            out.add_assumed("translation.map_cached", "1 MiB".to_owned(), why);
            let mebi = (1u64 << 20) as f64;
            let why = "drives request 16 to 64 MiB of host memory, and five training drives read a 16 GiB file at half the \
                       rate of their dies, as if half of the file's map were missing";
            let why = why.to_owned();
            let prior = Prior { value: 6.0 * mebi, range: Some([2.0 * mebi, 64.0 * mebi]), why };
            out.add_prior("translation.map_in_host", RatingUnit::Size, &prior, 1.0);
        }
        MapMemory::None => out.add_assumed("translation.map_cached", "2 MiB".to_owned(), why),
    }
}

//! Long tests that are simulated for a shorter time on a smaller drive.
//!
//! The behaviour of a drive over hours depends on the number of times that its flash has been overwritten: collection,
//! write amplification and the rate depend on the ratio of written data to capacity, and not on either value separately
//! (Desnoyers, "Analytic models of SSD write performance", ACM Transactions on Storage 10(2), 2014; the same holds for
//! every policy that compares superblocks with each other). A drive with `n` times fewer pages in each block, and `n`
//! times less data in every reserve, goes through the same sequence of states in `1/n` of the time. The dies, channels,
//! page times, number of superblocks, and shares of spare and valid data are the same. The blocks of the smaller drive
//! are erased `n` times as often, so an erase takes `1/n` of its time. The span and the times of the test are reduced
//! as well.
//!
//! A drive with `m` times fewer superblocks, and `m` times less data, is also similar. This drive needs the same number
//! of open superblocks and of superblocks that collection keeps erased, so only the number of the other superblocks is
//! reduced ([`DriveScale`]).
//!
//! A test that only reads does not change the drive, so only the time of the test is reduced.
//!
//! Once the figures and the state of the flash are steady, the rest of the test is not simulated: its series continues
//! with the rates of the steady part. The state is steady only after all data of the test has been rewritten in the
//! steady part ([`turnover`]), because superblocks with the oldest data are collected last.
//!
//! The smaller drive differs in these properties: the data that a die moves at once is a larger part of a block, which
//! changes write amplification by a tenth with 32 pages per block and by a hundredth with 64; the random variation of
//! valid data between superblocks is larger by a factor of the square root of `n`; a request that waits for an erase
//! waits for a shorter time, so the maximum latencies of mixed tests are too small; and the write buffer, which keeps a
//! minimum size, takes up to `n` times longer to fill. The factor is therefore limited: blocks keep [`PAGES_MIN`] pages
//! or more, a drive keeps [`SUPERBLOCKS_MIN`] superblocks or more, and the buffer remains a small part of the span and
//! of a superblock.
//!
//! These tests are not shortened: tests of hard disks, of media without erase, and of volumes with burst credits; tests
//! with faults, trims or copies, in an open loop, or through an adapter's cache; skewed patterns (Pareto, Zipf,
//! [`skew`]) that read and write, because on a smaller span more reads find data in the buffer; and skewed patterns on
//! a drive whose map is only partly in memory.

mod skew;

use super::convergence::{EarlyEnd, RequiredFigures, may_converge};
use crate::run::ceiling::ceilings;
use crate::spec::{
    CheckedSystem, DriveCondition, DriveSpec, ERASED_MIN, FlashSpec, MediaSpec, SLOT, SystemSpec,
};
use lanemark_schema::result::series::SeriesRecorder;
use lanemark_schema::result::{ConvergedTest, RatePhase, Reserve, Sample, ScaledRun};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{
    CheckedTest, Load, LoadKind, Pattern, RoundSettings, SeriesInterval, Test,
};

/// Minimum number of requests in a shortened test.
const REQUESTS: f64 = 4e6;
/// Amount of data in a shortened test that is enough instead, if requests are large.
const BYTES: f64 = 250e9;
/// Number of rounds after which a test with rounds usually becomes steady.
const ROUNDS: u64 = 6;
/// Minimum number of requests in each round of a shortened test.
const ROUND_REQUESTS: f64 = 20_000.0;
/// Amount of data in a round that is enough instead, if requests are large.
const ROUND_BYTES: f64 = 4e9;
/// The minimum factor that justifies the differences.
const FACTOR_MIN: u32 = 4;
/// The maximum factor for a test that only reads.
const FACTOR_MAX: u32 = 10_000;
/// Minimum number of pages in a block.
const PAGES_MIN: u32 = 64;
/// Minimum number of superblocks in addition to the superblocks that are open, erased or in the cache.
const SUPERBLOCKS_MIN: u32 = 160;
/// Minimum number of spare superblocks among the superblocks that [`SUPERBLOCKS_MIN`] counts.
const SPARE_MIN: f64 = 12.0;
/// Minimum number of map pages in the map cache of a drive with fewer superblocks.
const MAP_PAGES_MIN: u64 = 32;
/// Minimum size of a smaller drive's buffer, in programs on all dies.
const BUFFERED_UNITS: u64 = 2;
/// Maximum size of the buffer as a part of the span. A larger buffer would absorb writes that cause collection on a
/// real drive.
const BUFFERED_MAX: f64 = 0.01;
/// Maximum size of the buffer as a part of a superblock.
const OF_SUPERBLOCK_MAX: f64 = 0.25;
/// Minimum part of the drive that a test without a series or rounds must be able to overwrite to be shortened. The test
/// that fills a drive ends before the last block if its requests do not divide the capacity.
const OVERWRITTEN_MIN: f64 = 0.99;

/// Returns whether [`RunLength::Converged`](super::RunLength::Converged) simulates a test of `spec` for a shorter time.
pub fn is_shortened(spec: &SystemSpec, test: &Test) -> bool {
    time_scaling(spec, test).is_some()
}

/// The scale of a smaller drive: the factors by which the number of pages per block and the number of superblocks are
/// reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct DriveScale {
    pages: u32,
    superblocks: u32,
}

impl DriveScale {
    /// The scale of the real drive.
    const WHOLE: Self = Self { pages: 1, superblocks: 1 };

    /// Returns the factor by which the drive contains less data and by which its state changes faster.
    fn factor(self) -> u32 {
        self.pages * self.superblocks
    }
}

/// The factor by which the time of a test is shortened, and the scale of its drives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TimeScaling {
    factor: u32,
    drive: DriveScale,
}

/// A shortened test and its drive.
pub(super) struct ScaledTest {
    pub(super) spec: CheckedSystem,
    pub(super) test: CheckedTest,
    shortening: TimeScaling,
    turnover: Option<u64>,
}

impl ScaledTest {
    /// Returns the shortened form of `test`, or `None` if `test` is simulated unchanged.
    pub(super) fn shorten(spec: &CheckedSystem, test: &CheckedTest) -> Option<Self> {
        Self::by(time_scaling(spec, test)?, spec, test)
    }

    /// Returns the shortened test, or `None` if the smaller drive or the shorter test is not valid.
    fn by(shortening: TimeScaling, spec: &CheckedSystem, test: &CheckedTest) -> Option<Self> {
        let mut smaller: SystemSpec = (**spec).clone();
        for attachment in &mut smaller.attachments {
            shrink(&mut attachment.drive, shortening.drive);
        }
        // If the shorter test is not valid for the smaller drive, the test is simulated unchanged.
        let test = shorter(test, spec, shortening).checked().ok()?;
        let spec = smaller.checked().ok()?.with_memory(spec.memory());
        let turnover = turnover(&spec, &test);
        Some(Self { spec, test, shortening, turnover })
    }

    /// Returns the point at which the shortened test may end. A test that ends with its volume has phases instead of a
    /// settled state.
    pub(super) fn end(&self, figures: RequiredFigures) -> EarlyEnd {
        match self.turnover {
            _ if self.test.volume.is_some() => EarlyEnd::Converged(figures),
            Some(turnover) => EarlyEnd::Settled(turnover),
            None => EarlyEnd::Whole,
        }
    }

    /// Computes the sample of `test` from the sample of the shortened test.
    pub(super) fn enlarged(&self, sample: Sample, test: &Test) -> Sample {
        let factor = u64::from(self.shortening.factor);
        let multiplied = |count: u64| count.saturating_mul(factor);
        // A test that was simulated to its end consists of only the simulated requests.
        let ended = sample.converged.filter(|converged| converged.requests > converged.simulated);
        let converged = ended.map(|converged| ConvergedTest {
            requests: multiplied(converged.requests),
            elapsed: converged.elapsed * factor,
            steady_from: converged.steady_from * factor,
            ..converged
        });
        let (requests, elapsed) = match converged {
            Some(converged) => (converged.requests, converged.elapsed),
            None => (multiplied(sample.operations()), sample.elapsed * factor),
        };
        let similar = ScaledRun {
            factor: self.shortening.factor,
            drive_factor: self.shortening.drive.factor(),
            requests,
            elapsed,
        };
        let steady = sample.steady.map(|mut steady| {
            steady.rule = test.rounds.unwrap_or(steady.rule);
            for round in &mut steady.rounds {
                round.drive = round.drive.map(|drive| drive.times(factor));
            }
            steady
        });
        Sample {
            series: sample.series.map(|series| series.times(self.shortening.factor)),
            similar: Some(similar),
            converged,
            phases: enlarged_phases(&sample.phases, factor),
            steady,
            ..sample
        }
    }
}

/// Returns the phases of the whole test. If the write buffer, which is not scaled in proportion, ended one of the
/// phases, the list is empty.
fn enlarged_phases(phases: &[RatePhase], factor: u64) -> Vec<RatePhase> {
    if phases.iter().any(|phase| phase.ended_by == Some(Reserve::WriteBuffer)) {
        return Vec::new();
    }
    phases.iter().map(|phase| RatePhase { until: phase.until * factor, ..*phase }).collect()
}

/// Returns the shortening of a test, or `None` if the test is not shortened.
fn time_scaling(spec: &SystemSpec, test: &Test) -> Option<TimeScaling> {
    let LoadKind::Requests(requests) = &test.asks else { return None };
    let length = match (test.rounds, test.duration) {
        (Some(rounds), None) => Some(rounds.length * ROUNDS),
        (None, Some(duration)) => Some(duration),
        (None, None) if test.volume.is_some() => None,
        (None, None) | (Some(_), Some(_)) => return None,
    };
    let is_plain = spec.faults.is_empty()
        && spec.journal.is_none()
        && requests.load == Load::Closed
        && requests.mix.trim_share.is_zero()
        && requests.mix.copy_to.is_none()
        && is_scale_free(spec, test, &requests.pattern)
        && !spec.drive_specs().any(|drive| drive.media.has_credits());
    if !is_plain || has_adapter_cache(spec) {
        return None;
    }
    let rates = ceilings(spec, test).into_iter().filter_map(|ceiling| ceiling.rate);
    let fastest = rates.min()?.0 as f64;
    let in_time = length.map_or(f64::INFINITY, |length| fastest * length.as_seconds());
    let bytes = test.volume.map_or(in_time, |volume| in_time.min(volume.get() as f64));
    let capacity: f64 = spec.drive_specs().map(|drive| drive.capacity.get() as f64).sum();
    // A test without a series or rounds ends when its figures have converged, unless the drive's state changes before
    // that.
    if may_converge(spec, test) && (!test.writes() || bytes < OVERWRITTEN_MIN * capacity) {
        return None;
    }
    let count = bytes / test.block_mean();
    let wanted = match test.rounds {
        Some(_) => {
            let round_scale = (count / ROUND_REQUESTS).max(bytes / ROUND_BYTES) / ROUNDS as f64;
            (count / REQUESTS).max(round_scale)
        }
        None => (count / REQUESTS).max(bytes / BYTES),
    };
    let wanted = wanted.min(f64::from(FACTOR_MAX)) as u32;
    let shortening = if test.writes() {
        let drive = scale(spec, test, wanted)?;
        TimeScaling { factor: drive.factor(), drive }
    } else {
        TimeScaling { factor: wanted, drive: DriveScale::WHOLE }
    };
    (shortening.factor >= FACTOR_MIN).then_some(shortening)
}

/// Returns whether a pattern is the same on a smaller span.
fn is_scale_free(spec: &SystemSpec, test: &Test, pattern: &Pattern) -> bool {
    match pattern {
        Pattern::Sequential
        | Pattern::Backward
        | Pattern::Uniform
        | Pattern::Shuffled
        | Pattern::Normal { .. }
        | Pattern::Zones { .. }
        | Pattern::PartlyRandom { .. }
        | Pattern::HotCold { .. } => true,
        Pattern::Pareto { .. } | Pattern::Zipf { .. } => {
            let mut flash = spec.drive_specs().filter_map(flash);
            !test.writes() || (!test.reads() && flash.all(|flash| flash.translation.map.is_none()))
        }
    }
}

fn has_adapter_cache(spec: &SystemSpec) -> bool {
    spec.attachments.iter().any(|attachment| attachment.protocol.adapter_cache().is_some())
}

/// Returns a scale up to `wanted` times smaller. The number of pages per block is reduced first, and then, if that is
/// not enough, the number of superblocks.
fn scale(spec: &SystemSpec, test: &Test, wanted: u32) -> Option<DriveScale> {
    let fits_all_drives =
        |scale: DriveScale| spec.drive_specs().all(|drive| fits(drive, test, scale));
    let of_pages = |pages| DriveScale { pages, superblocks: 1 };
    let most = spec.drive_specs().filter_map(flash).map(|flash| flash.pages_per_block).max()?;
    let paged = (1..=wanted.min(most)).rev().map(of_pages).find(|&scale| fits_all_drives(scale))?;
    let of_superblocks = |superblocks| DriveScale { superblocks, ..paged };
    let most = spec.drive_specs().filter_map(flash).map(|flash| flash.blocks_per_plane).max()?;
    let fewer = (1..=most.min(wanted / paged.pages)).rev().map(of_superblocks);
    fewer.into_iter().find(|&scale| fits_all_drives(scale))
}

/// Returns the flash of a drive that moves data to other blocks, if it has any.
fn flash(drive: &DriveSpec) -> Option<&FlashSpec> {
    match &drive.media {
        MediaSpec::Flash(flash) => (!flash.technology.in_place()).then_some(flash),
        MediaSpec::Disk(_) | MediaSpec::Cloud(_) => None,
    }
}

/// Returns whether a drive that is scaled by `scale` behaves like `drive` under `test`.
fn fits(drive: &DriveSpec, test: &Test, scale: DriveScale) -> bool {
    let Some(flash) = flash(drive) else { return false };
    let buffered = buffer(drive, flash, scale).get() as f64;
    let span = test.span.get() as f64 / f64::from(scale.factor());
    let superblock = flash.superblock().get() as f64 / f64::from(scale.pages);
    flash.pages_per_block.is_multiple_of(scale.pages)
        && flash.pages_per_block / scale.pages >= PAGES_MIN
        && buffered <= BUFFERED_MAX * span
        && buffered <= OF_SUPERBLOCK_MAX * superblock
        && (scale.superblocks == 1 || has_enough_superblocks(drive, flash, scale))
}

/// Returns whether a drive with fewer superblocks still has enough superblocks, and enough map pages in its map cache.
fn has_enough_superblocks(drive: &DriveSpec, flash: &FlashSpec, scale: DriveScale) -> bool {
    let proportion = CollectionShare::for_scale(drive.capacity, flash, scale);
    let data = drive.capacity.get() as f64 / flash.superblock().get() as f64;
    let spare = f64::from(proportion.whole) / 2.0 - data * flash.filled.get();
    let of_map = |cached: Bytes| cached.get() / u64::from(scale.factor()) / SLOT.get();
    let map = flash.translation.map;
    // A cache that shrinks during the test frees superblocks in another proportion.
    flash.pseudo_slc_kept(data.ceil() as u64) == cache_superblocks(drive.capacity, flash)
        && proportion.kept >= 2 * SUPERBLOCKS_MIN
        && spare / f64::from(scale.superblocks) >= SPARE_MIN
        && map.is_none_or(|map| of_map(map.cached + map.in_host) >= MAP_PAGES_MIN)
}

/// Returns the number of superblocks that the pseudo-SLC cache of a drive of `capacity` has when the test begins.
fn cache_superblocks(capacity: Bytes, flash: &FlashSpec) -> u64 {
    let filled = match flash.condition {
        DriveCondition::Fresh | DriveCondition::Purged => return flash.pseudo_slc_superblocks(),
        DriveCondition::Sequential | DriveCondition::Random => flash.filled,
    };
    let data = capacity.get() as f64 * filled.get() / flash.superblock().get() as f64;
    flash.pseudo_slc_kept(data.ceil() as u64)
}

/// Numbers of superblocks that take part in collection, in halves: on the real drive, and on the smaller drive.
struct CollectionShare {
    whole: u32,
    kept: u32,
    /// The factor by which the number of pages per superblock is reduced.
    pages: u32,
}

impl CollectionShare {
    fn for_scale(capacity: Bytes, flash: &FlashSpec, scale: DriveScale) -> Self {
        let cache = 2 * cache_superblocks(capacity, flash) as u32;
        let whole = (2 * flash.blocks_per_plane).saturating_sub(FIXED_HALVES + cache).max(1);
        // The number of superblocks of the smaller drive must be whole.
        let of_drive = (whole / scale.superblocks + FIXED_HALVES).next_multiple_of(2);
        let kept = if scale.superblocks == 1 { whole } else { of_drive - FIXED_HALVES };
        Self { whole, kept, pages: scale.pages }
    }

    /// Returns the amount on the smaller drive that corresponds to `bytes`, as a multiple of `step`.
    fn part(&self, bytes: Bytes, step: u64) -> Bytes {
        let part = u128::from(bytes.get()) * u128::from(self.kept)
            / (u128::from(self.whole) * u128::from(self.pages));
        Bytes((part as u64) / step * step)
    }
}

/// Number of superblocks that a drive of any size keeps without data, in halves: the erased superblocks, and a quarter
/// of each of the two superblocks that are being filled, because their filled parts also soon lose data.
const FIXED_HALVES: u32 = 2 * ERASED_MIN + 1;

/// Returns the buffer of a smaller drive.
fn buffer(drive: &DriveSpec, flash: &FlashSpec, scale: DriveScale) -> Bytes {
    let least = flash.unit() * (flash.dies() * flash.technology.bits() as u64 * BUFFERED_UNITS);
    Bytes(drive.buffer.get() / u64::from(scale.factor())).max(least.min(drive.buffer))
}

/// Makes a drive smaller.
fn shrink(drive: &mut DriveSpec, scale: DriveScale) {
    let MediaSpec::Flash(flash) = &drive.media else { return };
    if scale == DriveScale::WHOLE {
        return;
    }
    let buffer = buffer(drive, flash, scale);
    let proportion = CollectionShare::for_scale(drive.capacity, flash, scale);
    let slots = |bytes: Bytes| proportion.part(bytes, SLOT.get());
    let of_one_bit = Bytes(flash.superblock().get() / flash.technology.bits() as u64);
    let cached = of_one_bit * cache_superblocks(drive.capacity, flash);
    drive.capacity = slots(drive.capacity);
    drive.buffer = buffer;
    let MediaSpec::Flash(flash) = &mut drive.media else { return };
    flash.pages_per_block /= scale.pages;
    flash.erase = flash.erase / u64::from(scale.pages);
    let translation = &mut flash.translation;
    if let Some(map) = &mut translation.map {
        map.cached = slots(map.cached);
        map.in_host = slots(map.in_host);
    }
    if let Some(cache) = &mut translation.pseudo_slc {
        cache.capacity = slots(cache.capacity.min(cached));
        cache.growth = slots(cache.growth);
    }
    if scale.superblocks > 1 {
        flash.blocks_per_plane =
            (proportion.kept + FIXED_HALVES) / 2 + flash.pseudo_slc_superblocks() as u32;
    }
}

/// Returns the number of writes after which all data of a shortened test has been rewritten, or `None` if the state of
/// the flash may change after that: if reads encounter more and more of the data, or if some
/// addresses are written very rarely.
fn turnover(spec: &SystemSpec, test: &Test) -> Option<u64> {
    if !test.writes() {
        return Some(0);
    }
    let mut drives = spec.drive_specs().filter_map(flash);
    let is_purged = drives.any(|flash| flash.condition == DriveCondition::Purged);
    if is_purged && test.reads() {
        return None;
    }
    let rounds = slowest(&test.requests()?.pattern)?;
    let block = test.block_mean().max(SLOT.get() as f64);
    let spans = test.span.get() as f64 * spec.targets().len() as f64;
    Some((rounds * spans / block) as u64)
}

/// Returns the amount of data, as a multiple of the span, that is written until the most rarely written part has been
/// written once. Returns `None` if there is no minimum frequency.
fn slowest(pattern: &Pattern) -> Option<f64> {
    match pattern {
        Pattern::Sequential
        | Pattern::Backward
        | Pattern::Uniform
        | Pattern::Shuffled
        | Pattern::PartlyRandom { .. } => Some(1.0),
        Pattern::HotCold { hot_span, hot_share } => {
            let span = hot_span.get();
            let share = hot_share.get();
            slowest_of([[span, share], [1.0 - span, 1.0 - share]].into_iter())
        }
        Pattern::Zones { zones } => {
            slowest_of(zones.iter().map(|zone| [zone.span.get(), zone.share.get()]))
        }
        // The share of the requests that go to the hottest part x of the span is x^(1/p).
        Pattern::Pareto { h } => {
            Some(libm::log(*h) / libm::log(1.0 - h)).filter(|&power| power >= 1.0)
        }
        Pattern::Normal { .. } | Pattern::Zipf { .. } => None,
    }
}

/// Returns [`slowest`] for a span of several parts, each given as its proportion of the span and its proportion of the
/// writes.
fn slowest_of(parts: impl Iterator<Item = [f64; 2]> + Clone) -> Option<f64> {
    let sum_of_parts = |index: usize| parts.clone().map(|part| part[index]).sum::<f64>();
    let span = sum_of_parts(0);
    let share = sum_of_parts(1);
    let written = parts.filter(|part| part.iter().all(|&one| one > 0.0));
    written.map(|part| part[0] / span / (part[1] / share)).reduce(f64::max)
}

/// Returns `test` on a smaller span of the drives of `spec` and for a shorter time.
fn shorter(test: &Test, spec: &SystemSpec, shortening: TimeScaling) -> Test {
    let n = u64::from(shortening.factor);
    let time = |time: Duration| time / n;
    // The span must consist of whole blocks and whole slots.
    let step = test.block.get().next_multiple_of(SLOT.get()) * u64::from(test.threads);
    let drive = &spec.first().drive;
    let smaller = flash(drive).filter(|_| shortening.drive != DriveScale::WHOLE);
    let part = |bytes: Bytes| match smaller {
        None => bytes,
        Some(flash) => {
            let share = CollectionShare::for_scale(drive.capacity, flash, shortening.drive);
            share.part(bytes, step).max(Bytes(step))
        }
    };
    let offset = if test.offset == Bytes::ZERO { Bytes::ZERO } else { part(test.offset) };
    let interval = SeriesRecorder::for_test(test).map(|recorder| recorder.interval());
    // The intervals cover the test, so that their number does not grow.
    let covering =
        |interval: Duration| Duration::from_picoseconds(interval.picoseconds().div_ceil(n));
    let span = part(test.span);
    let mut asks = test.asks.clone();
    if let (Some(_), LoadKind::Requests(requests)) = (smaller, &mut asks) {
        let blocks = |span: Bytes| (span.get() as f64 / test.block.get() as f64).max(1.0);
        requests.pattern =
            skew::on_fewer_blocks(&requests.pattern, blocks(test.span), blocks(span));
    }
    Test {
        asks,
        span,
        offset,
        duration: test.duration.map(time),
        ramp: time(test.ramp),
        rounds: test.rounds.map(|rounds| RoundSettings { length: time(rounds.length), ..rounds }),
        interval: interval.map(|interval| SeriesInterval::Fixed { interval: covering(interval) }),
        volume: test.volume.map(|volume| Bytes(volume.get() / n)),
        ..test.clone()
    }
}

#[cfg(test)]
#[path = "similar_tests.rs"]
mod tests;

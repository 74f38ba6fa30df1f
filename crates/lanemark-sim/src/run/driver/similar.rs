//! Long tests, simulated for a shorter time on a smaller drive.
//!
//! The behaviour of a drive over hours depends on how often its flash has been overwritten: collection, write
//! amplification and the rate depend on the data written *relative to* the capacity, and not on each of them separately
//! (Desnoyers, "Analytic models of SSD write performance", ACM Transactions on Storage 10(2), 2014; the same holds for
//! every policy that compares superblocks with each other). A drive with `n` times fewer pages in each block, and `n`
//! times less data in every reserve, goes through the same sequence of states in `1/n` of the time: it has the same
//! dies and channels, the same page times, the same number of superblocks and the same shares of spare and valid data.
//! Its blocks are erased `n` times as often, so an erase takes `1/n` of its time. The test's span and its times shrink
//! as well.
//!
//! A test that only reads does not change the drive, so only its time shrinks.
//!
//! These properties differ: the data that a die moves at a time is a larger part of a block, which changes write
//! amplification by a tenth with 32 pages in a block and by a hundredth with 64; the random scatter of valid data over
//! superblocks is larger by the square root of `n`; a request that waits for an erase waits less, so the largest
//! latencies of mixed tests are too small; and the write buffer, which keeps a minimum size, takes up to `n` times
//! longer to fill. The factor is therefore limited: blocks keep [`PAGES_MIN`] pages, and the buffer stays a small part
//! of the span and of a superblock.
//!
//! Not shortened: tests of hard disks, of media without erase, of volumes with burst credits, with faults, with trims
//! or copies, in open loop, with patterns whose skew depends on the number of blocks (Pareto, Zipf), and through an
//! adapter's cache.

use super::convergence::may_converge;
use crate::run::ceiling::ceilings;
use crate::spec::{CheckedSystem, DriveSpec, FlashSpec, MediaSpec, SLOT, SystemSpec};
use lanemark_schema::result::series::Recorder;
use lanemark_schema::result::{Sample, SimilarRun};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{CheckedTest, Interval, Load, LoadKind, Pattern, Rounds, Test};

/// Number of requests that a shortened test should still have.
const REQUESTS: f64 = 4e6;
/// Number of rounds after which a test of rounds usually becomes steady.
const ROUNDS: u64 = 6;
/// Number of requests that each round should still have.
const ROUND_REQUESTS: f64 = 50_000.0;
/// The smallest factor that justifies the differences.
const FACTOR_MIN: u32 = 4;
/// The largest factor of a test that only reads.
const FACTOR_MAX: u32 = 10_000;
/// Minimum number of pages in a block.
const PAGES_MIN: u32 = 64;
/// Minimum number of programs of all dies that the buffer of a smaller drive holds.
const BUFFERED_UNITS: u64 = 2;
/// Maximum part of the span, and of a superblock, that fits into the buffer. A larger buffer absorbs writes that a real
/// drive would collect.
const BUFFERED_MAX: f64 = 0.01;
const OF_SUPERBLOCK_MAX: f64 = 0.25;
/// Part of the drive that a test without a series or rounds must be able to overwrite before it is shortened.
const OVERWRITTEN_MIN: f64 = 1.0;

/// Whether [`RunLength::Converged`](super::RunLength::Converged) simulates a test of `spec` for a shorter time.
pub fn is_shortened(spec: &SystemSpec, test: &Test) -> bool {
    factor(spec, test).is_some()
}

/// A shortened test and its drive.
pub(super) struct SimilarTest {
    pub(super) spec: CheckedSystem,
    pub(super) test: CheckedTest,
    factor: u32,
    drive_factor: u32,
}

impl SimilarTest {
    /// Returns the shortened form of `test`; `None` if it is simulated unchanged.
    pub(super) fn of(spec: &CheckedSystem, test: &CheckedTest) -> Option<Self> {
        Self::by(factor(spec, test)?, spec, test)
    }

    /// Returns the test shortened by `factor`; `None` if the smaller drive or the shorter test is not valid.
    fn by(factor: u32, spec: &CheckedSystem, test: &CheckedTest) -> Option<Self> {
        let drive_factor = if test.writes() { factor } else { 1 };
        let mut smaller: SystemSpec = (**spec).clone();
        for attachment in &mut smaller.attachments {
            shrink(&mut attachment.drive, drive_factor);
        }
        // A combination that does not fit is simulated unchanged.
        let spec = smaller.checked().ok()?;
        let test = shorter(test, factor, drive_factor).checked().ok()?;
        Some(Self { spec, test, factor, drive_factor })
    }

    /// Returns the sample of `test` from the sample of the shortened test.
    pub(super) fn enlarged(&self, sample: Sample, test: &Test) -> Sample {
        let factor = u64::from(self.factor);
        let similar = SimilarRun {
            factor: self.factor,
            drive_factor: self.drive_factor,
            requests: sample.operations().saturating_mul(factor),
            elapsed: sample.elapsed * factor,
        };
        let steady = sample.steady.map(|mut steady| {
            steady.rule = test.rounds.unwrap_or(steady.rule);
            for round in &mut steady.rounds {
                round.drive = round.drive.map(|drive| drive.times(factor));
            }
            steady
        });
        Sample {
            series: sample.series.map(|series| series.times(self.factor)),
            similar: Some(similar),
            steady,
            ..sample
        }
    }
}

/// Returns the factor by which a test is shortened, if it is.
fn factor(spec: &SystemSpec, test: &Test) -> Option<u32> {
    let LoadKind::Requests(requests) = &test.asks else { return None };
    let length = match (test.rounds, test.duration) {
        (Some(rounds), None) => rounds.length * ROUNDS,
        (None, Some(duration)) => duration,
        _ => return None,
    };
    let is_plain = spec.faults.is_empty()
        && spec.journal.is_none()
        && requests.load == Load::Closed
        && requests.mix.trim_share.is_zero()
        && requests.mix.copy_to.is_none()
        && is_scale_free(&requests.pattern)
        && spec.attachments.iter().all(|one| one.namespaces.is_empty())
        && !spec.drive_specs().any(|drive| drive.media.has_credits());
    if !is_plain || has_adapter_cache(spec) {
        return None;
    }
    let rates = ceilings(spec, test).into_iter().filter_map(|ceiling| ceiling.rate);
    let bytes = rates.min()?.0 as f64 * length.as_seconds();
    let capacity: f64 = spec.drive_specs().map(|drive| drive.capacity.get() as f64).sum();
    // A test of a single figure ends when the figure has converged, unless the drive's state changes in the meantime.
    if may_converge(spec, test) && (!test.writes() || bytes < OVERWRITTEN_MIN * capacity) {
        return None;
    }
    let count = bytes / test.block_mean();
    let wanted = match test.rounds {
        Some(_) => (count / REQUESTS).max(1.0).max(count / ROUNDS as f64 / ROUND_REQUESTS),
        None => count / REQUESTS,
    };
    let wanted = wanted.min(f64::from(FACTOR_MAX)) as u32;
    let found = match test.writes() {
        false => wanted,
        true => {
            let limits = spec.drive_specs().map(|drive| drive_factor(drive, test, wanted));
            limits.min().flatten()?
        }
    };
    (found >= FACTOR_MIN).then_some(found)
}

/// Returns whether a pattern is the same on a smaller span.
fn is_scale_free(pattern: &Pattern) -> bool {
    match pattern {
        Pattern::Sequential
        | Pattern::Backward
        | Pattern::Uniform
        | Pattern::Shuffled
        | Pattern::Normal { .. }
        | Pattern::Zones { .. }
        | Pattern::HotCold { .. } => true,
        Pattern::Pareto { .. } | Pattern::Zipf { .. } => false,
    }
}

fn has_adapter_cache(spec: &SystemSpec) -> bool {
    spec.attachments.iter().any(|one| one.protocol.adapter_cache().is_some())
}

/// Returns the largest factor up to `wanted` by which a drive can be smaller.
fn drive_factor(drive: &DriveSpec, test: &Test, wanted: u32) -> Option<u32> {
    let MediaSpec::Flash(flash) = &drive.media else { return None };
    if flash.technology.in_place() {
        return None;
    }
    let divides = |factor: &u32| flash.pages_per_block.is_multiple_of(*factor);
    let fits = |factor: &u32| {
        let buffered = buffer(drive, flash, *factor).get() as f64;
        let span = test.span.get() as f64 / f64::from(*factor);
        let superblock = flash.superblock().get() as f64 / f64::from(*factor);
        flash.pages_per_block / factor >= PAGES_MIN
            && buffered <= BUFFERED_MAX * span
            && buffered <= OF_SUPERBLOCK_MAX * superblock
    };
    (FACTOR_MIN..=wanted.min(flash.pages_per_block)).rev().filter(divides).find(fits)
}

/// Returns the buffer of a drive that is `factor` times smaller.
fn buffer(drive: &DriveSpec, flash: &FlashSpec, factor: u32) -> Bytes {
    let least = flash.unit() * (flash.dies() * flash.technology.bits() as u64 * BUFFERED_UNITS);
    Bytes(drive.buffer.get() / u64::from(factor)).max(least.min(drive.buffer))
}

/// Makes a drive `factor` times smaller.
fn shrink(drive: &mut DriveSpec, factor: u32) {
    let n = u64::from(factor);
    if n == 1 {
        return;
    }
    let MediaSpec::Flash(flash) = &drive.media else { return };
    let buffer = buffer(drive, flash, factor);
    drive.capacity = slots(drive.capacity, n);
    drive.buffer = buffer;
    let MediaSpec::Flash(flash) = &mut drive.media else { return };
    flash.pages_per_block /= factor;
    flash.erase = flash.erase / n;
    let translation = &mut flash.translation;
    if let Some(map) = &mut translation.map {
        map.cached = slots(map.cached, n);
        map.in_host = slots(map.in_host, n);
    }
    if let Some(cache) = &mut translation.pseudo_slc {
        cache.capacity = slots(cache.capacity, n);
        cache.growth = slots(cache.growth, n);
    }
}

/// Returns a part of `bytes` in whole slots.
fn slots(bytes: Bytes, factor: u64) -> Bytes {
    Bytes(bytes.get() / factor / SLOT.get() * SLOT.get())
}

/// Returns the test on a smaller span and for a shorter time.
fn shorter(test: &Test, factor: u32, drive_factor: u32) -> Test {
    let (n, smaller) = (u64::from(factor), u64::from(drive_factor));
    let time = |time: Duration| time / n;
    // Whole blocks, and whole slots.
    let step = test.block.get().next_multiple_of(SLOT.get()) * u64::from(test.threads);
    let part = |bytes: Bytes| match smaller {
        1 => bytes,
        _ => Bytes((bytes.get() / smaller / step).max(1) * step),
    };
    let offset = if test.offset == Bytes::ZERO { Bytes::ZERO } else { part(test.offset) };
    let interval = Recorder::of(test).map(|recorder| recorder.interval());
    Test {
        span: part(test.span),
        offset,
        duration: test.duration.map(time),
        ramp: time(test.ramp),
        rounds: test.rounds.map(|rounds| Rounds { length: time(rounds.length), ..rounds }),
        interval: interval.map(|interval| Interval::Fixed { interval: time(interval) }),
        volume: test.volume.map(|volume| Bytes(volume.get() / n)),
        ..test.clone()
    }
}

#[cfg(test)]
#[path = "similar_tests.rs"]
mod tests;

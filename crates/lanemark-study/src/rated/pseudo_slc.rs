//! The pseudo-SLC cache of a rated drive.

use super::completion::{MissingValues, RatingUnit};
use super::printed::BoxRatings;
use super::priors::{CachePrior, NandPrior, Prior};
use super::spare::KEPT_SUPERBLOCKS;

/// The span of the rated random reads, in bytes: `library/workloads/data-sheet.toml`.
pub(super) const RATED_SPAN: f64 = (1u64 << 30) as f64;
/// The share of a pseudo-SLC cache that remains on a full drive.
const KEPT_PSEUDO_SLC: f64 = 0.1;

/// The properties of the flash array from which other values are computed.
pub(super) struct FlashArray {
    pub(super) dies: f64,
    pub(super) channels: f64,
    pub(super) planes: f64,
    /// The amount of data in one page of each plane and die, in bytes.
    pub(super) unit: f64,
    /// The number of superblocks, including the spare superblocks.
    pub(super) superblocks: f64,
    pub(super) spare: f64,
    pub(super) bits: f64,
}

/// Returns the capacity of the drive's pseudo-SLC cache in bytes, if it has a cache, and its prior, if any.
pub(super) fn wanted_pseudo_slc<'c>(
    rated: &BoxRatings,
    usual: Option<&'c CachePrior>,
) -> Option<(f64, Option<&'c Prior>)> {
    let share = usual.map(|usual| &usual.capacity);
    let wanted = rated.pseudo_slc.or(share.map(|share| share.value * rated.capacity))?;
    // A rating of zero states that the drive does not have this cache.
    (wanted > 0.0).then_some((wanted, share))
}

/// Adds a pseudo-SLC cache if the drive has one, and returns whether it was added.
pub(super) fn pseudo_slc(
    rated: &BoxRatings,
    usual: Option<&CachePrior>,
    nand: &NandPrior,
    array: &FlashArray,
    fresh: f64,
    out: &mut MissingValues,
) -> bool {
    let Some((wanted, share)) = wanted_pseudo_slc(rated, usual) else {
        if rated.pseudo_slc.is_some() {
            for place in ["pseudo_slc.capacity", "pseudo_slc.growth"] {
                out.add_derived(place, RatingUnit::Size.text(0.0), "rated");
            }
        }
        return false;
    };
    let superblock = array.unit * nand.pages_per_block as f64;
    // Each superblock of the cache occupies a whole superblock of flash and stores one bit per cell. A part of the
    // cache is fixed, and the rest uses flash that does not contain data.
    let kept_capacity = ((array.spare - KEPT_SUPERBLOCKS) * superblock / array.bits).max(0.0);
    // The fixed part can store the span of the ratings or more.
    let kept = (KEPT_PSEUDO_SLC * wanted).max(RATED_SPAN + superblock / array.bits).min(wanted);
    let kept_capacity = kept_capacity.min(rated.pseudo_slc_kept.unwrap_or(kept));
    let most = 0.9 * array.superblocks * superblock / array.bits;
    let growth = (wanted.min(most) - kept_capacity).max(0.0);
    for (place, size) in [("pseudo_slc.capacity", kept_capacity), ("pseudo_slc.growth", growth)] {
        let text = RatingUnit::Size.text(size);
        match (rated.pseudo_slc, rated.pseudo_slc_kept, share) {
            (None, _, Some(share)) => out.add_assumed(place, text, &share.why),
            (_, None, _) => {
                out.add_assumed(
                    place,
                    text,
                    "a tenth of the rated cache is fixed, and the rest grows",
                );
            }
            _ => out.add_derived(place, text, "rated"),
        }
    }
    let unit = array.unit / (1.1 * fresh);
    if unit < nand.slc_program.value {
        let why = format!("{:.0} MB/s of writes on {:.0} dies", fresh / 1e6, array.dies);
        out.add_derived("pseudo_slc.program", RatingUnit::Time.text(unit), why);
    } else {
        out.add_prior("pseudo_slc.program", RatingUnit::Time, &nand.slc_program, 1.0);
    }
    out.add_choice("pseudo_slc.when_full", "bypass");
    if kept_capacity >= RATED_SPAN {
        let why = "drives empty the growing part of their cache while they are idle";
        out.add_assumed("pseudo_slc.emptied_when_idle", "yes".to_owned(), why);
    }
    true
}

/// Sets the program time with which the dies store new data after the cache is full. The rate is a share of
/// `sequential`, the rated writes in bytes a second: published rates after the cache follow the rating and not the
/// number of dies, because controllers empty the cache at the same time.
pub(super) fn program_after_cache(
    usual: &CachePrior,
    array: &FlashArray,
    sequential: f64,
    out: &mut MissingValues,
) {
    let program = |share: f64| array.unit / (1.02 * share * sequential);
    let range = usual.after.range.map(|[low, high]| [program(high), program(low)]);
    let why = format!(
        "{:.0}% of the rated writes after the cache is full: {}",
        100.0 * usual.after.value,
        usual.after.why
    );
    let prior = Prior { value: program(usual.after.value), range, why };
    out.add_prior("flash.program", RatingUnit::Time, &prior, 1.0);
}

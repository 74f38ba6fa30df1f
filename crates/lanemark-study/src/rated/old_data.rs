//! Reads of data that is no longer in the pseudo-SLC cache of a client drive.

use super::printed::{BoxRatings, Market};
use super::priors::{NandPrior, Prior};

/// Ratio of a die's time for reading data outside the cache to the tR in data sheets. The additional time is for
/// repeats at shifted thresholds, error correction, and firmware between the operations of a die. Seven half-full
/// client drives with their own DRAM, from the training set, read at 0.66 to 1.2 times the rate that corresponds to the
/// tR of their dies; the mean is 0.82.
const OLD_DATA: f64 = 1.2;
/// The share of reads outside the cache in the files on which the latencies of the priors were measured.
pub(super) const OLD_SHARE: f64 = 0.3;
/// The range of [`OLD_DATA`], in addition to the range of tR.
const OLD_DATA_RANGE: [f64; 2] = [0.87, 1.4];

/// The path of the ratio between the page times. It applies only to data outside the cache, because the rules that
/// derive values from ratings assume equal times for all pages of the rated span.
pub(super) const PAGE_RATIO: &str = "flash.read_ratio";

/// Returns the die time of a read of data that is no longer in the cache.
pub(super) fn old_data(rated: &BoxRatings, nand: &NandPrior) -> Prior {
    if rated.market == Market::DataCenter {
        return nand.read.clone();
    }
    let value = OLD_DATA * nand.read.value;
    let [low, high] = nand.read.range.unwrap_or([nand.read.value; 2]);
    let [fast, slow] = OLD_DATA_RANGE;
    let log_spread_below = libm::hypot(libm::log(nand.read.value / low), libm::log(fast));
    let up = libm::hypot(libm::log(high / nand.read.value), libm::log(slow));
    let range = Some([value * libm::exp(-log_spread_below), value * libm::exp(up)]);
    let why = format!(
        "{}; reading old data takes {OLD_DATA} times as long on client drives",
        nand.read.why
    );
    Prior { value, range, why }
}

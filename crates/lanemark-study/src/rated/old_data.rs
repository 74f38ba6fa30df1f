//! Reads of data that has left the pseudo-SLC cache of a client drive.

use super::printed::{Market, Rated};
use super::priors::{Nand, Prior};

/// The die time of a read of data outside the cache over the tR of data sheets: repeats at shifted thresholds, error
/// correction, and firmware between the operations of a die. Seven half-full client drives with their own DRAM, from
/// the training set, read at 0.66 to 1.2 times the rate that tR of their dies permits; the mean is 0.82.
const OLD_DATA: f64 = 1.2;
/// The share of reads of uncached data in the files on which the priors' latencies were measured.
pub(super) const OLD_SHARE: f64 = 0.3;
/// The range of [`OLD_DATA`] in addition to the range of tR.
const OLD_DATA_RANGE: [f64; 2] = [0.87, 1.4];

/// The path of the ratio of page times. Only data outside the cache has it: the rules that meet ratings assume that all
/// pages of the rated span take the same time.
pub(super) const PAGE_RATIO: &str = "flash.read_ratio";

/// Returns the die time of a read of data that has left the cache.
pub(super) fn old_data(rated: &Rated, nand: &Nand) -> Prior {
    if rated.market == Market::DataCenter {
        return nand.read.clone();
    }
    let value = OLD_DATA * nand.read.value;
    let [low, high] = nand.read.range.unwrap_or([nand.read.value; 2]);
    let [fast, slow] = OLD_DATA_RANGE;
    let down = (nand.read.value / low).ln().hypot(fast.ln());
    let up = (high / nand.read.value).ln().hypot(slow.ln());
    let range = Some([value * (-down).exp(), value * up.exp()]);
    let why = format!(
        "{}; reading old data takes {OLD_DATA} times as long on client drives",
        nand.read.why
    );
    Prior { value, range, why }
}

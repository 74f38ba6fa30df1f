//! Work that a client drive does after a write reaches its buffer: emptying a full cache, and storing the journal of
//! the map at a flush.

use super::completion::{MissingValues, RatingUnit};
use super::priors::{ControllerPrior, NandPrior, Prior};

/// Sets the time of a program while a full pseudo-SLC cache is emptied in parallel: the program time of the flash,
/// divided by the share of the flash's rate that is available for new data. Both are uncertain, and their ranges are
/// added in quadrature on a logarithmic scale.
pub(super) fn beside_emptying(
    controller: &ControllerPrior,
    nand: &NandPrior,
    out: &mut MissingValues,
) {
    let Some(share) = &controller.beside_emptying else {
        return out.add_prior("flash.program", RatingUnit::Time, &nand.program, 1.0);
    };
    let value = nand.program.value / share.value;
    let relative_range =
        |prior: &Prior| prior.range.unwrap_or([prior.value; 2]).map(|end| end / prior.value);
    let [fast, slow] = relative_range(&nand.program);
    let [least, most] = relative_range(share);
    let range =
        [value * (-fast.ln().hypot(most.ln())).exp(), value * slow.ln().hypot(least.ln()).exp()];
    let why = format!("{}; {}", nand.program.why, share.why);
    out.add_prior(
        "flash.program",
        RatingUnit::Time,
        &Prior { value, range: Some(range), why },
        1.0,
    );
}

/// Number of programs for which a flush waits, in addition to programming the data.
const FLUSH_PROGRAMS: f64 = 2.5;

/// Sets the additional time of a flush, if a power failure would destroy the data in the buffer.
pub(super) fn flush(nand: &NandPrior, out: &mut MissingValues) {
    let why = "the map's journal takes two and a half programs of one bit per cell; with the program of the data, a flush \
               took 0.5 to 0.9 ms on four of nine training drives, and 2.6 ms or more on four others";
    let time = FLUSH_PROGRAMS * nand.slc_program.value;
    let prior = Prior { value: time, range: Some([0.3 * time, 6.0 * time]), why: why.to_owned() };
    out.add_prior("front_end.flush_latency", RatingUnit::Time, &prior, 1.0);
}

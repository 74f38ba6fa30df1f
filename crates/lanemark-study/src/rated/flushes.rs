//! The time of a flush on a drive whose buffer a power cut would destroy.
//!
//! A flush stores the data in the buffer and the map's journal. Published figures contain both, because programs count
//! the write together with its flush. The data's program is simulated, so the drive's additional time of a flush is the
//! published time minus that program. The prior is the median of the drives in the training set: no property on the box
//! explains why two drives of one generation differ tenfold.

use super::completion::{MissingValues, RatingUnit};
use super::printed::BoxRatings;
use super::priors::ControllerPrior;

/// The ratio by which two published measurements of the same drive differ, in either direction.
const OF_ONE_DRIVE: f64 = 1.5;

/// Sets the additional time of a flush. Storing the data of one write takes `program` seconds.
pub(super) fn flush(
    rated: &BoxRatings,
    controller: &ControllerPrior,
    program: f64,
    out: &mut MissingValues,
) {
    let place = "front_end.flush_latency";
    let rest = |whole: f64| (whole - program).max(1e-6);
    if let Some(whole) = rated.flush {
        let seen =
            rest(whole / OF_ONE_DRIVE) / rest(whole)..=rest(whole * OF_ONE_DRIVE) / rest(whole);
        let why = format!("{:.2} ms per flushed write", whole * 1e3);
        return out.derived_within(place, RatingUnit::Time, rest(whole), seen, why);
    }
    if let Some(prior) = &controller.flush {
        out.add_prior(place, RatingUnit::Time, prior, 1.0);
    }
}

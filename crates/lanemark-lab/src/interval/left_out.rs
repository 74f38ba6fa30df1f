//! The factors by which the model may be off for all that it leaves out, by the kind of a prediction.
//!
//! The factors of drives of their ratings alone are what drives of the development half of the corpus brought over what was
//! predicted, beside what the draws of uncertain values explain: the shortest range that leaves out a tenth of the drives (a
//! fifth of flushes), and at least what an earlier and smaller corpus had told in the same way. The upper one is at least
//! 1.15 (METHOD.md).

use lanemark_core::result::{HopId, HopUse, Sample};
use lanemark_core::sim::spec::{MediaSpec, SystemSpec};
use lanemark_core::workload::Test;
use lanemark_study::System;

/// Between which factors 80% of predictions of a kind are for what the model leaves out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LeftOut {
    pub(super) low: f64,
    pub(super) high: f64,
}

/// A link that is busy for that share of the time is the limit.
const FULL: f64 = 0.95;
/// A prediction below this share of what a short test brings is of what a drive does later.
const LATER: f64 = 0.7;

/// The factor of a drive whose file was made for it.
pub(super) const OWN_LEFT_OUT: f64 = 1.15;

const OWN: LeftOut = LeftOut::on_either_side(OWN_LEFT_OUT);
/// Of drives of their ratings, of which some do not fill a link that they are rated to fill and no more.
const RATED_LINK: LeftOut = LeftOut { low: 0.56, high: 1.18 };
const DISK: LeftOut = LeftOut { low: 0.43, high: 1.35 };
const FLUSH: LeftOut = LeftOut { low: 0.05, high: 1.90 };
const MIX: LeftOut = LeftOut { low: 0.37, high: 1.57 };
const READS: LeftOut = LeftOut { low: 0.47, high: 1.97 };
const WRITES: LeftOut = LeftOut { low: 0.57, high: 1.46 };
const SUSTAINED: LeftOut = LeftOut { low: 0.15, high: 2.36 };

impl LeftOut {
    /// A factor on either side.
    pub(super) const fn on_either_side(factor: f64) -> Self {
        Self { low: 1.0 / factor, high: factor }
    }

    /// The factors of a prediction of `rate` requests a second, by a short version of its test.
    pub(super) fn of(system: &System, test: &Test, sample: &Sample, rate: f64) -> Self {
        let hops = sample.path.as_ref().map_or(&[][..], |path| &path.hops);
        let is_link = |id: &HopId| matches!(id, HopId::Link(_) | HopId::SecondLink(_));
        let is_full = hops.iter().any(|hop| hop.utilisation >= FULL && is_link(&hop.id));
        let spec = &system.spec;
        let is_disk = matches!(spec.first().drive.media, MediaSpec::Disk(_));
        let share = test.read_share().get();
        match () {
            () if !system.is_rated => OWN,
            // A drive with so much to spare fills the link though it is slower than it is rated.
            () if is_full && of_drive(hops) < RATED_LINK.low => OWN,
            () if is_full => RATED_LINK,
            () if is_disk => DISK,
            () if share < 1.0 && has_flushes(test) => FLUSH,
            () if share > 0.0 && share < 1.0 => MIX,
            () if share >= 1.0 => READS,
            () if has_cache(spec) && rate < LATER * sample.iops() => SUSTAINED,
            () => WRITES,
        }
    }
}

/// The share of the time for which the busiest part of a drive is busy.
fn of_drive(hops: &[HopUse]) -> f64 {
    let is_part = |id: &HopId| {
        matches!(id, HopId::FrontEnd | HopId::DataPath | HopId::Channels | HopId::Media)
    };
    hops.iter().filter(|hop| is_part(&hop.id)).map(|hop| hop.utilisation).fold(0.0, f64::max)
}

/// Whether a test waits for flushes.
fn has_flushes(test: &Test) -> bool {
    test.requests().is_some_and(|requests| requests.mix.flush_every.is_some())
}

/// Whether a drive has a pseudo-SLC cache, which fills.
fn has_cache(spec: &SystemSpec) -> bool {
    match &spec.first().drive.media {
        MediaSpec::Flash(flash) => flash.translation.pseudo_slc.is_some(),
        MediaSpec::Disk(_) => false,
    }
}

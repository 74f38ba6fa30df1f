//! The geometry of a drive: the number of dies, and the amount of data that a die programs at once.
//!
//! Both are whole numbers, so a gradient search does not apply. Starting from the template's values, one of the two is
//! doubled or halved as long as this improves the fit of the reads by more than chance explains. The times are fitted
//! again before each step is evaluated. The number of channels does not change unless it exceeds the number of dies,
//! because measurements determine only the product of the number of channels and their rate.

use std::fmt;

use lanemark_schema::units::Bytes;
use lanemark_sim::spec::{DriveSpec, SLOT};

use super::engine::TrialSimulator;
use super::parameter::{change, flash};
use super::solve::{SearchResult, search};
use crate::PredictError;

/// The minimum improvement of the fit that justifies a doubling or halving, as a difference in the sum of squares.
const WORTH: f64 = 3.0;
/// The difference in the sum of squares up to which a fit counts as equal to the best fit: 95% of a chi-square
/// distribution with one degree of freedom.
const AS_GOOD: f64 = 3.84;
/// The maximum number of dies to try.
const DIES_MAX: u64 = 512;
/// The maximum unit to try, in slots.
const UNIT_MAX: u64 = 32;

/// The number of dies of a drive, and the number of 4 KiB slots in a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FlashGeometry {
    pub(super) dies: u64,
    pub(super) unit: u64,
}

/// The result of the search over geometries.
#[derive(Clone, Debug)]
pub(super) struct GeometrySearch {
    pub(super) best: FlashGeometry,
    pub(super) found: SearchResult,
    /// The geometries that were tried, each with its cost.
    pub(super) tried: Vec<(FlashGeometry, f64)>,
}

impl FlashGeometry {
    pub(super) fn from_drive(drive: &DriveSpec) -> Option<Self> {
        let flash = flash(drive)?;
        Some(Self { dies: flash.dies(), unit: flash.unit().get() / SLOT.get() })
    }

    /// Sets the geometry of a drive without changing its capacity.
    pub(super) fn apply_to(self, drive: &mut DriveSpec) {
        let capacity = drive.capacity.get();
        change(drive, |flash| {
            let raw = flash.capacity().get();
            let block = flash.page.get() * u64::from(flash.pages_per_block);
            if self.dies < u64::from(flash.channels) {
                (flash.channels, flash.dies_per_channel) = (self.dies as u32, 1);
            } else {
                flash.dies_per_channel = (self.dies / u64::from(flash.channels)) as u32;
            }
            let unit = SLOT * self.unit;
            while flash.page * u64::from(flash.planes) != unit {
                let planes = u64::from(flash.planes);
                if unit.get().is_multiple_of(planes * SLOT.get()) && unit.get() / planes <= 32 << 10
                {
                    flash.page = Bytes(unit.get() / planes);
                } else if flash.planes > 1 && unit < SLOT * planes {
                    flash.planes /= 2;
                } else if flash.planes < 16 {
                    flash.planes *= 2;
                } else {
                    return;
                }
            }
            flash.pages_per_block = (block / flash.page.get()).max(1) as u32;
            let superblock = flash.superblock().get().max(1);
            let least = capacity.div_ceil(superblock) + flash.superblocks_spare();
            flash.blocks_per_plane = raw.div_ceil(superblock).max(least) as u32;
        });
    }

    /// Returns the geometries that differ by one doubling or halving.
    fn neighbours(self) -> impl Iterator<Item = Self> {
        let Self { dies, unit } = self;
        let dies_around = [dies * 2, dies / 2].into_iter().map(move |dies| Self { dies, unit });
        let units_around = [unit * 2, unit / 2].into_iter().map(move |unit| Self { dies, unit });
        dies_around.chain(units_around).filter(|candidate| {
            (1..=DIES_MAX).contains(&candidate.dies) && (1..=UNIT_MAX).contains(&candidate.unit)
        })
    }

    /// Returns the number of doublings and halvings between two geometries.
    fn distance(self, other: Self) -> f64 {
        let log_distance = |one: u64, other: u64| (one as f64 / other as f64).log2().abs();
        log_distance(self.dies, other.dies) + log_distance(self.unit, other.unit)
    }
}

impl fmt::Display for FlashGeometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} dies of {} KiB units", self.dies, self.unit * 4)
    }
}

/// Searches from the engine's geometry and `found`. At the end, the engine has the best geometry.
pub(super) fn explore(
    engine: &mut TrialSimulator,
    search_result: SearchResult,
    free: &[usize],
    trials: &[usize],
) -> Result<GeometrySearch, PredictError> {
    let Some(template) = FlashGeometry::from_drive(&engine.base.attachments[0].drive) else {
        let best = FlashGeometry { dies: 1, unit: 1 };
        return Ok(GeometrySearch { best, tried: Vec::new(), found: search_result });
    };
    let original = engine.base.clone();
    let mut explored = GeometrySearch {
        best: template,
        tried: vec![(template, search_result.cost)],
        found: search_result,
    };
    let cost_with_prior =
        |geometry: FlashGeometry, cost: f64| cost + WORTH * geometry.distance(template);
    while !engine.budget.is_spent() {
        let here = explored.best;
        let mut better: Option<(FlashGeometry, SearchResult)> = None;
        for next in here.neighbours() {
            if explored.tried.iter().any(|(tried, _)| *tried == next) {
                continue;
            }
            engine.base = original.clone();
            next.apply_to(&mut engine.base.attachments[0].drive);
            let given = FlashGeometry::from_drive(&engine.base.attachments[0].drive) == Some(next);
            if !given || engine.base.check().is_err() {
                continue;
            }
            let search_result = search(engine, &explored.found.logs, free, trials, 1)?;
            explored.tried.push((next, search_result.cost));
            let least = better
                .as_ref()
                .map_or(cost_with_prior(here, explored.found.cost), |(geometry, best)| {
                    cost_with_prior(*geometry, best.cost)
                });
            if cost_with_prior(next, search_result.cost) < least {
                better = Some((next, search_result));
            }
        }
        match better {
            Some((best, search_result)) => (explored.best, explored.found) = (best, search_result),
            None => break,
        }
    }
    engine.base = original;
    explored.best.apply_to(&mut engine.base.attachments[0].drive);
    Ok(explored)
}

impl GeometrySearch {
    /// Returns the range of the number of dies, or of units, for which the fit is as good as the best fit with any
    /// value of the other number.
    pub(super) fn range(&self, of: fn(FlashGeometry) -> u64) -> (u64, u64) {
        let good = self.tried.iter().filter(|(_, cost)| *cost <= self.found.cost + AS_GOOD);
        good.fold((of(self.best), of(self.best)), |(low, high), (geometry, _)| {
            (low.min(of(*geometry)), high.max(of(*geometry)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::engine::tests::engine;
    use super::*;

    fn geometry(dies: u64, unit: u64) -> FlashGeometry {
        FlashGeometry { dies, unit }
    }

    #[test]
    fn neighbours_are_doublings_and_halves_within_the_bounds() {
        let of = |dies, unit| geometry(dies, unit).neighbours().collect::<Vec<_>>();
        let around = [(128, 8), (32, 8), (64, 16), (64, 4)];
        assert_eq!(of(64, 8), around.map(|(dies, unit)| geometry(dies, unit)));
        assert_eq!(of(512, 32), [geometry(256, 32), geometry(512, 16)]);
        assert_eq!(of(1, 1), [geometry(2, 1), geometry(1, 2)]);
        assert_eq!(of(256, 16)[0], geometry(512, 16));
        assert_eq!(of(256, 16)[2], geometry(256, 32));
        assert_eq!(geometry(64, 8).to_string(), "64 dies of 32 KiB units");
    }

    #[test]
    fn distances_are_counted_in_doublings() {
        for (one, other, distance) in [
            ((64, 8), (64, 8), 0.0),
            ((64, 8), (256, 8), 2.0),
            ((256, 8), (64, 4), 3.0),
            ((8, 1), (4, 32), 6.0),
        ] {
            let one = geometry(one.0, one.1);
            let other = geometry(other.0, other.1);
            assert_eq!((one.distance(other), other.distance(one)), (distance, distance));
        }
    }

    #[test]
    fn geometries_that_fit_as_well_bound_the_numbers() {
        let tried = vec![
            (geometry(64, 8), 10.0),
            (geometry(128, 4), 10.0 + AS_GOOD),
            (geometry(256, 2), 10.01 + AS_GOOD),
            (geometry(32, 16), 13.0),
            (geometry(16, 32), 14.0),
        ];
        let found = SearchResult { logs: Vec::new(), cost: 10.0 };
        let search = GeometrySearch { best: geometry(64, 8), found, tried };
        assert_eq!(search.range(|geometry| geometry.dies), (32, 128));
        assert_eq!(search.range(|geometry| geometry.unit), (4, 16));
    }

    #[test]
    fn a_drive_keeps_its_capacity_and_its_blocks_with_another_geometry() {
        let drive = engine("samsung-950-pro-512gb").base.attachments[0].drive.clone();
        let before = flash(&drive).unwrap();
        let own = FlashGeometry::from_drive(&drive).unwrap();
        assert_eq!(own.dies, u64::from(before.channels) * u64::from(before.dies_per_channel));
        let block = before.page.get() * u64::from(before.pages_per_block);
        for (dies, unit) in [
            (own.dies, own.unit),
            (own.dies * 2, own.unit),
            (own.dies / 2, own.unit),
            (u64::from(before.channels), own.unit),
            (2, own.unit),
            (own.dies, own.unit * 2),
            (own.dies, 32),
            (own.dies, 1),
        ] {
            let wanted = geometry(dies, unit);
            let mut drive = drive.clone();
            wanted.apply_to(&mut drive);
            let now = flash(&drive).unwrap();
            assert_eq!(FlashGeometry::from_drive(&drive), Some(wanted));
            // The number of channels does not change if each channel has a die.
            let channels = u64::from(before.channels).min(dies);
            assert_eq!(u64::from(now.channels), channels, "{wanted}");
            assert_eq!(u64::from(now.dies_per_channel), dies / channels, "{wanted}");
            assert_eq!(now.page.get() * u64::from(now.planes), unit * SLOT.get(), "{wanted}");
            assert!(now.page <= Bytes::kibi(32) && now.planes <= 16, "{wanted}");
            assert_eq!(u64::from(now.pages_per_block), block / now.page.get(), "{wanted}");
            // The flash consists of whole superblocks.
            let superblock = now.superblock().get();
            let more = now.capacity().get().checked_sub(before.capacity().get());
            let spare = drive.capacity.get() + now.superblocks_spare() * superblock;
            assert!(
                more.is_some_and(|more| more < superblock)
                    || now.capacity().get() < spare + superblock,
                "{wanted}"
            );
            assert!(now.capacity().get() >= spare, "{wanted}");
        }
    }
}

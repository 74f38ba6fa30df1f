//! The geometry of a drive: its number of dies, and the data that a die programs at once.
//!
//! Both are whole numbers, so a search by slopes does not apply. Starting from the template's values, one of them is
//! doubled or halved as long as the reads fit better by more than chance explains. The times are fitted at each step
//! before it is judged. The number of channels does not change unless there are fewer dies than channels, because a
//! measurement shows only the product of the number of channels and their rate.

use std::fmt;

use lanemark_schema::units::Bytes;
use lanemark_sim::spec::{DriveSpec, SLOT};

use super::engine::Engine;
use super::parameter::{change, flash};
use super::solve::{SearchResult, search};
use crate::PredictError;

/// The minimum improvement of the fit that justifies a doubling, as a difference in the sum of squares.
const WORTH: f64 = 3.0;
/// The difference in the sum of squares up to which a fit counts as equal to the best: 95% of a chi-square with one
/// degree of freedom.
const AS_GOOD: f64 = 3.84;
/// The maximum number of dies to try; `UNIT_MAX` is the maximum unit, in slots.
const DIES_MAX: u64 = 512;
const UNIT_MAX: u64 = 32;

/// The number of dies of a drive, and of slots of 4 KiB in a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Geometry {
    pub(super) dies: u64,
    pub(super) unit: u64,
}

/// The result of the search over geometries.
#[derive(Clone, Debug)]
pub(super) struct GeometrySearch {
    pub(super) best: Geometry,
    pub(super) found: SearchResult,
    /// The geometries that were tried, each with its cost.
    pub(super) tried: Vec<(Geometry, f64)>,
}

impl Geometry {
    /// Returns the geometry of a drive.
    pub(super) fn of(drive: &DriveSpec) -> Option<Self> {
        let flash = flash(drive)?;
        Some(Self { dies: flash.dies(), unit: flash.unit().get() / SLOT.get() })
    }

    /// Sets the geometry of a drive, whose capacity stays the same.
    pub(super) fn give(self, drive: &mut DriveSpec) {
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

    /// Returns the neighbouring geometries.
    fn neighbours(self) -> impl Iterator<Item = Self> {
        let Self { dies, unit } = self;
        let dies_around = [dies * 2, dies / 2].into_iter().map(move |dies| Self { dies, unit });
        let units_around = [unit * 2, unit / 2].into_iter().map(move |unit| Self { dies, unit });
        dies_around.chain(units_around).filter(|candidate| {
            (1..=DIES_MAX).contains(&candidate.dies) && (1..=UNIT_MAX).contains(&candidate.unit)
        })
    }

    /// Returns the number of doublings between two geometries.
    fn distance(self, other: Self) -> f64 {
        let apart = |one: u64, other: u64| (one as f64 / other as f64).log2().abs();
        apart(self.dies, other.dies) + apart(self.unit, other.unit)
    }
}

impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} dies of {} KiB units", self.dies, self.unit * 4)
    }
}

/// Searches from the engine's geometry and `found`. The engine has the best geometry at the end.
pub(super) fn explore(
    engine: &mut Engine,
    found: SearchResult,
    free: &[usize],
    trials: &[usize],
) -> Result<GeometrySearch, PredictError> {
    let Some(template) = Geometry::of(&engine.base.attachments[0].drive) else {
        let best = Geometry { dies: 1, unit: 1 };
        return Ok(GeometrySearch { best, tried: Vec::new(), found });
    };
    let original = engine.base.clone();
    let mut explored =
        GeometrySearch { best: template, tried: vec![(template, found.cost)], found };
    let judged = |geometry: Geometry, cost: f64| cost + WORTH * geometry.distance(template);
    while !engine.budget.is_spent() {
        let here = explored.best;
        let mut better: Option<(Geometry, SearchResult)> = None;
        for next in here.neighbours() {
            if explored.tried.iter().any(|(tried, _)| *tried == next) {
                continue;
            }
            engine.base = original.clone();
            next.give(&mut engine.base.attachments[0].drive);
            let given = Geometry::of(&engine.base.attachments[0].drive) == Some(next);
            if !given || engine.base.check().is_err() {
                continue;
            }
            let found = search(engine, &explored.found.logs, free, trials, 1)?;
            explored.tried.push((next, found.cost));
            let least =
                better.as_ref().map_or(judged(here, explored.found.cost), |(geometry, best)| {
                    judged(*geometry, best.cost)
                });
            if judged(next, found.cost) < least {
                better = Some((next, found));
            }
        }
        match better {
            Some((best, found)) => (explored.best, explored.found) = (best, found),
            None => break,
        }
    }
    engine.base = original;
    explored.best.give(&mut engine.base.attachments[0].drive);
    Ok(explored)
}

impl GeometrySearch {
    /// Returns the smallest and largest number, of dies or of units, that fits as well as the best, for any value of
    /// the other number.
    pub(super) fn range(&self, of: fn(Geometry) -> u64) -> (u64, u64) {
        let good = self.tried.iter().filter(|(_, cost)| *cost <= self.found.cost + AS_GOOD);
        good.fold((of(self.best), of(self.best)), |(low, high), (geometry, _)| {
            (low.min(of(*geometry)), high.max(of(*geometry)))
        })
    }
}

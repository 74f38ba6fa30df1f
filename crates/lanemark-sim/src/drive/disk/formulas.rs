//! The ceiling of a disk: its maximum throughput, computed without simulation.

use super::geometry::Geometry;
use super::seek::SeekCurve;
use crate::drive::formulas::{MediaDemand, MediumFormulas};
use crate::engine::station::Demand;
use crate::spec::{DiskSpec, DiskZone, SeekSpec};
use lanemark_schema::result::HopId;
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration};
use lanemark_schema::workload::{Pattern, SECTOR, Test};

/// Number of positions in a span between which seeks are averaged.
const PLACES: u64 = 64;

/// The minimum time for which a test occupies a disk's arm, on average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArmDemand {
    /// The arm's time for a read.
    pub read: Duration,
    /// The arm's time for a write.
    pub write: Duration,
    /// Sequential rate of the fastest zone of the span.
    pub in_order: BytesPerSecond,
    /// The mean read seek over the span.
    pub seek: Duration,
}

impl MediumFormulas for DiskSpec {
    fn demands(&self, test: &Test) -> Vec<MediaDemand> {
        let ArmDemand { read, write, in_order, seek } = self.demand(test);
        let half = self.revolution() / 2;
        vec![MediaDemand {
            id: HopId::Media,
            name: self.name(true),
            formula: format!(
                "{} rpm, {seek} a seek and {half} of rotation on average, {in_order} in order",
                self.rpm
            ),
            demand: Demand { read, write },
            servers: 1,
            latency: Some(seek + half),
        }]
    }

    fn name(&self, _alone: bool) -> &'static str {
        "disk mechanics"
    }

    fn double_media(&mut self) {
        // All values are named, so that adding a value is a compile error here. `demands` must also account for the new
        // value.
        let Self {
            rpm,
            heads: _,
            zones: _,
            read_seek,
            write_seek,
            head_switch,
            track_skew,
            cylinder_skew,
            command_overhead,
            segments: _,
            segment: _,
            read_ahead: _,
            write_cache: _,
            destage_window: _,
            age_max: _,
            reorder_margin: _,
        } = self;
        *rpm *= 2;
        for SeekSpec { track_to_track, average, full_stroke } in [read_seek, write_seek] {
            for time in [track_to_track, average, full_stroke] {
                *time = *time / 2;
            }
        }
        for time in [head_switch, track_skew, cylinder_skew, command_overhead] {
            *time = *time / 2;
        }
    }
}

impl DiskSpec {
    /// Returns the arm's time for the requests of `test`; disk and test must have been checked.
    ///
    /// A sequential request takes the time in which its sectors pass, plus the skew at the beginning of each track. If
    /// the disk has only one random request at a time, each access also takes the mean seek of the span and half a
    /// revolution. If the disk can choose among several accesses, seek and rotation become shorter by an amount for
    /// which there is no formula, but the sectors must still pass. Buffered writes offer the same choice. The read
    /// cache may serve a share of the span that is as large as the cache.
    pub fn demand(&self, test: &Test) -> ArmDemand {
        let geometry = Geometry::new(self);
        let zone = self.fastest_zone(&geometry, test);
        let in_order = self.sustained_rate(&zone);
        let track = SECTOR * u64::from(zone.sectors_per_track);
        let passing = match test.pattern() {
            Some(Pattern::Sequential) => test.block / in_order,
            _ => self.revolution().scaled(test.block.get(), track.get()),
        };
        let alone = test.population() == 1 && test.is_uniform();
        let mean = |seek| mean_seek(&SeekCurve::new(seek, self.cylinders()), &geometry, test);
        let seek = mean(&self.read_seek);
        let turned = self.revolution() / 2 + passing;
        let write =
            if alone && !self.write_cache { mean(&self.write_seek) + turned } else { passing };
        let read = if alone { seek + turned } else { passing };
        let cache = self.segment * u64::from(self.segments);
        let uncached = test.span.get().saturating_sub(cache.get());
        ArmDemand { read: read.scaled(uncached, test.span.get().max(1)), write, in_order, seek }
    }

    /// Returns the zone of the span that has the most sectors per track.
    fn fastest_zone(&self, geometry: &Geometry, test: &Test) -> DiskZone {
        let (first, last) = cylinders(geometry, test);
        let mut begin = 0;
        let mut fastest = DiskZone::default();
        for zone in &self.zones {
            let end = begin + u64::from(zone.cylinders);
            let inside = begin <= last && first < end;
            if inside && zone.sectors_per_track > fastest.sectors_per_track {
                fastest = *zone;
            }
            begin = end;
        }
        fastest
    }
}

fn cylinders(geometry: &Geometry, test: &Test) -> (u64, u64) {
    let cylinder = |at: Bytes| u64::from(geometry.track_of(at.get() / SECTOR.get()).cylinder);
    (cylinder(test.offset), cylinder(Bytes(test.end().get().saturating_sub(1))))
}

/// Returns the mean seek between two uniformly random positions of the span.
fn mean_seek(curve: &SeekCurve, geometry: &Geometry, test: &Test) -> Duration {
    let place = |index: u64| {
        let inside = test.span.get() / (2 * PLACES) * (2 * index + 1);
        geometry.track_of((test.offset.get() + inside) / SECTOR.get()).cylinder
    };
    let places: Vec<u32> = (0..PLACES).map(place).collect();
    let times =
        places.iter().flat_map(|&from| places.iter().map(move |&to| curve.time(from.abs_diff(to))));
    times.sum::<Duration>() / (PLACES * PLACES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_schema::rng::{Rng, StreamKey};

    /// Compares the mean seek with the mean over pairs of positions that are drawn uniformly from the span.
    #[test]
    fn the_mean_seek_matches_pairs_drawn_from_the_span() {
        const PAIRS: u64 = 20_000;
        let disk = DiskSpec::example();
        let geometry = Geometry::new(&disk);
        let curve = SeekCurve::new(&disk.read_seek, disk.cylinders());
        for (offset, span) in [(0, 64), (0, 8), (32, 16), (60, 4)] {
            let mut test = Test::of_blocks(Bytes::kibi(4));
            (test.offset, test.span) = (Bytes::mebi(offset), Bytes::mebi(span));
            let mut rng = Rng::new(StreamKey::from_seed(span));
            let mut cylinder = || {
                let at = test.offset.get() + rng.below(test.span.get());
                geometry.track_of(at / SECTOR.get()).cylinder
            };
            let drawn: Duration =
                (0..PAIRS).map(|_| curve.time(cylinder().abs_diff(cylinder()))).sum();
            let ratio =
                mean_seek(&curve, &geometry, &test).as_seconds() / (drawn / PAIRS).as_seconds();
            assert!((ratio - 1.0).abs() < 0.02, "{span} MiB from {offset} MiB: {ratio}");
        }
    }
}

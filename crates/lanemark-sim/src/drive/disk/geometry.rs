//! The position of a sector: cylinder, head, and the angle at which it passes under the head.
//!
//! Sectors are numbered along a track, then through the tracks of a cylinder, then through the cylinders from the
//! outermost inward. Every other cylinder is traversed from the last head to the first (serpentine), so the step to the
//! next cylinder keeps the head and is a seek without a head switch. Disks built since about 2000 also use one head for
//! a whole band of cylinders before they switch to the next head. The width of these bands is not published; the width
//! makes little difference, because a head switch takes about as long as a seek to the next track.
//!
//! Each track begins a skew later than the previous track, so that the head arrives in time. An angle is stated as the
//! time in picoseconds between the index and the position; on every surface, the index passes at each multiple of a
//! revolution. The boundaries of sectors are rounded down to a picosecond, and all times are differences of boundaries:
//! each sector begins exactly when the previous sector ends. If a sector began a picosecond earlier, access to it would
//! cost a revolution.

use crate::spec::DiskSpec;
use lanemark_schema::units::Duration;

/// The layout of a disk's sectors.
#[derive(Clone, Debug)]
pub(super) struct Geometry {
    revolution: u64,
    heads: u64,
    track_skew: u64,
    cylinder_skew: u64,
    zones: Vec<ZoneStart>,
    sectors: u64,
}

#[derive(Clone, Copy, Debug)]
struct ZoneStart {
    sector: u64,
    cylinder: u64,
    sectors_per_track: u64,
}

/// A track and its sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Track {
    /// Cylinder of the track, 0 for the outermost.
    pub cylinder: u32,
    /// Head of the track.
    pub head: u32,
    /// First sector of the track.
    pub first: u64,
    /// Number of sectors on the track.
    pub sectors: u64,
    /// Time after the index at which the track begins, in picoseconds.
    skew: u64,
    revolution: u64,
}

impl Geometry {
    /// Creates the layout of a disk that passed [`DiskSpec::check`].
    pub(super) fn new(spec: &DiskSpec) -> Self {
        let heads = u64::from(spec.heads);
        let mut sector = 0;
        let mut cylinder = 0;
        let mut zones = Vec::with_capacity(spec.zones.len());
        for zone in &spec.zones {
            let sectors_per_track = u64::from(zone.sectors_per_track);
            zones.push(ZoneStart { sector, cylinder, sectors_per_track });
            sector += u64::from(zone.cylinders) * heads * sectors_per_track;
            cylinder += u64::from(zone.cylinders);
        }
        Self {
            revolution: spec.revolution().picoseconds(),
            heads,
            track_skew: spec.track_skew.picoseconds(),
            cylinder_skew: spec.cylinder_skew.picoseconds(),
            zones,
            sectors: sector,
        }
    }

    pub(super) fn revolution(&self) -> Duration {
        Duration::from_picoseconds(self.revolution)
    }

    /// Returns the track that contains `sector`, or the last track if `sector` is after the end.
    pub(super) fn track_of(&self, sector: u64) -> Track {
        let sector = sector.min(self.sectors - 1);
        let behind = self.zones.partition_point(|zone| zone.sector <= sector);
        let zone = self.zones[behind - 1];
        let track = (sector - zone.sector) / zone.sectors_per_track;
        let cylinder = zone.cylinder + track / self.heads;
        let place = track % self.heads;
        let head = if cylinder.is_multiple_of(2) { place } else { self.heads - 1 - place };
        let skews = cylinder * (self.heads - 1) * self.track_skew
            + cylinder * self.cylinder_skew
            + place * self.track_skew;
        Track {
            cylinder: cylinder as u32,
            head: head as u32,
            first: zone.sector + track * zone.sectors_per_track,
            sectors: zone.sectors_per_track,
            skew: skews % self.revolution,
            revolution: self.revolution,
        }
    }
}

impl Track {
    /// Returns the sector after the last sector of the track.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.sectors
    }

    /// Returns the time from the beginning of the track to the beginning of `sector`, which is the end of the previous
    /// sector.
    pub(crate) fn sector_start_time(&self, sector: u64) -> u64 {
        (sector - self.first) * self.revolution / self.sectors
    }

    /// Returns the time from the index to the beginning of `sector`.
    pub(crate) fn angle(&self, sector: u64) -> u64 {
        (self.skew + self.sector_start_time(sector)) % self.revolution
    }

    /// Returns the last sector boundary that passes within `time` after the boundary of `from`, no later than `limit`.
    pub(crate) fn passed(&self, from: u64, limit: u64, time: u64) -> u64 {
        let until = self.sector_start_time(from) + time;
        // The boundary is rounded down, so the estimate may be too low by one but is never too high.
        let estimate = self.first + until.min(self.revolution) * self.sectors / self.revolution;
        let exact = if self.sector_start_time((estimate + 1).min(self.end())) <= until {
            estimate + 1
        } else {
            estimate
        };
        exact.min(limit).min(self.end()).max(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sector_lies_on_the_track_that_follows_the_one_before() {
        let geometry = Geometry::new(&DiskSpec::example());
        let mut last = geometry.track_of(0);
        assert_eq!((last.cylinder, last.head, last.first), (0, 0, 0));
        for sector in 1..geometry.sectors {
            let track = geometry.track_of(sector);
            if track != last {
                assert_eq!(track.first, last.end());
                let heads = (track.head as i64 - last.head as i64).abs();
                match track.cylinder - last.cylinder {
                    0 => assert_eq!(heads, 1),
                    step => assert_eq!((step, heads), (1, 0), "a new cylinder keeps the head"),
                }
            }
            last = track;
        }
        assert_eq!(last.end(), geometry.sectors);
        assert_eq!(u64::from(last.cylinder), DiskSpec::example().cylinders() - 1);
    }

    #[test]
    fn the_sectors_that_pass_in_a_time_are_those_whose_boundaries_do() {
        let geometry = Geometry::new(&DiskSpec::example());
        let track = geometry.track_of(0);
        for from in [0, 1, 7, track.sectors - 1] {
            for to in from..=track.end() {
                let time = track.sector_start_time(to) - track.sector_start_time(from);
                assert_eq!(track.passed(from, track.end(), time), to);
                if to > from {
                    assert_eq!(track.passed(from, track.end(), time - 1), to - 1);
                }
            }
        }
        assert_eq!(track.passed(0, 5, u64::from(u32::MAX)), 5, "not beyond the limit");
    }
}

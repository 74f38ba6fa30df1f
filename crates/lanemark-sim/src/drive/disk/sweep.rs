//! The arm and the platters: the position of a head, its movement, and the sectors that pass under it.

use super::geometry::{Geometry, Track};
use super::seek::SeekCurve;
use crate::spec::DiskSpec;
use lanemark_schema::units::{Duration, Instant};

/// The arm and the platters of a disk.
#[derive(Clone, Debug)]
pub(crate) struct Mechanics {
    geometry: Geometry,
    reading: HeadMotion,
    writing: HeadMotion,
}

/// Times that a head takes to move to another track.
#[derive(Clone, Debug)]
struct HeadMotion {
    seek: SeekCurve,
    head_switch: Duration,
}

/// A head that passes over consecutive sectors.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SectorSweep {
    /// The current track of the head.
    pub track: Track,
    /// The next sector.
    pub sector: u64,
    /// Instant at which that sector begins or began to pass; at the end of a track, the instant of the track's end.
    pub at: Instant,
    writing: bool,
}

impl Mechanics {
    /// Creates the mechanics of a disk that passed [`DiskSpec::check`].
    pub(crate) fn new(spec: &DiskSpec) -> Self {
        let cylinders = spec.cylinders();
        let settle = spec.write_seek.track_to_track.saturating_sub(spec.read_seek.track_to_track);
        let motion =
            |seek, head_switch| HeadMotion { seek: SeekCurve::new(seek, cylinders), head_switch };
        Self {
            geometry: Geometry::new(spec),
            reading: motion(&spec.read_seek, spec.head_switch),
            writing: motion(&spec.write_seek, spec.head_switch + settle),
        }
    }

    /// Returns the outermost track, on which the arm rests at the start.
    pub(crate) fn outermost(&self) -> Track {
        self.geometry.track_of(0)
    }

    /// Moves a head from `track` at `now` to the beginning of `sector`: a seek or head switch, then the rest of the
    /// revolution until the sector passes.
    pub(crate) fn reach(
        &self,
        now: Instant,
        track: &Track,
        sector: u64,
        writing: bool,
    ) -> SectorSweep {
        let target = self.geometry.track_of(sector);
        let there = now + self.motion(track, &target, writing);
        let turn = self.geometry.revolution().picoseconds();
        let wait = (target.angle(sector) + turn - there.picoseconds() % turn) % turn;
        let at = there + Duration::from_picoseconds(wait);
        SectorSweep { track: target, sector, at, writing }
    }

    /// Passes all sectors before `end`, and returns the instant at which the last of these sectors has passed.
    pub(crate) fn pass(&self, sweep: &mut SectorSweep, end: u64) -> Instant {
        while sweep.sector < end {
            self.cross(sweep);
            let to = end.min(sweep.track.end());
            sweep.at = sweep.at + passing_time(&sweep.track, sweep.sector, to);
            sweep.sector = to;
        }
        sweep.at
    }

    /// Passes the sectors before `limit` that have passed by `now`.
    pub(crate) fn catch_up(&self, sweep: &mut SectorSweep, limit: u64, now: Instant) {
        while sweep.sector < limit && sweep.at <= now {
            let mut next = *sweep;
            self.cross(&mut next);
            if next.at > now {
                return;
            }
            let time = now.since(next.at).picoseconds();
            let to = next.track.passed(next.sector, limit, time);
            if to == next.sector {
                return;
            }
            next.at = next.at + passing_time(&next.track, next.sector, to);
            next.sector = to;
            *sweep = next;
        }
    }

    /// Moves to the next track at the end of a track.
    fn cross(&self, sweep: &mut SectorSweep) {
        if sweep.sector == sweep.track.end() {
            *sweep = self.reach(sweep.at, &sweep.track, sweep.sector, sweep.writing);
        }
    }

    /// Returns the time that a head takes to move to another track.
    pub(crate) fn motion(&self, from: &Track, to: &Track, writing: bool) -> Duration {
        let motion = if writing { &self.writing } else { &self.reading };
        let distance = from.cylinder.abs_diff(to.cylinder);
        if from.head == to.head {
            motion.seek.time(distance)
        } else {
            motion.seek.time(distance).max(motion.head_switch)
        }
    }
}

fn passing_time(track: &Track, from: u64, to: u64) -> Duration {
    Duration::from_picoseconds(track.sector_start_time(to) - track.sector_start_time(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    use proptest::prelude::*;

    fn mechanics() -> Mechanics {
        Mechanics::new(&DiskSpec::example())
    }

    #[test]
    fn a_sector_that_follows_is_there_at_once_and_one_that_just_went_by_a_revolution_later() {
        let mechanics = mechanics();
        let turn = mechanics.geometry.revolution();
        let mut sweep = mechanics.reach(Instant::ZERO, &mechanics.outermost(), 0, false);
        let end = mechanics.pass(&mut sweep, 3);
        assert_eq!(mechanics.reach(end, &sweep.track, 3, false).at, end);
        let late = end + Duration::from_picoseconds(1);
        assert_eq!(mechanics.reach(late, &sweep.track, 3, false).at, end + turn);
    }

    #[test]
    fn the_next_track_begins_a_skew_later() {
        let mechanics = mechanics();
        let spec = DiskSpec::example();
        let mut sweep = mechanics.reach(Instant::ZERO, &mechanics.outermost(), 0, false);
        let track = sweep.track.sectors;
        let begun = sweep.at;
        let end = mechanics.pass(&mut sweep, track * u64::from(spec.heads) * 2);
        let turns = spec.revolution() * u64::from(spec.heads) * 2;
        let skews = spec.track_skew * u64::from(spec.heads - 1) * 2 + spec.cylinder_skew;
        assert_eq!(end.since(begun), turns + skews);
    }

    #[test]
    fn a_skew_that_is_too_short_costs_a_revolution() {
        let mut spec = DiskSpec::example();
        spec.track_skew = spec.head_switch - Duration::from_nanoseconds(1);
        let mechanics = Mechanics::new(&spec);
        let mut sweep = mechanics.reach(Instant::ZERO, &mechanics.outermost(), 0, false);
        let begun = sweep.at;
        let track = sweep.track.sectors;
        let end = mechanics.pass(&mut sweep, track * 2);
        assert_eq!(end.since(begun), spec.revolution() * 3 + spec.track_skew);
    }

    proptest! {
        /// A sweep passes sectors at the same instants whether it runs in several parts or at once, and time never
        /// decreases.
        #[test]
        fn a_sweep_in_pieces_is_the_sweep_as_a_whole(
            start in 0u64..20_000, pieces in proptest::collection::vec(1u64..700, 1..20),
            at in 0u64..100_000_000_000, writing: bool,
        ) {
            let mechanics = mechanics();
            let now = Instant::from_picoseconds(at);
            let begun = mechanics.reach(now, &mechanics.outermost(), start, writing);
            prop_assert!(begun.at >= now);
            let mut parts = begun;
            let mut whole = begun;
            let mut following = begun;
            let end = start + pieces.iter().sum::<u64>();
            let mut last = begun.at;
            for piece in pieces {
                let to = parts.sector + piece;
                let at = mechanics.pass(&mut parts, to);
                prop_assert!(at > last);
                last = at;
                mechanics.catch_up(&mut following, end, Instant::from_picoseconds(at.picoseconds() - 1));
                prop_assert_eq!(following.sector, to - 1);
                mechanics.catch_up(&mut following, end, at);
                prop_assert_eq!((following.sector, following.at), (to, at));
            }
            prop_assert_eq!(mechanics.pass(&mut whole, end), last);
        }
    }
}

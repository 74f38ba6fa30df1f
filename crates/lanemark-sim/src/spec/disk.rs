//! The specification of a hard disk: plain values, checked.

use super::bounds::{SpecError, check_within};
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration};
use lanemark_schema::workload::SECTOR;

/// The platters, arm and cache of a hard disk.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskSpec {
    /// Number of revolutions per minute.
    pub rpm: u32,
    /// Number of heads, one for each recorded surface.
    pub heads: u32,
    /// Zones of cylinders with the same number of sectors per track, from the outermost inward.
    pub zones: Vec<DiskZone>,
    /// Seek times of the arm for a read.
    pub read_seek: SeekSpec,
    /// Seek times of the arm for a write, which are longer because the head must settle more exactly.
    pub write_seek: SeekSpec,
    /// Time to switch from one head to another in the same cylinder, for reads. For writes, the head takes the same
    /// additional time to settle as after a seek.
    pub head_switch: Duration,
    /// Delay of the beginning of a track after the beginning of the previous track of its cylinder.
    pub track_skew: Duration,
    /// Delay of the beginning of the first track of a cylinder after the beginning of the previous track.
    pub cylinder_skew: Duration,
    /// Firmware time of a read that needs the media, before the arm moves.
    pub command_overhead: Duration,
    /// Number of cache segments; each contains one run of sectors that were read.
    pub segments: u32,
    /// The size of a segment.
    pub segment: Bytes,
    /// Distance that the disk reads ahead after a read while it is otherwise idle.
    pub read_ahead: Bytes,
    /// Whether a write is complete when it is in the buffer, rather than on the media.
    pub write_cache: bool,
    /// Number of buffered writes, from the oldest, among which the disk chooses the next write.
    pub destage_window: u32,
    /// Waiting time after which a command precedes all commands with shorter positioning times.
    pub age_max: Duration,
    /// Minimum time between the arm's arrival on the track and the passage of the data under the head, as the firmware
    /// plans it. If the margin is smaller, the firmware assumes that the data passes one revolution later. This time
    /// limits the gain from a queue.
    pub reorder_margin: Duration,
}

/// Consecutive cylinders with the same number of sectors per track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiskZone {
    /// Number of cylinders.
    pub cylinders: u32,
    /// Number of 512-byte sectors on a track.
    pub sectors_per_track: u32,
}

/// The three arm times that data sheets state, including settling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeekSpec {
    /// Time to the next cylinder.
    pub track_to_track: Duration,
    /// Mean time over all pairs of cylinders.
    pub average: Duration,
    /// Time from the first cylinder to the last.
    pub full_stroke: Duration,
}

/// Minimum and maximum number of cylinders of a disk.
const CYLINDERS: (u64, u64) = (16, 1 << 20);

impl DiskSpec {
    /// Returns the time of a revolution.
    pub fn revolution(&self) -> Duration {
        Duration::from_seconds(60) / u64::from(self.rpm.max(1))
    }

    /// Returns the number of cylinders of all zones.
    pub fn cylinders(&self) -> u64 {
        self.zones.iter().map(|zone| u64::from(zone.cylinders)).sum()
    }

    /// Returns the total capacity of all tracks.
    pub fn raw_capacity(&self) -> Bytes {
        let sectors =
            |zone: &DiskZone| u64::from(zone.cylinders) * u64::from(zone.sectors_per_track);
        SECTOR * (self.zones.iter().map(sectors).sum::<u64>() * u64::from(self.heads))
    }

    /// Returns the sequential rate of a zone, over all tracks of a cylinder, including the skew of each track.
    pub(crate) fn sustained_rate(&self, zone: &DiskZone) -> BytesPerSecond {
        let heads = u64::from(self.heads);
        let skews = self.track_skew * (heads - 1) + self.cylinder_skew;
        SECTOR * (u64::from(zone.sectors_per_track) * heads) / (self.revolution() * heads + skews)
    }

    /// Checks all bounds on which the model relies, for a drive with the visible capacity `capacity`.
    ///
    /// # Errors
    /// Returns an error for the first value that is out of bounds, with the bound.
    pub fn check(&self, capacity: Bytes) -> Result<(), SpecError> {
        check_within("drive.disk.rpm", self.rpm.into(), 1_000, 50_000)?;
        check_within("drive.disk.heads", self.heads.into(), 1, 64)?;
        check_within("drive.disk.zones", self.zones.len() as u64, 1, 256)?;
        for zone in &self.zones {
            check_within("drive.disk.zone.cylinders", zone.cylinders.into(), 1, CYLINDERS.1)?;
            let sectors = zone.sectors_per_track.into();
            check_within("drive.disk.zone.sectors_per_track", sectors, 8, 65_535)?;
        }
        check_within("drive.disk.zones", self.cylinders(), CYLINDERS.0, CYLINDERS.1)?;
        self.read_seek.check("drive.disk.read_seek")?;
        self.write_seek.check("drive.disk.write_seek")?;
        let read = &self.read_seek;
        let write = &self.write_seek;
        if write.track_to_track < read.track_to_track {
            let bound = format!("at least the {} of a read", read.track_to_track);
            return fail("drive.disk.write_seek.track_to_track", write.track_to_track, bound);
        }
        let turn = self.revolution();
        let short = [
            ("drive.disk.head_switch", self.head_switch),
            ("drive.disk.track_skew", self.track_skew),
            ("drive.disk.cylinder_skew", self.cylinder_skew),
            ("drive.disk.reorder_margin", self.reorder_margin),
        ];
        for (field, time) in short {
            if time >= turn {
                return fail(field, time, format!("less than a revolution, {turn}"));
            }
        }
        let long = [
            ("drive.disk.command_overhead", self.command_overhead, Duration::ZERO),
            ("drive.disk.age_max", self.age_max, turn),
        ];
        for (field, time, least) in long {
            let most = Duration::from_seconds(60);
            if !(least..=most).contains(&time) {
                return fail(field, time, format!("from {least} to {most}"));
            }
        }
        check_within("drive.disk.segments", self.segments.into(), 1, 1_024)?;
        check_within("drive.disk.destage_window", self.destage_window.into(), 1, 4_096)?;
        let is_whole_sectors = |bytes: Bytes| bytes.get().is_multiple_of(SECTOR.get());
        if self.segment < Bytes::kibi(64)
            || self.segment > Bytes::mebi(256)
            || !is_whole_sectors(self.segment)
        {
            let bound = "whole sectors from 64 KiB to 256 MiB".to_owned();
            return fail("drive.disk.segment", self.segment, bound);
        }
        if self.read_ahead > self.segment || !is_whole_sectors(self.read_ahead) {
            let bound = format!("whole sectors, at most a segment of {}", self.segment);
            return fail("drive.disk.read_ahead", self.read_ahead, bound);
        }
        if capacity < SECTOR || capacity > self.raw_capacity() {
            let bound = format!("at most {}, the capacity of the tracks", self.raw_capacity());
            return fail("drive.capacity", capacity, bound);
        }
        Ok(())
    }
}

impl SeekSpec {
    /// Bounds of the position of the average between the shortest and the longest seek; `drive/disk/seek.rs` derives
    /// them.
    const AVERAGE: (f64, f64) = (1.0 / 3.0, 8.0 / 15.0);

    fn check(&self, field: &'static str) -> Result<(), SpecError> {
        let Self { track_to_track, average, full_stroke } = *self;
        let seek_times = format!("{track_to_track} / {average} / {full_stroke}");
        if track_to_track == Duration::ZERO || full_stroke > Duration::from_seconds(1) {
            return fail(field, seek_times, "above 0 and up to 1 s".to_owned());
        }
        if track_to_track >= average || average >= full_stroke {
            return fail(field, seek_times, "track to track < average < full stroke".to_owned());
        }
        let (low, high) = Self::AVERAGE;
        if !(low..=high).contains(&self.average_place()) {
            let stroke = (full_stroke - track_to_track).as_seconds();
            let at = |place: f64| (track_to_track.as_seconds() + stroke * place) * 1e3;
            let bound = format!("an average from {:.3} to {:.3} ms", at(low), at(high));
            return fail(field, seek_times, bound);
        }
        Ok(())
    }

    /// Returns the position of the average, from 0 for the shortest seek to 1 for the longest.
    pub(crate) fn average_place(&self) -> f64 {
        let above = self.average.saturating_sub(self.track_to_track).as_seconds();
        above / self.full_stroke.saturating_sub(self.track_to_track).as_seconds()
    }
}

fn fail<T>(
    field: &'static str,
    value: impl std::fmt::Display,
    bound: String,
) -> Result<T, SpecError> {
    Err(SpecError { field, value: value.to_string(), bound })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_disk_can_have_is_named() {
        let capacity = Bytes::mebi(64);
        assert_eq!(DiskSpec::example().check(capacity), Ok(()));
        let field = |change: fn(&mut DiskSpec)| {
            let mut spec = DiskSpec::example();
            change(&mut spec);
            spec.check(capacity).unwrap_err().field
        };
        assert_eq!(field(|spec| spec.rpm = 0), "drive.disk.rpm");
        assert_eq!(field(|spec| spec.heads = 0), "drive.disk.heads");
        assert_eq!(field(|spec| spec.zones.clear()), "drive.disk.zones");
        assert_eq!(field(|spec| spec.zones[0].cylinders = 0), "drive.disk.zone.cylinders");
        assert_eq!(field(|spec| spec.track_skew = spec.revolution()), "drive.disk.track_skew");
        assert_eq!(field(|spec| spec.segment = Bytes(1)), "drive.disk.segment");
        assert_eq!(field(|spec| spec.read_ahead = spec.segment * 2), "drive.disk.read_ahead");
        assert_eq!(field(|spec| spec.age_max = Duration::ZERO), "drive.disk.age_max");
        assert_eq!(field(|spec| spec.read_seek.average = Duration::ZERO), "drive.disk.read_seek");
        let late = |spec: &mut DiskSpec| {
            spec.read_seek.average = spec.read_seek.full_stroke - Duration::from_nanoseconds(1);
        };
        assert_eq!(field(late), "drive.disk.read_seek");
        // Each rule about the three seek times has its own message.
        let bound = |seek: [u64; 3]| {
            let [track_to_track, average, full_stroke] = seek.map(Duration::from_microseconds);
            SeekSpec { track_to_track, average, full_stroke }.check("seek").map_err(|e| e.bound)
        };
        let order = "track to track < average < full stroke";
        let ends = "above 0 and up to 1 s";
        for (seek, wanted) in [
            ([300, 300, 9_000], order),
            ([300, 299, 9_000], order),
            ([300, 9_000, 9_000], order),
            ([300, 9_001, 9_000], order),
            ([9_000, 4_000, 300], order),
            ([0, 4_000, 9_000], ends),
            ([300, 400_000, 1_000_001], ends),
        ] {
            assert_eq!(bound(seek), Err(wanted.to_owned()), "{seek:?}");
        }
        // The average must be from a third to eight fifteenths of the stroke.
        for (average, is_valid) in [(3_199, false), (3_201, true), (4_939, true), (4_941, false)] {
            assert_eq!(bound([300, average, 9_000]).is_ok(), is_valid, "{average}");
        }
        let spec = DiskSpec::example();
        let error = spec.check(spec.raw_capacity() + Bytes(1)).unwrap_err();
        assert_eq!(error.field, "drive.capacity");
    }
}

//! The values of a hard disk model that a fit can vary.
//!
//! The time of a single random read is the sum of the seek, half a revolution and the firmware's time. The firmware's
//! time can be distinguished from the seek only by its effect on reads from the cache. Different queue depths determine
//! the margin with which the firmware reorders. Writes determine the seek including the settling of the head, and
//! sequential data determines the sectors per track. The longest seek scales with the mean seek. The shortest seek,
//! which is the settling time, does not change, because the skew of the tracks is designed for it.

use lanemark_schema::units::Duration;
use lanemark_sim::spec::{DiskSpec, DriveSpec, MediaSpec, SeekSpec};

use super::parameter::{AffectedTests, Parameter, ParameterUnit, time};

/// The maximum margin, as a share of a revolution.
const MARGIN_MOST: f64 = 0.95;
/// The maximum number of cylinders of a disk.
const CYLINDERS_MOST: f64 = 1_048_576.0;
/// The ratio of the capacity of all tracks to the capacity of the disk, which allows for rounding.
const SPARE: f64 = 1.003;

/// The values of a disk that a fit can vary, those that affect reads first.
pub(super) const PARAMETERS: [Parameter; 5] = [
    Parameter {
        name: "drive.disk.read_seek.average",
        unit: ParameterUnit::Microseconds,
        offset: 0.0,
        bounds: (300.0, 60_000.0),
        shows: AffectedTests::Reads,
        needs: "RND4K Q1T1 read over the whole disk",
        get: |drive| Some(disk(drive)?.read_seek.average.as_microseconds()),
        set: |drive, us| {
            change(drive, |disk| disk.read_seek = scaled(disk.read_seek, us));
        },
    },
    Parameter {
        name: "drive.disk.command_overhead",
        unit: ParameterUnit::Microseconds,
        offset: 100.0,
        bounds: (0.0, 20_000.0),
        shows: AffectedTests::Reads,
        needs: "a data sheet that states seek times with and without it, because a measurement shows only the sum of both times",
        get: |drive| Some(disk(drive)?.command_overhead.as_microseconds()),
        set: |drive, us| change(drive, |disk| disk.command_overhead = time(us)),
    },
    Parameter {
        name: "drive.disk.reorder_margin",
        unit: ParameterUnit::Microseconds,
        offset: 300.0,
        bounds: (0.0, 20_000.0),
        shows: AffectedTests::Both,
        needs: "RND4K Q4T1 to Q32T1 read",
        get: |drive| Some(disk(drive)?.reorder_margin.as_microseconds()),
        set: |drive, us| {
            change(drive, |disk| {
                let most = disk.revolution().as_microseconds() * MARGIN_MOST;
                disk.reorder_margin = time(us.min(most));
            });
        },
    },
    Parameter {
        name: "drive.disk.zones.sectors_outer",
        unit: ParameterUnit::Count,
        offset: 0.0,
        bounds: (64.0, 65_535.0),
        shows: AffectedTests::Both,
        needs: "SEQ128K Q1T1 or Q32T1 read at the beginning of the disk",
        get: |drive| Some(f64::from(disk(drive)?.zones.first()?.sectors_per_track)),
        set: |drive, sectors| {
            let capacity = drive.capacity.get() as f64;
            change(drive, |disk| set_sectors(disk, sectors, capacity));
        },
    },
    Parameter {
        name: "drive.disk.write_seek.average",
        unit: ParameterUnit::Microseconds,
        offset: 0.0,
        bounds: (300.0, 60_000.0),
        shows: AffectedTests::Writes,
        needs: "RND4K Q1T1 or Q32T1 write over the whole disk",
        get: |drive| Some(disk(drive)?.write_seek.average.as_microseconds()),
        set: |drive, us| {
            change(drive, |disk| {
                // A head needs the same time or more to settle for a write than for a read.
                let least = disk.read_seek.track_to_track;
                disk.write_seek = scaled(disk.write_seek, us.max(2.0 * least.as_microseconds()));
            });
        },
    },
];

/// Values of a disk that a workload of a few minutes cannot determine, each with the measurement that would determine
/// it.
pub(super) const UNSEEN: [(&str, &str); 4] = [
    ("drive.disk.heads", "measurements cannot distinguish one more head from one fewer cylinder"),
    ("drive.disk.segments", "sequential reads by several concurrent readers"),
    (
        "drive.disk.write_cache",
        "the output of `hdparm -W` or `sdparm --get=WCE`, which shows whether it is on",
    ),
    ("drive.buffer.capacity", "a burst of writes after an idle period, with --interval 1ms"),
];

/// Returns the values that change with the fitted values, from a comparison of `now` with `before`: the name, the
/// value, and the template's value.
pub(super) fn followers(now: &DriveSpec, before: &DriveSpec) -> Vec<(String, String, String)> {
    let (Some(now), Some(before)) = (disk(now), disk(before)) else { return Vec::new() };
    let mut found = Vec::new();
    let seeks = [
        ("read_seek", now.read_seek, before.read_seek),
        ("write_seek", now.write_seek, before.write_seek),
    ];
    for (name, now, before) in seeks {
        for (key, now, before) in [
            ("track_to_track", now.track_to_track, before.track_to_track),
            ("full_stroke", now.full_stroke, before.full_stroke),
        ] {
            let text = |time: Duration| format!("{:.1} us", time.as_microseconds());
            found.push((format!("drive.disk.{name}.{key}"), text(now), text(before)));
        }
    }
    let inner = |disk: &DiskSpec| disk.zones.last().map_or(0, |zone| zone.sectors_per_track);
    for (key, now, before) in [
        ("sectors_inner", u64::from(inner(now)), u64::from(inner(before))),
        ("cylinders", now.cylinders(), before.cylinders()),
    ] {
        found.push((format!("drive.disk.zones.{key}"), now.to_string(), before.to_string()));
    }
    found.retain(|(_, now, before)| now != before);
    found
}

/// Returns the disk specification of a drive, if it is a hard disk.
pub(super) fn disk(drive: &DriveSpec) -> Option<&DiskSpec> {
    match &drive.media {
        MediaSpec::Disk(disk) => Some(disk),
        MediaSpec::Flash(_) | MediaSpec::Cloud(_) => None,
    }
}

fn change(drive: &mut DriveSpec, how: impl FnOnce(&mut DiskSpec)) {
    if let MediaSpec::Disk(disk) = &mut drive.media {
        how(disk);
    }
}

/// Returns a seek curve with an average of `us` microseconds, and with the same settling time and the same shape above
/// it. If the settling time is longer than half of the average, it is shortened to that half.
fn scaled(seek: SeekSpec, us: f64) -> SeekSpec {
    let [shortest, average, longest] =
        [seek.track_to_track, seek.average, seek.full_stroke].map(Duration::as_microseconds);
    let fraction = (average - shortest) / (longest - shortest).max(1e-3);
    let settled = shortest.min(us / 2.0);
    SeekSpec {
        track_to_track: time(settled),
        average: time(us),
        full_stroke: time(settled + (us - settled) / fraction.max(1e-3)),
    }
}

/// Sets the sectors of the outermost tracks, scales the sectors of all other tracks, and adapts the number of cylinders
/// to `capacity`.
fn set_sectors(disk: &mut DiskSpec, sectors: f64, capacity: f64) {
    let Some(outer) = disk.zones.first().map(|zone| f64::from(zone.sectors_per_track)) else {
        return;
    };
    // With fewer sectors, the maximum number of cylinders would not suffice for the capacity.
    let densest = disk.raw_capacity().get() as f64 * CYLINDERS_MOST / disk.cylinders() as f64;
    let factor = (sectors.round() / outer).max(1.01 * SPARE * capacity / densest);
    if (factor - 1.0).abs() < 1e-9 {
        return;
    }
    for zone in &mut disk.zones {
        let sectors = f64::from(zone.sectors_per_track) * factor;
        zone.sectors_per_track = sectors.round().clamp(8.0, 65_535.0) as u32;
    }
    let raw_capacity = disk.raw_capacity().get() as f64;
    let needed = (SPARE * capacity / raw_capacity).max(1e-6);
    let count = disk.zones.len() as f64;
    let total_sectors =
        (disk.cylinders() as f64 * needed).ceil().clamp(count.max(16.0), CYLINDERS_MOST) as u64;
    let zones = disk.zones.len() as u64;
    // The cylinders are distributed over the zones as in `[disk.zones]`.
    for (index, zone) in disk.zones.iter_mut().enumerate() {
        let index = index as u64;
        zone.cylinders =
            (total_sectors * (index + 1) / zones - total_sectors * index / zones) as u32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_study::library::LibraryKind;
    use lanemark_study::system::{NameLocations, SystemName};
    use lanemark_study::{Library, Location, System};

    /// A search may reach any combination of values within the bounds, so each combination must be a valid disk.
    #[test]
    fn every_result_of_a_search_is_a_disk() {
        let library = Library::built_in();
        let mut disks = 0;
        for name in library.names(LibraryKind::Drive) {
            let parts = |platform: &str, port: &str| SystemName {
                drive: name.clone(),
                platform: platform.to_owned(),
                port: port.to_owned(),
                beside: Vec::new(),
                volume: None,
            };
            let at = NameLocations::all(&Location::file("test"));
            let system = [("intel-z97", "sata"), ("dell-r730xd", "sas")]
                .into_iter()
                .filter_map(|(platform, port)| {
                    System::assemble(&library, &parts(platform, port), &at, &name, &[]).ok()
                })
                .find(|system| disk(&system.spec.first().drive).is_some());
            let Some(system) = system else { continue };
            disks += 1;
            let base = system.spec.into_spec();
            for step in 0..3u32.pow(PARAMETERS.len() as u32) {
                let mut tried = base.clone();
                for (index, parameter) in PARAMETERS.iter().enumerate() {
                    let (low, high) = parameter.bounds;
                    let middle = parameter.get(&base.attachments[0].drive).unwrap();
                    let values = [low, middle, high];
                    let value = values[(step / 3u32.pow(index as u32) % 3) as usize];
                    parameter.set(&mut tried.attachments[0].drive, parameter.log(value));
                }
                let checked = tried.check();
                assert!(checked.is_ok(), "{name} {step}: {checked:?}");
            }
        }
        assert!(disks > 15, "{disks}");
    }

    /// With half the sectors in each track, the same capacity takes twice the cylinders.
    #[test]
    fn sectors_of_a_track_change_the_cylinders_and_keep_the_capacity() {
        let library = Library::built_in();
        let name = "seagate-barracuda-1tb@intel-z97:sata";
        let at = NameLocations::all(&Location::file("test"));
        let parts = SystemName::parse(name).unwrap();
        let system = System::assemble(&library, &parts, &at, name, &[]).unwrap();
        let drive = &system.spec.first().drive;
        let before = disk(drive).unwrap().clone();
        let outer = f64::from(before.zones[0].sectors_per_track);
        for factor in [0.5, 0.75, 1.25] {
            let mut changed = before.clone();
            set_sectors(&mut changed, outer * factor, drive.capacity.get() as f64);
            let sectors = f64::from(changed.zones[0].sectors_per_track);
            assert!((sectors / (outer * factor) - 1.0).abs() < 0.01, "{factor}: {sectors}");
            let least = drive.capacity.get() as f64;
            let raw = changed.raw_capacity().get() as f64;
            assert!((1.0..1.05).contains(&(raw / least)), "{factor}: {raw} for {least}");
        }
        let mut same = before.clone();
        set_sectors(&mut same, outer, drive.capacity.get() as f64);
        assert_eq!(same, before);
    }
}

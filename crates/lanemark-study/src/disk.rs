//! The `[disk]` table of a drive file: the platters, arm and cache of a hard disk.

use lanemark_schema::units::Duration;
use lanemark_sim::spec::{DiskSpec, DiskZone, SeekSpec};

use crate::document::Section;
use crate::error::StudyError;

/// Reads a `[disk]` table. The model checks whether the values are in bounds.
///
/// # Errors
/// Returns the first error in the table.
pub fn read(section: &Section<'_>) -> Result<DiskSpec, StudyError> {
    let most = u64::from(u32::MAX);
    let spec = DiskSpec {
        rpm: section.integer("rpm", 1, most)? as u32,
        heads: section.integer("heads", 1, most)? as u32,
        zones: zones(section)?,
        read_seek: seek(&section.table("read_seek")?)?,
        write_seek: seek(&section.table("write_seek")?)?,
        head_switch: section.quantity("head_switch")?,
        track_skew: section.quantity("track_skew")?,
        cylinder_skew: section.quantity("cylinder_skew")?,
        command_overhead: section.quantity("command_overhead")?,
        segments: section.integer("segments", 1, most)? as u32,
        segment: section.quantity("segment")?,
        read_ahead: section.quantity("read_ahead")?,
        write_cache: switch(section, "write_cache")?,
        destage_window: section.integer("destage_window", 1, most)? as u32,
        age_max: section.quantity("age_max")?,
        reorder_margin: section.optional_quantity("reorder_margin")?.unwrap_or(Duration::ZERO),
    };
    section.finish()?;
    Ok(spec)
}

fn switch(section: &Section<'_>, key: &str) -> Result<bool, StudyError> {
    let parse = |text: &str| match text {
        "on" => Some(true),
        "off" => Some(false),
        _ => None,
    };
    section.parsed(key, "\"on\" or \"off\"", parse, true)
}

fn seek(section: &Section<'_>) -> Result<SeekSpec, StudyError> {
    let spec = SeekSpec {
        track_to_track: section.quantity("track_to_track")?,
        average: section.quantity("average")?,
        full_stroke: section.quantity("full_stroke")?,
    };
    section.finish()?;
    Ok(spec)
}

/// Reads `[disk.zones]`: zones with equal numbers of cylinders, in which the sectors per track decrease from
/// `sectors_outer` to `sectors_inner` in equal steps.
fn zones(section: &Section<'_>) -> Result<Vec<DiskZone>, StudyError> {
    let even = section.table("zones")?;
    let count = even.integer("count", 1, 256)?;
    let cylinders = even.integer("cylinders", count, 1 << 20)?;
    let outer = even.integer("sectors_outer", 1, 65_535)?;
    let inner = even.integer("sectors_inner", 1, outer)?;
    even.finish()?;
    let zone = |index: u64| DiskZone {
        cylinders: (cylinders * (index + 1) / count - cylinders * index / count) as u32,
        sectors_per_track: (outer - (outer - inner) * index / (count - 1).max(1)) as u32,
    };
    Ok((0..count).map(zone).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn zones_of(text: &str) -> Result<Vec<DiskZone>, String> {
        let document = Document::parse("d.toml", text).unwrap();
        let root = document.root("drive", None);
        zones(&root.table("disk").unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn zones_are_spread_evenly() {
        let zone = |cylinders, sectors_per_track| DiskZone { cylinders, sectors_per_track };
        let even =
            "[disk.zones]\ncount = 3\ncylinders = 100\nsectors_outer = 90\nsectors_inner = 60\n";
        assert_eq!(zones_of(even), Ok(vec![zone(33, 90), zone(33, 75), zone(34, 60)]));
        assert!(zones_of("[disk]\n").unwrap_err().contains("zones"));
    }
}

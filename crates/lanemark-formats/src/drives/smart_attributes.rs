//! The attributes that an ATA drive reports, from the table of `smartctl` or from its JSON. Their numbers and units
//! depend on the maker; smartctl's database states the unit in the name, such as `Host_Writes_32MiB`.

use super::described::ReportedHealth;
use crate::error::shown;
use crate::words::localised_number;

/// Unit of ATA's counts of sectors. Drives with larger logical sectors are hard disks.
pub(super) const SECTOR: f64 = 512.0;

/// An attribute with its raw value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct SmartAttribute<'t> {
    pub(super) id: u32,
    pub(super) name: &'t str,
    /// The normalised value, which falls from 100, 200 or 253 to the threshold.
    pub(super) value: f64,
    pub(super) raw: f64,
    /// Whether the value is at or below the threshold now.
    pub(super) is_failing: bool,
}

/// The attributes whose normalised value is the share of the endurance that is left, in per cent.
const ENDURANCE_LEFT: [(u32, &str); 5] = [
    (169, "Remaining_Lifetime"),
    (177, "Wear_Leveling"),
    (202, "Lifetime_Remain"),
    (231, "Life_Left"),
    (233, "Media_Wearout"),
];

impl<'t> SmartAttribute<'t> {
    /// Reads a row of smartctl's table; `None` for another line.
    ///
    /// ```text
    /// 194 Temperature_Celsius 0x0022 064 050 000 Old_age Always - 36 (Min/Max 20/50)
    /// 194 Temperature_Celsius -O---K 064 050 000 -    36 (Min/Max 20/50)
    /// ```
    pub(super) fn of_line(line: &'t str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().take(10).collect();
        let [id, name, flags, worth @ ..] = words.as_slice() else { return None };
        let is_number =
            |word: &&str| word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
        let is_row = worth.len() >= 5 && worth.iter().take(3).all(is_number) && flags.len() == 6;
        // The short form omits two columns.
        let raw_at = if flags.starts_with("0x") { 6 } else { 4 };
        let raw = worth.get(raw_at).filter(|_| is_row)?;
        Some(Self {
            id: id.parse().ok()?,
            name,
            value: localised_number(worth[0])?,
            raw: localised_number(raw)?,
            // `FAILING_NOW` or, in the short form, `NOW`
            is_failing: worth[raw_at - 1].to_uppercase().ends_with("NOW"),
        })
    }

    /// Returns the share of the endurance that is used, in per cent, if an attribute states it.
    pub(super) fn endurance_used(all: &[Self]) -> Option<f64> {
        let states = |one: &&Self| {
            ENDURANCE_LEFT.iter().any(|(id, part)| one.id == *id && one.name.contains(part))
        };
        let left = all.iter().filter(states).map(|one| one.value);
        left.filter(|left| (0.0..=100.0).contains(left)).map(|left| 100.0 - left).reduce(f64::max)
    }

    /// Returns the raw value of the attribute with this number.
    pub(super) fn raw(all: &[Self], id: u32) -> Option<f64> {
        all.iter().find(|attribute| attribute.id == id).map(|attribute| attribute.raw)
    }

    /// Sets the values that the attributes state about sectors and the link.
    pub(super) fn judge(all: &[Self], health: &mut ReportedHealth) {
        let named = |id: u32, part: &str| {
            all.iter()
                .find(|attribute| attribute.id == id && attribute.name.contains(part))
                .map(|attribute| attribute.raw)
        };
        let larger =
            |one: Option<f64>, other: Option<f64>| one.into_iter().chain(other).reduce(f64::max);
        health.reallocated_sectors = larger(
            named(5, "Reallocate").or_else(|| named(5, "Retired")),
            health.reallocated_sectors,
        );
        health.pending_sectors = larger(named(197, "Pending"), named(198, "Uncorrectable"));
        let errors = larger(named(187, "Uncorrect"), named(184, "End-to-End"));
        health.media_errors = larger(errors, health.media_errors);
        health.link_errors = named(199, "CRC");
        let failing = all.iter().filter(|attribute| attribute.is_failing);
        health.failing = failing.map(|attribute| shown(attribute.name)).collect();
    }

    /// Returns the data that the host has written.
    pub(super) fn written(all: &[Self]) -> Option<f64> {
        const UNITS: [(&str, f64); 5] = [
            ("LBA", SECTOR),
            ("Sectors", SECTOR),
            ("32MiB", 33_554_432.0),
            ("GiB", 1_073_741_824.0),
            ("GB", 1e9),
        ];
        all.iter().find_map(|Self { name, raw, .. }| {
            let is_of_host =
                ["Host", "Total", "Lifetime"].iter().any(|word| name.starts_with(word));
            if !is_of_host || !name.contains("Writ") || name.contains("NAND") {
                return None;
            }
            let (_, unit) = UNITS.iter().find(|(unit, _)| name.contains(unit))?;
            Some(raw * unit)
        })
    }
}

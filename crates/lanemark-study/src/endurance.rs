//! The rated endurance of the library's solid-state drives (`reference/endurance.csv`).
//!
//! A maker rates the data that a host may write during the warranty, as terabytes or as writes of the whole drive per
//! day. A rating is a limit of the warranty, not the amount of data after which a drive fails.

use std::fmt;

use lanemark_schema::text::csv_fields;

const TABLE: &str = include_str!("../../../reference/endurance.csv");

/// Warranty to which drive writes per day apply if the source does not print its length: the usual period of drives
/// that are rated in this unit.
pub const WARRANTY_YEARS_USUAL: f64 = 5.0;
/// Days per year in the definition of drive writes per day.
const DAYS: f64 = 365.0;

/// The rated endurance of a drive, as printed.
#[derive(Clone, Debug, PartialEq)]
pub struct EnduranceRating {
    /// Capacity of the drive in GB.
    pub capacity_gb: f64,
    /// Rated host writes in TB.
    pub tbw: Option<f64>,
    /// Rated writes of the whole drive per day of the warranty.
    pub dwpd: Option<f64>,
    /// Length of the warranty.
    pub warranty_years: Option<f64>,
    /// Address of the source.
    pub source: String,
    /// Grade of the source: A for the maker, B for a review, C for a shop or a user's list.
    pub grade: String,
}

impl EnduranceRating {
    /// Returns the rated host writes in TB, and the formula from which they follow.
    pub fn terabytes(&self) -> Option<(f64, String)> {
        if let Some(tbw) = self.tbw {
            return Some((tbw, format!("{tbw} TBW")));
        }
        let dwpd = self.dwpd?;
        let gigabytes = self.capacity_gb;
        let years = self.warranty_years.unwrap_or(WARRANTY_YEARS_USUAL);
        let assumed = if self.warranty_years.is_none() { " (assumed)" } else { "" };
        let formula = format!("{dwpd} DWPD x {gigabytes} GB x {DAYS} x {years} years{assumed}");
        Some((dwpd * gigabytes * DAYS * years / 1e3, formula))
    }
}

impl fmt::Display for EnduranceRating {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capacity_gb: _, tbw, dwpd, warranty_years, source, grade } = self;
        let figures = [
            tbw.map(|tbw| format!("{tbw} TB written")),
            dwpd.map(|dwpd| format!("{dwpd} drive writes per day")),
            warranty_years.map(|years| format!("{years} years of warranty")),
        ];
        let figures: Vec<String> = figures.into_iter().flatten().collect();
        write!(f, "{} ({source}, grade {grade})", figures.join(", "))
    }
}

/// Returns the rating of the library's drive `name`; `None` if no source prints one.
pub fn of_drive(name: &str) -> Option<EnduranceRating> {
    let row = TABLE.lines().find(|line| line.split(',').next() == Some(name))?;
    let cells = csv_fields(row)?;
    let number = |cell: usize| cells.get(cell)?.parse().ok();
    let rating = EnduranceRating {
        capacity_gb: number(1)?,
        tbw: number(2),
        dwpd: number(3),
        warranty_years: number(4),
        source: cells.get(5)?.clone(),
        grade: cells.get(8)?.clone(),
    };
    (rating.tbw.is_some() || rating.dwpd.is_some()).then_some(rating)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::DriveKind;
    use crate::library::LibraryKind;
    use crate::{Library, catalogue};

    #[test]
    fn each_row_is_of_a_drive_and_states_a_rating_with_its_source_or_nothing() {
        let library = Library::built_in();
        let mut rated = 0;
        for line in TABLE.lines().skip(1) {
            let cells = csv_fields(line).unwrap();
            let name = &cells[0];
            let entry = catalogue::drive(&library, name).unwrap();
            assert_eq!(entry.kind, DriveKind::SolidState, "{name}");
            let Some(rating) = of_drive(name) else {
                assert!(cells[2..4].concat().is_empty() && !cells[9].is_empty(), "{line}");
                continue;
            };
            rated += 1;
            let capacity = entry.capacity.get() as f64 / 1e9;
            assert!((rating.capacity_gb / capacity - 1.0).abs() < 0.001, "{name}: {capacity}");
            assert!(rating.source.starts_with("http"), "{line}");
            assert!(["A", "B", "C"].contains(&rating.grade.as_str()), "{line}");
            // An unreadable figure would otherwise count as absent.
            let printed = cells[2..5].iter().filter(|cell| !cell.is_empty()).count();
            let read = [rating.tbw, rating.dwpd, rating.warranty_years];
            assert_eq!(read.iter().flatten().count(), printed, "{line}");
            let daily = rating.terabytes().unwrap().0 / capacity / 1.825;
            assert!((0.04..40.0).contains(&daily), "{name}: {daily} drive writes a day");
        }
        assert!(rated >= 127, "{rated}");
        let disks = library.names(LibraryKind::Drive);
        assert!(disks.iter().any(|name| of_drive(name).is_none()));
    }

    #[test]
    fn drive_writes_per_day_are_converted_to_terabytes() {
        let (written, formula) = of_drive("samsung-pm983-1920gb").unwrap().terabytes().unwrap();
        assert!((written - 1.3 * 1.92 * 365.0 * 3.0).abs() < 1e-9);
        assert_eq!(formula, "1.3 DWPD x 1920 GB x 365 x 3 years");
        let assumed = of_drive("kioxia-cm6-r-3840gb").unwrap().terabytes().unwrap();
        assert!(assumed.1.ends_with("5 years (assumed)"), "{}", assumed.1);
        assert!((assumed.0 - 7008.0).abs() < 1e-9, "{}", assumed.0);
        let printed = of_drive("samsung-980-pro-1tb").unwrap().to_string();
        assert!(printed.starts_with("600 TB written, 5 years of warranty (http"), "{printed}");
        assert_eq!(of_drive("wd-blue-sa510-1tb"), None);
        assert_eq!(of_drive("drive"), None, "the heading");
    }
}

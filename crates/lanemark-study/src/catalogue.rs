//! The library's drives for a list: the name, maker, year and connector of each drive.
//!
//! Only the head of each file is read. Errors in the rest of a file are reported when a system is assembled from it.

use lanemark_schema::units::Bytes;
use lanemark_sim::spec::ProtocolKind;

use crate::drive::{Connector, Drive, DriveKind};
use crate::error::StudyError;
use crate::library::{Library, LibraryKind};

/// Makers whose names consist of two words.
const TWO_WORDS: [&str; 3] = ["SK hynix", "Western Digital", "Silicon Power"];
/// The years that a library drive may have.
const YEARS: std::ops::RangeInclusive<u16> = 1990..=2100;

/// A drive in a list of the library.
#[derive(Clone, Debug, PartialEq)]
pub struct DriveEntry {
    /// The name of its file.
    pub id: String,
    /// The display name.
    pub name: String,
    /// The maker, whose name begins the drive's name.
    pub maker: String,
    /// The year, if the ratings or the first line of the file state it.
    pub year: Option<u16>,
    /// Kind of the drive.
    pub kind: DriveKind,
    /// Protocol of the drive.
    pub protocol: ProtocolKind,
    /// Connector of the drive.
    pub plug: Connector,
    /// Capacity of the drive.
    pub capacity: Bytes,
}

/// Returns the entry of the drive `id`.
///
/// # Errors
/// Returns an error if the drive does not exist, or if its head cannot be read.
pub fn drive(library: &Library, id: &str) -> Result<DriveEntry, StudyError> {
    let file = library.open(LibraryKind::Drive, id)?;
    let (name, rated_year, rest) = file.read("drive", None, |root| {
        let name = root.table("drive")?.text("name")?;
        let rated = root.optional_table("rated")?;
        let bounds = (u64::from(*YEARS.start()), u64::from(*YEARS.end()));
        let year = rated.map(|rated| rated.optional_integer("year", bounds.0, bounds.1));
        Ok((name, year.transpose()?.flatten(), Drive::read_rated(root)?))
    })?;
    let location = crate::error::Location::file(file.file());
    let (kind, (capacity, protocol, plug)) =
        rest.ok_or_else(|| StudyError::new(location, "the head of the drive can't be read"))?;
    let year = rated_year.and_then(|year| u16::try_from(year).ok());
    let year = year.or_else(|| year_of(file.text().lines().next().unwrap_or_default()));
    let id = id.to_owned();
    Ok(DriveEntry { id, maker: maker(&name), name, year, kind, protocol, plug, capacity })
}

/// Returns the maker whose name is at the start of `name`.
fn maker(name: &str) -> String {
    let known = TWO_WORDS.into_iter().find(|known| name.starts_with(known));
    known.or_else(|| name.split_whitespace().next()).unwrap_or_default().to_owned()
}

/// Returns the year in the first parentheses of a file's first line, such as `# Intel X25-E (2008), SATA`.
fn year_of(line: &str) -> Option<u16> {
    let inside = line.split('(').skip(1).filter_map(|part| part.split(')').next());
    let year = |text: &str| text.get(..4)?.parse().ok().filter(|year| YEARS.contains(year));
    line.starts_with('#').then(|| inside.filter_map(year).next())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_drive_of_the_library_has_an_entry() {
        let library = Library::built_in();
        let names = library.names(LibraryKind::Drive);
        let entries: Vec<DriveEntry> =
            names.iter().map(|name| drive(&library, name).unwrap()).collect();
        assert!(entries.len() > 200);
        let dated = entries.iter().filter(|entry| entry.year.is_some()).count();
        assert!(dated * 10 > entries.len() * 8, "{dated} of {} have a year", entries.len());
        let find = |id: &str| entries.iter().find(|entry| entry.id == id).unwrap();
        let old = find("intel-x25-e-32gb");
        let of = (old.maker.as_str(), old.year, old.kind);
        assert_eq!(of, ("Intel", Some(2008), DriveKind::SolidState));
        assert_eq!(find("aws-gp3-1tib").kind, DriveKind::CloudVolume);
        assert_eq!(old.plug.to_string(), "SATA 3 Gb/s");
        assert_eq!(find("crucial-p5-plus-1tb").plug.to_string(), "PCIe 4.0 x4");
    }

    #[test]
    fn makers_and_years_follow_from_names_and_first_lines() {
        assert_eq!(maker("SK hynix Gold P31 1TB"), "SK hynix");
        assert_eq!(maker(""), "");
        assert_eq!(year_of("# Intel (x) X25-E (2008), SATA"), Some(2008));
        assert_eq!(year_of("# Intel (20é8)"), None);
        assert_eq!(year_of("name = (2008)"), None);
    }
}

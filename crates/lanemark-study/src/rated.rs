//! `[rated]` in a drive file: the figures on the drive's box, from which the values that the file omits are computed.
//!
//! A drive file with `[rated]` needs neither `[flash]` nor `[front_end]`. Each omitted value is computed from a rating
//! (`derived`), or taken from the library's priors for flash, controllers and disks of the same period (`assumed`, with
//! the range that contains 80% of comparable drives). Values in the file are not changed. The platform `data-sheet` is
//! assumed to reach the ratings.

#[cfg(test)]
mod completed_tests;
mod completion;
mod disks;
mod flash;
#[cfg(test)]
mod flash_tests;
mod flushes;
mod old_data;
mod phase_change;
mod printed;
mod priors;
mod pseudo_slc;
mod spare;

pub use printed::{BoxRatings, MapMemory, Market, RatedDisk};

use lanemark_sim::spec::MediaSpec;

use crate::document::{Context, Document};
use crate::drive::{Drive, DriveKind};
use crate::error::StudyError;
use crate::library::{Library, LibraryKind};
use crate::origin::{Ledger, Overrides, ValueRecord};
use completion::MissingValues;
use priors::Priors;

/// A library drive, with the origin of each of its values.
#[derive(Clone, Debug)]
pub struct ExplainedDrive {
    /// Display name of the drive.
    pub name: String,
    /// Ratings of the drive, if its file contains any.
    pub rated: Option<BoxRatings>,
    /// Values of the drive, in the order in which they were read.
    pub values: Vec<ValueRecord>,
    /// Whether the media are platters.
    pub is_disk: bool,
}

impl ExplainedDrive {
    /// Returns the names of the ratings that were found in no opened publication, and the number of all ratings.
    pub fn unverified_ratings(&self) -> (Vec<&str>, usize) {
        const NOT_RATINGS: [&str; 4] = ["market", "memory", "nand", "year"];
        let ratings: Vec<(&str, bool)> = self
            .values
            .iter()
            .filter_map(|value| Some((value.parameter.strip_prefix("drive.rated.")?, value)))
            .filter(|(key, _)| !NOT_RATINGS.contains(key))
            .map(|(key, value)| (key, value.origin.is_unverified(key)))
            .collect();
        let unverified = ratings.iter().filter(|(_, unverified)| *unverified);
        (unverified.map(|(key, _)| *key).collect(), ratings.len())
    }
}

/// Reads the drive `name` and completes it from its ratings.
///
/// # Errors
/// Returns an error if the file or its values cannot be read.
pub fn explain(library: &Library, name: &str) -> Result<ExplainedDrive, StudyError> {
    let ledger = Ledger::default();
    let overrides = Overrides::default();
    let context = Context { ledger: &ledger, overrides: &overrides };
    let file = library.open(LibraryKind::Drive, name)?;
    let completed = complete(&file, library, context)?.unwrap_or(file);
    let drive = Drive::read(&completed, context)?;
    let mut values: Vec<ValueRecord> = Vec::new();
    for record in ledger.records() {
        // The connector and the capacity are read a second time for the ratings.
        if !values.iter().any(|one| one.parameter == record.parameter) {
            values.push(record);
        }
    }
    // Reading the ratings succeeded above, and their records are already among the drive's records.
    let unseen = Ledger::default();
    let context = Context { ledger: &unseen, overrides: &overrides };
    let rated = completed.read("drive", Some(context), |root| {
        let Some((kind, (capacity, protocol, plug))) = Drive::read_rated(root)? else {
            return Ok(None);
        };
        BoxRatings::read(root, kind == DriveKind::Disk, capacity, protocol, plug)
    })?;
    let is_disk = matches!(drive.spec.media, MediaSpec::Disk(_));
    Ok(ExplainedDrive { name: drive.name, rated, values, is_disk })
}

/// Checks the text of a drive file in the same way as [`explain`], and that its media can be simulated.
///
/// # Errors
/// Returns all errors in the text.
pub fn check(library: &Library, text: &str) -> Result<(), StudyError> {
    let context = Context { ledger: &Ledger::default(), overrides: &Overrides::default() };
    let file = Document::parse("the drive file", text)?;
    let completed = complete(&file, library, context)?.unwrap_or(file);
    let spec = Drive::read(&completed, context)?.spec;
    spec.media.check(spec.capacity).map_err(|error| {
        let location = completed.location_of_parameter("drive", error.field);
        StudyError::new(location, error.to_string())
    })
}

/// Returns the text of a drive file with only `[drive]` and `[rated]`.
pub fn file_text(
    drive: &[(&str, FileValue)],
    port: &[(&str, FileValue)],
    rated: &[(&str, FileValue)],
) -> String {
    let list = |pairs: &[(&str, FileValue)]| -> Vec<String> {
        pairs.iter().map(|(key, value)| format!("{key} = {value}")).collect()
    };
    format!(
        "[drive]\n{}\nport = {{ {} }}\n\n[rated]\n{}\n",
        list(drive).join("\n"),
        list(port).join(", "),
        list(rated).join("\n")
    )
}

/// A value in a generated file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileValue {
    /// A string, which is written in quotes.
    Text(String),
    /// A number, or a table in braces, which is written as it is.
    Bare(String),
}

impl std::fmt::Display for FileValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Text(text) => f.write_str(&crate::tree::quoted(text)),
            Self::Bare(text) => f.write_str(text),
        }
    }
}

/// Completes a drive file from its ratings; returns `None` if the file does not contain `[rated]`.
///
/// # Errors
/// Returns all contradictions between the ratings.
pub(crate) fn complete(
    document: &Document,
    library: &Library,
    context: Context<'_>,
) -> Result<Option<Document>, StudyError> {
    if !document.has_table("rated") {
        return Ok(None);
    }
    let priors = &Priors::open(library)?;
    let mut offset = 0;
    let completion = document.read("drive", Some(context), |root| {
        offset = root.offset_of("rated");
        let Some((kind, (capacity, protocol, plug))) = Drive::read_rated(root)? else {
            return Ok(None);
        };
        let is_disk = match kind {
            DriveKind::SolidState => false,
            DriveKind::Disk => true,
            DriveKind::CloudVolume => {
                let message = "a cloud volume does not have ratings";
                let hint = "state its limits in [cloud], and remove [rated]";
                return Err(root.error("rated", message).hint(hint));
            }
        };
        let rated = BoxRatings::read(root, is_disk, capacity, protocol, plug)?;
        let Some(rated) = rated else { return Ok(None) };
        let mut completion = MissingValues::default();
        if is_disk {
            disks::complete(&rated, priors, &mut completion);
        } else {
            flash::complete(&rated, priors, &mut completion);
        }
        Ok(Some(completion))
    })?;
    Ok(completion.map(|completion| document.completed(completion.entries(offset), offset)))
}

//! The corpus of published measurements: `measurements.csv` and `measured-drives.csv` in the folder `reference`,
//! and the new rows in `new-measurements.csv` and `new-measured-drives.csv`.
//!
//! The whole corpus is read and checked before any simulation. A missing column, a number that is not finite or out of
//! bounds, and a class that the tables do not contain are errors that state the file and the line.

use std::collections::BTreeMap;
use std::path::Path;

use lanemark_lab::input;
use sha2::{Digest, Sha256};

use crate::error::ValidationError;

/// Name of the file of measurements.
pub const MEASUREMENTS: &str = "measurements.csv";
/// Name of the file of ratings.
pub const RATINGS: &str = "measured-drives.csv";
/// Name of the file of measurements that were added after the last change of the model.
pub const NEW_MEASUREMENTS: &str = "new-measurements.csv";
/// Name of the file of the ratings of their drives.
pub const NEW_RATINGS: &str = "new-measured-drives.csv";
/// The column of [`NEW_MEASUREMENTS`] with the date on which a row was added.
const ADDED: &str = "added";

/// Classes of measurements, in the order of the tables in the documents.
pub const CLASSES: [&str; 10] = [
    "path-limited",
    "one-at-a-time",
    "below-saturation",
    "saturated",
    "writes-fresh",
    "writes-sustained",
    "writes-steady",
    "mix",
    "hard-disk",
    "several-drives",
];

/// Maximum length of a corpus file, in bytes.
const LENGTH_MAX: u64 = 64 << 20;

/// Text columns of the measurements.
const MEASURED_TEXTS: [&str; 17] = [
    "id",
    "drive",
    "model",
    "drive_kind",
    "interface",
    "platform",
    "path",
    "os",
    "tool",
    "target",
    "pattern",
    "flush",
    "state",
    "figure",
    "class",
    "grade",
    "place",
];
/// Number columns of the measurements, each with its bounds.
const MEASURED_NUMBERS: [(&str, f64, f64); 8] = [
    ("drives", 1.0, 256.0),
    ("read_percent", 0.0, 100.0),
    ("block_bytes", 1.0, 1e10),
    ("queue_depth", 1.0, 65_536.0),
    ("threads", 1.0, 65_536.0),
    ("span_bytes", 1.0, 1e15),
    ("duration_s", 1e-3, 1e9),
    ("value", 1e-9, 1e9),
];
/// Text columns of the ratings.
const RATED_TEXTS: [&str; 4] = ["drive", "interface", "nand", "dram"];
/// Number columns of the ratings, each with its bounds.
const RATED_NUMBERS: [(&str, f64, f64); 7] = [
    ("year", 1950.0, 2100.0),
    ("seq_read_mb_s", 1e-3, 1e6),
    ("seq_write_mb_s", 1e-3, 1e6),
    ("rand_read_iops", 1e-3, 1e9),
    ("rand_write_iops", 1e-3, 1e9),
    ("latency_us", 1e-3, 1e9),
    ("rpm", 1.0, 1e6),
];

/// A row of a corpus file: its cells, by the names of their columns.
#[derive(Clone, Debug)]
pub struct CorpusRow(BTreeMap<String, String>);

/// A set of the corpus. The model name of a drive determines its set, except for new rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CorpusSet {
    /// The training set, whose residuals may be used to choose formulas and priors.
    Training,
    /// The validation set, which judges the model. Its residuals were examined several times, as
    /// `docs/validation/published.md` states.
    Validation,
    /// Rows that were added after the last change of the model, so that no choice could depend on them.
    New,
}

/// The measurements, and the ratings of the measured drives.
#[derive(Clone, Debug)]
pub struct Corpus {
    /// The measurements, in the order of the file.
    pub rows: Vec<CorpusRow>,
    ratings: BTreeMap<String, CorpusRow>,
}

impl CorpusSet {
    /// All sets, in the order of the tables.
    pub const ALL: [Self; 3] = [Self::Training, Self::Validation, Self::New];

    /// Returns the set's name in the corpus and in saved figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::Validation => "validation",
            Self::New => "new",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.name() == name)
    }
}

impl CorpusRow {
    /// Creates a row for a test from columns and their values.
    #[cfg(test)]
    pub(crate) fn from_columns(values: &[(&str, &str)]) -> Self {
        let owned = |(column, value): &(&str, &str)| ((*column).to_owned(), (*value).to_owned());
        Self(values.iter().map(owned).collect())
    }

    /// Returns the text of a column, which is empty if the source does not state it.
    pub fn text(&self, column: &str) -> &str {
        self.0.get(column).map_or("", String::as_str)
    }

    /// Returns the number in a column, or `None` if the source does not state it.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.text(column).parse().ok()
    }

    /// Returns the set of the row: new if it is in the file of new rows, and otherwise the set that the model name of
    /// its drive determines (`docs/validation/published.md`).
    pub fn set(&self) -> CorpusSet {
        if !self.text(ADDED).is_empty() {
            return CorpusSet::New;
        }
        let hash = Sha256::digest(self.text("model").to_lowercase().as_bytes());
        if hash[0].is_multiple_of(2) { CorpusSet::Training } else { CorpusSet::Validation }
    }
}

impl Corpus {
    /// Reads the measurements and ratings in `folder`, and the new ones if there are any.
    ///
    /// # Errors
    /// Returns the first error with its file and line.
    pub fn open(folder: &Path) -> Result<Self, ValidationError> {
        let text = |name: &str| input::text(&folder.join(name), LENGTH_MAX);
        let mut corpus = Self::parse(&text(MEASUREMENTS)?, &text(RATINGS)?)?;
        if !folder.join(NEW_MEASUREMENTS).exists() {
            return Ok(corpus);
        }
        let new = text(NEW_MEASUREMENTS)?;
        let rows = measurements(NEW_MEASUREMENTS, &new)?;
        if let Some((line, _)) = rows.iter().find(|(_, row)| row.text(ADDED).is_empty()) {
            let reason = "the column `added` is empty".to_owned();
            return Err(ValidationError::data(NEW_MEASUREMENTS, *line, reason));
        }
        corpus.rows.extend(rows.into_iter().map(|(_, row)| row));
        let ratings = read(NEW_RATINGS, &text(NEW_RATINGS)?, &RATED_TEXTS, &RATED_NUMBERS)?;
        for (_, row) in ratings {
            corpus.ratings.entry(row.text("drive").to_owned()).or_insert(row);
        }
        Ok(corpus)
    }

    /// Reads the texts of the two files.
    ///
    /// # Errors
    /// Returns the first error with its file and line.
    pub fn parse(measured: &str, ratings: &str) -> Result<Self, ValidationError> {
        let rows = measurements(MEASUREMENTS, measured)?;
        if rows.is_empty() {
            return Err(ValidationError::data(MEASUREMENTS, 1, "there are no measurements"));
        }
        let ratings = read(RATINGS, ratings, &RATED_TEXTS, &RATED_NUMBERS)?;
        Ok(Self {
            rows: rows.into_iter().map(|(_, row)| row).collect(),
            ratings: ratings
                .into_iter()
                .map(|(_, row)| (row.text("drive").to_owned(), row))
                .collect(),
        })
    }

    /// Returns the ratings of a row's drive, or `None` if there are no ratings of this drive.
    pub fn ratings_of(&self, row: &CorpusRow) -> Option<&CorpusRow> {
        self.ratings.get(row.text("drive"))
    }

    /// Keeps only every `every`th row.
    pub fn thin(&mut self, every: usize) {
        let mut number = 0;
        self.rows.retain(|_| {
            number += 1;
            number % every.max(1) == 0
        });
    }
}

/// Reads measurements and their line numbers, and checks them.
fn measurements(file: &str, text: &str) -> Result<Vec<(u64, CorpusRow)>, ValidationError> {
    let rows = read(file, text, &MEASURED_TEXTS, &MEASURED_NUMBERS)?;
    for (line, row) in &rows {
        let fault = |reason: String| Err(ValidationError::data(file, *line, reason));
        if row.text("value").is_empty() {
            return fault("the column `value` is empty".to_owned());
        }
        if !CLASSES.contains(&row.text("class")) {
            return fault(format!(
                "the class `{}` is not one of {}",
                row.text("class"),
                CLASSES.join(", ")
            ));
        }
    }
    Ok(rows)
}

/// Reads rows and their line numbers, and checks the columns and numbers.
fn read(
    file: &str,
    text: &str,
    texts: &[&str],
    numbers: &[(&str, f64, f64)],
) -> Result<Vec<(u64, CorpusRow)>, ValidationError> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let broken = |error: &csv::Error| {
        let line = error.position().map_or(1, csv::Position::line);
        ValidationError::data(file, line, error.to_string())
    };
    let names = reader.headers().map_err(|error| broken(&error))?.clone();
    let needed = texts.iter().copied().chain(numbers.iter().map(|(name, ..)| *name));
    let missing: Vec<&str> =
        needed.filter(|name| !names.iter().any(|present| present == *name)).collect();
    if !missing.is_empty() {
        let reason = format!("columns are missing: {}", missing.join(", "));
        return Err(ValidationError::data(file, 1, reason));
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| broken(&error))?;
        let line = record.position().map_or(1, csv::Position::line);
        let cells = names.iter().zip(record.iter());
        let row = CorpusRow(cells.map(|(name, cell)| (name.to_owned(), cell.to_owned())).collect());
        for (name, low, high) in numbers {
            let cell = row.text(name);
            let is_valid = cell.parse::<f64>().is_ok_and(|value| (*low..=*high).contains(&value));
            if !cell.is_empty() && !is_valid {
                let reason = format!("`{name}` is `{cell}`, not a number from {low} to {high}");
                return Err(ValidationError::data(file, line, reason));
            }
        }
        rows.push((line, row));
    }
    Ok(rows)
}

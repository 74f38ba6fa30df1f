//! `reference/measurements.csv` and `reference/measured-drives.csv`, as far as predictions need them.

use std::collections::BTreeMap;
use std::path::Path;

use sha2::{Digest, Sha256};

/// A published measurement: its columns by name.
pub(crate) struct Row(BTreeMap<String, String>);

/// A part of the corpus, by drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Half {
    /// May be looked at while laws and priors are chosen.
    Development,
    /// Must not.
    Validation,
}

impl Row {
    /// The text of a column; empty where the source does not say.
    pub(crate) fn text(&self, column: &str) -> &str {
        self.0.get(column).map_or("", String::as_str)
    }

    /// The number in a column, where there is one.
    pub(crate) fn number(&self, column: &str) -> Option<f64> {
        self.text(column).parse().ok()
    }

    /// The half that the drive belongs to, by its model's name (METHOD.md).
    pub(crate) fn half(&self) -> Half {
        let hash = Sha256::digest(self.text("model").to_lowercase().as_bytes());
        if hash[0].is_multiple_of(2) { Half::Development } else { Half::Validation }
    }
}

/// Reads a CSV file, row by row.
pub(crate) fn rows(path: &Path) -> Vec<Row> {
    let mut reader = csv::Reader::from_path(path).unwrap_or_else(|error| {
        eprintln!("{}: {error}", path.display());
        std::process::exit(1)
    });
    let names = reader.headers().cloned().unwrap_or_default();
    let row = |record: Result<csv::StringRecord, csv::Error>| {
        let record = record.ok()?;
        let pairs = names.iter().zip(record.iter());
        Some(Row(pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()))
    };
    reader.records().filter_map(row).collect()
}

//! `[[fault]]` tables: faults during a workload, or during all runs of a study.
//!
//! The schema defines the grammar, which is the same as on the command line: a kind and keys with units.

use lanemark_schema::workload::Fault;
use lanemark_schema::workload::fault::{FAULTS_MAX, read};

use crate::document::Section;
use crate::error::StudyError;

/// Reads all `[[fault]]` tables of a file.
///
/// # Errors
/// Returns all errors in the tables while `Document::read` runs, otherwise the first one.
pub(crate) fn faults(root: &Section<'_>) -> Result<Vec<Fault>, StudyError> {
    root.read_tables("fault", |section, faults: &[Fault]| {
        if faults.len() >= FAULTS_MAX {
            return Err(section.error("kind", format!("there are more than {FAULTS_MAX} faults")));
        }
        let pairs = section.pairs()?;
        let kind = pairs.iter().find(|(key, _)| key == "kind");
        let Some((_, kind)) = kind else {
            return Err(section.error("kind", "the fault does not have a `kind`"));
        };
        let keys: Vec<(&str, &str)> = pairs
            .iter()
            .filter(|(key, _)| key != "kind")
            .map(|(key, text)| (key.as_str(), text.as_str()))
            .collect();
        read(kind, &keys).map_err(|errors| {
            let mut all = errors.into_iter().map(|error| section.error(&error.key, error.message));
            match all.next() {
                Some(first) => section.wrong(first, &all.collect::<Vec<_>>()),
                None => section.error("kind", "the fault cannot be read"),
            }
        })
    })
}

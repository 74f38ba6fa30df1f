//! The errors in a file, which are collected while the file is read.

use crate::error::{Location, StudyError};

/// The maximum number of errors that are reported for a file. A file that is not a model file may have an error in each
/// line.
const TOLD_MAX: usize = 40;

/// An error in a file that does not prevent reading the rest of the file.
#[derive(Clone, Debug)]
pub(super) enum Problem {
    /// A required key is missing.
    Missing {
        /// Name of the table that lacks the key.
        table: String,
        location: Location,
        /// Whether the whole table is missing.
        no_table: bool,
        key: String,
        /// The required kind of value, such as "a string".
        what: String,
        /// An unknown key of the table with a similar name, which was read instead.
        misspelt: Option<String>,
    },
    /// A key that is not requested by any reader.
    Unknown { table: String, key: String, error: StudyError },
    /// A value that is not valid.
    Wrong(StudyError),
}

/// The errors in a file, in the order in which they were found.
#[derive(Clone, Debug, Default)]
pub(super) struct Problems {
    found: Vec<Problem>,
    /// Number of tables whose reading stopped before their end.
    pub(super) cut_short: usize,
}

impl Problem {
    pub(super) fn into_error(self) -> StudyError {
        match self {
            Self::Missing { table, location, key, what, .. } => {
                StudyError::new(location, format!("`{key}` is missing"))
                    .hint(format!("add `{key}`, {what}, to `{table}`"))
            }
            Self::Unknown { error, .. } | Self::Wrong(error) => error,
        }
    }
}

impl Problems {
    pub(super) fn note(&mut self, problem: Problem) {
        self.found.push(problem);
    }

    pub(super) fn count(&self) -> usize {
        self.found.len()
    }

    /// Returns one error for all problems, in the order of the file; `None` if there are no problems.
    pub(super) fn into_error(self) -> Option<StudyError> {
        let all = self.found;
        let unknown = |wanted_table: &str, wanted: &str| {
            all.iter().any(|problem| {
                matches!(problem, Problem::Unknown { table, key, .. } if table == wanted_table && key == wanted)
            })
        };
        // A misspelt key is reported once, as an unknown key, and not also as a missing key.
        let is_told = |problem: &&Problem| {
            if let Problem::Missing { table, misspelt: Some(other), .. } = problem {
                !unknown(table, other)
            } else {
                true
            }
        };
        let mut told: Vec<StudyError> = Vec::new();
        let mut grouped: Vec<String> = Vec::new();
        for problem in all.iter().filter(is_told) {
            let Problem::Missing { table, location, no_table, .. } = problem else {
                told.push(problem.clone().into_error());
                continue;
            };
            if grouped.contains(table) {
                continue;
            }
            grouped.push(table.clone());
            let missing = all.iter().filter(is_told).filter_map(|other| {
                if let Problem::Missing { table: of, key, .. } = other
                    && of == table
                {
                    Some(key.as_str())
                } else {
                    None
                }
            });
            let keys: Vec<&str> = missing.collect();
            told.push(match (no_table, keys.as_slice()) {
                (false, [_]) => problem.clone().into_error(),
                _ => missing_together(table, location, *no_table, &keys),
            });
        }
        told.dedup();
        told.sort_by_key(|error| error.location.position);
        combined_error(told)
    }
}

/// Returns the error about several keys of one table.
fn missing_together(table: &str, location: &Location, no_table: bool, keys: &[&str]) -> StudyError {
    let quoted: Vec<String> = keys.iter().map(|key| format!("`{key}`")).collect();
    let are = if keys.len() == 1 { "is" } else { "are" };
    let listed = quoted.join(", ");
    if no_table {
        let (above, name) = table.rsplit_once('.').unwrap_or(("", table));
        let above = if above.contains('.') { format!(" in `{above}`") } else { String::new() };
        let message = format!("[{name}] is missing{above}, with {listed}");
        StudyError::new(location.clone(), message)
    } else {
        StudyError::new(location.clone(), format!("{listed} {are} missing in `{table}`"))
    }
}

/// Returns the first of `errors` with the others attached. If there are several, the message of each contains its hint.
fn combined_error(mut errors: Vec<StudyError>) -> Option<StudyError> {
    if errors.len() <= 1 {
        return errors.pop();
    }
    let left_out = errors.len().saturating_sub(TOLD_MAX);
    errors.truncate(TOLD_MAX);
    for error in &mut errors {
        if let Some(hint) = error.hint.take() {
            error.message = format!("{} ({hint})", error.message);
        }
    }
    let mut errors = errors.into_iter();
    let mut first = errors.next()?;
    first.beside = errors.collect();
    if left_out > 0 {
        first.hint = Some(format!("{left_out} more errors are not listed"));
    }
    Some(first)
}

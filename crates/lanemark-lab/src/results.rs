//! Saved results as text and on disk.

use lanemark_schema::result::{OutOfRangeValue, RunResult, SCHEMA_VERSION, StudyOutcome};
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use crate::error::LabError;
use crate::{foreign, weight};

#[cfg(feature = "machine")]
mod disk;
#[cfg(feature = "machine")]
pub(crate) use disk::file_and_system;
#[cfg(feature = "machine")]
pub use disk::{
    EarlierRuns, FileKind, ListedResult, OutputFile, ResultFile, earlier_runs, find_result_file,
    list, load, load_any, load_named, load_oltp, load_run, load_sweep, now, read_fit,
};

/// A saved result of a run or of a study.
pub enum SavedResult {
    /// The result of a run.
    Run(Box<RunResult>),
    /// The outcome of a study.
    Study(Box<StudyOutcome>),
}

/// The fields that distinguish the kinds of saved files.
#[derive(Deserialize)]
struct FileHead {
    schema_version: Option<u64>,
    systems: Option<IgnoredAny>,
}

/// Reads a saved result, or another program's result, from its text. Error messages call the text `name`.
///
/// # Errors
/// Returns the error of [`read_text`], or of the reader of the other program's format.
pub fn read_any(name: &str, text: &str) -> Result<SavedResult, LabError> {
    match foreign::run(name, text)? {
        Some(run) => Ok(SavedResult::Run(Box::new(run))),
        None => read_text(name, text),
    }
}

/// Reads a saved result from its text. Error messages call the text `name`.
///
/// # Errors
/// Returns an error if the text is not a result, has a different schema version, or contains values that no run can
/// have.
pub fn read_text(name: &str, text: &str) -> Result<SavedResult, LabError> {
    let head = head(name, text)?.filter(|head| head.schema_version.is_some());
    let Some(head) = head else {
        return Err(LabError::input(format!("{name} is not a Lanemark result"))
            .hint("use a file that `lanemark bench`, `sim` or `study` saved"));
    };
    weight::check(name, text, weight::HISTOGRAMS_MAX)?;
    let version = head.schema_version.unwrap_or_default();
    if version != u64::from(SCHEMA_VERSION) {
        return Err(LabError::input(format!(
            "{name} has schema version {version}, but this program reads version {SCHEMA_VERSION}"
        ))
        .hint("use the version of lanemark that wrote it, or a newer version"));
    }
    let damaged = |error: OutOfRangeValue| {
        LabError::input(format!("{name} is a damaged Lanemark result: {error}"))
    };
    match head.systems {
        Some(_) => {
            let study: StudyOutcome = read(name, text)?;
            study.systems.iter().try_for_each(|system| system.run.check()).map_err(damaged)?;
            Ok(SavedResult::Study(Box::new(study)))
        }
        None => {
            let run: RunResult = read(name, text)?;
            run.check().map_err(damaged)?;
            Ok(SavedResult::Run(Box::new(run)))
        }
    }
}

/// Determines the kind of `text` from its top-level keys. Returns `None` for JSON that is not an object from a saved
/// file.
fn head(name: &str, text: &str) -> Result<Option<FileHead>, LabError> {
    match serde_json::from_str(text) {
        Ok(head) => Ok(Some(head)),
        Err(error) if error.is_data() => Ok(None),
        Err(error) => Err(LabError::input(format!("{name} is not valid JSON: {error}"))),
    }
}

fn read<T: DeserializeOwned>(name: &str, text: &str) -> Result<T, LabError> {
    serde_json::from_str(text)
        .map_err(|error| LabError::input(format!("{name} is a damaged Lanemark result: {error}")))
}

//! Results from other programs, which are accepted instead of results that Lanemark saved.

use std::time::{Duration, UNIX_EPOCH};

use lanemark_formats::foreign::{self, ForeignRun};
use lanemark_formats::{FormatError, RecognisedFormat, ResultFormat, recognise};
use lanemark_formats::{ImportedResult, SuppliedSettings};
use lanemark_schema::pasted::restored;
use lanemark_schema::result::{Provenance, RunResult, Warning};

use crate::encoding::hash;
use crate::error::LabError;

/// A file of another program, from which runs were read.
#[derive(Clone, Debug)]
pub(crate) struct ForeignInput {
    name: String,
    hash: String,
    position: usize,
}

impl ForeignInput {
    /// Describes the file `name`, which was named at `position`.
    pub(crate) fn new(name: String, text: &str, position: usize) -> Self {
        let hash = hash(without_mark(text).as_bytes());
        Self { name, hash, position }
    }
}

/// Returns `text` without a byte-order mark.
fn without_mark(text: &str) -> &str {
    text.trim_start_matches('\u{feff}')
}

/// Returns whether another program wrote `text`; otherwise it may be a Lanemark result.
pub(crate) fn is_foreign(text: &str) -> bool {
    let text = &*restored(text);
    match recognise(text) {
        // JSON that does not state a fio version.
        RecognisedFormat::Result(ResultFormat::FioJson) => text.contains("\"fio version\""),
        RecognisedFormat::Known(known) => known.name != "a Lanemark result",
        RecognisedFormat::Result(_) | RecognisedFormat::Unknown => true,
    }
}

/// Reads the runs in another program's text.
pub(crate) fn read(name: &str, text: &str) -> Result<Vec<ForeignRun>, FormatError> {
    foreign::read(without_mark(text), name)
}

/// Completes the runs of `inputs`, each with the position of its first file: one for each target of fio's JSON, and one
/// for each file of another format. The notes about a text become warnings of its run.
///
/// # Errors
/// Returns an error for each file with impossible values.
pub(crate) fn complete(
    runs: Vec<ForeignRun>,
    supplied: &SuppliedSettings,
    inputs: &[ForeignInput],
) -> Result<Vec<(usize, RunResult)>, LabError> {
    let all = foreign::results(runs, supplied)?;
    Ok(all.into_iter().map(|one| complete_run(one, inputs)).collect())
}

fn complete_run(imported: ImportedResult, inputs: &[ForeignInput]) -> (usize, RunResult) {
    let started_at = start_time_text(&imported).unwrap_or_default();
    let used: Vec<&ForeignInput> =
        inputs.iter().filter(|input| imported.files.contains(&input.name)).collect();
    let mut run = imported.result;
    let note = |note| Warning::Imported { note };
    run.warnings.extend(imported.notes.into_iter().map(note));
    run.provenance = Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        finished_at: started_at.clone(),
        started_at,
        inputs: used.iter().map(|input| (input.name.clone(), input.hash.clone())).collect(),
        ..Provenance::default()
    };
    (used.iter().map(|input| input.position).min().unwrap_or_default(), run)
}

/// Returns the result in `text` if another program wrote the text, or `None` if it may be a Lanemark result. Error
/// messages call the text `name`. The notes about the text become warnings of the result.
///
/// # Errors
/// Returns an error if the format is not supported, or if the text contains several results.
pub fn run(name: &str, text: &str) -> Result<Option<RunResult>, LabError> {
    if !is_foreign(text) {
        return Ok(None);
    }
    let inputs = [ForeignInput::new(name.to_owned(), text, 0)];
    let mut all = complete(read(name, text)?, &SuppliedSettings::default(), &inputs)?;
    if all.len() > 1 {
        let error = FormatError::file(name, format!("contains results for {} targets", all.len()));
        return Err(error
            .hint("name the files of one target at a time: `lanemark report FILE --out one.json`")
            .into());
    }
    Ok(all.pop().map(|(_, run)| run))
}

/// Returns the time at which an imported run began, in RFC 3339, if it is stated.
fn start_time_text(imported: &ImportedResult) -> Option<String> {
    // Dates after the year 9999 cannot be formatted.
    let seconds = imported.timestamp.filter(|&seconds| seconds < 253_402_300_800)?;
    let began = UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?;
    Some(humantime::format_rfc3339_seconds(began).to_string())
}

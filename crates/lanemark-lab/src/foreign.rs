//! Results from other programs, which are accepted instead of results that Lanemark saved.

use std::time::{Duration, UNIX_EPOCH};

use lanemark_formats::{FormatError, RecognisedFormat, foreign, recognise};
use lanemark_formats::{ImportedResult, SuppliedSettings};
use lanemark_schema::result::{Provenance, RunResult, Warning};

use crate::error::LabError;
use crate::opened::hash;

/// Returns the result in `text` if another program wrote the text, or `None` if it may be a Lanemark result. Error
/// messages call the text `name`. The notes about the text become warnings of the result.
///
/// # Errors
/// Returns an error if the format is not supported, or if the text contains several results.
pub fn run(name: &str, text: &str) -> Result<Option<RunResult>, LabError> {
    let text = text.trim_start_matches('\u{feff}');
    let may_be_ours = match recognise(text) {
        // JSON that does not state a fio version.
        RecognisedFormat::Result(lanemark_formats::ResultFormat::FioJson) => {
            !text.contains("\"fio version\"")
        }
        RecognisedFormat::Known(known) => known.name == "a Lanemark result",
        RecognisedFormat::Result(_) | RecognisedFormat::Unknown => false,
    };
    if may_be_ours {
        return Ok(None);
    }
    let mut all = foreign::results(foreign::read(text, name)?, &SuppliedSettings::default())?;
    if all.len() > 1 {
        let error = FormatError::file(name, format!("contains results for {} targets", all.len()));
        return Err(error
            .hint("use `lanemark import`, which writes a separate file for each target")
            .into());
    }
    let Some(one) = all.pop() else { return Ok(None) };
    let started_at = start_time_text(&one).unwrap_or_default();
    let mut run = one.result;
    let note = |note| Warning::Imported { note };
    run.warnings.extend(one.notes.into_iter().map(note));
    run.provenance = Provenance {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        finished_at: started_at.clone(),
        started_at,
        inputs: [(name.to_owned(), hash(text.as_bytes()))].into(),
        ..Provenance::default()
    };
    Ok(Some(run))
}

/// Returns the time at which an imported run began, in RFC 3339, if it is stated.
pub fn start_time_text(imported: &ImportedResult) -> Option<String> {
    // Dates after the year 9999 cannot be formatted.
    let seconds = imported.timestamp.filter(|&seconds| seconds < 253_402_300_800)?;
    let began = UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?;
    Some(humantime::format_rfc3339_seconds(began).to_string())
}

//! Results from other programs, in any supported format.

use std::fmt;

use lanemark_schema::pasted::restored;

use crate::error::{FormatError, FormatErrors};
use crate::fio_json::{self, FioOutput};
use crate::fio_log::{self, FioLog};
use crate::imported::{ImportedResult, SuppliedSettings};
use crate::recognised::{READ, RecognisedFormat, ResultFormat, recognise};
use crate::stated::ReportedRun;
use crate::{crystaldiskmark, diskspd, fio_text, iometer, tables};

/// A run by another program.
#[derive(Clone)]
pub struct ForeignRun(ForeignContent);

#[derive(Clone)]
enum ForeignContent {
    FioOutput(FioOutput),
    Log(FioLog),
    Stated(Box<ReportedRun>),
}

impl fmt::Debug for ForeignRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ForeignContent::FioOutput(printed) => printed.fmt(f),
            ForeignContent::Log(log) => log.fmt(f),
            ForeignContent::Stated(stated) => stated.fmt(f),
        }
    }
}

/// Reads the runs in a text. `file` is the name of the text in errors.
///
/// # Errors
/// Returns the error of the format's reader, or an error if the format is not supported. For a known format, the error
/// suggests an alternative.
pub fn read(text: &str, file: &str) -> Result<Vec<ForeignRun>, FormatError> {
    let text = &*restored(text);
    let log = || Ok(vec![ForeignRun(ForeignContent::Log(FioLog::read(text, file)?))]);
    if text.trim().is_empty() {
        // Some of the logs of a run can be empty.
        return if fio_log::is_name(file) { log() } else { Err(FormatError::empty(file)) };
    }
    let format = match recognise(text) {
        RecognisedFormat::Result(format) => format,
        RecognisedFormat::Known(known) => {
            let error = FormatError::file(file, format!("is {}", known.name));
            return Err(error.hint(known.advice));
        }
        RecognisedFormat::Unknown if file.ends_with(".fio") || file.ends_with(".icf") => {
            let error = FormatError::file(file, "this is a workload, not a result");
            return Err(error.hint("use it with `lanemark sim` or `lanemark bench`"));
        }
        RecognisedFormat::Unknown => {
            return Err(FormatError::file(file, "not a result in a known format").hint(READ));
        }
    };
    let many = |runs: Vec<ReportedRun>| {
        let runs = runs.into_iter();
        runs.map(|run| ForeignRun(ForeignContent::Stated(Box::new(run)))).collect()
    };
    let stated = match format {
        ResultFormat::FioJson => {
            let outputs = fio_json::read(text, file)?.into_iter();
            return Ok(outputs
                .map(|printed| ForeignRun(ForeignContent::FioOutput(printed)))
                .collect());
        }
        ResultFormat::FioLog => return log(),
        ResultFormat::FioText => fio_text::read_normal(text, file)?,
        ResultFormat::FioTerse => fio_text::read_terse(text, file)?,
        ResultFormat::CrystalDiskMark => return Ok(many(crystaldiskmark::read(text, file)?)),
        ResultFormat::Diskspd => diskspd::read_text(text, file)?,
        ResultFormat::DiskspdXml => diskspd::read_xml(text, file)?,
        ResultFormat::Iometer => iometer::read_results(text, file)?,
        ResultFormat::Table(format) => return Ok(many(tables::read(format, text, file)?)),
    };
    Ok(many(vec![stated]))
}

/// Returns the results of runs: one result per target for fio's JSON, one result per job for averaged logs of fio, and
/// one result per file for other formats.
/// `supplied` contains settings for tests that do not state them.
///
/// # Errors
/// Returns one error per file with impossible values.
pub fn results(
    runs: Vec<ForeignRun>,
    supplied: &SuppliedSettings,
) -> Result<Vec<ImportedResult>, FormatErrors> {
    let mut printed = Vec::new();
    let mut logs = Vec::new();
    let mut stated = Vec::new();
    for run in runs {
        match run.0 {
            ForeignContent::FioOutput(one) => printed.push(one),
            ForeignContent::Log(one) => logs.push(one),
            ForeignContent::Stated(one) => stated.push(Ok(*one)),
        }
    }
    let mut all = fio_json::results(printed, supplied)?;
    let mut errors = Vec::new();
    for one in stated.into_iter().chain(fio_log::runs(logs)) {
        match one.and_then(|run| run.imported(supplied)) {
            Ok(imported) => all.push(imported),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok(all) } else { Err(FormatErrors(errors)) }
}

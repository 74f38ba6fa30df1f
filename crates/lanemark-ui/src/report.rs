//! The report of the results on a page, with the same blocks as the command's report.
//!
//! A request contains one line of JSON (`ReportRequest`) and then the files that it lists, without separators.

use lanemark_lab::results::{self, SavedResult};
use lanemark_lab::{LabError, encoding};
use lanemark_schema::result::RunResult;
use serde::{Deserialize, Serialize};

use crate::request::SLOTS;
use crate::result_file::{FILES_MAX, shown_runs};

/// Maximum length of a request in bytes.
const REQUEST_MAX: usize = 64 << 20;
/// Maximum number of simulations: of the page's test, of CrystalDiskMark's tests, and of the tests of result files.
const RUNS_MAX: usize = 3 * SLOTS as usize;

/// The lengths of the files in a request.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReportRequest {
    /// Lengths of the results of simulations, in bytes.
    runs: Vec<usize>,
    /// The result files with shown tests.
    files: Vec<ShownFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ShownFile {
    length: usize,
    /// The numbers of the shown tests.
    tests: Vec<usize>,
}

/// The report in an answer.
#[derive(Serialize)]
pub struct ReportJson {
    html: String,
}

/// Returns the report of the results in a request.
///
/// # Errors
/// Returns an error if the request or one of its files cannot be read.
pub fn report(body: &[u8]) -> Result<ReportJson, LabError> {
    let invalid = |problem: &str| LabError::input(format!("the request: {problem}"));
    if body.len() > REQUEST_MAX {
        return Err(invalid(&format!("it is longer than {REQUEST_MAX} bytes"))
            .hint("show fewer tests from result files"));
    }
    let head = body.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let request: ReportRequest =
        serde_json::from_slice(head).map_err(|error| invalid(&error.to_string()))?;
    if request.runs.len() > RUNS_MAX || request.files.len() > FILES_MAX {
        return Err(invalid(&format!("more than {RUNS_MAX} simulations or {FILES_MAX} files")));
    }
    let mut rest = body.get(head.len() + 1..).unwrap_or_default();
    let mut take = |length: usize| {
        let (file, after) =
            rest.split_at_checked(length).ok_or_else(|| invalid("it ends too early"))?;
        rest = after;
        Ok::<_, LabError>(file.to_vec())
    };
    let mut runs: Vec<RunResult> = Vec::new();
    for length in request.runs {
        let text = encoding::decoded(take(length)?).map_err(|message| invalid(&message))?;
        match results::read_text("the result", &text)? {
            SavedResult::Run(run) => runs.push(*run),
            SavedResult::Study(_) => return Err(invalid("a system's result is a study")),
        }
    }
    for file in request.files {
        runs.extend(shown_runs(take(file.length)?, &file.tests)?);
    }
    if runs.is_empty() {
        return Err(LabError::input("there is no result to report"));
    }
    let runs: Vec<&RunResult> = runs.iter().collect();
    Ok(ReportJson { html: lanemark_report::html(None, &runs) })
}

//! `lanemark report`: writes one HTML page from saved results.

use std::path::{Path, PathBuf};

use lanemark_formats::{RecognisedFormat, ResultFormat, recognise};
use lanemark_lab::input;
use lanemark_lab::results::{self, OutputFile, SavedResult};
use lanemark_lab::sweep::provenance;
use lanemark_schema::result::{RunResult, StudyOutcome};

use crate::args::ReportArgs;
use crate::failure::{CommandOutcome, Failure};
use crate::messages::tell;
use crate::outlets::PAGE;
use crate::output;

pub(crate) fn run(args: &ReportArgs) -> Result<CommandOutcome, Failure> {
    let page = OutputFile::open(&args.html, &PAGE)?;
    let table = match args.results.as_slice() {
        [path] if path.extension().is_some_and(|extension| extension == "csv") => {
            Some(results::find_result_file(path)?)
        }
        _ => None,
    };
    if let Some(path) = table.filter(|path| !is_iometer(path)) {
        let sweep = results::load_sweep(&path)?;
        page.write(&lanemark_report::sweep_html(
            &sweep,
            provenance::read_if_present(&path).as_ref(),
        ))?;
        output::print_sentence(&lanemark_report::sweep_answer(&sweep, None))?;
        tell!("wrote {}", args.html.display());
        return Ok(CommandOutcome::Done);
    }
    let (study, runs) = load(&args.results)?;
    let all: Vec<&RunResult> = runs.iter().collect();
    page.write(&lanemark_report::html(study.as_ref(), &all))?;
    print_answer(study.as_ref(), &runs)?;
    tell!("wrote {}", args.html.display());
    Ok(CommandOutcome::Done)
}

/// Prints the answer of the results on a page or in a drawing.
pub(crate) fn print_answer(
    study: Option<&StudyOutcome>,
    runs: &[RunResult],
) -> Result<(), Failure> {
    let runs: Vec<&RunResult> = runs.iter().collect();
    match lanemark_report::results_answer(study, &runs) {
        Some(answer) => output::print_sentence(&answer),
        None => Ok(()),
    }
}

/// Returns whether a CSV file is an Iometer results file instead of a sweep.
fn is_iometer(path: &Path) -> bool {
    // A pipe can be read only once, so it is treated as a sweep.
    let read_text = || String::from_utf8(input::bytes(path, input::RESULT_MAX).ok()?).ok();
    let recognised_format = || Some(recognise(&read_text()?));
    !input::is_piped(path)
        && recognised_format() == Some(RecognisedFormat::Result(ResultFormat::Iometer))
}

/// Reads results from Lanemark and from other programs: up to one study, and any number of runs.
pub(crate) fn load(paths: &[PathBuf]) -> Result<(Option<StudyOutcome>, Vec<RunResult>), Failure> {
    let mut study: Option<StudyOutcome> = None;
    let mut runs: Vec<RunResult> = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        if paths[..index].contains(path) {
            tell!("note: {} was given twice; it is shown once", path.display());
            continue;
        }
        match results::load_any(path)? {
            SavedResult::Run(run) => runs.push(*run),
            SavedResult::Study(_) if study.is_some() => {
                return Err(Failure::input(format!("{} is a second study", path.display()))
                    .hint("a page or drawing shows up to one study and any number of runs"));
            }
            SavedResult::Study(outcome) => study = Some(*outcome),
        }
    }
    Ok((study, runs))
}

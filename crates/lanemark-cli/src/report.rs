//! `lanemark report`: one HTML page from saved results.

use lanemark_core::result::{RunResult, StudyOutcome};

use crate::args::ReportArgs;
use crate::failure::{Failure, Outcome};
use crate::results::{self, Saved};

pub(crate) fn run(args: &ReportArgs) -> Result<Outcome, Failure> {
    if let [path] = args.results.as_slice()
        && path.extension().is_some_and(|extension| extension == "csv")
    {
        let sweep = results::load_sweep(path)?;
        results::write_page(&args.html, &lanemark_report::sweep_html(&sweep))?;
        eprintln!("wrote {}", args.html.display());
        return Ok(Outcome::Done);
    }
    let mut study: Option<StudyOutcome> = None;
    let mut runs: Vec<RunResult> = Vec::new();
    for path in &args.results {
        match results::load(path)? {
            Saved::Run(run) => runs.push(*run),
            Saved::Study(_) if study.is_some() => {
                return Err(Failure::input(format!("{}: is a second study", path.display()))
                    .hint("a page shows one study and any number of runs"));
            }
            Saved::Study(outcome) => study = Some(*outcome),
        }
    }
    let page = lanemark_report::html(study.as_ref(), &runs.iter().collect::<Vec<_>>());
    results::write_page(&args.html, &page)?;
    eprintln!("wrote {}", args.html.display());
    Ok(Outcome::Done)
}

//! `lanemark report`: shows results of Lanemark and of other programs, converts them, and lists saved results.

mod form;
mod list;

use std::path::Path;

use lanemark_formats::{RecognisedFormat, recognise};
use lanemark_lab::results::OutputFile;
use lanemark_lab::sweep::provenance as sweep_provenance;
use lanemark_lab::{ResultSet, input, json, results};
use lanemark_schema::result::{RunResult, Target};

use crate::args::ReportArgs;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::formats::{ForeignFormat, RequestedSections};
use crate::output::messages::tell;
use crate::output::outlets::PAGE;
use crate::output::{self, formats, other_text, provenance};
use form::OutForm;

pub(crate) fn run(args: &ReportArgs) -> Result<CommandOutcome, Failure> {
    if args.results.is_empty() {
        return list::run(args);
    }
    if let [name] = args.results.as_slice()
        && let Some(done) = show_sweep(args, name)?
    {
        return Ok(done);
    }
    let out = args.out.as_deref().map(|out| OutForm::from_name(out).map(|form| (out, form)));
    let out = out.transpose()?;
    check_table(args, out.map(|(_, form)| form))?;
    let reservation = out.map(|(out, form)| form.reserve(out)).transpose()?;
    let mut set = ResultSet::load(&args.results, &args.supplied.settings())
        .map_err(|error| trace_failure(args).unwrap_or_else(|| error.into()))?;
    set.notes.iter().for_each(|note| tell!("note: {note}"));
    name_runs(args, &mut set)?;
    match out.zip(reservation) {
        Some(((out, form), reservation)) => {
            form.write(args, &set, out, &reservation)?;
            match form {
                OutForm::Saved => output::print(&table(&set)?)?,
                _ => print_answer(&set)?,
            }
            tell!("wrote {}", out.display());
        }
        None => output::print(&text(args, &set)?)?,
    }
    Ok(CommandOutcome::Done)
}

/// Rejects `--table` for a form without a choice of tables.
fn check_table(args: &ReportArgs, form: Option<OutForm>) -> Result<(), Failure> {
    let is_csv = form == Some(OutForm::Csv) || args.format == Some(ForeignFormat::Csv);
    if args.table.is_some() && !is_csv {
        return Err(Failure::input("--table applies only to CSV")
            .hint("use --out FILE.csv or --format csv, or remove --table"));
    }
    Ok(())
}

/// Applies `--name`, and records this command in results of other programs, which lack one.
fn name_runs(args: &ReportArgs, set: &mut ResultSet) -> Result<(), Failure> {
    if args.name.name.is_some() && (set.runs.len() != 1 || set.study.is_some()) {
        return Err(Failure::input("--name applies to one result")
            .hint("report one result at a time, or remove --name"));
    }
    for run in &mut set.runs {
        if args.name.name.is_some() {
            run.provenance.name.clone_from(&args.name.name);
        }
        if run.provenance.command.is_empty() {
            let own = provenance::own_provenance(0);
            run.provenance.command = own.command;
            if run.provenance.started_at.is_empty() {
                run.provenance.started_at = own.started_at;
                run.provenance.finished_at = own.finished_at;
            }
        }
    }
    Ok(())
}

/// Returns the set as text for stdout.
fn text(args: &ReportArgs, set: &ResultSet) -> Result<String, Failure> {
    match args.format {
        _ if args.json => Ok(match (&set.study, set.runs.as_slice()) {
            (Some(study), []) => json::text(study)?,
            _ => json::text(set.only_run()?)?,
        }),
        Some(ForeignFormat::Csv) => Ok(csv(args, set.only_run()?)),
        Some(format) => {
            let run = set.only_run()?;
            check_requests(run)?;
            Ok(formats::foreign(run, format))
        }
        None => table(set),
    }
}

/// Returns the answer and the tables of all results.
fn table(set: &ResultSet) -> Result<String, Failure> {
    let style = output::style();
    let mut text = String::new();
    let runs: Vec<&RunResult> = set.runs.iter().collect();
    if set.runs.len() > 1
        && let Some(answer) = lanemark_report::results_answer(set.study.as_ref(), &runs)
    {
        text = lanemark_report::paragraph(&answer, &style);
    }
    if let Some(study) = &set.study {
        let table = lanemark_report::study_table(study, None, false, &style);
        text = if text.is_empty() { table } else { formats::with(text, &table) };
    }
    for run in &set.runs {
        let table = formats::result_text(run, false, None, RequestedSections::default())?;
        text = if text.is_empty() { table } else { formats::with(text, &table) };
    }
    Ok(text)
}

/// Returns a table of a run as CSV.
fn csv(args: &ReportArgs, run: &RunResult) -> String {
    formats::csv(&args.table.unwrap_or(lanemark_lab::columns::RunTable::Tests).columns(run))
}

/// Refuses a run on a database, which other programs' formats cannot represent.
fn check_requests(run: &RunResult) -> Result<(), Failure> {
    if matches!(run.target, Target::Database(_)) {
        let message = "another program's format can't represent database transactions";
        return Err(Failure::input(message).hint("use a .json, .csv, .txt or .html file"));
    }
    Ok(())
}

/// Shows the CSV file of a sweep, if `name` is one.
fn show_sweep(args: &ReportArgs, name: &str) -> Result<Option<CommandOutcome>, Failure> {
    if Path::new(name).extension().is_none_or(|extension| extension != "csv") {
        return Ok(None);
    }
    let path = results::find_result_file(Path::new(name))?;
    if other_text::failure(&path).is_some() {
        return Ok(None);
    }
    let page = match &args.out {
        None => None,
        Some(out) if OutForm::from_name(out)? == OutForm::Page => {
            Some(OutputFile::open(out, &PAGE)?)
        }
        Some(out) => {
            let message = format!("--out {}: a sweep has only a page", out.display());
            return Err(Failure::input(message).hint("use a name that ends in .html"));
        }
    };
    let sweep = results::load_sweep(&path)?;
    let provenance = sweep_provenance::read_if_present(&path);
    if let Some(page) = &page {
        page.write(&lanemark_report::sweep_html(&sweep, provenance.as_ref()))?;
    }
    output::print_sentence(&lanemark_report::sweep_answer(&sweep, None))?;
    if let Some(page) = &page {
        tell!("wrote {}", page.path().display());
    }
    Ok(Some(CommandOutcome::Done))
}

/// Prints the answer of the results on a page or in a drawing.
fn print_answer(set: &ResultSet) -> Result<(), Failure> {
    let runs: Vec<&RunResult> = set.runs.iter().collect();
    match lanemark_report::results_answer(set.study.as_ref(), &runs) {
        Some(answer) => output::print_sentence(&answer),
        None => Ok(()),
    }
}

/// Returns the failure for a named file that is a trace.
fn trace_failure(args: &ReportArgs) -> Option<Failure> {
    let is_unknown = |path: &Path| {
        let text = String::from_utf8(input::head(path, 1 << 20).ok()?).ok()?;
        (recognise(&text) == RecognisedFormat::Unknown).then_some(())
    };
    args.results
        .iter()
        .map(Path::new)
        .filter(|path| path.is_file())
        .find_map(|path| is_unknown(path).and_then(|()| other_text::failure(path)))
}

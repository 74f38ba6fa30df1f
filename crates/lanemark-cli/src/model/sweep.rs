//! `lanemark sweep`: runs one test at many points, on all cores, and writes a file that a later command can continue.

use std::path::PathBuf;

use lanemark_files::private::PrivateFolder;
use lanemark_lab::results::OutputFile;
use lanemark_lab::scale::scaled_workload;
use lanemark_lab::sweep::provenance::read_if_present;
use lanemark_lab::{Event, Lab, Pool, RunLength, SweepFile, opened, settings};
use lanemark_schema::result::{SCHEMA_VERSION, Sweep as SweepResult};
use lanemark_schema::units::Ratio;
use lanemark_study::sweep::{Axis, SweepDefinition};
use lanemark_study::{Library, Location, StudyError, Sweep};
use serde::Serialize;

use crate::args::SweepArgs;
use crate::model::library;
use crate::output::failure::{CommandOutcome, Failure};
use crate::output::messages::tell;
use crate::output::outlets::PAGE;
use crate::output::progress::LabProgressLine;
use crate::output::{self, formats, provenance, saving, stop};

/// Axes that change the load.
const LOADS: [&str; 2] = ["queue_depth", "threads"];
/// The default axis of `--target`.
const DEPTHS: &str = "queue_depth=1,2,3,4,6,8,12,16,24,32,48,64,96,128,192,256";

pub(crate) fn run(args: &SweepArgs) -> Result<CommandOutcome, Failure> {
    let lab = Lab {
        pool: args.jobs.map_or_else(Pool::default, Pool::new),
        cancel: stop::on_signal().into(),
        memory: args.memory.memory,
        ..Lab::default()
    };
    let library = library::open(&args.run.library)?;
    let sweep = sweep(args, &library)?;
    let (out, scratch) = match &args.out {
        Some(out) => (out.clone(), None),
        None => default_out(&sweep)?,
    };
    let views = SweepOutputs { is_kept: scratch.is_none(), ..SweepOutputs::open(args, out)? };
    let mut provenance = provenance::own_provenance(args.run.seed);
    provenance.inputs = library.used();
    let file = SweepFile::open(&views.csv, &sweep, provenance)?;
    let mut ended = file.before();
    let total = file.total();
    let file_name = views.csv.display().to_string();
    if ended > 0 {
        tell!("{file_name} already contains {ended} of {total} points");
    }
    let mut line = LabProgressLine::of_points(sweep.repeats());
    let outcome = lab.sweep(library, file, &mut |event| {
        line.draw(&event);
        if let Event::Point { ended: now, .. } = event {
            ended = now;
        }
    })?;
    drop(line);
    let Some(outcome) = outcome else {
        if views.is_kept {
            tell!(
                "saved {ended} of {total} points to {file_name}; run the same command to continue"
            );
        } else {
            tell!("interrupted; nothing is saved");
        }
        return Ok(CommandOutcome::Interrupted);
    };
    views.show(&outcome)?;
    has_figures(&outcome, &file_name)?;
    Ok(CommandOutcome::Done)
}

/// Fails if no point of the sweep contains figures.
fn has_figures(sweep: &SweepResult, file: &str) -> Result<(), Failure> {
    let reasons = sweep.points.iter().map(|point| point.outcome.as_ref().err());
    match reasons.collect::<Option<Vec<_>>>().and_then(|reasons| reasons.first().copied()) {
        None => Ok(()),
        Some(reason) => {
            Err(Failure::input(format!("no point has figures; first reason: {reason}"))
                .hint(format!("the last column of {file} states the reason for each point")))
        }
    }
}

/// Returns a file in the default folder whose name depends only on the sweep. If that folder is not writable, prints a
/// warning and returns a file in a private folder; dropping the second value removes that folder.
fn default_out(sweep: &Sweep) -> Result<(PathBuf, Option<PrivateFolder>), Failure> {
    let name = format!("sweep-{}.csv", &sweep.inputs()[..12]);
    match saving::writable_default() {
        Ok(folder) => Ok((folder.join(name), None)),
        Err(error) => {
            saving::warn(&error);
            let scratch = PrivateFolder::new("lanemark-sweep-").map_err(|other| {
                Failure::run(format!("can't create a temporary folder: {other}"))
            })?;
            Ok((scratch.path().join(name), Some(scratch)))
        }
    }
}

/// The outputs of a complete sweep in addition to the terminal.
struct SweepOutputs {
    csv: PathBuf,
    /// Whether the file remains after the command.
    is_kept: bool,
    page: Option<OutputFile>,
    /// The requested share of the maximum.
    target: Option<Ratio>,
    json: bool,
}

#[derive(Serialize)]
struct SweepJson<'s> {
    schema_version: u32,
    answer: String,
    #[serde(flatten)]
    sweep: &'s SweepResult,
}

impl SweepOutputs {
    fn open(args: &SweepArgs, out: PathBuf) -> Result<Self, Failure> {
        if out.extension().is_none_or(|extension| extension != "csv") {
            let message = format!("--out {}: a sweep is written as CSV", out.display());
            return Err(Failure::input(message).hint("use a file name that ends in .csv"));
        }
        let page = OutputFile::open_if_given(args.html.as_deref(), &PAGE)?;
        Ok(Self { csv: out, is_kept: true, page, target: args.target, json: args.json })
    }

    fn show(&self, sweep: &SweepResult) -> Result<(), Failure> {
        let Self { csv, is_kept, page, target, json } = self;
        if let Some(page) = page {
            page.write(&lanemark_report::sweep_html(sweep, read_if_present(csv).as_ref()))?;
        }
        let target = target.map(Ratio::get);
        if *json {
            let answer = lanemark_report::sweep_answer(sweep, target);
            output::print_json(&SweepJson { schema_version: SCHEMA_VERSION, answer, sweep })?;
        } else {
            output::print(&lanemark_report::sweep_text(sweep, target, &output::style()))?;
        }
        if *is_kept {
            tell!("saved {}", csv.display());
        }
        if let Some(page) = page {
            tell!("wrote {}", page.path().display());
        }
        Ok(())
    }
}

/// Returns the sweep that the command line describes, together with the values in its sweep file.
fn sweep(args: &SweepArgs, library: &Library) -> Result<Sweep, Failure> {
    let system = args.system.as_str();
    let mut definition = if system.ends_with(".toml") && !system.contains('@') {
        SweepDefinition::open(system.as_ref())?
    } else {
        SweepDefinition {
            system: system.to_owned(),
            workload: String::new(),
            axes: Vec::new(),
            settings: Vec::new(),
        }
    };
    if let Some(workload) = &args.workload {
        definition.workload.clone_from(workload);
    }
    if definition.workload.is_empty() {
        return Err(Failure::input("--workload is missing")
            .hint("add, for example, --workload data-sheet:rnd4k-q32t1-read"));
    }
    for text in &args.axis {
        definition.axes.push(Axis::parse(text)?);
    }
    if args.target.is_some() {
        if definition.axes.is_empty() {
            definition.axes.push(Axis::parse(DEPTHS)?);
        } else if !definition.axes.iter().any(|axis| LOADS.contains(&axis.name.as_str())) {
            let message = "--target requires a load axis: queue_depth or threads";
            return Err(Failure::input(message)
                .hint("add --axis queue_depth=1..256*2, or remove all --axis options"));
        }
    }
    definition.settings.extend(settings(&args.set)?);
    let mut opened = opened::open(library, &definition.workload, args.run.scale.size)?;
    if let Some(assumed) = opened.simulate() {
        tell!("note: {assumed}");
    }
    formats::tell_notes(&opened);
    let mut workload = scaled_workload(opened.workload, &args.run.scale.scale())?;
    // Repeats differ only in their random numbers, and a sweep has many points, so one repeat per point is enough for a
    // curve.
    workload.repeats = args.run.scale.repeats.unwrap_or(1);
    let length = RunLength::from_full(args.full);
    Sweep::new(library, definition, workload, args.run.seed, length).map_err(with_location)
}

fn with_location(error: StudyError) -> Failure {
    if error.location == Location::file("sweep") {
        Failure::from(StudyError { location: Location::file("lanemark sweep"), ..error })
    } else {
        error.into()
    }
}

//! `lanemark sweep`: one test at many points, on all cores, into a file that goes on where it was left.

#[cfg(feature = "parquet")]
mod columns;
mod journal;
pub(crate) mod provenance;

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use clap::Args as ClapArgs;
use lanemark_study::sweep::{Axis, Definition, Runner, rows};
use lanemark_study::{Library, Location, StudyError, Sweep};

use crate::args::{LibraryArgs, ScaleArgs};
use crate::failure::{Failure, Outcome};
use crate::messages::tell;
use crate::progress::Progress;
use crate::reserved::Reserved;
use crate::results::{self, Outlet, PAGE};
use crate::{formats, library, output, parallel, sim, stop};
use journal::Journal;

/// What `lanemark sweep` is told.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Axes:
  NAME=VALUES, VALUES a list of values and ranges: 4,8,16   1..256*2   10..50+10   4KiB..1MiB*4
  of the test    queue_depth threads block read pattern span offset alignment volume duration
                 ramp think compressibility rate
  of the system  drive platform port
  model values   as for --set: drive.flash.channels, platform.link.dmi.pcie.lanes
The last axis changes fastest. Curves are drawn over the first axis of numbers, with a line for
each value of the next.

A sweep that was interrupted goes on when it is asked for again; nothing is run twice.
A point that no system or test can have is a row with the reason in its last column.")]
pub(crate) struct SweepArgs {
    /// The system, written DRIVE@PLATFORM:PORT, or a sweep's file, NAME.toml
    pub(crate) system: String,
    /// The test, WORKLOAD:TEST
    #[arg(long, value_name = "WORKLOAD:TEST")]
    pub(crate) workload: Option<String>,
    /// A parameter with its values, queue_depth=1..256*2; again for further axes
    #[arg(long, value_name = "NAME=VALUES")]
    pub(crate) axis: Vec<String>,
    /// Set a model value for all points, drive.flash.read="60 us"
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// The CSV file of the points, or with the feature `parquet` also a .parquet file beside one [default: results/sweep-HASH.csv, the same for the same sweep]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Also write one HTML page with the curves
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Points at a time [default: as many as cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(crate) jobs: Option<u32>,
    /// The seed of all random numbers, the same at every point
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) scale: ScaleArgs,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

pub(crate) fn run(args: &SweepArgs) -> Result<Outcome, Failure> {
    let stop = stop::on_signal();
    let library = library::open(&args.library)?;
    let sweep = sweep(args, &library)?;
    let out = args.out.clone().unwrap_or_else(|| {
        PathBuf::from("results").join(format!("sweep-{}.csv", &sweep.inputs()[..12]))
    });
    let (out, parquet) = files(out)?;
    let page = Outlet::of(args.html.as_deref(), &PAGE)?;
    let mut journal = Journal::open(&out, &sweep)?;
    let mut own = results::provenance(args.seed);
    own.inputs = library.used();
    provenance::note(&out, sweep.inputs(), own)?;
    let pending = journal.pending();
    let (total, before) = (sweep.points() as usize, sweep.points() as usize - pending.len());
    if before > 0 {
        tell!("{before} of {total} points are in {} already", out.display());
    }
    let jobs = args.jobs.map_or_else(parallel::cores, |jobs| jobs as usize);
    // A library notes what it was asked for and belongs to one thread.
    let libraries = Mutex::new(vec![library; jobs.min(pending.len())]);
    let start = || {
        let own = libraries.lock().unwrap_or_else(PoisonError::into_inner).pop();
        Runner::new(&sweep, own.unwrap_or_default())
    };
    let mut progress = Progress::new();
    let mut saved = Ok(());
    let ended = Arc::new(AtomicUsize::new(before));
    let told = out.display().to_string();
    let interrupted = {
        let (ended, told) = (Arc::clone(&ended), told.clone());
        move || {
            let ended = ended.load(Ordering::Relaxed);
            tell!("saved {ended} of {total} points to {told}; the same command goes on");
        }
    };
    stop::at_end(interrupted.clone());
    parallel::each(
        jobs,
        pending.len(),
        start,
        |runner, place| runner.run(pending[place]),
        |_, point| {
            saved = journal.append(&point);
            let ended = ended.fetch_add(1, Ordering::Relaxed) + 1;
            progress.show(&format!("simulated {ended} of {total} points"));
            saved.is_ok() && !stop::requested(&stop)
        },
    );
    drop(progress);
    stop::ends_itself();
    saved?;
    if ended.load(Ordering::Relaxed) < total {
        interrupted();
        return Ok(Outcome::Interrupted);
    }
    let text = journal.finish()?;
    let outcome = rows::read(&text)
        .map_err(|line| Failure::run(format!("{}:{line}: is no row of a sweep", out.display())))?;
    if let Some(parquet) = &parquet {
        write_parquet(parquet, &outcome)?;
    }
    if let Some(page) = &page {
        page.write(&lanemark_report::sweep_html(&outcome, provenance::of(&out).as_ref()))?;
    }
    output::print(&lanemark_report::sweep_text(&outcome, &output::style()))?;
    tell!("saved {told}");
    if let Some(parquet) = &parquet {
        tell!("saved {}", parquet.path().display());
    }
    if let Some(page) = &page {
        tell!("wrote {}", page.path().display());
    }
    Ok(Outcome::Done)
}

/// The file that grows, and the Parquet file that is made of it where that is asked for.
fn files(out: PathBuf) -> Result<(PathBuf, Option<Reserved>), Failure> {
    match out.extension().and_then(|extension| extension.to_str()) {
        Some("csv") => Ok((out, None)),
        #[cfg(feature = "parquet")]
        Some("parquet") => {
            columns::refuse_other(&out)?;
            Ok((out.with_extension("csv"), Some(Reserved::with_folders(&out)?)))
        }
        #[cfg(not(feature = "parquet"))]
        Some("parquet") => {
            let message = format!("--out {}: this lanemark writes no Parquet", out.display());
            Err(Failure::input(message)
                .hint("give a file that ends in .csv, or build with --features parquet"))
        }
        _ => {
            let message = format!("--out {}: a sweep is written as CSV", out.display());
            Err(Failure::input(message).hint("give a file that ends in .csv"))
        }
    }
}

#[cfg(feature = "parquet")]
fn write_parquet(path: &Reserved, sweep: &lanemark_core::result::Sweep) -> Result<(), Failure> {
    columns::write(path, sweep)
}

#[cfg(not(feature = "parquet"))]
fn write_parquet(_: &Reserved, _: &lanemark_core::result::Sweep) -> Result<(), Failure> {
    Ok(())
}

/// The sweep that the command line and the file that it may name ask for.
fn sweep(args: &SweepArgs, library: &Library) -> Result<Sweep, Failure> {
    let mut definition = match args.system.ends_with(".toml") && !args.system.contains('@') {
        true => Definition::open(args.system.as_ref())?,
        false => Definition {
            system: args.system.clone(),
            workload: String::new(),
            axes: Vec::new(),
            settings: Vec::new(),
        },
    };
    if let Some(workload) = &args.workload {
        definition.workload.clone_from(workload);
    }
    if definition.workload.is_empty() {
        return Err(Failure::input("--workload is missing")
            .hint("for example --workload data-sheet:rnd4k-q32t1-read"));
    }
    for text in &args.axis {
        definition.axes.push(Axis::parse(text)?);
    }
    for text in &args.set {
        definition.settings.push(sim::setting(text)?);
    }
    let opened = formats::open(library, &definition.workload, args.scale.size)?;
    opened.tell_notes();
    let mut workload = sim::scaled(opened.workload, &args.scale)?;
    // A repeat has other random numbers; curves need one only, and points are many.
    workload.repeats = args.scale.repeats.unwrap_or(1);
    Sweep::new(library, definition, workload, args.seed).map_err(located)
}

fn located(error: StudyError) -> Failure {
    match error.location == Location::file("sweep") {
        true => Failure::from(StudyError { location: Location::file("lanemark sweep"), ..error }),
        false => error.into(),
    }
}

//! The program `lanemark-validate`: runs the experiments, and writes and checks the tables of the documents.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};

use lanemark_validation::corpus::Corpus;
use lanemark_validation::figures::{FiguresFile, GRIDS, GridFigures, PUBLISHED};
use lanemark_validation::grids::{self, GridOptions, Outputs};
use lanemark_validation::pairs::{PAIRS, pairs_table};
use lanemark_validation::published::{Predictions, PublishedOptions};
use lanemark_validation::{ValidationError, documents};

/// Compute the accuracy of predictions, and write the tables of the documents
#[derive(Parser)]
#[command(name = "lanemark-validate", disable_help_subcommand = true)]
struct Arguments {
    /// Folder of the project, with README.md, docs/ and reference/
    #[arg(long, default_value = ".", global = true)]
    root: PathBuf,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Predict each published measurement, and save the errors
    Published(PublishedOptions),
    /// Fit drives with known values on one path and predict them on another, and save the errors
    Grids(GridArguments),
    /// Write the tables of the documents from the saved figures
    Render,
    /// Compare the tables of the documents with the saved figures
    Check,
}

#[derive(Args)]
struct GridArguments {
    /// Number of drives
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    drives: u64,
    /// Seed of the first drive
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Number of requests per simulated test in a fit
    #[arg(long, default_value_t = 1000)]
    requests: u64,
    /// Name of the run in the table; a run with this name is replaced [default: the seeds]
    #[arg(long)]
    run: Option<String>,
    /// List each cell and each fitted value
    #[arg(long)]
    cells: bool,
    /// Do not save the figures
    #[arg(long)]
    no_save: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut out = io::stdout();
    let mut notes = io::stderr();
    match run(&arguments, &mut Outputs { out: &mut out, notes: &mut notes }) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(notes, "lanemark-validate: {error}");
            if let ValidationError::Lab(error) = &error
                && let Some(hint) = &error.hint
            {
                let _ = writeln!(notes, "{hint}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments, to: &mut Outputs<'_>) -> Result<(), ValidationError> {
    let root = arguments.root.as_path();
    match &arguments.command {
        Command::Published(options) => run_published(root, options, to),
        Command::Grids(options) => run_grids(root, options, to),
        Command::Render => report_changed(&documents::render(root)?, to),
        Command::Check => documents::check(root),
    }
}

fn run_published(
    root: &Path,
    options: &PublishedOptions,
    to: &mut Outputs<'_>,
) -> Result<(), ValidationError> {
    let mut corpus = Corpus::open(&root.join("reference"))?;
    options.select(&mut corpus);
    let files = || -> Result<[FiguresFile; 2], ValidationError> {
        Ok([FiguresFile::reserve(root, PUBLISHED)?, FiguresFile::reserve(root, PAIRS)?])
    };
    let file = options.is_whole().then(files).transpose()?;
    let predictions =
        Predictions::predict(&corpus, options.library.as_deref(), !options.no_interval)?;
    predictions.write(to.out, options.rows)?;
    let pairs = predictions.pair_figures(&corpus);
    writeln!(to.out, "\n{}", pairs_table(&pairs))?;
    match file {
        Some([file, pairs_file]) => {
            pairs_file.write(&pairs.text())?;
            report_changed(&documents::save(root, &file, &predictions.figures().text())?, to)
        }
        None => Ok(()),
    }
}

fn run_grids(
    root: &Path,
    options: &GridArguments,
    to: &mut Outputs<'_>,
) -> Result<(), ValidationError> {
    let GridArguments { drives, seed, requests, cells, .. } = *options;
    let last = seed.saturating_add(drives - 1);
    let name = options.run.clone().unwrap_or_else(|| format!("seeds {seed} to {last}"));
    let file = if options.no_save {
        None
    } else {
        Some((FiguresFile::reserve(root, GRIDS)?, GridFigures::open(root)?))
    };
    let job = GridOptions { drives, seed, requests, run: name, cells };
    let rows = grids::run(&job, to)?;
    match file {
        Some((file, mut figures)) => {
            figures.replace(&job.run, rows);
            report_changed(&documents::save(root, &file, &figures.text())?, to)
        }
        None => Ok(()),
    }
}

/// Reports which documents were written.
fn report_changed(documents: &[&str], to: &mut Outputs<'_>) -> Result<(), ValidationError> {
    match documents {
        [] => writeln!(to.notes, "the documents' tables are up to date")?,
        documents => writeln!(to.notes, "written: {}", documents.join(", "))?,
    }
    Ok(())
}

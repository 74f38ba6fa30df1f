//! The command line.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};
use lanemark_core::units::{Bytes, Duration};

/// How much of a drive's speed reaches the application, where the rest is lost, and what another path
/// would give.
#[derive(Debug, Parser)]
#[command(
    name = "lanemark",
    version,
    after_help = "Exit codes: 0 done; 1 the run failed; 2 something in the input is wrong; 3 a target \
                  was refused so that nothing is lost; 130 interrupted, what had ended is saved.",
    max_term_width = 100
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a study: modelled systems held against published figures
    Study(StudyArgs),
    /// Simulate a workload on a modelled drive in a port of a modelled platform
    Sim(SimArgs),
    /// Show the hops of a modelled system with what each can carry, and draw its platform
    Path(PathArgs),
    /// Measure a workload on a real file, folder or block device
    Bench(BenchArgs),
    /// Compare two results test by test
    Compare(CompareArgs),
    /// Write one HTML page from saved results
    Report(ReportArgs),
    /// List the drives, platforms and workloads that can be named
    Library(LibraryArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StudyArgs {
    /// The study's file, studies/NAME.toml
    pub(crate) file: PathBuf,
    /// A saved result of `lanemark bench` to show beside it
    #[arg(long, value_name = "RESULT")]
    pub(crate) measured: Option<PathBuf>,
    /// Also write one HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SimArgs {
    /// The system, written DRIVE@PLATFORM:PORT
    pub(crate) system: String,
    /// The workload's name or file; WORKLOAD:TEST for one of its tests
    pub(crate) workload: String,
    /// Set a model value for this run, drive.flash.read="60 us"
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// Show the time budget of every test
    #[arg(long)]
    pub(crate) detail: bool,
    #[command(flatten)]
    pub(crate) scale: ScaleArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct PathArgs {
    /// The system, written DRIVE@PLATFORM:PORT
    pub(crate) system: String,
    /// The test that the ceilings are for, WORKLOAD:TEST
    #[arg(default_value = "iometer-128k-qd32:128kb-sequential-read")]
    pub(crate) workload: String,
    /// Set a model value, platform.link.dmi.latency="1 us"
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// Also draw the platform to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Print the view as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// The seed of the run that the ceilings are held against
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct BenchArgs {
    /// A file to create, measure and remove; a folder to do so in; or a block device to read
    pub(crate) path: PathBuf,
    /// The workload's name or file; WORKLOAD:TEST for one of its tests
    #[arg(long, default_value = "crystaldiskmark-8")]
    pub(crate) workload: String,
    /// Lets this existing file be overwritten; must name the same file as PATH
    #[arg(long, value_name = "PATH")]
    pub(crate) overwrite: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) scale: ScaleArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// Changes to a workload for this run.
#[derive(Debug, ClapArgs)]
pub(crate) struct ScaleArgs {
    /// Use this much of the target in every test, "256MiB"; volumes shrink or grow with it
    #[arg(long)]
    pub(crate) size: Option<Bytes>,
    /// Run every test for this time, "1s", whatever its volume
    #[arg(long)]
    pub(crate) duration: Option<Duration>,
    /// Run every test so often
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeats: Option<u32>,
}

/// What all runs have in common.
#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// The seed of all random numbers
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print the result as JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Where the result is saved: a folder, or a file that ends in .json
    #[arg(long, value_name = "PATH", default_value = "results")]
    pub(crate) out: PathBuf,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct LibraryArgs {
    /// The library's folder [default: ./library where there is one, else the one built in]
    #[arg(long, value_name = "FOLDER", env = "LANEMARK_LIBRARY")]
    pub(crate) library: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CompareArgs {
    /// A saved result; FILE#SYSTEM for one system of a study
    pub(crate) a: String,
    /// The result to compare with it
    pub(crate) b: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReportArgs {
    /// Saved results: at most one study, and any number of runs
    #[arg(required = true)]
    pub(crate) results: Vec<PathBuf>,
    /// The page to write
    #[arg(long, value_name = "FILE")]
    pub(crate) html: PathBuf,
}

//! The arguments of `lanemark study`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::{MemoryArgs, RunArgs};

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  lanemark study sata-express --html page.html")]
pub(crate) struct StudyArgs {
    /// Built-in study that `lanemark library --kind sample` lists, or study file
    #[arg(value_name = "STUDY")]
    pub(crate) file: PathBuf,
    /// Saved result of `lanemark bench` to show next to the simulated figures
    #[arg(long, help_heading = "Output", value_name = "RESULT")]
    pub(crate) measured: Option<PathBuf>,
    /// Also write an HTML page to this file
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Find the bottleneck of each test: rerun the test with one hop at a time at double speed (about a dozen runs)
    #[arg(long, help_heading = "Analysis")]
    pub(crate) bottleneck: bool,
    /// Also print the calibrations, the notes, and the published figures that are not simulated
    #[arg(long, help_heading = "Analysis")]
    pub(crate) explain: bool,
    /// Skip the 80% intervals, which require additional short simulations with varied values
    #[arg(long, help_heading = "Analysis")]
    pub(crate) no_interval: bool,
    /// Simulate each test and its repeats completely, instead of stopping when the figures have converged
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

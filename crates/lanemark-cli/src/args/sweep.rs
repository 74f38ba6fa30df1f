//! The arguments of `lanemark sweep`.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use lanemark_schema::units::Ratio;

use super::{MemoryArgs, SeedArgs};

/// The arguments of `lanemark sweep`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Axes:
  NAME=VALUES; VALUES is a list of values and ranges: 4,8,16  1..256*2  10..50+10  4KiB..1MiB*4
  of the test    queue_depth threads block read pattern span offset alignment volume duration
                 ramp think burst compressibility rate
  of the system  drive platform port
  model values   as in --set: drive.flash.channels, platform.link.dmi.pcie.lanes
The last axis changes fastest. Curves are drawn over the first numeric axis, with one line for each
value of the next axis.

The same command continues an interrupted sweep; no point runs twice.
An impossible combination of system and test gets a row with the reason in the last column.")]
#[command(after_help = "\
Example:
  lanemark sweep samsung-950-pro-512gb@workstation-z170:m2 \\
      --workload crystaldiskmark-8:rnd4k-q32t1-read --axis queue_depth=1..256*2")]
pub(crate) struct SweepArgs {
    /// System, written DRIVE@PLATFORM:PORT, or a sweep file, NAME.toml
    pub(crate) system: String,
    /// Test to simulate, WORKLOAD:TEST
    #[arg(long, help_heading = "Workload", value_name = "WORKLOAD:TEST")]
    pub(crate) workload: Option<String>,
    /// Parameter and its values, such as queue_depth=1..256*2 (repeatable, once per axis)
    #[arg(long, help_heading = "Workload", value_name = "NAME=VALUES")]
    pub(crate) axis: Vec<String>,
    /// Report the queue depth that reaches this share of the maximum, such as "90%" [default axis: queue_depth, 1 to
    /// 256]
    #[arg(long, help_heading = "Analysis", value_name = "SHARE", value_parser = target)]
    pub(crate) target: Option<Ratio>,
    /// Override a model value for all points, such as drive.flash.read="60 µs" (repeatable)
    #[arg(long, help_heading = "Model", value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// CSV file for the points [default: sweep-HASH.csv in the results folder; HASH depends only on the sweep]
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Also write an HTML page with the curves to this file
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Simulate the test of each point and its repeats completely, instead of stopping when the figures have converged
    #[arg(long)]
    pub(crate) full: bool,
    /// Print the points and the answer as JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Number of points to run in parallel [default: the number of cores]
    #[arg(long, help_heading = "Analysis", value_name = "N", value_parser = jobs)]
    pub(crate) jobs: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) run: SeedArgs,
}

/// Parses a share of the maximum, above 0 and up to 1.
fn target(text: &str) -> Result<Ratio, String> {
    let share = text.parse().ok().filter(|share: &Ratio| share.get() > 0.0 && share.get() <= 1.0);
    share.ok_or("expected a share above 0% and up to 100%, such as 90%".to_owned())
}

/// Parses a number of threads.
fn jobs(text: &str) -> Result<NonZeroUsize, String> {
    let known = text.parse().ok().filter(|jobs: &NonZeroUsize| jobs.get() <= 1024);
    known.ok_or("expected a number from 1 to 1024".to_owned())
}

//! The arguments of `lanemark whatif`.

use lanemark_schema::workload::bound::QUEUE_DEPTH;
use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::{HostOption, MemoryArgs, SeedArgs};

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  lanemark whatif samsung-850-pro-1tb@workstation-z170:sata \\
      --drive samsung-950-pro-512gb --port m2")]
pub(crate) struct WhatIfArgs {
    /// Current system, DRIVE@PLATFORM:PORT, or saved result
    #[arg(value_name = "SYSTEM|RESULT")]
    pub(crate) from: String,
    /// Model of the system that a measured result describes, DRIVE@PLATFORM:PORT
    #[arg(long, help_heading = "Model", value_name = "SYSTEM")]
    pub(crate) model: Option<String>,
    #[command(flatten)]
    pub(crate) host: HostOption,
    /// Port of the other system
    #[arg(long, help_heading = "Model", value_name = "PORT")]
    pub(crate) port: Option<String>,
    /// Platform of the other system
    #[arg(long, help_heading = "Model", value_name = "NAME")]
    pub(crate) platform: Option<String>,
    /// Drive of the other system
    #[arg(long, help_heading = "Model", value_name = "NAME")]
    pub(crate) drive: Option<String>,
    /// Queue depth of all tests on the other system
    #[arg(long, help_heading = "Workload", value_name = "N", value_parser = clap::value_parser!(u32).range(QUEUE_DEPTH.range()))]
    pub(crate) queue_depth: Option<u32>,
    /// Override a model value of the other system, such as platform.link.dmi.pcie.lanes=1 (repeatable)
    #[arg(long, help_heading = "Model", value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// Output of `lanemark fit --json` with the drive's model; the intervals include the ranges of the fit
    #[arg(long, help_heading = "Model", value_name = "FILE")]
    pub(crate) fit: Option<PathBuf>,
    /// Tests to run [default: the tests of the result; without a result, data-sheet]
    #[arg(long, help_heading = "Workload", value_name = "WORKLOAD[:TEST]")]
    pub(crate) workload: Option<String>,
    /// Skip the 80% intervals, which require additional short simulations with varied values
    #[arg(long, help_heading = "Analysis")]
    pub(crate) no_interval: bool,
    /// Also state how measured figures are applied to the other system, and which value contributes most to the width
    /// of the intervals
    #[arg(long, help_heading = "Analysis")]
    pub(crate) explain: bool,
    /// Print both runs as JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Simulate each test and its repeats completely, instead of stopping when the figures have converged
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) run: SeedArgs,
}

//! The arguments of `lanemark whatif`.

use lanemark_schema::workload::bound::QUEUE_DEPTH;
use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::SeededArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct WhatIfArgs {
    /// Present system, DRIVE@PLATFORM:PORT, or a saved result
    #[arg(value_name = "SYSTEM|RESULT")]
    pub(crate) from: String,
    /// The model that stands for the drive of a measured result, DRIVE@PLATFORM:PORT
    #[arg(long, value_name = "SYSTEM")]
    pub(crate) model: Option<String>,
    /// The other port
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<String>,
    /// The other platform
    #[arg(long, value_name = "NAME")]
    pub(crate) platform: Option<String>,
    /// The other drive
    #[arg(long, value_name = "NAME")]
    pub(crate) drive: Option<String>,
    /// The other queue depth, for all tests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(QUEUE_DEPTH.range()))]
    pub(crate) queue_depth: Option<u32>,
    /// Set a model value of the other system, platform.link.dmi.pcie.lanes=1
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// The fit that the drive's model came from, as `lanemark fit --json` prints it: its ranges enter the intervals
    #[arg(long, value_name = "FILE")]
    pub(crate) fit: Option<PathBuf>,
    /// The tests [default: those of the result, else data-sheet]
    #[arg(long, value_name = "WORKLOAD[:TEST]")]
    pub(crate) workload: Option<String>,
    /// Leave out the 80% intervals, for which short versions of each test run with the uncertain values changed
    #[arg(long)]
    pub(crate) no_interval: bool,
    /// Print both as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) run: SeededArgs,
}

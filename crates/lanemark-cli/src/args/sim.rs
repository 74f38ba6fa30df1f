//! The arguments of `lanemark sim`.

use clap::Args as ClapArgs;
use lanemark_schema::units::Bytes;

use super::systems::with_systems;
use super::{
    FioCommandArgs, HostOption, MemoryArgs, NameArgs, RunArgs, SeriesArgs, TraceArgs,
    WorkloadScaleArgs,
};
use crate::output::formats::ForeignFormat;

#[derive(Debug, ClapArgs)]
#[command(after_help = with_systems("\
Examples:
  lanemark sim samsung-850-pro-1tb@workstation-z170:sata quick
  lanemark sim ./my-drive.toml@raspberry-pi-5:m2 crystaldiskmark-8:rnd4k-q32t1-read
  lanemark sim samsung-980-pro-1tb@workstation-x570:m2 trace.csv --speed 2x"))]
pub(crate) struct SimArgs {
    /// System, written DRIVE@PLATFORM:PORT or in another form below
    pub(crate) system: String,
    /// Workload name or file, including fio's .fio and Iometer's .icf; WORKLOAD:TEST selects one test; or a recorded
    /// trace
    #[arg(value_name = "WORKLOAD|TRACE", required_unless_present = "fio_command")]
    pub(crate) workload: Option<String>,
    #[command(flatten)]
    pub(crate) host: HostOption,
    /// Override a model value for this run, such as drive.flash.read="60 µs" (repeatable)
    #[arg(long, help_heading = "Model", value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// Inject a fault into each test, such as "power-cut at=500ms boot=5s" (repeatable)
    #[arg(long, help_heading = "Model", value_name = "FAULT")]
    pub(crate) fault: Vec<String>,
    /// Show the time budget of every test
    #[arg(long, help_heading = "Output")]
    pub(crate) detail: bool,
    /// Show the sources of the model's values, and the value that contributes most to the width of the intervals
    #[arg(long, help_heading = "Analysis")]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) over_time: SeriesArgs,
    /// Find the bottleneck of each test: rerun the test with one hop at a time at double speed (about a dozen runs)
    #[arg(long, help_heading = "Analysis")]
    pub(crate) bottleneck: bool,
    /// Skip the 80% intervals, which require additional short simulations with varied values
    #[arg(long, help_heading = "Analysis")]
    pub(crate) no_interval: bool,
    /// Simulate each test and its repeats completely, instead of stopping when the figures have converged
    #[arg(long)]
    pub(crate) full: bool,
    /// Print the result in another program's format instead of a table
    #[arg(long, help_heading = "Output", value_name = "FORMAT", conflicts_with = "json")]
    pub(crate) format: Option<ForeignFormat>,
    #[command(flatten)]
    pub(crate) trace: TraceArgs,
    /// Replay the requests of all devices of a trace on one drive, at their original offsets
    #[arg(long, help_heading = "Trace")]
    pub(crate) as_one: bool,
    /// Part of each drive that is written before a replay begins, such as "100GB" [default: all]
    #[arg(long, help_heading = "Trace", value_name = "SIZE")]
    pub(crate) filled: Option<Bytes>,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) scale: WorkloadScaleArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) command: FioCommandArgs,
    #[command(flatten)]
    pub(crate) name: NameArgs,
}

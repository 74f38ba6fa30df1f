//! The arguments of `lanemark verify`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use lanemark_measure::EngineKind;

use lanemark_schema::result::InterveningEvent;

use super::SeedArgs;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  lanemark verify write test.dat --size 1GiB && lanemark verify check test.dat")]
pub(crate) struct VerifyArgs {
    #[command(subcommand)]
    pub(crate) command: VerifyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum VerifyCommand {
    /// Run the writes of a workload with self-describing data, and record them in a journal
    Write(VerifyWriteArgs),
    /// Read all data back, and report lost, stale, torn, misplaced and corrupt data
    Check(VerifyCheckArgs),
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  lanemark verify write test.dat --size 1GiB --journal /mnt/other/test.journal")]
pub(crate) struct VerifyWriteArgs {
    /// File to create and keep, or block device
    pub(crate) path: PathBuf,
    /// Workload name or file; WORKLOAD:TEST selects one test
    #[arg(long, help_heading = "Workload", default_value = "crystaldiskmark-8")]
    pub(crate) workload: String,
    /// Journal: a new file on a different device [default: ./NAME.journal]
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Sync the journal before every request, so that it survives a power cut
    #[arg(long)]
    pub(crate) journal_sync: bool,
    /// Do not write and flush the whole span first
    #[arg(long, help_heading = "State of the target")]
    pub(crate) no_fill: bool,
    /// Allow this existing file to be overwritten; must name the same file as PATH
    #[arg(long, help_heading = "Permission to overwrite", value_name = "PATH")]
    pub(crate) overwrite: Option<PathBuf>,
    /// Allow all of this block device to be overwritten; must name the same device as PATH
    #[arg(long, help_heading = "Permission to overwrite", value_name = "DEVICE")]
    pub(crate) i_will_lose_all_data_on: Option<PathBuf>,
    /// I/O engine: io_uring, or sync (one request at a time)
    #[arg(long, help_heading = "Requests", default_value = "io_uring", value_name = "NAME")]
    pub(crate) engine: EngineKind,
    /// Use the page cache instead of direct I/O
    #[arg(long, help_heading = "Requests")]
    pub(crate) buffered: bool,
    /// Print the outcome as JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) run: SeedArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  lanemark verify check test.dat --after power-cut")]
pub(crate) struct VerifyCheckArgs {
    /// File or device to check; it is opened read-only
    pub(crate) path: PathBuf,
    /// Journal of the writes [default: ./NAME.journal]
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Event after the writes: kill or power-cut [default: power-cut if the machine has restarted since]
    #[arg(long, value_name = "WHAT")]
    pub(crate) after: Option<InterruptionArg>,
    /// I/O engine: io_uring, or sync (one request at a time)
    #[arg(long, help_heading = "Requests", default_value = "io_uring", value_name = "NAME")]
    pub(crate) engine: EngineKind,
    /// Print the outcome as JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// The event between writing and checking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum InterruptionArg {
    /// The program ended or was killed
    Kill,
    /// The power failed
    PowerCut,
}

impl From<InterruptionArg> for InterveningEvent {
    fn from(after: InterruptionArg) -> Self {
        match after {
            InterruptionArg::Kill => Self::Kill,
            InterruptionArg::PowerCut => Self::PowerCut,
        }
    }
}

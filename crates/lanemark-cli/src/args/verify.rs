//! The arguments of `lanemark verify`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use lanemark_measure::EngineKind;

use super::{After, SeededArgs};

#[derive(Debug, ClapArgs)]
pub(crate) struct VerifyArgs {
    #[command(subcommand)]
    pub(crate) command: VerifyCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum VerifyCommand {
    /// Run a workload's writes with data that says what it is, and keep a journal of them
    Write(VerifyWriteArgs),
    /// Read everything back and say what is lost, stale, torn, misplaced or corrupt
    Check(VerifyCheckArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct VerifyWriteArgs {
    /// A file to create and keep, or a block device
    pub(crate) path: PathBuf,
    /// The workload's name or file; WORKLOAD:TEST for one of its tests
    #[arg(long, default_value = "crystaldiskmark-8")]
    pub(crate) workload: String,
    /// The journal, a new file on another device [default: ./NAME.journal]
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Sync the journal before every request, so that it outlasts a power cut
    #[arg(long)]
    pub(crate) journal_sync: bool,
    /// Leave out writing and flushing all of the span first
    #[arg(long)]
    pub(crate) no_fill: bool,
    /// Lets this existing file be overwritten; must name the same file as PATH
    #[arg(long, value_name = "PATH")]
    pub(crate) overwrite: Option<PathBuf>,
    /// Lets this block device be written, all of it; must name the same device as PATH
    #[arg(long, value_name = "DEVICE")]
    pub(crate) i_will_lose_all_data_on: Option<PathBuf>,
    /// How requests are made: io_uring, or sync (one at a time)
    #[arg(long, default_value = "io_uring", value_name = "NAME")]
    pub(crate) engine: EngineKind,
    /// Go through the page cache
    #[arg(long)]
    pub(crate) buffered: bool,
    /// Print what was written as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) run: SeededArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct VerifyCheckArgs {
    /// File or device that was written; it is only read
    pub(crate) path: PathBuf,
    /// The journal of it [default: ./NAME.journal]
    #[arg(long, value_name = "FILE")]
    pub(crate) journal: Option<PathBuf>,
    /// Event since the writing: kill or power-cut [default: power-cut if the machine was started anew]
    #[arg(long, value_name = "WHAT")]
    pub(crate) after: Option<After>,
    /// How requests are made: io_uring, or sync (one at a time)
    #[arg(long, default_value = "io_uring", value_name = "NAME")]
    pub(crate) engine: EngineKind,
    /// Print what was found as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

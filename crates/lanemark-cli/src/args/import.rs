//! The arguments of `lanemark import`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::Pattern;
use lanemark_schema::workload::bound::QUEUE_DEPTH;

use super::save::{NameArgs, SaveArgs};

#[derive(Debug, ClapArgs)]
pub(crate) struct ImportArgs {
    /// Output files of fio, CrystalDiskMark, KDiskMark, diskspd or Iometer, or folders; all .json files in a folder are
    /// read
    #[arg(required = true, value_name = "FILE|FOLDER")]
    pub(crate) files: Vec<PathBuf>,
    /// Size of the file or device, for tests whose output does not state the span
    #[arg(long, value_name = "SIZE")]
    pub(crate) span: Option<Bytes>,
    /// Access pattern, for tests whose output does not state it
    #[arg(long, value_name = "PATTERN")]
    pub(crate) pattern: Option<ImportPattern>,
    /// Queue depth, for tests whose output does not state it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(QUEUE_DEPTH.range()))]
    pub(crate) queue_depth: Option<u32>,
    /// Print the result as JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
    #[command(flatten)]
    pub(crate) name: NameArgs,
}

/// An access pattern that a user supplies for an imported test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum ImportPattern {
    /// Sequential access
    Sequential,
    /// Uniformly random access
    Random,
}

impl ImportPattern {
    /// Returns the pattern of the workload.
    pub(crate) fn pattern(self) -> Pattern {
        match self {
            Self::Sequential => Pattern::Sequential,
            Self::Random => Pattern::Uniform,
        }
    }
}

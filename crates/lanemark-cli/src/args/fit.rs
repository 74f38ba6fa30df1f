//! The arguments of `lanemark fit`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::LibraryArgs;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
`lanemark bench PATH --workload fit` measures what is needed in less than five minutes. The drive
that is written can be named wherever a library's drive can.")]
pub(crate) struct FitArgs {
    /// Saved results of one drive; FILE#SYSTEM for one system of a study
    #[arg(required = true, value_name = "RESULT")]
    pub(crate) results: Vec<String>,
    /// The platform and the port that it was measured in
    #[arg(long, value_name = "PLATFORM:PORT")]
    pub(crate) platform: String,
    /// A drive like it: what the results do not tell is as there [default: a generic one of the port's protocol]
    #[arg(long, value_name = "DRIVE")]
    pub(crate) like: Option<String>,
    /// Set a model value, which is not fitted then, drive.port.pcie.generation=3
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// Write the drive to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print what was found as JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// The seed of all random numbers
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

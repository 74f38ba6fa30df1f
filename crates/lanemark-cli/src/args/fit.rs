//! The arguments of `lanemark fit`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::{HostOption, LibraryArgs};

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
`lanemark bench PATH --workload fit` takes the required measurements in less than five minutes.
Other commands accept the written drive file instead of the name of a library drive.")]
pub(crate) struct FitArgs {
    /// Saved results from one drive; FILE#SYSTEM selects one system of a study
    #[arg(required = true, value_name = "RESULT")]
    pub(crate) results: Vec<String>,
    /// Platform and port in which the drive was measured
    #[arg(long, value_name = "PLATFORM:PORT")]
    pub(crate) platform: String,
    #[command(flatten)]
    pub(crate) host: HostOption,
    /// Similar drive, for values that the results do not determine [default: a generic drive with the port's protocol]
    #[arg(long, value_name = "DRIVE")]
    pub(crate) like: Option<String>,
    /// Override a model value, such as drive.port.pcie.generation=3, and do not fit it (repeatable)
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// Write the fitted drive to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print the fit as JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

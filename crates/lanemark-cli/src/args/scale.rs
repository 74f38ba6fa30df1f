//! The arguments that all commands with a workload share.

use clap::Args as ClapArgs;
use lanemark_lab::scale::WorkloadScale;
use lanemark_schema::units::{Bytes, Duration};

use super::LibraryArgs;

/// Changes to a workload for this run.
#[derive(Debug, ClapArgs)]
pub(crate) struct WorkloadScaleArgs {
    /// Use this much of the target in every test, such as "256MiB"; volumes scale with it
    #[arg(long, help_heading = "Workload")]
    pub(crate) size: Option<Bytes>,
    /// Run every test for this time, such as "1s", regardless of its volume
    #[arg(long, help_heading = "Workload")]
    pub(crate) duration: Option<Duration>,
    /// Number of repeats of every test
    #[arg(long, help_heading = "Workload", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeats: Option<u32>,
}

impl WorkloadScaleArgs {
    /// Returns the changes in the form that the laboratory uses.
    pub(crate) fn scale(&self) -> WorkloadScale {
        WorkloadScale { size: self.size, duration: self.duration, repeats: self.repeats }
    }
}

/// The memory of a command that simulates.
#[derive(Debug, ClapArgs)]
pub(crate) struct MemoryArgs {
    /// Maximum memory of all simulations that run at the same time, such as "4GB" [default: 1GB, or 64MB for each
    /// thread if that is more]
    #[arg(long, value_name = "SIZE")]
    pub(crate) memory: Option<Bytes>,
}

/// The seed of a run, its changes to the workload, and the library that it reads.
#[derive(Debug, ClapArgs)]
pub(crate) struct SeedArgs {
    /// Seed of all random numbers
    #[arg(long, help_heading = "Model", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) scale: WorkloadScaleArgs,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

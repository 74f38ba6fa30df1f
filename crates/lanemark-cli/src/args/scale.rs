//! Options of all commands that run a workload.

use clap::Args as ClapArgs;
use lanemark_core::units::{Bytes, Duration};

/// Changes to a workload for this run.
#[derive(Debug, ClapArgs)]
pub(crate) struct ScaleArgs {
    /// Use this much of the target in every test, "256MiB"; volumes shrink or grow with it
    #[arg(long)]
    pub(crate) size: Option<Bytes>,
    /// Run every test for this time, "1s", whatever its volume
    #[arg(long)]
    pub(crate) duration: Option<Duration>,
    /// Run every test so often
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeats: Option<u32>,
}

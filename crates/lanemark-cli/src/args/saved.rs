//! The arguments of `lanemark compare`.

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  lanemark compare before.json after.json")]
pub(crate) struct CompareArgs {
    /// First saved result; FILE#SYSTEM selects one system of a study
    pub(crate) a: String,
    /// Saved result to compare with the first
    pub(crate) b: String,
    /// Also compare latency percentiles, and describe both targets
    #[arg(long, help_heading = "Output")]
    pub(crate) detail: bool,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

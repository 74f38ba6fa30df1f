//! The arguments for saving a result, shared by every command that creates a result.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::output::saving::Destination;

/// The location of a saved result.
#[derive(Debug, ClapArgs)]
pub(crate) struct SaveArgs {
    /// Folder for the result, or a file name that ends in .json [default: $LANEMARK_RESULTS, or lanemark in the user's
    /// state folder, ~/.local/state]
    #[arg(long, help_heading = "Output", value_name = "PATH")]
    out: Option<PathBuf>,
    /// Print the result without saving it
    #[arg(long, help_heading = "Output", conflicts_with = "out")]
    no_save: bool,
}

/// The name of the target that a run measures or simulates.
#[derive(Debug, ClapArgs)]
pub(crate) struct NameArgs {
    /// Name of the system in the result and in tables, pages and comparisons [default: the drive's model, or the names
    /// of host and device]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
}

impl SaveArgs {
    /// Returns the location for the result.
    pub(crate) fn destination(&self) -> Destination<'_> {
        if self.no_save { Destination::Nowhere } else { Destination::from_out(self.out.as_deref()) }
    }
}

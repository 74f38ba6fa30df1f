//! The arguments for saving a result, shared by every command that makes one.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use crate::saving::Destination;

/// Where a result is saved.
#[derive(Debug, ClapArgs)]
pub(crate) struct SaveArgs {
    /// Folder to save the result in, or a file that ends in .json [default: $LANEMARK_RESULTS, else
    /// lanemark in the user's state folder, ~/.local/state]
    #[arg(long, value_name = "PATH")]
    out: Option<PathBuf>,
    /// Print the result, and save it nowhere
    #[arg(long, conflicts_with = "out")]
    no_save: bool,
}

impl SaveArgs {
    /// Returns where to save the result.
    pub(crate) fn destination(&self) -> Destination<'_> {
        match self.no_save {
            true => Destination::Nowhere,
            false => Destination::of(self.out.as_deref()),
        }
    }
}

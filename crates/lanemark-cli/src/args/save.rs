//! The arguments for saving a result, shared by every command that makes one.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;

/// Where a result is saved.
#[derive(Debug, ClapArgs)]
pub(crate) struct SaveArgs {
    /// Folder to save the result in, or a file that ends in .json
    #[arg(long, value_name = "PATH", default_value = "results")]
    out: PathBuf,
    /// Print the result, and save it nowhere
    #[arg(long, conflicts_with = "out")]
    no_save: bool,
}

impl SaveArgs {
    /// Returns the folder or file; none where nothing is to be saved.
    pub(crate) fn out(&self) -> Option<&Path> {
        (!self.no_save).then_some(self.out.as_path())
    }
}

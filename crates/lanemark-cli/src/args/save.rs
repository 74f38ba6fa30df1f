//! The arguments for saving a result, shared by every command that makes one.

use std::path::{Path, PathBuf};

use clap::Args as ClapArgs;

/// The location of a saved result.
#[derive(Debug, ClapArgs)]
pub(crate) struct SaveArgs {
    /// Folder for the result, or a file name that ends in .json
    #[arg(long, value_name = "PATH", default_value = "results")]
    out: PathBuf,
    /// Print the result without saving it
    #[arg(long, conflicts_with = "out")]
    no_save: bool,
}

impl SaveArgs {
    /// Returns the folder or file; `None` if the result is not saved.
    pub(crate) fn out(&self) -> Option<&Path> {
        (!self.no_save).then_some(self.out.as_path())
    }
}

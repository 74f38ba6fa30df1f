//! The option of all commands that read the library.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct LibraryArgs {
    /// The library's folder [default: ./library where there is one, else the one built in]
    #[arg(long, value_name = "FOLDER", env = "LANEMARK_LIBRARY")]
    pub(crate) library: Option<PathBuf>,
}

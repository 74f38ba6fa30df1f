//! The arguments of `lanemark results`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct ResultsArgs {
    /// Folder of the saved results [default: $LANEMARK_RESULTS, or lanemark in the user's state folder, ~/.local/state]
    pub(crate) folder: Option<PathBuf>,
    /// List results whose title, command or file name contains all these words
    #[arg(long, value_name = "WORDS")]
    pub(crate) search: Option<String>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

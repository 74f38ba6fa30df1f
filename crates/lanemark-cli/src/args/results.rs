//! The arguments of `lanemark results`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct ResultsArgs {
    /// The folder that results were saved in [default: $LANEMARK_RESULTS, else lanemark in the user's state
    /// folder, ~/.local/state]
    pub(crate) folder: Option<PathBuf>,
    /// List what has all these words in its title, its command or its file's name
    #[arg(long, value_name = "WORDS")]
    pub(crate) search: Option<String>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

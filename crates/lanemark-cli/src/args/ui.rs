//! The arguments of `lanemark ui`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The page is one file in the user's cache folder. It contains the simulator, the library, this machine's
ports and the named results, and sends nothing to a network.

Example:
  lanemark ui --no-open")]
pub(crate) struct UiArgs {
    /// Results to show on the page, in any format that `lanemark report` reads
    #[arg(value_name = "RESULT")]
    pub(crate) results: Vec<PathBuf>,
    /// Print the path of the page without opening a browser
    #[arg(long)]
    pub(crate) no_open: bool,
}

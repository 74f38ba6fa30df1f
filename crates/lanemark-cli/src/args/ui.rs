//! The arguments of `lanemark ui`.

use clap::Args as ClapArgs;

use super::LibraryArgs;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The server listens only on 127.0.0.1. Its address contains a token that changes at each start.
Anyone who has the address can run simulations, but nothing else. SIGINT (Ctrl-C) ends the server.

Example:
  lanemark ui --port 8080 --no-open")]
pub(crate) struct UiArgs {
    /// TCP port; 0 selects a free port
    #[arg(long, help_heading = "Model", value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,
    /// Print the address without opening a browser
    #[arg(long)]
    pub(crate) no_open: bool,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

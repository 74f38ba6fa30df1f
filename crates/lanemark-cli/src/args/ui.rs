//! The arguments of `lanemark ui`.

use clap::Args as ClapArgs;

use super::LibraryArgs;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The server listens on 127.0.0.1 alone. Its address has a token, which is new each time; whoever has
the address may ask for simulations, and nothing else. SIGINT (Ctrl-C) ends it.

Example:
  lanemark ui --port 8080 --no-open")]
pub(crate) struct UiArgs {
    /// The port, 0 for any that is free
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) port: u16,
    /// Print the address, and open no browser
    #[arg(long)]
    pub(crate) no_open: bool,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

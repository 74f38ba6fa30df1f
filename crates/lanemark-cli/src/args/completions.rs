//! The arguments of `lanemark completions`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct CompletionsArgs {
    #[command(subcommand)]
    pub(crate) command: CompletionsCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum CompletionsCommand {
    /// Print the completions of bash
    Bash,
    /// Print the completions of zsh
    Zsh,
    /// Print the completions of fish
    Fish,
    /// Write the manual pages, one for each command
    Man {
        /// The folder, which is made where it is not there
        folder: PathBuf,
    },
}

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
    /// Print completions for bash
    Bash,
    /// Print completions for zsh
    Zsh,
    /// Print completions for fish
    Fish,
    /// Write manual pages, one per command
    Man {
        /// Folder for the pages; it is created if it does not exist
        folder: PathBuf,
    },
}

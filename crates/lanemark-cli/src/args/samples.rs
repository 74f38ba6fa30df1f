//! The arguments of `lanemark samples`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};

#[derive(Debug, ClapArgs)]
pub(crate) struct SamplesArgs {
    #[command(subcommand)]
    pub(crate) command: SamplesCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SamplesCommand {
    /// List the samples with their kinds
    List(SamplesListArgs),
    /// Copy one sample or all samples to a folder; existing files are never overwritten
    #[command(override_usage = "\
lanemark samples copy NAME [FOLDER]
       lanemark samples copy --all [FOLDER]")]
    Copy(SamplesCopyArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SamplesListArgs {
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct SamplesCopyArgs {
    /// The sample's name; with --all the folder
    #[arg(value_name = "NAME", required_unless_present = "all")]
    name: Option<String>,
    /// The folder to copy to [default: the current folder]
    #[arg(value_name = "FOLDER", conflicts_with = "all")]
    folder: Option<PathBuf>,
    /// Copy all samples
    #[arg(long)]
    all: bool,
}

impl SamplesCopyArgs {
    /// Returns the name of the sample, or `None` for all of them.
    pub(crate) fn name(&self) -> Option<&str> {
        self.name.as_deref().filter(|_| !self.all)
    }

    /// Returns the destination folder; an empty path is the current folder.
    pub(crate) fn folder(&self) -> PathBuf {
        let given =
            if self.all { self.name.as_ref().map(PathBuf::from) } else { self.folder.clone() };
        given.unwrap_or_default()
    }
}

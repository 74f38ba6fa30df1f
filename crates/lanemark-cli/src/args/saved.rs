//! The arguments of the commands that read saved results: `lanemark export`, `compare` and `report`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use lanemark_lab::columns::RunTable;

use crate::formats::OutputFormat;

#[derive(Debug, ClapArgs)]
pub(crate) struct ExportArgs {
    /// Saved result; FILE#SYSTEM selects one system of a study
    pub(crate) result: String,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "fio-json")]
    pub(crate) output_format: OutputFormat,
    /// Rows of csv: tests, samples (repeats), hops, series (over time) or latencies [default: tests]
    #[arg(long, value_name = "TABLE", value_parser = table)]
    pub(crate) table: Option<RunTable>,
    /// Write to this new file instead of stdout
    #[arg(long, value_name = "FILE", conflicts_with = "split")]
    pub(crate) out: Option<PathBuf>,
    /// Write one file per test to this folder, in the form that fio-plot requires, instead of writing to stdout
    #[arg(long, value_name = "FOLDER")]
    pub(crate) split: Option<PathBuf>,
}

/// Parses the name of a run's table.
fn table(text: &str) -> Result<RunTable, String> {
    let found = RunTable::ALL.iter().find(|(name, _)| *name == text);
    let names = RunTable::ALL.map(|(name, _)| name).join(", ");
    found.map(|(_, table)| *table).ok_or(format!("expected one of {names}"))
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CompareArgs {
    /// First saved result; FILE#SYSTEM selects one system of a study
    pub(crate) a: String,
    /// Saved result to compare with the first
    pub(crate) b: String,
    /// Also compare latency percentiles, and describe both targets
    #[arg(long)]
    pub(crate) detail: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReportArgs {
    /// Saved results: up to one study and any number of runs, or the CSV file of one sweep
    #[arg(required = true)]
    pub(crate) results: Vec<PathBuf>,
    /// HTML page to write
    #[arg(long, value_name = "FILE")]
    pub(crate) html: PathBuf,
}

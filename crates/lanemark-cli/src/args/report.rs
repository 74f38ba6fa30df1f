//! The arguments of `lanemark report`.

use std::fmt;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use lanemark_formats::SuppliedSettings;
use lanemark_lab::columns::RunTable;
use lanemark_report::ResultChart;
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::Pattern;
use lanemark_schema::workload::bound::QUEUE_DEPTH;

use super::NameArgs;
use crate::output::formats::ForeignFormat;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The name of --out selects the form:
  page.html       a page with all results
  chart.svg       one chart
  result.json     one result, as `lanemark` saves it
  result.fio.json one result, as fio --output-format=json+ prints it
  folder/         one file in fio's form for each test, as fio-plot requires
  result.csv      a table of one result
  result.txt      the text that is printed without --out
  workload.toml   the requests of a database run as a workload

Examples:
  lanemark report --search '980 rnd4k'
  lanemark report fio.json --span 10GiB
  lanemark report measured.json simulated.json --out page.html
  lanemark report measured.json --chart percentiles --out tails.svg")]
pub(crate) struct ReportArgs {
    /// Results of Lanemark, fio, CrystalDiskMark, KDiskMark, diskspd or Iometer, folders whose .json files are read, or
    /// the CSV file of one sweep; FILE#SYSTEM selects one system of a study [default: list the saved results]
    #[arg(value_name = "RESULT")]
    pub(crate) results: Vec<String>,
    /// List saved results whose title, command or file name contains all these words
    #[arg(long, value_name = "WORDS", conflicts_with = "results")]
    pub(crate) search: Option<String>,
    /// Write to this file instead of stdout, in the form that its name selects
    #[arg(long, help_heading = "Output", value_name = "FILE", requires = "results")]
    pub(crate) out: Option<PathBuf>,
    /// Print the result in another program's format instead of a table
    #[arg(long, help_heading = "Output", value_name = "FORMAT", conflicts_with_all = ["json", "out"])]
    pub(crate) format: Option<ForeignFormat>,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Output", conflicts_with = "out")]
    pub(crate) json: bool,
    /// Rows of CSV: tests, samples (repeats), hops, series (over time) or latencies [default: tests]
    #[arg(long, help_heading = "Output", value_name = "TABLE")]
    pub(crate) table: Option<RunTable>,
    #[command(flatten)]
    pub(crate) chart: ChartArgs,
    #[command(flatten)]
    pub(crate) supplied: SuppliedArgs,
    #[command(flatten)]
    pub(crate) name: NameArgs,
}

/// Settings for tests of other programs whose output does not state them.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Settings that another program's output does not state")]
pub(crate) struct SuppliedArgs {
    /// Size of the file or device
    #[arg(long, value_name = "SIZE", value_parser = positive_size)]
    span: Option<Bytes>,
    /// Access pattern
    #[arg(long, value_name = "PATTERN")]
    pattern: Option<PatternArg>,
    /// Queue depth
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(QUEUE_DEPTH.range()))]
    queue_depth: Option<u32>,
}

impl SuppliedArgs {
    /// Returns the settings in the form that the readers use.
    pub(crate) fn settings(&self) -> SuppliedSettings {
        SuppliedSettings {
            span: self.span,
            pattern: self.pattern.map(|pattern| match pattern {
                PatternArg::Sequential => Pattern::Sequential,
                PatternArg::Random => Pattern::Uniform,
            }),
            queue_depth: self.queue_depth,
        }
    }
}

fn positive_size(text: &str) -> Result<Bytes, String> {
    let size: Bytes = text.parse().map_err(|error| format!("{error}"))?;
    if size == Bytes::ZERO { Err("expected a size above 0".to_owned()) } else { Ok(size) }
}

/// An access pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PatternArg {
    /// Sequential access
    Sequential,
    /// Uniformly random access
    Random,
}

/// The chart of a drawing.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Chart")]
pub(crate) struct ChartArgs {
    /// Chart to draw
    #[arg(long, value_enum, default_value_t = ChartArg::Throughput)]
    pub(crate) chart: ChartArg,
    /// Draw only panels whose title contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) panel: Option<String>,
    /// Number of panels side by side
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub(crate) columns: u8,
    /// Draw light marks on a dark background
    #[arg(long)]
    pub(crate) dark: bool,
}

/// A chart by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChartArg {
    /// Throughput of each test
    Throughput,
    /// Latency by percentile
    Percentiles,
    /// Cumulative share of requests by latency
    Cumulative,
    /// Latency against requests per second
    Load,
    /// Rate and latencies over time
    Time,
    /// Mean latency by hop
    Budget,
}

impl ChartArg {
    /// Returns the data that the chart requires, as a hint.
    pub(crate) fn needs(self) -> &'static str {
        match self {
            Self::Throughput => "the chart requires a result with completed tests",
            Self::Percentiles | Self::Cumulative => {
                "the chart requires the latencies of several requests"
            }
            Self::Load => "the chart requires at least four tests that differ only in queue depth",
            Self::Time => "the chart requires a run of 1 min or more, or a run with --interval",
            Self::Budget => "the chart requires a simulated run",
        }
    }
}

impl From<ChartArg> for ResultChart {
    fn from(argument: ChartArg) -> Self {
        match argument {
            ChartArg::Throughput => Self::Throughput,
            ChartArg::Percentiles => Self::Percentiles,
            ChartArg::Cumulative => Self::Cumulative,
            ChartArg::Load => Self::Load,
            ChartArg::Time => Self::Time,
            ChartArg::Budget => Self::Budget,
        }
    }
}

impl fmt::Display for ChartArg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.to_possible_value();
        f.write_str(name.as_ref().map_or("", |name| name.get_name()))
    }
}

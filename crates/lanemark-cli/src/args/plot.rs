//! The arguments of `lanemark plot`.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use lanemark_report::ResultChart;

#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// Saved results: up to one study and any number of runs
    #[arg(required = true)]
    pub(crate) results: Vec<PathBuf>,
    /// Chart to draw
    #[arg(long, value_enum, default_value_t = ChartArg::Throughput)]
    pub(crate) chart: ChartArg,
    /// Draw only panels whose title contains this text
    #[arg(long, value_name = "TEXT")]
    pub(crate) panel: Option<String>,
    /// Drawing to write, *.svg
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
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

//! The arguments of `lanemark plot`.

use std::fmt;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use lanemark_report::Chart;

#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// Saved results: at most one study, and any number of runs
    #[arg(required = true)]
    pub(crate) results: Vec<PathBuf>,
    /// The chart to draw
    #[arg(long, value_enum, default_value_t = ChartArg::Throughput)]
    pub(crate) chart: ChartArg,
    /// Draw only panels whose title contains this
    #[arg(long, value_name = "TEXT")]
    pub(crate) panel: Option<String>,
    /// The drawing to write, *.svg or *.png
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// Panels beside each other
    #[arg(long, value_name = "NUMBER", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=16))]
    pub(crate) columns: u8,
    /// Light marks on a dark ground
    #[arg(long)]
    pub(crate) dark: bool,
    /// Pixels of a PNG to each of the drawing, 1 to 8
    #[arg(long, value_name = "NUMBER", default_value_t = 2.0, value_parser = scale)]
    pub(crate) scale: f32,
}

/// A chart by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ChartArg {
    /// Throughput of each test
    Throughput,
    /// Latency by percentile
    Percentiles,
    /// Share of the requests that took no longer
    Cumulative,
    /// Latency over requests a second
    Load,
    /// Rate and latencies over time
    Time,
    /// Mean latency by hop
    Budget,
}

impl ChartArg {
    /// Says which results the chart can be drawn of.
    pub(crate) fn needs(self) -> &'static str {
        match self {
            Self::Throughput => "a result has tests that ended",
            Self::Percentiles | Self::Cumulative => "tests count the latencies of several requests",
            Self::Load => "at least four tests differ in queue depth alone",
            Self::Time => "a run of a minute, or with --interval, has a series",
            Self::Budget => "simulated runs have a time budget",
        }
    }
}

impl From<ChartArg> for Chart {
    fn from(asked: ChartArg) -> Self {
        match asked {
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

fn scale(text: &str) -> Result<f32, String> {
    let scale: f32 = text.parse().map_err(|_| "is no number".to_owned())?;
    match (1.0..=8.0).contains(&scale) {
        true => Ok(scale),
        false => Err("must be from 1 to 8".to_owned()),
    }
}

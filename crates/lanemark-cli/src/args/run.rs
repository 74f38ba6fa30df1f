//! The arguments that several commands with runs share.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use lanemark_lab::scale::SeriesSettings;
use lanemark_schema::units::Duration;
use lanemark_schema::workload::TrackedFigure;

use super::{LibraryArgs, SaveArgs};
use crate::output::delivery::ExtraFiles;

/// The view of a run over time.
#[derive(Debug, ClapArgs)]
pub(crate) struct SeriesArgs {
    /// Run every test in rounds of this length, such as "60s", until it reaches SNIA's steady state
    #[arg(long, help_heading = "Workload", value_name = "ROUND", conflicts_with = "duration")]
    pub(crate) steady: Option<Duration>,
    /// Figure that must be steady: iops, throughput or latency [default: iops]
    #[arg(long, help_heading = "Workload", value_name = "FIGURE", requires = "steady")]
    pub(crate) track: Option<TrackedFigure>,
    /// Record each test in intervals of this length, such as "1s" [default: 1,000 intervals for tests of 1 min or more]
    #[arg(long, help_heading = "Workload", value_name = "TIME")]
    pub(crate) interval: Option<Duration>,
    /// Also write the intervals of the last test or, for a trace, the time of each request to this CSV file
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    pub(crate) series: Option<PathBuf>,
    /// Also write an HTML page to this file
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

impl SeriesArgs {
    /// Returns the files that receive the result in addition.
    pub(crate) fn files(&self) -> ExtraFiles<'_> {
        ExtraFiles { page: self.html.as_deref(), series: self.series.as_deref() }
    }

    /// Returns the options for recording over time in the form that the laboratory uses.
    pub(crate) fn over_time(&self) -> SeriesSettings {
        let Self { steady, track, interval, series, .. } = self;
        SeriesSettings {
            steady: *steady,
            track: *track,
            interval: *interval,
            series: series.is_some(),
        }
    }
}

/// The arguments that all runs share.
#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// Seed of all random numbers
    #[arg(long, help_heading = "Model", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print the result as JSON instead of a table
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

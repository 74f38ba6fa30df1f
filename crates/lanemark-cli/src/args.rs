//! The arguments of the `lanemark` command. The file of a command states its options with their help and their groups,
//! and its examples.

mod bench;
mod compare;
mod completions;
mod drive;
mod fio_command;
mod gate;
pub(crate) mod help;
mod host;
mod inspect;
mod library;
mod oltp;
mod plan;
mod report;
mod run;
mod save;
mod scale;
mod serve;
mod sim;
mod study;
mod sweep;
mod systems;
mod trace;
mod trial;
mod ui;
mod verify;

pub(crate) use bench::BenchArgs;
pub(crate) use compare::{CompareArgs, RateTarget};
pub(crate) use completions::{CompletionsArgs, CompletionsCommand};
pub(crate) use drive::{DriveArgs, Media, Protocol, RatingArgs};
pub(crate) use fio_command::FioCommandArgs;
pub(crate) use gate::GateDecision;
pub(crate) use host::HostOption;
pub(crate) use inspect::InspectArgs;
pub(crate) use library::{EntryKind, Interface, LibraryArgs, LibraryListArgs};
pub(crate) use oltp::{OltpArgs, OltpCommand, OltpDatabaseArgs, OltpLoadArgs, OltpRunArgs};
pub(crate) use plan::{BandwidthArgs, BatteryArgs, FleetArgs, LifeArgs, PlanArgs, PlanCommand};
pub(crate) use report::ReportArgs;
pub(crate) use run::{RunArgs, SeriesArgs};
pub(crate) use save::{NameArgs, SaveArgs};
pub(crate) use scale::{MemoryArgs, SeedArgs, WorkloadScaleArgs};
pub(crate) use serve::{ServeArgs, ServeCommand};
pub(crate) use sim::SimArgs;
pub(crate) use study::StudyArgs;
pub(crate) use sweep::SweepArgs;
pub(crate) use trace::{TraceArgs, refuse_with_trace, trace_file};
pub(crate) use trial::TrialArgs;
pub(crate) use ui::UiArgs;
pub(crate) use verify::{VerifyArgs, VerifyCheckArgs, VerifyCommand, VerifyWriteArgs};

use clap::{Parser, Subcommand};

/// Measure, simulate and explain storage paths: how much of a drive's speed reaches the application, where the rest is
/// lost, and what another path would deliver.
#[derive(Debug, Parser)]
#[command(name = "lanemark", version, max_term_width = 80)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Measure a workload or trace on a real file or device
    Bench(Box<BenchArgs>),
    /// Show the path to a drive, link by link, and its limit
    Inspect(InspectArgs),
    /// Write data, and check it after a kill or a power cut
    Verify(VerifyArgs),
    /// Simulate a workload or trace on a modelled system
    Sim(Box<SimArgs>),
    /// Compare two systems or results: which is faster, how sure
    Compare(Box<CompareArgs>),
    /// Simulate one test over ranges of parameters
    Sweep(SweepArgs),
    /// Compare modelled systems with published figures
    Study(StudyArgs),
    /// Write a drive file from ratings or measurements
    Drive(Box<DriveArgs>),
    /// List and show drives, platforms, workloads and samples
    Library(LibraryListArgs),
    /// Calculate a drive's life, battery life, or a fleet
    Plan(PlanArgs),
    /// Serve a modelled system as a disk with real data
    Serve(Box<ServeArgs>),
    /// Run a command or database on several modelled systems
    Trial(Box<TrialArgs>),
    /// Run a TPC-C-derived workload on a real database
    Oltp(OltpArgs),
    /// Show, convert and list results
    Report(ReportArgs),
    /// Open the laboratory in a browser on this machine
    Ui(UiArgs),
    /// Print shell completions, or write manual pages
    #[command(hide = true)]
    Completions(CompletionsArgs),
}

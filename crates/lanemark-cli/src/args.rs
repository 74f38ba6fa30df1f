//! The arguments of the `lanemark` command.

mod completions;
mod drive;
#[cfg(feature = "serve")]
mod exact;
mod fit;
mod import;
mod library;
mod plan;
mod plot;
mod results;
mod samples;
mod save;
mod scale;
#[cfg(feature = "serve")]
mod serve;
mod sweep;
mod trace;
#[cfg(feature = "ui")]
mod ui;
mod verify;
mod whatif;

pub(crate) use completions::{CompletionsArgs, CompletionsCommand};
pub(crate) use drive::{DriveArgs, DriveCommand, DriveNewArgs, Media, Protocol};
#[cfg(feature = "serve")]
pub(crate) use exact::ExactArgs;
pub(crate) use fit::FitArgs;
pub(crate) use import::{ImportArgs, ImportPattern};
pub(crate) use library::{EntryKind, Interface, LibraryArgs, LibraryListArgs};
pub(crate) use plan::{BandwidthArgs, BatteryArgs, FleetArgs, PlanArgs, PlanCommand};
pub(crate) use plot::PlotArgs;
pub(crate) use results::ResultsArgs;
pub(crate) use samples::{SamplesArgs, SamplesCommand, SamplesCopyArgs};
pub(crate) use save::SaveArgs;
pub(crate) use scale::{ScaleArgs, SeededArgs};
#[cfg(feature = "serve")]
pub(crate) use serve::{ServeArgs, ServeControlArgs};
pub(crate) use sweep::SweepArgs;
pub(crate) use trace::TraceArgs;
#[cfg(feature = "ui")]
pub(crate) use ui::UiArgs;
pub(crate) use verify::{VerifyArgs, VerifyCheckArgs, VerifyCommand, VerifyWriteArgs};
pub(crate) use whatif::WhatIfArgs;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};
use lanemark_lab::columns::RunTable;
use lanemark_lab::scale::OverTime;
use lanemark_measure::{EngineKind, OnError};
use lanemark_schema::result::Since;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::Tracked;
use lanemark_sim::replay::{OUTSTANDING_MAX, Speed};
use lanemark_trace::{Action, Format};

use crate::formats::OutputFormat;
#[cfg(feature = "oltp")]
use crate::oltp_args::OltpArgs;

/// How much of a drive's speed reaches the application, where the rest is lost, and what another path
/// would give.
#[derive(Debug, Parser)]
#[command(
    name = "lanemark",
    version,
    after_help = "\
Exit codes:
  0 done; 1 the run failed or a check found damage; 2 something in the input is wrong;
  3 a target was refused so that nothing is lost; 130 interrupted, what had ended is saved",
    max_term_width = 100
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a study: modelled systems held against published figures
    Study(StudyArgs),
    /// Simulate a workload on a modelled drive in a port of a modelled platform
    Sim(SimArgs),
    /// Simulate one test over ranges of any parameters, into a CSV file with curves
    Sweep(SweepArgs),
    /// Replay a recorded trace on a modelled system
    Replay(ReplayArgs),
    /// Show the hops of a modelled system with what each can carry, and draw its platform
    Path(PathArgs),
    /// Show the storage paths of this machine, link by link, and what limits them
    Inspect(InspectArgs),
    /// Measure a workload on a real file, folder or block device
    Bench(BenchArgs),
    /// Make a result of what fio has measured
    Import(ImportArgs),
    /// Write a saved result in another program's format
    Export(ExportArgs),
    /// Write what can be judged later, and judge it: after a kill, after a power cut
    Verify(VerifyArgs),
    /// Fit a drive's model to measured results, and write it as a drive of the library
    Fit(FitArgs),
    /// Write a drive file from what its box says, or show what a drive's values follow from
    Drive(DriveArgs),
    /// Say what the same work would do on another path: port, platform, drive or queue depth
    #[command(name = "whatif")]
    WhatIf(WhatIfArgs),
    /// List what was run and saved
    Results(ResultsArgs),
    /// Compare two results test by test
    Compare(CompareArgs),
    /// Write one HTML page from saved results
    Report(ReportArgs),
    /// Draw one chart of saved results, as SVG or PNG
    Plot(PlotArgs),
    /// Work out battery life, the rate of a stream, or how many servers a load takes
    Plan(PlanArgs),
    /// Load, run, check and compare a TPC-C-derived workload on a real database
    #[cfg(feature = "oltp")]
    Oltp(OltpArgs),
    /// List the drives, platforms and workloads that can be named, or show one
    Library(LibraryListArgs),
    /// List the built-in studies, results, traces and job files, or copy one to a folder
    Samples(SamplesArgs),
    /// Print completions for a shell, or write manual pages
    Completions(CompletionsArgs),
    /// Serve a modelled system as a block device with real data, over NBD
    #[cfg(feature = "serve")]
    Serve(Box<ServeArgs>),
    /// Command a server: its status, faults, a power cut
    #[cfg(feature = "serve")]
    ServeControl(ServeControlArgs),
    /// Run a command in a kernel of its own, whose clock is the simulator's and whose disk is the modelled drive
    #[cfg(feature = "serve")]
    Exact(Box<ExactArgs>),
    /// Open the laboratory in a browser on this machine
    #[cfg(feature = "ui")]
    Ui(UiArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StudyArgs {
    /// The study: a built-in one by its name, as `lanemark samples list` prints it, or a file
    #[arg(value_name = "STUDY")]
    pub(crate) file: PathBuf,
    /// A saved result of `lanemark bench` to show beside it
    #[arg(long, value_name = "RESULT")]
    pub(crate) measured: Option<PathBuf>,
    /// Also write one HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Say what limits each test, by running it again with one hop twice as fast (about a dozen runs)
    #[arg(long)]
    pub(crate) bottleneck: bool,
    /// Leave out the 80% intervals, for which short versions of each test run with the uncertain values changed
    #[arg(long)]
    pub(crate) no_interval: bool,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// How a system is written, for commands that take one.
const SYSTEMS: &str = "\
Systems:
  DRIVE@PLATFORM:PORT              one drive in a port
  DRIVE@PLATFORM:PORT|PORT         a drive with two ports, by both
  DRIVE@PLATFORM:PORT+PORT         two drives, each with a test of its own
  DRIVE@PLATFORM:PORT+OTHER:PORT   two drives of two kinds
  stripe-64KiB:DRIVE@PLATFORM:PORT+PORT   all of them as one volume, striped by chunks of 64 KiB
                                   (stripe: is 512 KiB)
  mirror:DRIVE@PLATFORM:PORT+PORT  all of them as one volume, mirrored";

#[derive(Debug, ClapArgs)]
#[command(after_help = SYSTEMS)]
pub(crate) struct SimArgs {
    /// The system, written DRIVE@PLATFORM:PORT, or as below
    pub(crate) system: String,
    /// The workload's name or file, also fio's .fio and Iometer's .icf; WORKLOAD:TEST for one of its tests
    pub(crate) workload: String,
    /// Set a model value for this run, drive.flash.read="60 us"
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// Let something go wrong in each test, "power-cut at=2s boot=5s"; may be given again
    #[arg(long, value_name = "FAULT")]
    pub(crate) fault: Vec<String>,
    /// Show the time budget of every test
    #[arg(long)]
    pub(crate) detail: bool,
    #[command(flatten)]
    pub(crate) over_time: OverTimeArgs,
    /// Say what limits each test, by running it again with one hop twice as fast (about a dozen runs)
    #[arg(long)]
    pub(crate) bottleneck: bool,
    /// Leave out the 80% intervals, for which short versions of each test run with the uncertain values changed
    #[arg(long)]
    pub(crate) no_interval: bool,
    /// Format of the result on stdout [default: table]
    #[arg(long, value_name = "FORMAT", conflicts_with = "json")]
    pub(crate) output_format: Option<OutputFormat>,
    #[command(flatten)]
    pub(crate) scale: ScaleArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Formats, told from a trace's first line:
  msr       MSR Cambridge: Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime
  blkparse  the text that blkparse prints by default of a blktrace recording
  iolog     fio's write_iolog, version 2 or 3
  mqsim     arrival in ns, device, first sector, sectors, 0 for a write or 1 for a read
  csv       any columns named time_us (or _ns, _ms, _s), operation, offset, length,
            and where there are any device, thread

Requests come at their recorded times, and latency counts from those, unless
--as-fast-as-possible is given. An iolog of version 2 has times only where it has waits.
Traces packed by gzip or Zstandard are read as they are; others from a pipe, /dev/stdin.")]
pub(crate) struct ReplayArgs {
    /// The system, written DRIVE@PLATFORM:PORT; further ports after + for traces of several devices, and
    /// stripe-64KiB: or mirror: before it for one volume over all of them
    pub(crate) system: String,
    /// The trace's file
    pub(crate) trace: PathBuf,
    /// The trace's format: msr, blkparse, iolog, mqsim, disksim or csv [default: told from its first lines]
    #[arg(long)]
    pub(crate) format: Option<Format>,
    /// How many times as fast as recorded, "2x" or "0.5x" [default: 1x]
    #[arg(long, value_name = "FACTOR")]
    pub(crate) speed: Option<Speed>,
    /// Submit the next request when one is complete, whatever the recorded times
    #[arg(long, conflicts_with = "speed")]
    pub(crate) as_fast_as_possible: bool,
    /// Requests outstanding with --as-fast-as-possible
    #[arg(long, value_name = "N", requires = "as_fast_as_possible", default_value_t = 32)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(OUTSTANDING_MAX)))]
    pub(crate) queue_depth: u32,
    /// Replay this device or file of the trace, by its name there; again for the system's next drive
    /// [default: all, the first to appear on the first drive]
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Vec<String>,
    /// Put the requests of all these devices on one drive, at the places that they have on their own
    #[arg(long)]
    pub(crate) as_one: bool,
    /// Replay so many requests and leave out the rest
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Move requests behind the end of the drive into it, by the remainder of their offset
    #[arg(long)]
    pub(crate) wrap: bool,
    /// Which of blkparse's events to replay: Q, G, I, D or C [default: Q, queued]
    #[arg(long, value_name = "LETTER")]
    pub(crate) action: Option<Action>,
    /// How much of each drive lies written when the replay begins, "100GB" [default: all]
    #[arg(long, value_name = "SIZE")]
    pub(crate) filled: Option<Bytes>,
    /// The seed of what happens by chance inside the drives
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Set a model value for this run, drive.flash.read="60 us"
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// Let something go wrong, "media-error range=1GiB..2GiB at=10s drive=0"; may be given again
    #[arg(long, value_name = "FAULT")]
    pub(crate) fault: Vec<String>,
    /// Print the result as JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = SYSTEMS)]
pub(crate) struct PathArgs {
    /// The system, written DRIVE@PLATFORM:PORT, or as below; or a platform alone
    pub(crate) system: String,
    /// The test that the ceilings are for, WORKLOAD:TEST [default: reads of 128 KiB in order]
    pub(crate) workload: Option<String>,
    /// Set a model value, platform.link.dmi.latency="1 us"
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// Also draw the platform to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Leave out the 80% interval, for which short versions of the test run with the uncertain values changed
    #[arg(long)]
    pub(crate) no_interval: bool,
    /// Print the view as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// The seed of the run that the ceilings are held against
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct InspectArgs {
    /// A block device, `nvme0n1` or `/dev/nvme0n1`, or a path that lies on one [default: all devices]
    #[arg(value_name = "DEVICE|PATH")]
    pub(crate) target: Option<String>,
    /// The sysfs tree to read: this machine's, a copy, or a capture, FILE.tar
    #[arg(long, value_name = "ROOT", default_value = "/sys")]
    pub(crate) sysfs: PathBuf,
    /// Also write what is read to this new file, for --sysfs on any machine; it has drives' serial numbers
    #[arg(long, value_name = "FILE.tar")]
    pub(crate) capture: Option<PathBuf>,
    /// Read what `lspci -vvv` or `lspci -tv` printed, whole or a part of it, as a file or a paste (`-` reads a pipe)
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sysfs", "capture"])]
    pub(crate) lspci: Option<PathBuf>,
    /// Also tell what each link can carry for this test, WORKLOAD:TEST
    #[arg(long, value_name = "WORKLOAD:TEST", requires = "target")]
    pub(crate) workload: Option<String>,
    /// Print the inspection as JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Also draw the paths to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Also write the machine to this file as a platform, with a port for each drive, for `whatif` and `sim`
    #[arg(long, value_name = "FILE")]
    pub(crate) as_platform: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct BenchArgs {
    /// A file to create, measure and remove; a folder to do so in; or a block device
    pub(crate) path: PathBuf,
    /// The workload's name or file, also fio's .fio and Iometer's .icf; WORKLOAD:TEST for one of its tests
    #[arg(long, default_value = "crystaldiskmark-8")]
    pub(crate) workload: String,
    /// Lets this existing file be overwritten; must name the same file as PATH
    #[arg(long, value_name = "PATH")]
    pub(crate) overwrite: Option<PathBuf>,
    /// Format of the result on stdout [default: table]
    #[arg(long, value_name = "FORMAT", conflicts_with = "json")]
    pub(crate) output_format: Option<OutputFormat>,
    /// Lets this block device be written, all of it; must name the same device as PATH
    #[arg(long, value_name = "DEVICE")]
    pub(crate) i_will_lose_all_data_on: Option<PathBuf>,
    /// Bring the device back to new first: discard, secure-discard, or a command of the shell
    #[arg(long, value_name = "HOW", requires = "i_will_lose_all_data_on")]
    pub(crate) purge: Option<String>,
    /// Write all of the target twice over first, 128 KiB in order (SNIA)
    #[arg(long)]
    pub(crate) precondition: bool,
    /// Show the run on the full screen while it goes on
    #[arg(long)]
    pub(crate) watch: bool,
    /// Also try a deeper queue for each test, and say what limited it
    #[arg(long)]
    pub(crate) explain: bool,
    /// Also print each test in detail: latencies, the device, the processors
    #[arg(long)]
    pub(crate) detail: bool,
    /// How requests are made: io_uring, sync (one at a time), or null (asks nothing of the target)
    /// [default: as a job file says, else io_uring]
    #[arg(long, value_name = "NAME")]
    pub(crate) engine: Option<EngineKind>,
    /// Go through the page cache
    #[arg(long)]
    pub(crate) buffered: bool,
    /// Keep each thread on one processor, those beside the device first
    #[arg(long)]
    pub(crate) pin: bool,
    /// Keep the processors out of their idle states (needs root)
    #[arg(long)]
    pub(crate) no_idle: bool,
    /// Let a thread of the kernel take submissions (io_uring)
    #[arg(long)]
    pub(crate) sqpoll: bool,
    /// Look for completions instead of waiting for interrupts (needs a polled queue)
    #[arg(long)]
    pub(crate) iopoll: bool,
    /// Register neither buffers nor file with the kernel (io_uring)
    #[arg(long)]
    pub(crate) unregistered: bool,
    /// When a request fails, end the run with what there is, or count the failure and go on
    /// [default: as a job file says, else stop]
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_error: Option<OnErrorArg>,
    #[command(flatten)]
    pub(crate) trace_args: TraceArgs,
    #[command(flatten)]
    pub(crate) over_time: OverTimeArgs,
    #[command(flatten)]
    pub(crate) scale: ScaleArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

/// The view of a run over time.
#[derive(Debug, ClapArgs)]
pub(crate) struct OverTimeArgs {
    /// Run every test in rounds of this length, "60s", until they are steady by SNIA's rule
    #[arg(long, value_name = "ROUND", conflicts_with = "duration")]
    pub(crate) steady: Option<Duration>,
    /// The figure that must be steady: iops, throughput or latency [default: iops]
    #[arg(long, value_name = "FIGURE", requires = "steady")]
    pub(crate) track: Option<Tracked>,
    /// Record each test in intervals of this length, "1s" [default: a thousand for tests of a minute or more]
    #[arg(long, value_name = "TIME")]
    pub(crate) interval: Option<Duration>,
    /// Also write the intervals of the one test, or the last, to this CSV file
    #[arg(long, value_name = "FILE")]
    pub(crate) series: Option<PathBuf>,
    /// Also write one HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

impl OverTimeArgs {
    /// Returns the options of recording over time as the laboratory takes them.
    pub(crate) fn over_time(&self) -> OverTime {
        let Self { steady, track, interval, series, .. } = self;
        OverTime { steady: *steady, track: *track, interval: *interval, series: series.is_some() }
    }
}

/// The event between writing and checking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum After {
    /// The program ended or was killed
    Kill,
    /// The power failed
    PowerCut,
}

impl From<After> for Since {
    fn from(after: After) -> Self {
        match after {
            After::Kill => Self::Kill,
            After::PowerCut => Self::PowerCut,
        }
    }
}

/// The reaction to a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OnErrorArg {
    /// End the run
    Stop,
    /// Count it and go on
    Continue,
}

impl From<OnErrorArg> for OnError {
    fn from(asked: OnErrorArg) -> Self {
        match asked {
            OnErrorArg::Stop => Self::Stop,
            OnErrorArg::Continue => Self::Continue,
        }
    }
}

/// The arguments that all runs have in common.
#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// The seed of all random numbers
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print the result as JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ExportArgs {
    /// A saved result; FILE#SYSTEM for one system of a study
    pub(crate) result: String,
    /// The format
    #[arg(long, value_name = "FORMAT", default_value = "fio-json")]
    pub(crate) output_format: OutputFormat,
    /// The columns of csv and parquet: of tests, of samples (repeats), of hops, of series (over time), or of latencies
    #[arg(long, value_name = "TABLE", value_parser = table)]
    pub(crate) table: Option<RunTable>,
    /// Write to this new file in place of stdout
    #[arg(long, value_name = "FILE", conflicts_with = "split")]
    pub(crate) out: Option<PathBuf>,
    /// Write a file for each test to this folder, as fio-plot needs them, in place of all to stdout
    #[arg(long, value_name = "FOLDER")]
    pub(crate) split: Option<PathBuf>,
}

/// Reads the name of a run's table.
fn table(text: &str) -> Result<RunTable, String> {
    let found = RunTable::ALL.iter().find(|(name, _)| *name == text);
    let names = RunTable::ALL.map(|(name, _)| name).join(", ");
    found.map(|(_, table)| *table).ok_or(format!("is none of {names}"))
}

#[derive(Debug, ClapArgs)]
pub(crate) struct CompareArgs {
    /// A saved result; FILE#SYSTEM for one system of a study
    pub(crate) a: String,
    /// The result to compare with it
    pub(crate) b: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct ReportArgs {
    /// Saved results: at most one study, and any number of runs; or the CSV file of one sweep
    #[arg(required = true)]
    pub(crate) results: Vec<PathBuf>,
    /// The page to write
    #[arg(long, value_name = "FILE")]
    pub(crate) html: PathBuf,
    /// Charts to point at and to zoom, drawn by this library, which `make charts` makes: target/tools/charts.js
    #[arg(long, value_name = "LIBRARY")]
    pub(crate) interactive: Option<PathBuf>,
}

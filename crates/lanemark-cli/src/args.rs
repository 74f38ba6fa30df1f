//! The arguments of the `lanemark` command.

mod completions;
mod drive;
mod fio_command;
mod fit;
mod host;
mod import;
mod library;
mod plan;
mod plot;
mod results;
mod samples;
mod save;
mod saved;
mod scale;
mod serve;
mod sweep;
mod systems;
mod trace;
mod trial;
mod ui;
mod verify;
mod whatif;

pub(crate) use completions::{CompletionsArgs, CompletionsCommand};
pub(crate) use drive::{DriveArgs, DriveCommand, DriveNewArgs, Media, Protocol};
pub(crate) use fio_command::FioCommandArgs;
pub(crate) use fit::FitArgs;
pub(crate) use host::{HostArgs, HostCommand, HostMeasureArgs, HostOption};
pub(crate) use import::{ImportArgs, ImportPattern};
pub(crate) use library::{EntryKind, Interface, LibraryArgs, LibraryListArgs};
pub(crate) use plan::{BandwidthArgs, BatteryArgs, FleetArgs, PlanArgs, PlanCommand};
pub(crate) use plot::PlotArgs;
pub(crate) use results::ResultsArgs;
pub(crate) use samples::{SamplesArgs, SamplesCommand, SamplesCopyArgs};
pub(crate) use save::{NameArgs, SaveArgs};
pub(crate) use saved::{CompareArgs, ExportArgs, ReportArgs};
pub(crate) use scale::{MemoryArgs, SeedArgs, WorkloadScaleArgs};
pub(crate) use serve::{ServeArgs, ServeControlArgs, StartArg};
pub(crate) use sweep::SweepArgs;
use systems::SYSTEMS;
pub(crate) use trace::TraceArgs;
pub(crate) use trial::{FileSystem, TrialArgs};
pub(crate) use ui::UiArgs;
pub(crate) use verify::{VerifyArgs, VerifyCheckArgs, VerifyCommand, VerifyWriteArgs};
pub(crate) use whatif::WhatIfArgs;

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand};
use lanemark_lab::scale::SeriesSettings;
use lanemark_measure::{EngineKind, ErrorReaction};
use lanemark_schema::result::InterveningEvent;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::TrackedFigure;
use lanemark_sim::replay::{OUTSTANDING_MAX, Speed};
use lanemark_trace::{BlkparseAction, Format};

use crate::formats::OutputFormat;

use crate::oltp_args::OltpArgs;

/// Measure, simulate and explain storage paths: how much of a drive's speed reaches the application, where the rest is
/// lost, and what another path would deliver.
#[derive(Debug, Parser)]
#[command(
    name = "lanemark",
    version,
    after_help = "\
Exit codes:
  0    success
  1    the run failed, or a check found damage
  2    the input is invalid
  3    the command refused the target, to protect existing data
  4    the figures were printed, but could not be saved
  130  interrupted (SIGINT); the completed tests are saved",
    max_term_width = 100
)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a study: compare modelled systems with published figures
    Study(StudyArgs),
    /// Simulate a workload on a modelled drive in a port of a modelled platform
    Sim(SimArgs),
    /// Simulate one test over ranges of parameters, write the points as CSV, and draw curves
    Sweep(SweepArgs),
    /// Replay a recorded trace on a modelled system
    Replay(ReplayArgs),
    /// Show each hop of a modelled system with its ceiling, and draw the platform
    Path(PathArgs),
    /// Show the storage paths of this machine link by link, and the limit of each path
    Inspect(InspectArgs),
    /// Measure a workload on a real file, folder or block device
    Bench(BenchArgs),
    /// Convert output of fio, CrystalDiskMark, KDiskMark, diskspd or Iometer to saved results
    Import(ImportArgs),
    /// Write a saved result in another program's format
    Export(ExportArgs),
    /// Write data with a journal, and check the data after a kill or a power cut
    Verify(VerifyArgs),
    /// Fit a drive's model to measured results, and write a drive file
    Fit(FitArgs),
    /// Write a drive file from the ratings on a box, or show the origin of a drive's values
    Drive(DriveArgs),
    /// Measure the processor time that this machine spends on a request, and write a host file
    Host(HostArgs),
    /// Predict the same work on a different path: another port, platform, drive or queue depth
    #[command(name = "whatif")]
    WhatIf(WhatIfArgs),
    /// List saved results
    Results(ResultsArgs),
    /// Compare two results test by test
    Compare(CompareArgs),
    /// Write one HTML page from saved results
    Report(ReportArgs),
    /// Draw one chart of saved results, as SVG or PNG
    Plot(PlotArgs),
    /// Calculate battery life, the rate of a stream, or the number of servers for a load
    Plan(PlanArgs),
    /// Load, run, check and compare a TPC-C-derived workload on a real database
    Oltp(OltpArgs),
    /// List the drives, platforms, hosts and workloads of the library, or show one entry
    Library(LibraryListArgs),
    /// List the built-in studies, results, traces and job files, or copy them to a folder
    Samples(SamplesArgs),
    /// Print shell completions, or write manual pages
    Completions(CompletionsArgs),
    /// Serve a modelled system as a block device with real data, over NBD
    Serve(Box<ServeArgs>),
    /// Control a running server: print its status, inject a fault, cut its power, or stop it
    ServeControl(ServeControlArgs),
    /// Run a command on several modelled systems in turn, and compare its times; optionally cut the power
    Trial(Box<TrialArgs>),
    /// Open the laboratory in a browser on this machine
    Ui(UiArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct StudyArgs {
    /// Built-in study that `lanemark samples list` lists, or study file
    #[arg(value_name = "STUDY")]
    pub(crate) file: PathBuf,
    /// Saved result of `lanemark bench` to show next to the simulated figures
    #[arg(long, value_name = "RESULT")]
    pub(crate) measured: Option<PathBuf>,
    /// Also write an HTML page to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Find the bottleneck of each test: rerun the test with one hop at a time at double speed (about a dozen runs)
    #[arg(long)]
    pub(crate) bottleneck: bool,
    /// Also print the calibrations, the notes, and the published figures that are not simulated
    #[arg(long)]
    pub(crate) explain: bool,
    /// Skip the 80% intervals, which require additional short simulations with varied values
    #[arg(long)]
    pub(crate) no_interval: bool,
    /// Simulate each test and its repeats completely, instead of stopping when the figures have converged
    #[arg(long)]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = SYSTEMS)]
pub(crate) struct SimArgs {
    /// System, written DRIVE@PLATFORM:PORT or in another form below
    pub(crate) system: String,
    /// Workload name or file, including fio's .fio and Iometer's .icf; WORKLOAD:TEST selects one test
    #[arg(required_unless_present = "fio_command")]
    pub(crate) workload: Option<String>,
    #[command(flatten)]
    pub(crate) host: HostOption,
    /// Override a model value for this run, such as drive.flash.read="60 µs" (repeatable)
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// Inject a fault into each test, such as "power-cut at=2s boot=5s" (repeatable)
    #[arg(long, value_name = "FAULT")]
    pub(crate) fault: Vec<String>,
    /// Show the time budget of every test
    #[arg(long)]
    pub(crate) detail: bool,
    /// Show the sources of the model's values, and the value that contributes most to the width of the intervals
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) over_time: SeriesArgs,
    /// Find the bottleneck of each test: rerun the test with one hop at a time at double speed (about a dozen runs)
    #[arg(long)]
    pub(crate) bottleneck: bool,
    /// Skip the 80% intervals, which require additional short simulations with varied values
    #[arg(long)]
    pub(crate) no_interval: bool,
    /// Simulate each test and its repeats completely, instead of stopping when the figures have converged
    #[arg(long)]
    pub(crate) full: bool,
    /// Output format on stdout [default: table]
    #[arg(long, value_name = "FORMAT", conflicts_with = "json")]
    pub(crate) output_format: Option<OutputFormat>,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    #[command(flatten)]
    pub(crate) scale: WorkloadScaleArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) command: FioCommandArgs,
    #[command(flatten)]
    pub(crate) name: NameArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Formats, detected from the first line of a trace:
  msr       MSR Cambridge: Timestamp,Hostname,DiskNumber,Type,Offset,Size,ResponseTime
  blkparse  the default text output of blkparse for a blktrace recording
  iolog     fio's write_iolog, version 2 or 3
  mqsim     arrival in ns, device, first sector, sectors, 0 for a write or 1 for a read
  csv       columns in any order, named time_us (or _ns, _ms, _s), operation, offset, length,
            and optionally device and thread

Requests are submitted at their recorded times, from which latency is measured, unless
--as-fast-as-possible is given. A version 2 iolog contains times only if it contains waits.
Traces compressed with gzip or Zstandard are read directly. Decompress other formats into a pipe,
and use /dev/stdin as the trace.")]
pub(crate) struct ReplayArgs {
    /// System, written DRIVE@PLATFORM:PORT; for a trace of several devices, append more ports with +. To replay on one
    /// volume over all drives, write stripe-64KiB: or mirror: before the system
    pub(crate) system: String,
    /// Trace file
    pub(crate) trace: PathBuf,
    /// Trace format: msr, blkparse, iolog, mqsim, disksim or csv [default: detected from the first lines]
    #[arg(long)]
    pub(crate) format: Option<Format>,
    /// Replay speed relative to the recording, such as "2x" or "0.5x" [default: 1x]
    #[arg(long, value_name = "FACTOR")]
    pub(crate) speed: Option<Speed>,
    /// Submit the next request when a request completes, regardless of the recorded times
    #[arg(long, conflicts_with = "speed")]
    pub(crate) as_fast_as_possible: bool,
    /// Number of outstanding requests with --as-fast-as-possible
    #[arg(long, value_name = "N", requires = "as_fast_as_possible", default_value_t = 32)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=i64::from(OUTSTANDING_MAX)))]
    pub(crate) queue_depth: u32,
    /// Replay only this device or file, named as in the trace; repeat the option for the system's next drive [default:
    /// all devices, assigned to the drives in the order of their first request]
    #[arg(long, value_name = "NAME")]
    pub(crate) device: Vec<String>,
    /// Replay the requests of all these devices on one drive, at their original offsets
    #[arg(long)]
    pub(crate) as_one: bool,
    /// Replay only the first N requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) limit: Option<u64>,
    /// Wrap requests beyond the end of the drive: take each offset modulo the drive's size
    #[arg(long)]
    pub(crate) wrap: bool,
    /// blkparse event to replay: Q, G, I, D or C [default: Q, queued]
    #[arg(long, value_name = "LETTER")]
    pub(crate) action: Option<BlkparseAction>,
    /// Part of each drive that is written before the replay begins, such as "100GB" [default: all]
    #[arg(long, value_name = "SIZE")]
    pub(crate) filled: Option<Bytes>,
    #[command(flatten)]
    pub(crate) memory: MemoryArgs,
    /// Seed of random events inside the drives
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Override a model value for this run, such as drive.flash.read="60 µs" (repeatable)
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// Inject a fault, such as "media-error range=1GiB..2GiB at=10s drive=0" (repeatable)
    #[arg(long, value_name = "FAULT")]
    pub(crate) fault: Vec<String>,
    /// Print the result as JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) save: SaveArgs,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
    #[command(flatten)]
    pub(crate) name: NameArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = SYSTEMS)]
pub(crate) struct PathArgs {
    /// System, written DRIVE@PLATFORM:PORT or in another form below; or only a platform
    pub(crate) system: String,
    /// Test whose ceilings are calculated, WORKLOAD:TEST [default: sequential reads of 128 KiB]
    pub(crate) workload: Option<String>,
    /// Override a model value, such as platform.link.dmi.latency="1 µs" (repeatable)
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// Also draw the platform to this SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Skip the 80% interval, which requires additional short simulations with varied values
    #[arg(long)]
    pub(crate) no_interval: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Seed of the run that is compared with the ceilings
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct InspectArgs {
    /// Block device, `nvme0n1` or `/dev/nvme0n1`, or a folder on one [default: all devices]; or a file with the output
    /// of another tool, such as `lspci -vvv`, `smartctl -a`, `dmesg` or `lsusb -t`
    #[arg(value_name = "DEVICE|FOLDER|FILE")]
    pub(crate) target: Option<String>,
    /// sysfs tree to read: the tree of this machine, a copy of a tree, or a capture FILE.tar
    #[arg(long, value_name = "ROOT", default_value = "/sys")]
    pub(crate) sysfs: PathBuf,
    /// Also copy the files that are read into this new archive, for --sysfs on any machine; it contains drive serial
    /// numbers
    #[arg(long, value_name = "FILE.tar")]
    pub(crate) capture: Option<PathBuf>,
    /// Read the complete or partial output of `lspci -vvv` or `lspci -tv` from this file (`-`: from stdin); also
    /// accepts the output of `nvme list`, `smartctl -j -a`, `lsblk -J -O` and `lstopo --of xml`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["sysfs", "capture"])]
    pub(crate) lspci: Option<PathBuf>,
    /// Also show the ceiling of each link for this test, WORKLOAD:TEST
    #[arg(long, value_name = "WORKLOAD:TEST", requires = "target")]
    pub(crate) workload: Option<String>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Also draw the paths to this SVG file
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Also describe this machine in a new platform file, with a port for each drive, for `whatif` and `sim`
    #[arg(long, value_name = "FILE")]
    pub(crate) as_platform: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct BenchArgs {
    /// File to create, measure and remove; folder for such a file; or block device
    pub(crate) path: PathBuf,
    /// Workload name or file, including fio's .fio and Iometer's .icf; WORKLOAD:TEST selects one test
    #[arg(long, default_value = "crystaldiskmark-8")]
    pub(crate) workload: String,
    /// Allow this existing file to be overwritten; must name the same file as PATH
    #[arg(long, value_name = "PATH")]
    pub(crate) overwrite: Option<PathBuf>,
    /// Output format on stdout [default: table]
    #[arg(long, value_name = "FORMAT", conflicts_with = "json")]
    pub(crate) output_format: Option<OutputFormat>,
    /// Control socket of the `lanemark serve` whose drive is measured; not needed if the server runs on this machine
    /// and serves one of its disks or files
    #[arg(long, value_name = "SOCKET")]
    pub(crate) served: Option<PathBuf>,
    /// Allow all of this block device to be overwritten; must name the same device as PATH
    #[arg(long, value_name = "DEVICE")]
    pub(crate) i_will_lose_all_data_on: Option<PathBuf>,
    /// First return the device to its fresh state: discard, secure-discard, or a shell command
    #[arg(long, value_name = "HOW", requires = "i_will_lose_all_data_on")]
    pub(crate) purge: Option<String>,
    /// First write the whole target twice, in sequential blocks of 128 KiB (SNIA)
    #[arg(long)]
    pub(crate) precondition: bool,
    /// Also try a deeper queue for each test, and report the test's limit
    #[arg(long)]
    pub(crate) explain: bool,
    /// Also print the details of each test: latencies, device and processor use
    #[arg(long)]
    pub(crate) detail: bool,
    /// I/O engine: io_uring, sync (one request at a time), or null (no requests reach the target) [default: the engine
    /// of a job file; otherwise io_uring]
    #[arg(long, value_name = "NAME")]
    pub(crate) engine: Option<EngineKind>,
    /// Use the page cache instead of direct I/O
    #[arg(long)]
    pub(crate) buffered: bool,
    /// Pin each thread to one processor, beginning with the processors nearest to the device
    #[arg(long)]
    pub(crate) pin: bool,
    /// Keep the processors out of idle states (needs root)
    #[arg(long)]
    pub(crate) no_idle: bool,
    /// Do not measure the processor time of requests after a run of 20 s or longer (5% of its time, 10 s or less)
    #[arg(long)]
    pub(crate) no_host: bool,
    /// Submit requests through a polling kernel thread (io_uring)
    #[arg(long)]
    pub(crate) sqpoll: bool,
    /// Poll for completions instead of waiting for interrupts (needs a polled queue)
    #[arg(long)]
    pub(crate) iopoll: bool,
    /// Do not register the buffers or the file with the kernel (io_uring)
    #[arg(long)]
    pub(crate) unregistered: bool,
    /// Reaction to a failed request: end the run and keep its results, or count the failure and continue [default: the
    /// setting of a job file; otherwise stop]
    #[arg(long, value_name = "WHAT")]
    pub(crate) on_error: Option<OnErrorArg>,
    #[command(flatten)]
    pub(crate) trace_args: TraceArgs,
    #[command(flatten)]
    pub(crate) over_time: SeriesArgs,
    #[command(flatten)]
    pub(crate) scale: WorkloadScaleArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) command: FioCommandArgs,
    #[command(flatten)]
    pub(crate) name: NameArgs,
}

/// The view of a run over time.
#[derive(Debug, ClapArgs)]
pub(crate) struct SeriesArgs {
    /// Run every test in rounds of this length, such as "60s", until it reaches SNIA's steady state
    #[arg(long, value_name = "ROUND", conflicts_with = "duration")]
    pub(crate) steady: Option<Duration>,
    /// Figure that must be steady: iops, throughput or latency [default: iops]
    #[arg(long, value_name = "FIGURE", requires = "steady")]
    pub(crate) track: Option<TrackedFigure>,
    /// Record each test in intervals of this length, such as "1s" [default: 1,000 intervals for tests of 1 min or more]
    #[arg(long, value_name = "TIME")]
    pub(crate) interval: Option<Duration>,
    /// Also write the intervals of the last test to this CSV file
    #[arg(long, value_name = "FILE")]
    pub(crate) series: Option<PathBuf>,
    /// Also write an HTML page to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
}

impl SeriesArgs {
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

/// The event between writing and checking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum InterruptionArg {
    /// The program ended or was killed
    Kill,
    /// The power failed
    PowerCut,
}

impl From<InterruptionArg> for InterveningEvent {
    fn from(after: InterruptionArg) -> Self {
        match after {
            InterruptionArg::Kill => Self::Kill,
            InterruptionArg::PowerCut => Self::PowerCut,
        }
    }
}

/// The reaction to a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum OnErrorArg {
    /// End the run
    Stop,
    /// Count the failure and continue
    Continue,
}

impl From<OnErrorArg> for ErrorReaction {
    fn from(argument: OnErrorArg) -> Self {
        match argument {
            OnErrorArg::Stop => Self::Stop,
            OnErrorArg::Continue => Self::Continue,
        }
    }
}

/// The arguments that all runs share.
#[derive(Debug, ClapArgs)]
pub(crate) struct RunArgs {
    /// Seed of all random numbers
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

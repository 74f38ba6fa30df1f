//! The arguments of `lanemark bench`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use lanemark_measure::{EngineKind, ErrorReaction, Preconditioning};

use super::{FioCommandArgs, NameArgs, RunArgs, SeriesArgs, TraceArgs, WorkloadScaleArgs};
use crate::output::formats::ForeignFormat;

/// Options of a workload, which do not apply to the measurement of a host.
const HOST_CONFLICTS: [&str; 4] = ["workload", "out", "no_save", "fio_command"];

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  lanemark bench . quick --explain
  lanemark bench /mnt/nvme --host-only my-host.toml")]
pub(crate) struct BenchArgs {
    /// File to create, measure and remove; folder for such a file; or block device
    #[arg(value_name = "TARGET", required_unless_present = "host_only")]
    pub(crate) path: Option<PathBuf>,
    /// Workload name or file, including fio's .fio and Iometer's .icf; WORKLOAD:TEST selects one test; or a recorded
    /// trace [default: crystaldiskmark-8]
    #[arg(value_name = "WORKLOAD|TRACE")]
    pub(crate) workload: Option<String>,
    /// Allow this existing file to be overwritten; must name the same file as TARGET
    #[arg(long, help_heading = "Permission to overwrite", value_name = "PATH")]
    pub(crate) overwrite: Option<PathBuf>,
    /// Print the result in another program's format instead of a table
    #[arg(long, help_heading = "Output", value_name = "FORMAT", conflicts_with = "json")]
    pub(crate) format: Option<ForeignFormat>,
    /// Control socket of the `lanemark serve` whose drive is measured; not needed if the server runs on this machine
    /// and serves one of its disks or files
    #[arg(long, value_name = "SOCKET")]
    pub(crate) served: Option<PathBuf>,
    /// Allow all of this block device to be overwritten; must name the same device as TARGET
    #[arg(long, help_heading = "Permission to overwrite", value_name = "DEVICE")]
    pub(crate) i_will_lose_all_data_on: Option<PathBuf>,
    /// First return the device to its fresh state: discard, secure-discard, or a shell command
    #[arg(
        long,
        help_heading = "State of the target",
        value_name = "HOW",
        requires = "i_will_lose_all_data_on"
    )]
    pub(crate) purge: Option<String>,
    /// First write the whole target: snia (twice, in order), or fast (once at random, into the steady state of random
    /// writes on a drive with 7% spare flash; fast:28% for another drive)
    #[arg(long, help_heading = "State of the target", value_name = "METHOD")]
    pub(crate) precondition: Option<Preconditioning>,
    /// Also try a deeper queue for each test, and report the test's limit
    #[arg(long, help_heading = "Analysis")]
    pub(crate) explain: bool,
    /// Also print the details of each test: latencies, device and processor use
    #[arg(long, help_heading = "Output")]
    pub(crate) detail: bool,
    /// I/O engine: io_uring, sync (one request at a time), or null (no requests reach the target) [default: the engine
    /// of a job file; otherwise io_uring]
    #[arg(long, help_heading = "Requests", value_name = "NAME")]
    pub(crate) engine: Option<EngineKind>,
    /// Use the page cache instead of direct I/O
    #[arg(long, help_heading = "Requests")]
    pub(crate) buffered: bool,
    /// Pin each thread to one processor, beginning with the processors nearest to the device
    #[arg(long, help_heading = "Requests")]
    pub(crate) pin: bool,
    /// Keep the processors out of idle states (needs root)
    #[arg(long, help_heading = "Requests")]
    pub(crate) no_idle: bool,
    /// Do not measure the processor time of requests after a run of 20 s or longer (5% of its time, 10 s or less)
    #[arg(long, help_heading = "Measured host")]
    pub(crate) no_host: bool,
    /// Only measure the processor time of requests on this machine for 10 s or --duration, and write it as a host file
    /// for --host; reads TARGET if it is given
    #[arg(long, help_heading = "Measured host", value_name = "FILE.toml", conflicts_with_all = HOST_CONFLICTS)]
    pub(crate) host_only: Option<PathBuf>,
    /// Submit requests through a polling kernel thread (io_uring)
    #[arg(long, help_heading = "Requests")]
    pub(crate) sqpoll: bool,
    /// Poll for completions instead of waiting for interrupts (needs a polled queue)
    #[arg(long, help_heading = "Requests")]
    pub(crate) iopoll: bool,
    /// Do not register the buffers or the file with the kernel (io_uring)
    #[arg(long, help_heading = "Requests")]
    pub(crate) unregistered: bool,
    /// Reaction to a failed request: end the run and keep its results, or count the failure and continue [default: the
    /// setting of a job file; otherwise stop]
    #[arg(long, help_heading = "Requests", value_name = "WHAT")]
    pub(crate) on_error: Option<OnErrorArg>,
    #[command(flatten)]
    pub(crate) trace: TraceArgs,
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

//! The arguments of `lanemark serve`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use lanemark_schema::units::Bytes;
use lanemark_serve::clock::TimeScale;
use lanemark_trial::server::start::StartState;

use super::LibraryArgs;

/// Options with which `--socket` is optional.
const OTHERS: [&str; 3] = ["port", "mount", "attach"];

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The printed address is an NBD URI for nbdinfo, nbdcopy, qemu-img, qemu-io and fio's nbd engine. The
kernel's client connects with: nbd-client -unix SOCKET /dev/nbd0 -N lanemark. SIGINT (Ctrl-C) ends
the server and saves the result.

Examples:
  lanemark serve samsung-850-pro-1tb@workstation-z170:sata --size 8GiB --memory \\
      --socket drive.sock --control control.sock
  lanemark serve cut control.sock")]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct ServeArgs {
    #[command(subcommand)]
    pub(crate) command: Option<ServeCommand>,
    /// System, written DRIVE@PLATFORM:PORT, or a volume, stripe:DRIVE@PLATFORM:PORT+PORT
    #[arg(required = true)]
    system: Option<String>,
    /// Size of the export, such as "8GiB" [default: the size of the --over image; without an image, the drive's
    /// capacity]
    #[arg(long, help_heading = "Data")]
    pub(crate) size: Option<Bytes>,
    /// Listen on this Unix socket, to which only this user can connect
    #[arg(long, help_heading = "Addresses", value_name = "PATH", required_unless_present_any = OTHERS, conflicts_with = "port")]
    pub(crate) socket: Option<PathBuf>,
    /// Listen on this TCP port of 127.0.0.1, to which every user of this machine can connect; 0 selects a free port
    #[arg(long, help_heading = "Addresses", value_name = "N")]
    pub(crate) port: Option<u16>,
    /// Also serve the system as this file until the server ends; the file must be missing or empty, and only one user
    /// can access it
    #[arg(long, value_name = "FILE")]
    pub(crate) mount: Option<PathBuf>,
    /// Also serve the system as a disk, /dev/loopN, until the server ends (needs root)
    #[arg(long)]
    pub(crate) attach: bool,
    /// Keep the data in this sparse file, with a journal next to it
    #[arg(
        long,
        help_heading = "Data",
        value_name = "FILE",
        required_unless_present = "memory",
        conflicts_with = "memory"
    )]
    pub(crate) data: Option<PathBuf>,
    /// Keep the data in memory; it is lost when the server ends
    #[arg(long, help_heading = "Data")]
    pub(crate) memory: bool,
    /// Read unwritten sectors from this image, which is opened read-only
    #[arg(long, help_heading = "Data", value_name = "IMAGE")]
    pub(crate) over: Option<PathBuf>,
    /// Serve this file even though no server created it, and overwrite its contents
    #[arg(long, help_heading = "Permission to overwrite", value_name = "FILE")]
    pub(crate) overwrite: Option<PathBuf>,
    /// Real seconds per simulated second: 10 makes the drive ten times slower
    #[arg(long, help_heading = "Time", value_name = "FACTOR", default_value = "1")]
    pub(crate) time_scale: TimeScale,
    /// Content of the drive at the start
    #[arg(
        long,
        help_heading = "Time",
        value_name = "STATE",
        default_value = "just-written",
        conflicts_with = "no_latency"
    )]
    pub(crate) start: StartArg,
    /// Skip the self-test of this machine, which takes about a second
    #[arg(long, help_heading = "Time")]
    pub(crate) no_self_test: bool,
    /// Seed of all random events
    #[arg(long, help_heading = "Model", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Override a model value, such as drive.flash.read="60 µs" (repeatable)
    #[arg(long, help_heading = "Model", value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// Inject a fault, such as "power-cut at=20s boot=5s" (repeatable)
    #[arg(long, help_heading = "Model", value_name = "FAULT", conflicts_with = "no_latency")]
    pub(crate) fault: Vec<String>,
    /// Inject the faults of the [[fault]] tables in this file; times are measured from the start
    #[arg(long, value_name = "FILE", conflicts_with = "no_latency")]
    pub(crate) scenario: Option<PathBuf>,
    /// Serve the data as fast as this machine can, without the model; no result is saved
    #[arg(long, help_heading = "Time", conflicts_with_all = ["out", "json"])]
    pub(crate) no_latency: bool,
    /// Show current figures every second
    #[arg(long, help_heading = "Output")]
    pub(crate) watch: bool,
    /// Accept `lanemark serve status`, `fault`, `cut` and `stop` on this Unix socket
    #[arg(long, help_heading = "Addresses", value_name = "SOCKET")]
    pub(crate) control: Option<PathBuf>,
    /// Result file, or folder for it [default: $LANEMARK_RESULTS, or lanemark in the user's state folder,
    /// ~/.local/state]
    #[arg(long, help_heading = "Output", value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

/// The content of a drive at the start, with the same choices as for a simulated test. The choice affects neither hard
/// disks nor drives whose condition determines their content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum StartArg {
    /// All sectors just written: as before a simulated test that reads
    JustWritten,
    /// All sectors written long before: as before random writes
    Rested,
    /// No data: as before sequential writes
    Empty,
}

impl From<StartArg> for StartState {
    fn from(start: StartArg) -> Self {
        match start {
            StartArg::JustWritten => Self::JustWritten,
            StartArg::Rested => Self::Rested,
            StartArg::Empty => Self::Empty,
        }
    }
}

impl ServeArgs {
    /// Returns the system, which is required without a subcommand.
    pub(crate) fn system(&self) -> &str {
        self.system.as_deref().unwrap_or_default()
    }
}

/// A command to a running server.
#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    /// Print the current figures of a running server as OpenMetrics
    Status(ControlSocketArgs),
    /// Inject a fault into a running server, or list, change or clear its faults
    Fault(ServeFaultArgs),
    /// Cut the power of a running server's drives now
    Cut(ServeCutArgs),
    /// End a running server, which saves its result
    Stop(ControlSocketArgs),
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  lanemark serve status control.sock")]
pub(crate) struct ControlSocketArgs {
    /// Control socket of the server, which its option --control set
    pub(crate) socket: PathBuf,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Faults:
  FAULT             inject a fault, such as latency extra=2ms share=1% for=10s; times are measured from now
  list              print all faults with their numbers, states and effects
  change N KEY=VALUE…
                    change keys of a fault, which then starts again
  clear N           end a fault; N can be all, for all faults

Example:
  lanemark serve fault control.sock latency extra=2ms share=1% for=10s")]
pub(crate) struct ServeFaultArgs {
    /// Control socket of the server, which its option --control set
    pub(crate) socket: PathBuf,
    /// Fault, as listed below
    #[arg(required = true, num_args = 1..)]
    pub(crate) fault: Vec<String>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  lanemark serve cut control.sock 5s")]
pub(crate) struct ServeCutArgs {
    /// Control socket of the server, which its option --control set
    pub(crate) socket: PathBuf,
    /// Time until the drives are ready again [default: 1s]
    pub(crate) boot: Option<String>,
}

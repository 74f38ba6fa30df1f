//! The arguments of `lanemark serve` and `lanemark serve-control`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use lanemark_schema::units::Bytes;
use lanemark_serve::clock::TimeScale;

use super::LibraryArgs;

/// Options with which `--socket` is optional.
const OTHERS: [&str; 3] = ["port", "mount", "attach"];

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The printed address is an NBD URI for nbdinfo, nbdcopy, qemu-img, qemu-io and fio's nbd engine. The
kernel's client connects with: nbd-client -unix SOCKET /dev/nbd0 -N lanemark. SIGINT (Ctrl-C) ends
the server and saves the result.")]
pub(crate) struct ServeArgs {
    /// System, written DRIVE@PLATFORM:PORT, or a volume, stripe:DRIVE@PLATFORM:PORT+PORT
    pub(crate) system: String,
    /// Size of the export, such as "8GiB" [default: the size of the --over image; without an image, the drive's
    /// capacity]
    #[arg(long)]
    pub(crate) size: Option<Bytes>,
    /// Listen on this Unix socket, to which only this user can connect
    #[arg(long, value_name = "PATH", required_unless_present_any = OTHERS, conflicts_with = "port")]
    pub(crate) socket: Option<PathBuf>,
    /// Listen on this TCP port of 127.0.0.1, to which every user of this machine can connect; 0 selects a free port
    #[arg(long, value_name = "N")]
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
        value_name = "FILE",
        required_unless_present = "memory",
        conflicts_with = "memory"
    )]
    pub(crate) data: Option<PathBuf>,
    /// Keep the data in memory; it is lost when the server ends
    #[arg(long)]
    pub(crate) memory: bool,
    /// Read unwritten sectors from this image, which is opened read-only
    #[arg(long, value_name = "IMAGE")]
    pub(crate) over: Option<PathBuf>,
    /// Serve this file even though no server created it, and overwrite its contents
    #[arg(long, value_name = "FILE")]
    pub(crate) overwrite: Option<PathBuf>,
    /// Real seconds per simulated second: 10 makes the drive ten times slower
    #[arg(long, value_name = "FACTOR", default_value = "1")]
    pub(crate) time_scale: TimeScale,
    /// Content of the drive at the start
    #[arg(
        long,
        value_name = "STATE",
        default_value = "just-written",
        conflicts_with = "no_latency"
    )]
    pub(crate) start: StartArg,
    /// Skip the self-test of this machine, which takes about a second
    #[arg(long)]
    pub(crate) no_self_test: bool,
    /// Seed of all random events
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Override a model value, such as drive.flash.read="60 µs" (repeatable)
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// Inject a fault, such as "power-cut at=20s boot=5s" (repeatable)
    #[arg(long, value_name = "FAULT", conflicts_with = "no_latency")]
    pub(crate) fault: Vec<String>,
    /// Inject the faults of the [[fault]] tables in this file; times are measured from the start
    #[arg(long, value_name = "FILE", conflicts_with = "no_latency")]
    pub(crate) scenario: Option<PathBuf>,
    /// Serve the data as fast as this machine can, without the model; no result is saved
    #[arg(long, conflicts_with_all = ["out", "json"])]
    pub(crate) no_latency: bool,
    /// Show current figures every second
    #[arg(long)]
    pub(crate) watch: bool,
    /// Accept commands from `lanemark serve-control` on this Unix socket
    #[arg(long, value_name = "SOCKET")]
    pub(crate) control: Option<PathBuf>,
    /// Result file, or folder for it [default: $LANEMARK_RESULTS, or lanemark in the user's state folder,
    /// ~/.local/state]
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
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

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Commands of the server:
  status            print the current figures as OpenMetrics
  fault FAULT       inject a fault, such as latency extra=2ms share=1% for=10s; times are measured from now
  fault list        print all faults with their numbers, states and effects
  fault change N KEY=VALUE…
                    change keys of a fault, which then starts again
  fault clear N     end a fault; N can be all, for all faults
  power-cut [BOOT]  cut the power now; the drive is ready again after BOOT [default: 1s]
  stop              end the server")]
pub(crate) struct ServeControlArgs {
    /// Control socket of the server, which its option --control set
    pub(crate) socket: PathBuf,
    /// Command and its arguments, as listed below
    #[arg(required = true, num_args = 1..)]
    pub(crate) command: Vec<String>,
}

//! The arguments of `lanemark serve` and `lanemark serve-control`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use lanemark_schema::units::Bytes;
use lanemark_serve::clock::TimeScale;

use super::LibraryArgs;

/// What makes a socket needless.
const OTHERS: &[&str] = &[
    "port",
    "mount",
    "attach",
    #[cfg(feature = "full")]
    "listen",
    "vhost_user",
];

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The address that is printed is an NBD URI: nbdinfo, nbdcopy, qemu-img, qemu-io and fio's nbd engine take
it, and so does the kernel's client, nbd-client -unix SOCKET /dev/nbd0 -N lanemark. SIGINT (Ctrl-C) ends
the server, and the result is saved. Nothing is served off this machine but over TLS, --listen, where
that is built in.")]
pub(crate) struct ServeArgs {
    /// The system, written DRIVE@PLATFORM:PORT, or a volume, stripe:DRIVE@PLATFORM:PORT+PORT
    pub(crate) system: String,
    /// Length of the export, "8GiB" [default: that of the image of --over, else the drive's capacity]
    #[arg(long)]
    pub(crate) size: Option<Bytes>,
    /// Listen on this Unix socket, which only this user may connect to
    #[arg(long, value_name = "PATH", required_unless_present_any = OTHERS.iter().copied(), conflicts_with = "port")]
    pub(crate) socket: Option<PathBuf>,
    /// Listen on this TCP port of 127.0.0.1, which every user of this machine may connect to; 0 for any that is free
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// Listen at this address of the machine, 0.0.0.0:10809, over TLS alone
    #[cfg(feature = "full")]
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with_all = ["socket", "port"], requires = "tls_cert")]
    pub(crate) listen: Option<std::net::SocketAddr>,
    /// The server's certificates for --listen, in PEM, its own first
    #[cfg(feature = "full")]
    #[arg(long, value_name = "FILE", requires_all = ["listen", "tls_key"])]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The key of the server's certificate, in PEM
    #[cfg(feature = "full")]
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Take clients with a certificate of these authorities, in PEM
    #[cfg(feature = "full")]
    #[arg(long, value_name = "FILE", requires = "tls_cert", conflicts_with = "tls_anyone")]
    pub(crate) tls_clients: Option<PathBuf>,
    /// Take any client that can reach the port: all of them may read and write
    #[cfg(feature = "full")]
    #[arg(long, requires = "tls_cert")]
    pub(crate) tls_anyone: bool,
    /// Serve it as this file too, which must not exist or be empty, and is one user's alone; goes with the server
    #[arg(long, value_name = "FILE")]
    pub(crate) mount: Option<PathBuf>,
    /// Serve it as a disk too, /dev/loopN, which goes with the server; needs root
    #[arg(long)]
    pub(crate) attach: bool,
    /// Serve it to virtual machines too, as a vhost-user-blk device at this Unix socket, which only this user may use
    #[arg(long, value_name = "PATH")]
    pub(crate) vhost_user: Option<PathBuf>,
    /// Keep the data in this sparse file, with a journal beside it
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "memory",
        conflicts_with = "memory"
    )]
    pub(crate) data: Option<PathBuf>,
    /// Keep the data in memory; it goes with the server
    #[arg(long)]
    pub(crate) memory: bool,
    /// Let this image show through where nothing was written; it is only read
    #[arg(long, value_name = "IMAGE")]
    pub(crate) over: Option<PathBuf>,
    /// Serve this file though no server made it, and write over what is in it
    #[arg(long, value_name = "FILE")]
    pub(crate) overwrite: Option<PathBuf>,
    /// Real seconds that a simulated second takes: 10 makes the drive ten times slower
    #[arg(long, value_name = "FACTOR", default_value = "1")]
    pub(crate) time_scale: TimeScale,
    /// The seed of all that happens by chance
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Set a model value, drive.flash.read="60 us"
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// Let something go wrong, "power-cut at=20s boot=5s"; may be given again
    #[arg(long, value_name = "FAULT", conflicts_with = "no_latency")]
    pub(crate) fault: Vec<String>,
    /// Let go wrong what the [[fault]] tables of this file say; times count from the start
    #[arg(long, value_name = "FILE", conflicts_with = "no_latency")]
    pub(crate) scenario: Option<PathBuf>,
    /// Serve the data as fast as this machine can, without the model, and so without a result
    #[arg(long, conflicts_with_all = ["out", "json"])]
    pub(crate) no_latency: bool,
    /// Tell every second what is done
    #[arg(long)]
    pub(crate) watch: bool,
    /// Tell figures as OpenMetrics at http://127.0.0.1:PORT/metrics
    #[arg(long, value_name = "PORT")]
    pub(crate) metrics: Option<u16>,
    /// Take commands of `lanemark serve-control` at this Unix socket
    #[arg(long, value_name = "SOCKET")]
    pub(crate) control: Option<PathBuf>,
    /// The result's file, or the folder for it [default: $LANEMARK_RESULTS, else lanemark in the user's state
    /// folder, ~/.local/state]
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
What can be commanded:
  status            the figures so far, as OpenMetrics
  fault FAULT       let something go wrong; times count from now: fault latency extra=2ms for=10s
  power-cut [BOOT]  cut the power now; the drive is back after BOOT [default: 1s]
  stop              end the server")]
pub(crate) struct ServeControlArgs {
    /// The socket that the server has for --control
    pub(crate) socket: PathBuf,
    /// The command
    #[arg(required = true, num_args = 1..)]
    pub(crate) command: Vec<String>,
}

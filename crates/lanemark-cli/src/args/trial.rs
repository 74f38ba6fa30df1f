//! The arguments of `lanemark trial`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use lanemark_schema::units::{Bytes, Duration};
use lanemark_serve::clock::TimeScale;
use lanemark_trial::FileSystem;

use super::LibraryArgs;

/// Maximum number of turns per system.
const TURNS_MAX: i64 = 1_000;
/// Maximum number of power cuts per system.
const CUTS_MAX: i64 = 10_000;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The command runs as the same user, in the folder of the mounted system. Its environment contains:
  LANEMARK_SYSTEM   the system of this turn, drive@platform:port
  LANEMARK_DEVICE   the system's block device, or the file that represents it
  LANEMARK_OUTPUT   for --check only: the file with the output of the interrupted command
As root and with loop devices, the kernel mounts the system; otherwise fuse2fs mounts it without privileges.

With --database, the time scale slows the drives, so that this machine's processors can represent the
study's. The command removes everything that it starts, attaches or mounts, regardless of how it
ends. It uses the installed PostgreSQL; before version 16, the database also uses the page cache, and
the results contain a warning.

Examples:
  lanemark trial samsung-850-pro-1tb@workstation-z170:sata samsung-980-pro-1tb@workstation-x570:m2 \\
      --from . -- git status
  lanemark trial --database --short")]
pub(crate) struct TrialArgs {
    /// Systems to compare, each written DRIVE@PLATFORM:PORT, or one volume, stripe:DRIVE@PLATFORM:PORT+PORT
    #[arg(required_unless_present = "database", value_name = "SYSTEM")]
    pub(crate) systems: Vec<String>,
    /// Command and its arguments, after --
    #[arg(required_unless_present = "database", last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(crate) database: DatabaseTrialArgs,
    /// File system on each system; `none` runs the command on the bare device
    #[arg(long, default_value = "ext4", conflicts_with = "database")]
    #[arg(value_parser = PossibleValuesParser::new(FileSystem::NAMES.map(|(name, _)| name)).try_map(|name| name.parse::<FileSystem>()))]
    pub(crate) fs: FileSystem,
    /// Additional mount options, such as barrier=0
    #[arg(long, value_name = "OPTIONS", default_value = "", conflicts_with = "database")]
    pub(crate) mount_options: String,
    /// Copy this folder to the system before each turn, or start each turn from this raw disk image, which is opened
    /// read-only
    #[arg(long, value_name = "FOLDER|IMAGE", conflicts_with = "database")]
    pub(crate) from: Option<PathBuf>,
    /// Size of each system [default: the image's size; without an image, the smaller of 8 GiB and the smallest drive's
    /// capacity]
    #[arg(long, help_heading = "Workload", conflicts_with = "database")]
    pub(crate) size: Option<Bytes>,
    /// Number of turns per system, which alternate [default: 3; with --short 1]; a command has one uncounted turn
    /// before
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=TURNS_MAX))]
    pub(crate) turns: Option<u32>,
    /// Real seconds per simulated second [default: the smallest power of four that this machine can sustain, up to 64;
    /// with --database the factor that keeps the processors as busy as in the study]
    #[arg(long, value_name = "FACTOR")]
    pub(crate) time_scale: Option<TimeScale>,
    /// After the turns, cut the power this many times on each system, each time at a random moment during the command
    #[arg(long, value_name = "N", requires = "check", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=CUTS_MAX), conflicts_with = "database")]
    pub(crate) cuts: u32,
    /// Shell command that runs after each power cut, and once without a cut; its exit code is 0 if all acknowledged
    /// data exists, and 1 if acknowledged data is lost
    #[arg(long, value_name = "COMMAND", requires = "cuts", conflicts_with = "database")]
    pub(crate) check: Option<String>,
    /// Seed of all random events
    #[arg(long, help_heading = "Model", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Override a model value of each system, such as drive.flash.read="60 µs" (repeatable)
    #[arg(
        long,
        help_heading = "Model",
        value_name = "PARAMETER=VALUE",
        conflicts_with = "database"
    )]
    pub(crate) set: Vec<String>,
    /// Inject a fault into each turn, and before each power cut, such as "latency extra=2ms share=1%" (repeatable)
    #[arg(long, help_heading = "Model", value_name = "FAULT", conflicts_with = "database")]
    pub(crate) fault: Vec<String>,
    /// Folder for the mounts, the contents and the loaded database [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// Folder for the results, one per system [default: $LANEMARK_RESULTS, or lanemark in the user's state folder,
    /// ~/.local/state]
    #[arg(long, help_heading = "Output", value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Also write an HTML page to this file
    #[arg(long, help_heading = "Output", value_name = "FILE", conflicts_with = "database")]
    pub(crate) html: Option<PathBuf>,
    /// Print the outcome as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

/// A database study with a real database.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Database")]
pub(crate) struct DatabaseTrialArgs {
    /// Instead of a command, run users on PostgreSQL, with its data on each of the two systems of a database study, and
    /// compare measured, simulated and published figures (needs root)
    #[arg(long, value_name = "STUDY", num_args = 0..=1, default_missing_value = "oltp-value-sas", conflicts_with_all = ["systems", "command"])]
    pub(crate) database: Option<PathBuf>,
    /// Use a small database and seconds instead of minutes, to test the set-up; the figures are meaningless
    #[arg(long, requires = "database")]
    pub(crate) short: bool,
    /// Time for which users warm up in each turn [default: 30 s; with --short 2 s]
    #[arg(long, value_name = "TIME", requires = "database")]
    pub(crate) ramp: Option<Duration>,
    /// Counted time of each turn [default: 40 s; with --short 4 s]
    #[arg(long, value_name = "TIME", requires = "database")]
    pub(crate) duration: Option<Duration>,
    /// Number of warehouses [default: one per user; with --short one per ten users]
    #[arg(long, value_name = "N", requires = "database")]
    #[arg(value_parser = clap::value_parser!(i64).range(1..=10_000))]
    pub(crate) warehouses: Option<i64>,
    /// Divide the numbers of items and customers by this, which also shortens the warm-up of a turn [default: 10; with
    /// --short 100]
    #[arg(long, value_name = "DIVISOR", requires = "database")]
    #[arg(value_parser = clap::value_parser!(i64).range(1..=100))]
    pub(crate) scale: Option<i64>,
    /// Number of servers as fast as the server of the first system; the second system's saving is calculated for this
    /// number
    #[arg(long, value_name = "N", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) nodes: u32,
    /// Also write the figures side by side to this CSV file
    #[arg(long, value_name = "FILE.csv", requires = "database")]
    pub(crate) csv: Option<PathBuf>,
}

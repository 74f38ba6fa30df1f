//! The arguments of `lanemark trial`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use lanemark_schema::units::Bytes;
use lanemark_serve::clock::TimeScale;

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
As root and with loop devices, the kernel mounts the system; otherwise fuse2fs mounts it without privileges.")]
pub(crate) struct TrialArgs {
    /// Systems to compare, each written DRIVE@PLATFORM:PORT, or one volume, stripe:DRIVE@PLATFORM:PORT+PORT
    #[arg(required = true, value_name = "SYSTEM")]
    pub(crate) systems: Vec<String>,
    /// Command and its arguments, after --
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    /// File system on each system; `none` runs the command on the bare device
    #[arg(long, value_enum, default_value = "ext4")]
    pub(crate) fs: FileSystem,
    /// Additional mount options, such as barrier=0
    #[arg(long, value_name = "OPTIONS", default_value = "")]
    pub(crate) mount_options: String,
    /// Copy this folder to the system before each turn, or start each turn from this raw disk image, which is opened
    /// read-only
    #[arg(long, value_name = "FOLDER|IMAGE")]
    pub(crate) from: Option<PathBuf>,
    /// Size of each system [default: the image's size; without an image, the smaller of 8 GiB and the smallest drive's
    /// capacity]
    #[arg(long)]
    pub(crate) size: Option<Bytes>,
    /// Number of turns per system; the systems alternate, after one uncounted turn each
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=TURNS_MAX))]
    pub(crate) turns: u32,
    /// Real seconds per simulated second [default: the smallest power of four that this machine can sustain, up to 64]
    #[arg(long, value_name = "FACTOR")]
    pub(crate) time_scale: Option<TimeScale>,
    /// After the turns, cut the power this many times on each system, each time at a random moment during the command
    #[arg(long, value_name = "N", requires = "check", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=CUTS_MAX))]
    pub(crate) cuts: u32,
    /// Shell command that runs after each power cut, and once without a cut; its exit code is 0 if all acknowledged
    /// data exists, and 1 if acknowledged data is lost
    #[arg(long, value_name = "COMMAND", requires = "cuts")]
    pub(crate) check: Option<String>,
    /// Seed of all random events
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Override a model value of each system, such as drive.flash.read="60 µs" (repeatable)
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// Inject a fault into each turn, and before each power cut, such as "latency extra=2ms share=1%" (repeatable)
    #[arg(long, value_name = "FAULT")]
    pub(crate) fault: Vec<String>,
    /// Folder for the mounts and the contents [default: the system's folder for temporary files]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// Folder for the results, one per system [default: $LANEMARK_RESULTS, or lanemark in the user's state folder,
    /// ~/.local/state]
    #[arg(long, value_name = "FOLDER")]
    pub(crate) out: Option<PathBuf>,
    /// Also write an HTML page to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Print the outcome as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

/// The file systems of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileSystem {
    Ext4,
    Xfs,
    Btrfs,
    None,
}

impl FileSystem {
    /// Returns the kernel's name of the file system; `None` for a bare device.
    pub(crate) fn name(self) -> Option<&'static str> {
        match self {
            Self::Ext4 => Some("ext4"),
            Self::Xfs => Some("xfs"),
            Self::Btrfs => Some("btrfs"),
            Self::None => None,
        }
    }
}

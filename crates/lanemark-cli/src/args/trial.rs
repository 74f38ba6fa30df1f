//! The arguments of `lanemark trial`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use lanemark_schema::units::Bytes;
use lanemark_serve::clock::TimeScale;

use super::LibraryArgs;

/// Maximum number of turns of each system.
const TURNS_MAX: i64 = 1_000;
/// Maximum number of power cuts of each system.
const CUTS_MAX: i64 = 10_000;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The command runs in the folder of the mounted system, as the same user. It finds in its environment:
  LANEMARK_SYSTEM   the system of this turn, drive@platform:port
  LANEMARK_DEVICE   the block device, or the file that represents it
  LANEMARK_OUTPUT   for --check only: the file with the output of the interrupted command
With root and loop devices the kernel mounts the system; otherwise fuse2fs does, which needs no privileges.")]
pub(crate) struct TrialArgs {
    /// Systems to compare, each written DRIVE@PLATFORM:PORT, or one volume, stripe:DRIVE@PLATFORM:PORT+PORT
    #[arg(required = true, value_name = "SYSTEM")]
    pub(crate) systems: Vec<String>,
    /// Command with its arguments, after --
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    /// File system on each system; `none` runs the command on the bare device
    #[arg(long, value_enum, default_value = "ext4")]
    pub(crate) fs: FileSystem,
    /// Additional mount options, such as barrier=0
    #[arg(long, value_name = "OPTIONS", default_value = "")]
    pub(crate) mount_options: String,
    /// Start each turn with a copy of this folder, or with this raw disk image, which is opened read-only
    #[arg(long, value_name = "FOLDER|IMAGE")]
    pub(crate) from: Option<PathBuf>,
    /// Size of each system [default: the image's size, else 8 GiB or the smallest drive's capacity]
    #[arg(long)]
    pub(crate) size: Option<Bytes>,
    /// Turns of each system; the systems take turns, after one uncounted turn each
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=TURNS_MAX))]
    pub(crate) turns: u32,
    /// Real seconds per simulated second [default: the smallest power of four that this machine can serve, up to 64]
    #[arg(long, value_name = "FACTOR")]
    pub(crate) time_scale: Option<TimeScale>,
    /// Then cut the power this many times on each system, each time at a random moment of the command
    #[arg(long, value_name = "N", requires = "check", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=CUTS_MAX))]
    pub(crate) cuts: u32,
    /// Shell command that runs after each power cut; an exit code other than 0 reports that acknowledged data is lost
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
    /// Folder for one result of each system [default: $LANEMARK_RESULTS, or lanemark in the user's state folder,
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

//! The arguments of `lanemark exact`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use lanemark_schema::units::Bytes;

use super::LibraryArgs;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The command runs in user-mode Linux, whose kernel `make exact` builds. It uses the root file system of
this machine; writes to it are discarded at the end. The drive is /dev/vda. The exit code and
output come from the command. The guest's processor takes no time, so all time that passes is
spent by the drive or in the program's own waits.")]
pub(crate) struct ExactArgs {
    /// System, written DRIVE@PLATFORM:PORT, or a volume, stripe:DRIVE@PLATFORM:PORT+PORT
    pub(crate) system: String,
    /// Command and its arguments, after --
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    /// Size of the disk, such as "8GiB" [default: the drive's capacity]
    #[arg(long)]
    pub(crate) size: Option<Bytes>,
    /// Keep the data in this sparse file, with a journal next to it [default: in memory]
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,
    /// Read unwritten sectors from this image, which is opened read-only
    #[arg(long, value_name = "IMAGE")]
    pub(crate) over: Option<PathBuf>,
    /// Guest kernel [default: target/exact/linux here, or exact/linux next to this program's folder]
    #[arg(long, value_name = "FILE", env = "LANEMARK_EXACT_KERNEL")]
    pub(crate) kernel: Option<PathBuf>,
    /// Memory of the guest, such as "1GiB", including its page cache and the files that it writes outside the drive
    #[arg(long, value_name = "SIZE", default_value = "512MiB")]
    pub(crate) guest_memory: Bytes,
    /// Seed of all random events
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Override a model value, such as drive.flash.read="60 µs" (repeatable)
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// Inject a fault, such as "power-cut at=20s boot=5s"; times count from the guest's start (repeatable)
    #[arg(long, value_name = "FAULT")]
    pub(crate) fault: Vec<String>,
    /// Result file, or folder for it [default: $LANEMARK_RESULTS, or lanemark in the user's state folder,
    /// ~/.local/state]
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

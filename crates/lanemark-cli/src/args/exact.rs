//! The arguments of `lanemark exact`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args as ClapArgs;
use lanemark_schema::units::Bytes;

use super::LibraryArgs;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The command runs in user-mode Linux, whose kernel `make exact` builds. Its root is this machine's, and what it
writes there is forgotten when it ends; the drive is /dev/vda. Its exit code and output are the command's own.
Its processor takes no time, so that all the time that passes is the drive's and the program's own waits.")]
pub(crate) struct ExactArgs {
    /// The system, written DRIVE@PLATFORM:PORT, or a volume, stripe:DRIVE@PLATFORM:PORT+PORT
    pub(crate) system: String,
    /// The command with its arguments, behind --
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
    /// Length of the disk, "8GiB" [default: the drive's capacity]
    #[arg(long)]
    pub(crate) size: Option<Bytes>,
    /// Keep the data in this sparse file, with a journal beside it [default: memory]
    #[arg(long, value_name = "FILE")]
    pub(crate) data: Option<PathBuf>,
    /// Let this image show through where nothing was written; it is only read
    #[arg(long, value_name = "IMAGE")]
    pub(crate) over: Option<PathBuf>,
    /// The guest's kernel [default: target/exact/linux here, or beside this program's folder]
    #[arg(long, value_name = "FILE", env = "LANEMARK_EXACT_KERNEL")]
    pub(crate) kernel: Option<PathBuf>,
    /// Memory of the guest, "1GiB", which its page cache and what it writes besides the drive take
    #[arg(long, value_name = "SIZE", default_value = "512MiB")]
    pub(crate) guest_memory: Bytes,
    /// The seed of all that happens by chance
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
    /// Set a model value, drive.flash.read="60 us"
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub(crate) set: Vec<String>,
    /// Let something go wrong, "power-cut at=20s boot=5s"; times count from the guest's start
    #[arg(long, value_name = "FAULT")]
    pub(crate) fault: Vec<String>,
    /// The result's file, or the folder for it [default: $LANEMARK_RESULTS, else lanemark in the user's state
    /// folder, ~/.local/state]
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

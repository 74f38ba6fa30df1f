//! The arguments of `lanemark inspect`.

use std::path::PathBuf;

use clap::Args as ClapArgs;

use super::LibraryArgs;
use super::systems::with_systems;

#[derive(Debug, ClapArgs)]
#[command(after_help = with_systems("\
Examples:
  lanemark inspect nvme0n1 --svg machine.svg
  lanemark inspect --capture machine.tar
  lanemark inspect samsung-850-pro-1tb@workstation-z170:sata --svg path.svg
  lanemark inspect workstation-z170"))]
pub(crate) struct InspectArgs {
    /// Block device, `nvme0n1` or `/dev/nvme0n1`, or a folder on one [default: all devices]; a file with the output of
    /// another tool, such as `lspci -vvv`, `smartctl -a`, `dmesg` or `lsusb -t` (`-`: stdin); or a modelled system,
    /// DRIVE@PLATFORM:PORT, or a platform
    #[arg(value_name = "DEVICE|FILE|SYSTEM")]
    pub(crate) target: Option<String>,
    /// sysfs tree to read: the tree of this machine, a copy of a tree, or a capture FILE.tar
    #[arg(long, value_name = "ROOT", default_value = "/sys")]
    pub(crate) sysfs: PathBuf,
    /// Also copy the files that are read into this new archive, for --sysfs on any machine; it contains drive serial
    /// numbers
    #[arg(long, help_heading = "Output", value_name = "FILE.tar")]
    pub(crate) capture: Option<PathBuf>,
    /// Also show the ceiling of each link for this test, WORKLOAD:TEST [default for a modelled system: sequential reads
    /// of 128 KiB]
    #[arg(long, help_heading = "Workload", value_name = "WORKLOAD:TEST", requires = "target")]
    pub(crate) workload: Option<String>,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Also draw the paths to this SVG file
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Also describe this machine in a new platform file, with a port for each drive, for `sim` and `compare`
    #[arg(long, help_heading = "Output", value_name = "FILE")]
    pub(crate) as_platform: Option<PathBuf>,
    /// Override a value of a modelled system, such as platform.link.dmi.latency="1 µs" (repeatable)
    #[arg(long, help_heading = "Model", value_name = "PARAMETER=VALUE", requires = "target")]
    pub(crate) set: Vec<String>,
    /// Skip the 80% interval of a modelled system, which requires additional short simulations with varied values
    #[arg(long, help_heading = "Analysis", requires = "target")]
    pub(crate) no_interval: bool,
    /// Seed of the run that is compared with a modelled system's ceilings
    #[arg(long, help_heading = "Model", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

//! The arguments of `lanemark drive`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use lanemark_schema::units::{BitsPerSecond, Bytes, BytesPerSecond, Duration};

use super::LibraryArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct DriveArgs {
    #[command(subcommand)]
    pub(crate) command: DriveCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DriveCommand {
    /// Write a drive file of what is printed on a drive's box; all else follows or is assumed, and is told
    New(Box<DriveNewArgs>),
    /// Show each value of a drive with where it comes from, and its ratings beside what the model says
    Show(DriveShowArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DriveShowArgs {
    /// The drive's name in the library, or its file
    pub(crate) drive: String,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

/// The protocol of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocol {
    /// NVM Express over PCI Express
    Nvme,
    /// Serial ATA
    Sata,
    /// Serial Attached SCSI
    Sas,
}

/// The media of a drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Media {
    /// Flash or 3D XPoint
    #[default]
    Ssd,
    /// Platters
    Hdd,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DriveNewArgs {
    /// The drive's name for people
    pub(crate) name: String,
    /// Protocol that the drive speaks
    #[arg(long)]
    pub(crate) protocol: Option<Protocol>,
    /// The media
    #[arg(long, value_name = "KIND", default_value = "ssd")]
    pub(crate) kind: Media,
    /// Capacity that the host can address
    #[arg(long)]
    pub(crate) capacity: Option<Bytes>,
    /// PCI Express generation, 1 to 5
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=5))]
    pub(crate) generation: Option<u32>,
    /// PCI Express lanes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) lanes: Option<u32>,
    /// Line rate of SATA or SAS, "6 Gb/s"
    #[arg(long)]
    pub(crate) rate: Option<BitsPerSecond>,
    /// SAS phys
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) phys: u32,
    /// Year in which the drive appeared
    #[arg(long, value_parser = clap::value_parser!(u32).range(1990..=2100))]
    pub(crate) year: Option<u32>,
    /// Technology of the cells: slc, mlc, tlc, qlc or 3d-xpoint
    #[arg(long, value_name = "CELLS")]
    pub(crate) nand: Option<String>,
    /// Memory that holds the map: dram, host or none
    #[arg(long)]
    pub(crate) memory: Option<String>,
    /// Market of the drive: client, or data-center, whose random writes are rated steady
    #[arg(long)]
    pub(crate) market: Option<String>,
    /// Sequential reads, "7450 MB/s"
    #[arg(long)]
    pub(crate) read: Option<BytesPerSecond>,
    /// Sequential writes
    #[arg(long)]
    pub(crate) write: Option<BytesPerSecond>,
    /// Random reads of 4 KiB a second, with as many outstanding as it takes
    #[arg(long, value_name = "IOPS")]
    pub(crate) random_read: Option<u32>,
    /// Random writes of 4 KiB a second
    #[arg(long, value_name = "IOPS")]
    pub(crate) random_write: Option<u32>,
    /// Random reads of 4 KiB a second, one at a time
    #[arg(long, value_name = "IOPS", conflicts_with = "read_latency")]
    pub(crate) random_read_qd1: Option<u32>,
    /// Random writes of 4 KiB a second, one at a time
    #[arg(long, value_name = "IOPS", conflicts_with = "write_latency")]
    pub(crate) random_write_qd1: Option<u32>,
    /// Latency of a read, one at a time
    #[arg(long, value_name = "TIME")]
    pub(crate) read_latency: Option<Duration>,
    /// Latency of a write, one at a time
    #[arg(long, value_name = "TIME")]
    pub(crate) write_latency: Option<Duration>,
    /// Sequential writes when no cache takes them any more
    #[arg(long, value_name = "RATE")]
    pub(crate) steady_write: Option<BytesPerSecond>,
    /// Random writes of 4 KiB a second when nothing changes any more
    #[arg(long, value_name = "IOPS")]
    pub(crate) steady_random_write: Option<u32>,
    /// Data that the pseudo-SLC cache takes
    #[arg(long, value_name = "SIZE")]
    pub(crate) pseudo_slc: Option<Bytes>,
    /// Revolutions a minute of a hard disk
    #[arg(long, value_name = "N")]
    pub(crate) rpm: Option<u32>,
    /// Heads of a hard disk
    #[arg(long, value_name = "N")]
    pub(crate) heads: Option<u32>,
    /// Average read seek of a hard disk
    #[arg(long, value_name = "TIME")]
    pub(crate) average_seek: Option<Duration>,
    /// Seek of a hard disk to the next track
    #[arg(long, value_name = "TIME")]
    pub(crate) track_to_track: Option<Duration>,
    /// Cache of a hard disk
    #[arg(long, value_name = "SIZE")]
    pub(crate) cache: Option<Bytes>,
    /// Source of the ratings
    #[arg(long, value_name = "TEXT")]
    pub(crate) source: Option<String>,
    /// The file [default: the name in lower case, here]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

//! The arguments of `lanemark drive`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use lanemark_schema::units::{BitsPerSecond, Bytes, BytesPerSecond, Duration, Ratio};

use super::LibraryArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct DriveArgs {
    #[command(subcommand)]
    pub(crate) command: DriveCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DriveCommand {
    /// Write a drive file from the ratings on a drive's box; derive or assume all other values, and list them
    New(Box<DriveNewArgs>),
    /// Show the origin of each value of a drive, and compare its ratings with the model
    Show(DriveShowArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DriveShowArgs {
    /// Drive name in the library, or drive file
    pub(crate) drive: String,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

/// The protocol of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Protocol {
    /// NVM Express over PCI Express
    Nvme,
    /// AHCI over PCI Express, as in some drives from 2011 to 2015
    PcieAhci,
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
    /// Magnetic platters
    Hdd,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct DriveNewArgs {
    /// Display name of the drive
    pub(crate) name: String,
    /// Protocol of the drive
    #[arg(long)]
    pub(crate) protocol: Option<Protocol>,
    /// Media of the drive
    #[arg(long, value_name = "KIND", default_value = "ssd")]
    pub(crate) kind: Media,
    /// Capacity that the host can address, such as "2 TB"
    #[arg(long)]
    pub(crate) capacity: Option<Bytes>,
    /// PCI Express generation, 1 to 5
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=5))]
    pub(crate) generation: Option<u32>,
    /// Number of PCI Express lanes
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) lanes: Option<u32>,
    /// Line rate of SATA or SAS, such as "6 Gb/s"
    #[arg(long)]
    pub(crate) rate: Option<BitsPerSecond>,
    /// Number of SAS phys
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) phys: u32,
    /// Year of release
    #[arg(long, value_parser = clap::value_parser!(u32).range(1990..=2100))]
    pub(crate) year: Option<u32>,
    /// Cell technology: slc, mlc, tlc, qlc or 3d-xpoint
    #[arg(long, value_name = "CELLS")]
    pub(crate) nand: Option<String>,
    /// Location of the mapping table: dram, host or none
    #[arg(long)]
    pub(crate) memory: Option<String>,
    /// Market of the drive: client or data-center; ratings of data-center drives for random writes apply to steady
    /// state
    #[arg(long)]
    pub(crate) market: Option<String>,
    /// Rate of sequential reads, such as "7450 MB/s"
    #[arg(long)]
    pub(crate) read: Option<BytesPerSecond>,
    /// Rate of sequential writes
    #[arg(long)]
    pub(crate) write: Option<BytesPerSecond>,
    /// Random 4 KiB reads per second, at the queue depth that saturates the drive
    #[arg(long, value_name = "IOPS")]
    pub(crate) random_read: Option<u32>,
    /// Random 4 KiB writes per second
    #[arg(long, value_name = "IOPS")]
    pub(crate) random_write: Option<u32>,
    /// Random 4 KiB reads per second at queue depth 1
    #[arg(long, value_name = "IOPS", conflicts_with = "read_latency")]
    pub(crate) random_read_qd1: Option<u32>,
    /// Random 4 KiB writes per second at queue depth 1
    #[arg(long, value_name = "IOPS", conflicts_with = "write_latency")]
    pub(crate) random_write_qd1: Option<u32>,
    /// Latency of a 4 KiB read at queue depth 1
    #[arg(long, value_name = "TIME")]
    pub(crate) read_latency: Option<Duration>,
    /// Latency of a 4 KiB write at queue depth 1
    #[arg(long, value_name = "TIME")]
    pub(crate) write_latency: Option<Duration>,
    /// Rate of sequential writes after all caches are full
    #[arg(long, value_name = "RATE")]
    pub(crate) steady_write: Option<BytesPerSecond>,
    /// Random 4 KiB writes per second in steady state
    #[arg(long, value_name = "IOPS")]
    pub(crate) steady_random_write: Option<u32>,
    /// Capacity of the pseudo-SLC cache
    #[arg(long, value_name = "SIZE")]
    pub(crate) pseudo_slc: Option<Bytes>,
    /// Ratio of compressed to original size of the data that was used for the write ratings, such as "46%"
    #[arg(long, value_name = "SHARE")]
    pub(crate) compresses_to: Option<Ratio>,
    /// Revolutions per minute of a hard disk
    #[arg(long, value_name = "N")]
    pub(crate) rpm: Option<u32>,
    /// Number of heads of a hard disk
    #[arg(long, value_name = "N")]
    pub(crate) heads: Option<u32>,
    /// Average seek time of a hard disk for reads
    #[arg(long, value_name = "TIME")]
    pub(crate) average_seek: Option<Duration>,
    /// Seek time of a hard disk to the next track
    #[arg(long, value_name = "TIME")]
    pub(crate) track_to_track: Option<Duration>,
    /// Cache size of a hard disk
    #[arg(long, value_name = "SIZE")]
    pub(crate) cache: Option<Bytes>,
    /// Source of the ratings
    #[arg(long, value_name = "TEXT")]
    pub(crate) source: Option<String>,
    /// Drive file to write [default: a file in the current folder, named after the drive]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Also print the origin of each value; the file also states the origins, in comments
    #[arg(long)]
    pub(crate) explain: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

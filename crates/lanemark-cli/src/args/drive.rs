//! The arguments of `lanemark drive`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use lanemark_schema::units::{BitsPerSecond, Bytes, BytesPerSecond, Duration, Ratio};

use lanemark_study::workload;

use super::{HostOption, LibraryArgs};
use crate::output::failure::Failure;

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
#[command(after_help = "\
Without --from, the file contains the ratings on the box; all other values are derived or assumed.
`lanemark bench TARGET fit` takes the measurements for --from in less than five minutes. Other
commands accept the written file instead of the name of a library drive.

Examples:
  lanemark drive 'Maker Model 2TB' --protocol nvme --generation 4 --lanes 4 \\
      --capacity '2 TB' --read '7450 MB/s' --write '6900 MB/s' --year 2022
  lanemark sim ./maker-model-2tb.toml@raspberry-pi-5:m2 crystaldiskmark-8
  lanemark drive 'My drive' --from measured.json --platform workstation-x570:m2")]
pub(crate) struct DriveArgs {
    /// Display name of the drive
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) ratings: RatingArgs,
    #[command(flatten)]
    pub(crate) fit: FitArgs,
    /// Drive file to write [default: a file in the current folder, named after the drive]
    #[arg(long, help_heading = "Output", value_name = "FILE.toml")]
    pub(crate) out: Option<PathBuf>,
    /// Also print the origin of each value; the file also states the origins, in comments
    #[arg(long, help_heading = "Analysis", conflicts_with = "from")]
    pub(crate) explain: bool,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

impl DriveArgs {
    /// Returns the path of the drive file, after checking its ending.
    pub(crate) fn file(&self) -> Result<PathBuf, Failure> {
        let path =
            self.out.clone().unwrap_or_else(|| PathBuf::from(workload::slug(&self.name) + ".toml"));
        if path.extension().is_none_or(|extension| extension != "toml") {
            let message = format!("--out {}: expected a .toml file", path.display());
            return Err(Failure::input(message));
        }
        Ok(path)
    }
}

/// A fit to measured results.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Fit to measurements")]
pub(crate) struct FitArgs {
    /// Fit the model to these saved results from one drive; FILE#SYSTEM selects one system of a study
    #[arg(long, value_name = "RESULT", num_args = 1.., requires = "platform", conflicts_with = "ratings")]
    pub(crate) from: Vec<String>,
    /// Platform and port in which the drive was measured
    #[arg(long, value_name = "PLATFORM:PORT", requires = "from")]
    pub(crate) platform: Option<String>,
    #[command(flatten)]
    pub(crate) host: HostOption,
    /// Similar drive, for values that the results do not determine [default: a generic drive with the port's protocol]
    #[arg(long, value_name = "DRIVE", requires = "from")]
    pub(crate) like: Option<String>,
    /// Override a model value, such as drive.port.pcie.generation=3, and do not fit it (repeatable)
    #[arg(long, value_name = "PARAMETER=VALUE", requires = "from")]
    pub(crate) set: Vec<String>,
    /// Seed of all random numbers
    #[arg(long, default_value_t = 1)]
    pub(crate) seed: u64,
}

/// The ratings on a box, and the drive's construction.
#[derive(Debug, ClapArgs)]
#[command(next_help_heading = "Ratings")]
#[group(id = "ratings", multiple = true)]
pub(crate) struct RatingArgs {
    /// Protocol of the drive
    #[arg(long, help_heading = "Interface")]
    pub(crate) protocol: Option<Protocol>,
    /// Media of the drive [default: ssd]
    #[arg(long, help_heading = "Drive", value_name = "KIND")]
    pub(crate) kind: Option<Media>,
    /// Capacity that the host can address, such as "2 TB"
    #[arg(long, help_heading = "Drive")]
    pub(crate) capacity: Option<Bytes>,
    /// PCI Express generation, 1 to 5
    #[arg(long, help_heading = "Interface", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=5))]
    pub(crate) generation: Option<u32>,
    /// Number of PCI Express lanes
    #[arg(long, help_heading = "Interface", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=16))]
    pub(crate) lanes: Option<u32>,
    /// Line rate of SATA or SAS, such as "6 Gb/s"
    #[arg(long, help_heading = "Interface")]
    pub(crate) rate: Option<BitsPerSecond>,
    /// Number of SAS phys [default: 1]
    #[arg(long, help_heading = "Interface", value_name = "N", value_parser = clap::value_parser!(u32).range(1..=8))]
    pub(crate) phys: Option<u32>,
    /// Year of release
    #[arg(long, help_heading = "Drive", value_parser = clap::value_parser!(u32).range(1990..=2100))]
    pub(crate) year: Option<u32>,
    /// Cell technology: slc, mlc, tlc, qlc or 3d-xpoint
    #[arg(long, help_heading = "Drive", value_name = "CELLS")]
    pub(crate) nand: Option<String>,
    /// Location of the mapping table: dram, host or none
    #[arg(long, help_heading = "Drive")]
    pub(crate) memory: Option<String>,
    /// Market of the drive: client or data-center; ratings of data-center drives for random writes apply to steady
    /// state
    #[arg(long, help_heading = "Drive")]
    pub(crate) market: Option<String>,
    /// Rate of sequential reads, such as "7450 MB/s"
    #[arg(long, help_heading = "Ratings")]
    pub(crate) read: Option<BytesPerSecond>,
    /// Rate of sequential writes
    #[arg(long, help_heading = "Ratings")]
    pub(crate) write: Option<BytesPerSecond>,
    /// Random 4 KiB reads per second, at the queue depth that saturates the drive
    #[arg(long, help_heading = "Ratings", value_name = "IOPS")]
    pub(crate) random_read: Option<u32>,
    /// Random 4 KiB writes per second
    #[arg(long, help_heading = "Ratings", value_name = "IOPS")]
    pub(crate) random_write: Option<u32>,
    /// Random 4 KiB reads per second at queue depth 1
    #[arg(long, help_heading = "Ratings", value_name = "IOPS", conflicts_with = "read_latency")]
    pub(crate) random_read_qd1: Option<u32>,
    /// Random 4 KiB writes per second at queue depth 1
    #[arg(long, help_heading = "Ratings", value_name = "IOPS", conflicts_with = "write_latency")]
    pub(crate) random_write_qd1: Option<u32>,
    /// Latency of a 4 KiB read at queue depth 1
    #[arg(long, help_heading = "Ratings", value_name = "TIME")]
    pub(crate) read_latency: Option<Duration>,
    /// Latency of a 4 KiB write at queue depth 1
    #[arg(long, help_heading = "Ratings", value_name = "TIME")]
    pub(crate) write_latency: Option<Duration>,
    /// Rate of sequential writes after all caches are full
    #[arg(long, help_heading = "Ratings", value_name = "RATE")]
    pub(crate) steady_write: Option<BytesPerSecond>,
    /// Random 4 KiB writes per second in steady state
    #[arg(long, help_heading = "Ratings", value_name = "IOPS")]
    pub(crate) steady_random_write: Option<u32>,
    /// Capacity of the pseudo-SLC cache
    #[arg(long, help_heading = "Drive", value_name = "SIZE")]
    pub(crate) pseudo_slc: Option<Bytes>,
    /// Ratio of compressed to original size of the data that was used for the write ratings, such as "46%"
    #[arg(long, value_name = "SHARE")]
    pub(crate) compresses_to: Option<Ratio>,
    /// Revolutions per minute of a hard disk
    #[arg(long, help_heading = "Hard disks", value_name = "N")]
    pub(crate) rpm: Option<u32>,
    /// Number of heads of a hard disk
    #[arg(long, help_heading = "Hard disks", value_name = "N")]
    pub(crate) heads: Option<u32>,
    /// Average seek time of a hard disk for reads
    #[arg(long, help_heading = "Hard disks", value_name = "TIME")]
    pub(crate) average_seek: Option<Duration>,
    /// Seek time of a hard disk to the next track
    #[arg(long, help_heading = "Hard disks", value_name = "TIME")]
    pub(crate) track_to_track: Option<Duration>,
    /// Cache size of a hard disk
    #[arg(long, help_heading = "Hard disks", value_name = "SIZE")]
    pub(crate) cache: Option<Bytes>,
    /// Source of the ratings
    #[arg(long, help_heading = "Ratings", value_name = "TEXT")]
    pub(crate) source: Option<String>,
}

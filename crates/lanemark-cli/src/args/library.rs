//! The library option that several commands share, and the arguments of `lanemark library`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use lanemark_sim::spec::ProtocolKind;

#[derive(Debug, ClapArgs)]
pub(crate) struct LibraryArgs {
    /// Library folder [default: ./library if it exists; otherwise the built-in library]
    #[arg(
        long,
        help_heading = "Model",
        value_name = "FOLDER",
        env = "LANEMARK_LIBRARY",
        hide_env = true
    )]
    pub(crate) library: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
An entry is listed if it matches all filters. --interface, --year and --maker list only drives.

Examples:
  lanemark library --search 980 --interface nvme
  lanemark library samsung-980-pro-1tb
  lanemark library --kind sample
  lanemark library msr.csv --copy")]
pub(crate) struct LibraryListArgs {
    /// Drive, platform, host, workload or sample to show, by name or file [default: list all]
    #[arg(conflicts_with_all = ["search", "interface", "year", "maker"])]
    pub(crate) name: Option<String>,
    /// List entries whose names contain all these words
    #[arg(long, value_name = "WORDS")]
    pub(crate) search: Option<String>,
    /// List drives with this interface
    #[arg(long)]
    pub(crate) interface: Option<Interface>,
    /// List drives from this year or range of years, such as 2012 or 2012..2018
    #[arg(long, value_name = "YEAR|A..B", value_parser = years)]
    pub(crate) year: Option<RangeInclusive<u16>>,
    /// List drives from this manufacturer
    #[arg(long)]
    pub(crate) maker: Option<String>,
    /// List only entries of this kind, or look for NAME only among them
    #[arg(long)]
    pub(crate) kind: Option<EntryKind>,
    /// Copy the sample NAME, or all samples, to this folder; existing files are never overwritten [default: the current
    /// folder]
    #[arg(long, help_heading = "Output", value_name = "FOLDER", num_args = 0..=1, default_missing_value = ".")]
    pub(crate) copy: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

/// The interface of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Interface {
    /// NVM Express over PCI Express
    Nvme,
    /// Serial ATA
    Sata,
    /// Serial Attached SCSI
    Sas,
}

impl Interface {
    /// Returns the interface of a drive's protocol.
    pub(crate) fn from_protocol(protocol: ProtocolKind) -> Self {
        match protocol {
            ProtocolKind::Nvme => Self::Nvme,
            ProtocolKind::SasHba => Self::Sas,
            _ => Self::Sata,
        }
    }

    /// Returns the interface's name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nvme => "NVMe",
            Self::Sata => "SATA",
            Self::Sas => "SAS",
        }
    }
}

/// A kind of library entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EntryKind {
    /// Drives
    Drive,
    /// Solid-state drives (flash or 3D XPoint)
    Ssd,
    /// Hard disks
    Hdd,
    /// Volumes of cloud providers
    CloudVolume,
    /// Platforms
    Platform,
    /// Operating systems on classes of processors
    Host,
    /// Workloads
    Workload,
    /// Built-in studies, results, traces and job files
    Sample,
}

/// Parses a year or a range of years.
fn years(text: &str) -> Result<RangeInclusive<u16>, String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let year = |text: &str| text.parse().ok().filter(|year| (1980..=2100).contains(year));
    let ends = year(from)
        .zip(year(to))
        .ok_or("expected a year such as 2015, or a range such as 2012..2018")?;
    if ends.0 <= ends.1 {
        Ok(ends.0..=ends.1)
    } else {
        Err("the first year is after the last year".to_owned())
    }
}

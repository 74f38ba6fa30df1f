//! The library option that several commands share, and the arguments of `lanemark library`.

use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::{Args as ClapArgs, ValueEnum};
use lanemark_sim::spec::ProtocolKind;

#[derive(Debug, ClapArgs)]
pub(crate) struct LibraryArgs {
    /// The library's folder [default: ./library where there is one, else the one built in]
    #[arg(long, value_name = "FOLDER", env = "LANEMARK_LIBRARY", hide_env = true)]
    pub(crate) library: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Filters are joined by \"and\". --interface, --year and --maker are of drives, and list drives alone.")]
pub(crate) struct LibraryListArgs {
    /// Show this drive, platform, host or workload, by its name or file [default: list all]
    #[arg(conflicts_with_all = ["search", "interface", "year", "maker"])]
    pub(crate) name: Option<String>,
    /// List what has all these words in its name
    #[arg(long, value_name = "WORDS")]
    pub(crate) search: Option<String>,
    /// List drives of this interface
    #[arg(long)]
    pub(crate) interface: Option<Interface>,
    /// List drives of this year or these years, 2012 or 2012..2018
    #[arg(long, value_name = "YEAR|A..B", value_parser = years)]
    pub(crate) year: Option<RangeInclusive<u16>>,
    /// List drives of this maker
    #[arg(long)]
    pub(crate) maker: Option<String>,
    /// List, or look NAME up among, this kind alone
    #[arg(long)]
    pub(crate) kind: Option<EntryKind>,
    /// Print JSON instead of text
    #[arg(long)]
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
    pub(crate) fn of(protocol: ProtocolKind) -> Self {
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

/// A kind of entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EntryKind {
    /// Drives
    Drive,
    /// Drives of flash or 3D XPoint
    Ssd,
    /// Drives with platters
    Hdd,
    /// Platforms
    Platform,
    /// Operating systems on a class of processor
    Host,
    /// Workloads
    Workload,
}

/// Reads a year or a range of them.
fn years(text: &str) -> Result<RangeInclusive<u16>, String> {
    let (from, to) = text.split_once("..").unwrap_or((text, text));
    let year = |text: &str| text.parse().ok().filter(|year| (1980..=2100).contains(year));
    let ends = year(from).zip(year(to)).ok_or("write a year, 2015, or years, 2012..2018")?;
    match ends.0 <= ends.1 {
        true => Ok(ends.0..=ends.1),
        false => Err("the first year comes after the last".to_owned()),
    }
}

//! The arguments of `lanemark plan`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use lanemark_schema::units::{Bytes, Duration, Watts};

use super::systems::with_systems;
use super::{LibraryArgs, TraceArgs};

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  lanemark plan bandwidth --video 3840x2160 --frames 60")]
pub(crate) struct PlanArgs {
    #[command(subcommand)]
    pub(crate) command: PlanCommand,
    /// Print the plan as JSON instead of text
    #[arg(long, help_heading = "Output", global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// Calculate how much longer a battery lasts with a different drive
    Battery(BatteryArgs),
    /// Calculate the rate of uncompressed video, and list the interfaces that carry it
    Bandwidth(BandwidthArgs),
    /// Calculate the number of servers that a load needs with each of two drives, and their cost
    Fleet(FleetArgs),
    /// Calculate how long a drive lives under a load
    Life(Box<LifeArgs>),
}

#[derive(Debug, ClapArgs)]
#[command(after_help = with_systems("\
Examples:
  lanemark plan life samsung-980-pro-1tb@workstation-x570:m2 jesd219-enterprise
  lanemark plan life samsung-980-pro-1tb@workstation-x570:m2 jesd219-enterprise --per-day 40GB
  lanemark plan life samsung-980-pro-1tb@workstation-x570:m2 trace.csv
  lanemark plan life --smart january.json --smart june.json"))]
pub(crate) struct LifeArgs {
    /// System with one drive, written DRIVE@PLATFORM:PORT; with --smart and without a load, the file's model name can
    /// replace it
    #[arg(required_unless_present = "smart")]
    pub(crate) system: Option<String>,
    /// Workload name or file; WORKLOAD:TEST selects one test; or a recorded trace
    #[arg(value_name = "WORKLOAD|TRACE", required_unless_present = "smart")]
    pub(crate) workload: Option<String>,
    /// Output of `smartctl -j -x`: of one file, the writes and the power-on hours; of two files, the writes between
    /// their dates (repeatable)
    #[arg(long, help_heading = "Load", value_name = "FILE")]
    pub(crate) smart: Vec<PathBuf>,
    /// Writes of the host per day, such as "40GB" [default: the rate of the load, at all times]
    #[arg(long, help_heading = "Load", value_name = "SIZE", conflicts_with = "smart")]
    pub(crate) per_day: Option<Bytes>,
    /// Part of the drive that the workload covers [default: all for a workload of the library; otherwise as stated]
    #[arg(long, help_heading = "Load", value_name = "SIZE")]
    pub(crate) size: Option<Bytes>,
    /// Rated writes of the host, such as "600TB" [default: the rating in the library]
    #[arg(long, help_heading = "Rating", value_name = "SIZE")]
    pub(crate) tbw: Option<Bytes>,
    /// Seed of all random numbers
    #[arg(long, help_heading = "Load", default_value_t = 1)]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) trace: TraceArgs,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  lanemark plan battery --system '9 W' --lasts '6 h' --drive '1.4 W' --other '1.1 W'")]
pub(crate) struct BatteryArgs {
    /// Power of the whole computer with the first drive [default: 9.6 W, from the document's example]
    #[arg(long, help_heading = "Power", value_name = "POWER")]
    pub(crate) system: Option<Watts>,
    /// Battery life with the first drive [default: 5.2 h, from the document's example]
    #[arg(long, help_heading = "Power", value_name = "TIME")]
    pub(crate) lasts: Option<Duration>,
    /// Mean power of the first drive, or a saved result of one simulated test [default: 1.4 W, from the document's
    /// example]
    #[arg(long, help_heading = "Power", value_name = "POWER|RESULT")]
    pub(crate) drive: Option<String>,
    /// Mean power of the other drive for the same work in the same time [default: 1.1 W, from the document's example]
    #[arg(long, help_heading = "Power", value_name = "POWER|RESULT")]
    pub(crate) other: Option<String>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  lanemark plan bandwidth --video 3840x2160 --bits 10 --frames 60 --streams 2")]
pub(crate) struct BandwidthArgs {
    /// Resolution of the video, WIDTHxHEIGHT in pixels [default: 3840x2160, from the document's example]
    #[arg(long, value_name = "WIDTHxHEIGHT")]
    pub(crate) video: Option<String>,
    /// Bits per sample [default: 12, from the document's example]
    #[arg(long, value_name = "N")]
    pub(crate) bits: Option<u32>,
    /// Samples per pixel: 3 for RGB, 2 for 4:2:2, 1.5 for 4:2:0
    #[arg(long, value_name = "N", default_value_t = 3.0)]
    pub(crate) samples: f64,
    /// Frames per second [default: 24, from the document's example]
    #[arg(long, value_name = "N")]
    pub(crate) frames: Option<f64>,
    /// Number of simultaneous streams
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) streams: u32,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  lanemark plan fleet --present SATA=1.37e6 --other SAS=1.71e6 --nodes 100")]
pub(crate) struct FleetArgs {
    /// Rate of a server with the present drive: NAME=RATE, or a saved result of one test, whose transactions per minute
    /// are used or, without transactions, its requests per second [default: SATA=1.37e6, from the document's example]
    #[arg(long, help_heading = "Load", value_name = "NAME=RATE|RESULT")]
    pub(crate) present: Option<String>,
    /// Rate of a server with the other drive [default: SAS=1.71e6, from the document's example]
    #[arg(long, help_heading = "Load", value_name = "NAME=RATE|RESULT")]
    pub(crate) other: Option<String>,
    /// Total rate that the servers must reach [default: the rate of --nodes servers with the present drive]
    #[arg(long, help_heading = "Load", value_name = "RATE")]
    pub(crate) demand: Option<f64>,
    /// Number of present servers [default: 5, from the document's example]
    #[arg(long, help_heading = "Load", value_name = "N")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) nodes: Option<u32>,
    /// Share of each server's rate to keep in reserve, such as 0.2
    #[arg(long, help_heading = "Load", value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) spare_share: f64,
    /// Number of spare servers that can replace failed servers
    #[arg(long, help_heading = "Load", value_name = "N", default_value_t = 0)]
    pub(crate) spare_nodes: u32,
    /// Number of drives per server
    #[arg(long, help_heading = "Servers", value_name = "N", default_value_t = 4)]
    pub(crate) drives: u32,
    /// Power of a server, in W
    #[arg(long, help_heading = "Servers", value_name = "WATTS", default_value_t = 400.0)]
    pub(crate) watts: f64,
    /// Power of a server with the other drive, in W [default: the same]
    #[arg(long, help_heading = "Servers", value_name = "WATTS")]
    pub(crate) other_watts: Option<f64>,
    /// Price of a drive
    #[arg(long, help_heading = "Prices", value_name = "PRICE", default_value_t = 0.0)]
    pub(crate) drive_price: f64,
    /// Price of the other drive [default: the same]
    #[arg(long, help_heading = "Prices", value_name = "PRICE")]
    pub(crate) other_drive_price: Option<f64>,
    /// Price of a server without drives
    #[arg(long, help_heading = "Prices", value_name = "PRICE", default_value_t = 0.0)]
    pub(crate) server_price: f64,
    /// Price of licences and support per server for the whole time
    #[arg(long, help_heading = "Prices", value_name = "PRICE", default_value_t = 0.0)]
    pub(crate) licence_price: f64,
    /// Time that the servers run, in years
    #[arg(long, help_heading = "Prices", value_name = "YEARS", default_value_t = 3.0)]
    pub(crate) years: f64,
    /// Price of a kilowatt-hour
    #[arg(long, help_heading = "Prices", value_name = "PRICE", default_value_t = 0.0)]
    pub(crate) energy_price: f64,
    /// Power that the building draws per watt of server power (PUE)
    #[arg(long, help_heading = "Servers", value_name = "FACTOR", default_value_t = 1.0)]
    pub(crate) overhead: f64,
}

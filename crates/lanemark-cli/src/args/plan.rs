//! `lanemark plan`.

use clap::{Args as ClapArgs, Subcommand};
use lanemark_core::units::{Duration, Watts};

#[derive(Debug, ClapArgs)]
pub(crate) struct PlanArgs {
    #[command(subcommand)]
    pub(crate) command: PlanCommand,
    /// Print the plan as JSON instead of text
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// How much longer a battery lasts with another drive
    Battery(BatteryArgs),
    /// What uncompressed video needs, and which interfaces carry it
    Bandwidth(BandwidthArgs),
    /// How many servers a load takes with one drive and with another, and what they cost
    Fleet(FleetArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct BatteryArgs {
    /// What the whole computer takes with the first drive
    #[arg(long, value_name = "POWER", default_value = "9.6 W")]
    pub(crate) system: Watts,
    /// How long its battery lasts then
    #[arg(long, value_name = "TIME", default_value = "5.2 h")]
    pub(crate) lasts: Duration,
    /// What the first drive takes on average, or a saved result of one simulated test
    #[arg(long, value_name = "POWER|RESULT", default_value = "1.4 W")]
    pub(crate) drive: String,
    /// What the other drive takes for the same work in the same time
    #[arg(long, value_name = "POWER|RESULT", default_value = "1.1 W")]
    pub(crate) other: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct BandwidthArgs {
    /// Pixels in a line and lines
    #[arg(long, value_name = "WIDTHxHEIGHT", default_value = "3840x2160")]
    pub(crate) video: String,
    /// Bits of a sample
    #[arg(long, value_name = "N", default_value_t = 12)]
    pub(crate) bits: u32,
    /// Samples of a pixel: 3 for RGB, 2 for 4:2:2, 1.5 for 4:2:0
    #[arg(long, value_name = "N", default_value_t = 3.0)]
    pub(crate) samples: f64,
    /// Frames a second
    #[arg(long, value_name = "N", default_value_t = 24.0)]
    pub(crate) frames: f64,
    /// Streams at once
    #[arg(long, value_name = "N", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) streams: u32,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct FleetArgs {
    /// What a server does with the drive that is there: NAME=RATE, or a saved result of one test
    #[arg(long, value_name = "NAME=RATE|RESULT", default_value = "SATA=1.37e6")]
    pub(crate) present: String,
    /// What it does with the other drive
    #[arg(long, value_name = "NAME=RATE|RESULT", default_value = "SAS=1.71e6")]
    pub(crate) other: String,
    /// What all servers have to do [default: what --nodes servers do with the drive that is there]
    #[arg(long, value_name = "RATE")]
    pub(crate) demand: Option<f64>,
    /// Servers that are there
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) nodes: u32,
    /// The share of each server that is kept free, 0.2
    #[arg(long, value_name = "SHARE", default_value_t = 0.0)]
    pub(crate) spare_share: f64,
    /// Servers that are there for those that fail
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) spare_nodes: u32,
    /// Drives in a server
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) drives: u32,
    /// What a server takes, in W
    #[arg(long, value_name = "WATTS", default_value_t = 400.0)]
    pub(crate) watts: f64,
    /// What a server takes with the other drive [default: the same]
    #[arg(long, value_name = "WATTS")]
    pub(crate) other_watts: Option<f64>,
    /// The price of a drive
    #[arg(long, value_name = "PRICE", default_value_t = 0.0)]
    pub(crate) drive_price: f64,
    /// The price of the other drive [default: the same]
    #[arg(long, value_name = "PRICE")]
    pub(crate) other_drive_price: Option<f64>,
    /// The price of a server without drives
    #[arg(long, value_name = "PRICE", default_value_t = 0.0)]
    pub(crate) server_price: f64,
    /// Licences and support of a server over the whole time
    #[arg(long, value_name = "PRICE", default_value_t = 0.0)]
    pub(crate) licence_price: f64,
    /// How long they run
    #[arg(long, value_name = "YEARS", default_value_t = 3.0)]
    pub(crate) years: f64,
    /// The price of a kilowatt hour
    #[arg(long, value_name = "PRICE", default_value_t = 0.0)]
    pub(crate) energy_price: f64,
    /// What the building takes for each watt of a server (PUE)
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0)]
    pub(crate) overhead: f64,
}

//! The arguments of `lanemark oltp`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use lanemark_oltp::{Database, TransactionProfile};
use lanemark_schema::units::Bytes;
use lanemark_schema::units::Duration;
use lanemark_serve::clock::TimeScale;

use crate::args::LibraryArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct OltpArgs {
    #[command(subcommand)]
    pub(crate) command: OltpCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OltpCommand {
    /// Load warehouses into a database, or continue an interrupted load
    Load(OltpLoadArgs),
    /// Run users on the loaded database
    Run(OltpRunArgs),
    /// Check the twelve consistency conditions of TPC-C, and the rows and values of every table
    Check(OltpCheckArgs),
    /// Compare two saved runs
    Compare(OltpCompareArgs),
    /// Convert a saved run to a workload for simulated systems
    Workload(OltpWorkloadArgs),
    /// Run users on PostgreSQL, with its data on each of the two served systems of a study, and compare measured,
    /// simulated and published figures (needs root)
    Live(OltpLiveArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct OltpWorkloadArgs {
    /// Saved result of `oltp run`
    pub(crate) run: PathBuf,
    /// Write the workload to this file instead of the terminal; other commands accept the file as a workload
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) out: Option<PathBuf>,
}

/// Help for the values of `--database`, depending on the built-in databases.
const DATABASE: &str = if cfg!(feature = "mysql") {
    "sqlite:FILE; postgres://USER@HOST:PORT/NAME, which uses only the schema lanemark_oltp; or \
         mysql://USER@HOST:PORT/NAME for MariaDB or MySQL; the command creates the database NAME"
} else {
    "sqlite:FILE, or postgres://USER@HOST:PORT/NAME, which uses only the schema \
         lanemark_oltp"
};

#[derive(Debug, ClapArgs)]
pub(crate) struct OltpDatabaseArgs {
    /// Database to use
    #[arg(long, value_name = "DATABASE", default_value = "sqlite:oltp.db", help = DATABASE)]
    pub(crate) database: Database,
    /// Start a PostgreSQL server in this folder, from the installed programs, and stop it at the end; its data is kept.
    /// The folder must be new, or created by this option earlier
    #[arg(long, value_name = "DIR", conflicts_with = "database")]
    pub(crate) managed: Option<PathBuf>,
    /// Buffer size of the managed server (shared_buffers)
    #[arg(long, value_name = "SIZE", requires = "managed", default_value = "128 MiB")]
    pub(crate) shared_buffers: Bytes,
    /// Let the managed server bypass the system's page cache for its tables, so that its buffer is the only cache;
    /// servers before PostgreSQL 16 use the page cache, and the result contains a warning
    #[arg(long, requires = "managed")]
    pub(crate) direct_io: bool,
    /// Remove the managed server's folder with all data at the end
    #[arg(long, requires = "managed")]
    pub(crate) remove: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct OltpLoadArgs {
    #[command(flatten)]
    pub(crate) database: OltpDatabaseArgs,
    /// Number of warehouses, of about 100 MB each
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) warehouses: i64,
    /// Seed of the contents
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Divide the numbers of items and customers, for tests only
    #[arg(long, value_name = "DIVISOR", default_value_t = 1)]
    pub(crate) scale: i64,
    /// Number of connections that load in parallel; SQLite uses one [default: one per core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// Replace the contents of the database with this name: the file name, or the name of the server's database, in
    /// which only the schema lanemark_oltp is replaced
    #[arg(long, value_name = "NAME")]
    pub(crate) overwrite: Option<String>,
    /// Print the figures as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct OltpCheckArgs {
    #[command(flatten)]
    pub(crate) database: OltpDatabaseArgs,
    /// Print the conditions as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Profiles:
  tpcc      45/43/4/4/4 of 100, dealt from a shuffled deck; NURand customers and items
  hammerdb  10/10/1/1/1 of 23, each drawn independently; uniform customers and items

This workload is derived from TPC-C; its figures are not TPC results.")]
pub(crate) struct OltpRunArgs {
    #[command(flatten)]
    pub(crate) database: OltpDatabaseArgs,
    /// Number of simultaneous users, up to ten per warehouse
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) users: u32,
    /// Transaction mix: tpcc or hammerdb
    #[arg(long, default_value = "tpcc")]
    pub(crate) profile: TransactionProfile,
    /// Add the specification's keying and think times between transactions
    #[arg(long)]
    pub(crate) think_times: bool,
    /// Time that users spend outside the database after each transaction, for example in a client or a network
    #[arg(long, value_name = "TIME", default_value = "0 s", conflicts_with = "think_times")]
    pub(crate) pause: Duration,
    /// Time for which users warm up before the counted part of the run
    #[arg(long, value_name = "TIME", default_value = "30 s")]
    pub(crate) ramp: Duration,
    /// Counted time of each repeat
    #[arg(long, value_name = "TIME", default_value = "1 min")]
    pub(crate) duration: Duration,
    /// Number of repeats
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) repeats: u32,
    /// Seed of the users' transactions
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Control socket of the `lanemark serve` whose drive stores the data; not needed if the server runs on this
    /// machine and serves one of its disks or files
    #[arg(long, value_name = "SOCKET")]
    pub(crate) served: Option<PathBuf>,
    /// Print the result as JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder for the result, or a new file name that ends in .json [default: $LANEMARK_RESULTS, or lanemark in the
    /// user's state folder, ~/.local/state]
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct OltpCompareArgs {
    /// File of the first run
    pub(crate) from: PathBuf,
    /// File of the second run
    pub(crate) to: PathBuf,
    /// Number of servers as fast as the first run's server; the second run's saving is calculated for this number
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) nodes: u32,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
The time scale slows the drives, so that this machine's processors can represent the study's. The
command removes everything that it starts, attaches or mounts, regardless of how it ends. Only this
command sees its mounts. It uses the installed PostgreSQL; before version 16, the database also uses
the page cache, and the results contain a warning.")]
pub(crate) struct OltpLiveArgs {
    /// Study of a database whose [answer] compares two systems: built-in study, or study file
    #[arg(default_value = "oltp-value-sas")]
    pub(crate) study: PathBuf,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
    /// Use a small database and seconds instead of minutes, to test the set-up; the figures are meaningless
    #[arg(long)]
    pub(crate) short: bool,
    /// Factor that slows the drives [default: the factor that keeps the processors as busy as in the study]
    #[arg(long, value_name = "FACTOR")]
    pub(crate) time_scale: Option<TimeScale>,
    /// Number of turns; each turn serves both systems in succession [default: 3; with --short 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) turns: Option<u32>,
    /// Time for which users warm up in each turn [default: 30 s; with --short 2 s]
    #[arg(long, value_name = "TIME")]
    pub(crate) ramp: Option<Duration>,
    /// Counted time of each turn [default: 40 s; with --short 4 s]
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<Duration>,
    /// Number of warehouses [default: one per user; with --short one per ten users]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(i64).range(1..=10_000))]
    pub(crate) warehouses: Option<i64>,
    /// Divide the numbers of items and customers by this, which also shortens the warm-up of a turn [default: 10; with
    /// --short 100]
    #[arg(long, value_name = "DIVISOR")]
    #[arg(value_parser = clap::value_parser!(i64).range(1..=100))]
    pub(crate) scale: Option<i64>,
    /// Number of servers as fast as the server of the first system; the second system's saving is calculated for this
    /// number
    #[arg(long, value_name = "N", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) nodes: u32,
    /// Seed of the users' transactions and of the contents
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Folder in which the loaded database is created; the database is removed at the end [default: the system's
    /// temporary folder]
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Folder for the results of both systems [default: $LANEMARK_RESULTS, or lanemark in the user's state folder,
    /// ~/.local/state]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Also write the figures side by side to this CSV file
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) csv: Option<PathBuf>,
    /// Print the figures side by side as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

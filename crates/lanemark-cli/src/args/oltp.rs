//! The arguments of `lanemark oltp`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use lanemark_oltp::{Database, TransactionProfile};
use lanemark_schema::units::Bytes;
use lanemark_schema::units::Duration;

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Examples:
  lanemark oltp load --database sqlite:shop.db
  lanemark oltp run --database sqlite:shop.db")]
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
    #[arg(long, help_heading = "Database", value_name = "DATABASE", default_value = "sqlite:oltp.db", help = DATABASE)]
    pub(crate) database: Database,
    /// Start a PostgreSQL server in this folder, from the installed programs, and stop it at the end; its data is kept.
    /// The folder must be new, or created by this option earlier
    #[arg(long, help_heading = "Managed server", value_name = "DIR", conflicts_with = "database")]
    pub(crate) managed: Option<PathBuf>,
    /// Buffer size of the managed server (shared_buffers)
    #[arg(
        long,
        help_heading = "Managed server",
        value_name = "SIZE",
        requires = "managed",
        default_value = "128 MiB"
    )]
    pub(crate) shared_buffers: Bytes,
    /// Let the managed server bypass the system's page cache for its tables, so that its buffer is the only cache;
    /// servers before PostgreSQL 16 use the page cache, and the result contains a warning
    #[arg(long, help_heading = "Managed server", requires = "managed")]
    pub(crate) direct_io: bool,
    /// Remove the managed server's folder with all data at the end
    #[arg(long, help_heading = "Managed server", requires = "managed")]
    pub(crate) remove: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  lanemark oltp load --database sqlite:shop.db --warehouses 2")]
pub(crate) struct OltpLoadArgs {
    #[command(flatten)]
    pub(crate) database: OltpDatabaseArgs,
    /// Number of warehouses, of about 100 MB each
    #[arg(long, help_heading = "Workload", value_name = "N", default_value_t = 1)]
    pub(crate) warehouses: i64,
    /// Seed of the contents
    #[arg(long, help_heading = "Model", value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Divide the numbers of items and customers, for tests only
    #[arg(long, help_heading = "Workload", value_name = "DIVISOR", default_value_t = 1)]
    pub(crate) scale: i64,
    /// Number of connections that load in parallel; SQLite uses one [default: one per core]
    #[arg(long, help_heading = "Analysis", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// Replace the contents of the database with this name: the file name, or the name of the server's database, in
    /// which only the schema lanemark_oltp is replaced
    #[arg(long, help_heading = "Permission to overwrite", value_name = "NAME")]
    pub(crate) overwrite: Option<String>,
    /// Print the figures as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Example:
  lanemark oltp check --database sqlite:shop.db")]
pub(crate) struct OltpCheckArgs {
    #[command(flatten)]
    pub(crate) database: OltpDatabaseArgs,
    /// Print the conditions as JSON
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Profiles:
  tpcc      45/43/4/4/4 of 100, dealt from a shuffled deck; NURand customers and items
  hammerdb  10/10/1/1/1 of 23, each drawn independently; uniform customers and items

This workload is derived from TPC-C; its figures are not TPC results.")]
#[command(after_help = "\
Example:
  lanemark oltp run --database sqlite:shop.db --users 8 --duration '2 min'")]
pub(crate) struct OltpRunArgs {
    #[command(flatten)]
    pub(crate) database: OltpDatabaseArgs,
    /// Number of simultaneous users, up to ten per warehouse
    #[arg(long, help_heading = "Workload", value_name = "N", default_value_t = 4)]
    pub(crate) users: u32,
    /// Transaction mix: tpcc or hammerdb
    #[arg(long, help_heading = "Workload", default_value = "tpcc")]
    pub(crate) profile: TransactionProfile,
    /// Add the specification's keying and think times between transactions
    #[arg(long, help_heading = "Workload")]
    pub(crate) think_times: bool,
    /// Time that users spend outside the database after each transaction, for example in a client or a network
    #[arg(
        long,
        help_heading = "Workload",
        value_name = "TIME",
        default_value = "0 s",
        conflicts_with = "think_times"
    )]
    pub(crate) pause: Duration,
    /// Time for which users warm up before the counted part of the run
    #[arg(long, help_heading = "Workload", value_name = "TIME", default_value = "30 s")]
    pub(crate) ramp: Duration,
    /// Counted time of each repeat
    #[arg(long, help_heading = "Workload", value_name = "TIME", default_value = "1 min")]
    pub(crate) duration: Duration,
    /// Number of repeats
    #[arg(long, help_heading = "Workload", value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) repeats: u32,
    /// Seed of the users' transactions
    #[arg(long, help_heading = "Model", value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Control socket of the `lanemark serve` whose drive stores the data; not needed if the server runs on this
    /// machine and serves one of its disks or files
    #[arg(long, value_name = "SOCKET")]
    pub(crate) served: Option<PathBuf>,
    /// Print the result as JSON instead of tables
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Folder for the result, or a new file name that ends in .json [default: $LANEMARK_RESULTS, or lanemark in the
    /// user's state folder, ~/.local/state]
    #[arg(long, help_heading = "Output", value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
}

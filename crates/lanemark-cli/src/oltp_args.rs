//! The arguments of `lanemark oltp`.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Subcommand};
use lanemark_oltp::{Database, Profile};
use lanemark_schema::units::Bytes;
use lanemark_schema::units::Duration;
#[cfg(feature = "serve")]
use lanemark_serve::clock::TimeScale;

#[cfg(feature = "serve")]
use crate::args::LibraryArgs;

#[derive(Debug, ClapArgs)]
pub(crate) struct OltpArgs {
    #[command(subcommand)]
    pub(crate) command: OltpCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OltpCommand {
    /// Load warehouses into a database; a load that was cut short goes on
    Load(OltpLoadArgs),
    /// Keep what was loaded under a name, beside the database: a file FILE.kept-NAME, or a database
    /// lanemark_kept_NAME of the server
    Keep(OltpKeepArgs),
    /// Bring back what was kept, in place of what is there now
    Restore(OltpKeepArgs),
    /// Run users against what was loaded
    Run(OltpRunArgs),
    /// Check what is there: the twelve consistency conditions of TPC-C, and the rows and values of every table
    Check(OltpDatabaseArgs),
    /// Compare two saved runs
    Compare(OltpCompareArgs),
    /// Make of a saved run a workload that simulated systems can be given
    Workload(OltpWorkloadArgs),
    /// Run users on PostgreSQL over both served systems of a study, at a time scale at which this machine's processors
    /// stand for the study's, and set measured beside simulated and published figures; needs root
    #[cfg(feature = "serve")]
    Live(OltpLiveArgs),
}

#[derive(Debug, ClapArgs)]
pub(crate) struct OltpWorkloadArgs {
    /// A file that `oltp run` has saved
    pub(crate) run: PathBuf,
    /// Write it there, and not to the terminal; the name then goes in the place of a workload's
    #[arg(long, value_name = "FILE.toml")]
    pub(crate) out: Option<PathBuf>,
}

/// Help for the values of `--database`, by the databases that are built in.
const DATABASE: &str = match cfg!(feature = "full") {
    true => {
        "sqlite:FILE, postgres://USER@HOST:PORT/NAME, where everything goes to a schema \
         lanemark_oltp, or mysql://USER@HOST:PORT/NAME of MariaDB or MySQL, where NAME is made"
    }
    false => {
        "sqlite:FILE, or postgres://USER@HOST:PORT/NAME, where everything goes to a schema \
         lanemark_oltp"
    }
};

#[derive(Debug, ClapArgs)]
pub(crate) struct OltpDatabaseArgs {
    /// The database
    #[arg(long, value_name = "DATABASE", default_value = "sqlite:oltp.db", help = DATABASE)]
    pub(crate) database: Database,
    /// Start a PostgreSQL server in this folder, from the installed programs, and stop it at the end; its data
    /// stays. The folder is made, or was made by this option
    #[arg(long, value_name = "DIR", conflicts_with = "database")]
    pub(crate) managed: Option<PathBuf>,
    /// The buffer of that server
    #[arg(long, value_name = "SIZE", requires = "managed", default_value = "128 MiB")]
    pub(crate) shared_buffers: Bytes,
    /// Let that server read and write its tables past the system's page cache, so that its buffer is the only
    /// one; PostgreSQL 16 and newer
    #[arg(long, requires = "managed")]
    pub(crate) direct_io: bool,
    /// Take that server's programs from the Maven registry, PostgreSQL 17.11, instead of the installed ones;
    /// they are fetched once and kept
    #[arg(long, requires = "managed")]
    pub(crate) download: bool,
    #[command(flatten)]
    pub(crate) fetched: FetchedArgs,
    /// Remove that server's folder with all data at the end
    #[arg(long, requires = "managed")]
    pub(crate) remove: bool,
}

/// Options of programs that are fetched.
#[derive(Debug, ClapArgs)]
pub(crate) struct FetchedArgs {
    /// Folder of fetched programs [default: lanemark in the account's cache folder]
    #[arg(long, value_name = "DIR", requires = "download")]
    pub(crate) cache: Option<PathBuf>,
    /// The registry they come from, or a mirror of it; they are the same by their SHA-256
    #[arg(long, value_name = "URL", requires = "download", default_value = lanemark_oltp::download::REGISTRY)]
    pub(crate) registry: String,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct OltpLoadArgs {
    #[command(flatten)]
    pub(crate) database: OltpDatabaseArgs,
    /// Warehouses, of about 100 MB each
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) warehouses: i64,
    /// The seed of the contents
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Divide items and customers, for tests only
    #[arg(long, value_name = "DIVISOR", default_value_t = 1)]
    pub(crate) scale: i64,
    /// Connections that load at once; SQLite has one [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// Replace what the database of this name holds: the file's name, or the server's database's, of which only
    /// the schema lanemark_oltp is replaced
    #[arg(long, value_name = "NAME")]
    pub(crate) overwrite: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct OltpKeepArgs {
    /// The name: small letters, digits, underscores
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) database: OltpDatabaseArgs,
    /// Replace what is in the way: of `keep` what is kept under this name, of `restore` a database of this name that
    /// holds anything else
    #[arg(long, value_name = "NAME")]
    pub(crate) overwrite: Option<String>,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Profiles:
  tpcc      45/43/4/4/4 of 100, as a deck of cards; NURand
  hammerdb  10/10/1/1/1 of 23, each drawn by itself; uniform customers and items

A TPC-C-derived workload: its figures are no TPC results.")]
pub(crate) struct OltpRunArgs {
    #[command(flatten)]
    pub(crate) database: OltpDatabaseArgs,
    /// Users at once, at most ten a warehouse
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub(crate) users: u32,
    /// The mix: tpcc or hammerdb
    #[arg(long, default_value = "tpcc")]
    pub(crate) profile: Profile,
    /// Let users key and think as the specification says, instead of asking at once
    #[arg(long)]
    pub(crate) think_times: bool,
    /// Let the server do each transaction as one procedure instead of statement by statement; on PostgreSQL
    #[arg(long)]
    pub(crate) procedures: bool,
    /// Let users spend this time outside the database after each transaction: a client, a network
    #[arg(long, value_name = "TIME", default_value = "0 s", conflicts_with = "think_times")]
    pub(crate) pause: Duration,
    /// Time that users work before anything counts
    #[arg(long, value_name = "TIME", default_value = "30 s")]
    pub(crate) ramp: Duration,
    /// Time that counts, in each repeat
    #[arg(long, value_name = "TIME", default_value = "1 min")]
    pub(crate) duration: Duration,
    /// Repeats
    #[arg(long, value_name = "N", default_value_t = 3)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) repeats: u32,
    /// The seed of what users ask for
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Print the result as JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
    /// Folder to save the result in, or a new file that ends in .json [default: $LANEMARK_RESULTS, else lanemark
    /// in the user's state folder, ~/.local/state]
    #[arg(long, value_name = "PATH")]
    pub(crate) out: Option<PathBuf>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct OltpCompareArgs {
    /// The first run
    pub(crate) from: PathBuf,
    /// The second run
    pub(crate) to: PathBuf,
    /// Servers that do as the first run, of which some are left out where the second is faster
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) nodes: u32,
}

#[cfg(feature = "serve")]
#[derive(Debug, ClapArgs)]
#[command(after_help = "\
Everything that is started, attached or mounted is gone when the command ends, however it does. Mounts are
seen by this command alone. PostgreSQL 16 or newer is needed, or --download.")]
pub(crate) struct OltpLiveArgs {
    /// A study of a database whose [answer] compares two systems: a built-in one by its name, or a file
    #[arg(default_value = "oltp-value-sas")]
    pub(crate) study: PathBuf,
    #[command(flatten)]
    pub(crate) library: LibraryArgs,
    /// A small database and seconds instead of minutes, to see that it works: its figures mean nothing
    #[arg(long)]
    pub(crate) short: bool,
    /// Make the drives so many times slower [default: so that processors are as busy as the study's were]
    #[arg(long, value_name = "FACTOR")]
    pub(crate) time_scale: Option<TimeScale>,
    /// Turns, in each of which both systems are served, one after the other [default: 3, with --short 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) turns: Option<u32>,
    /// Time that users work before anything counts, in each turn [default: 30 s, with --short 2 s]
    #[arg(long, value_name = "TIME")]
    pub(crate) ramp: Option<Duration>,
    /// Time that counts, in each turn [default: 40 s, with --short 4 s]
    #[arg(long, value_name = "TIME")]
    pub(crate) duration: Option<Duration>,
    /// Warehouses [default: one a user, with --short one for ten]
    #[arg(long, value_name = "N")]
    #[arg(value_parser = clap::value_parser!(i64).range(1..=10_000))]
    pub(crate) warehouses: Option<i64>,
    /// Divide items and customers, and with them what a turn needs to warm up [default: 10, with --short 100]
    #[arg(long, value_name = "DIVISOR")]
    #[arg(value_parser = clap::value_parser!(i64).range(1..=100))]
    pub(crate) scale: Option<i64>,
    /// Servers that do as the first system, of which some are left out where the second is faster
    #[arg(long, value_name = "N", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) nodes: u32,
    /// The seed of what users ask for and of the contents
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Take PostgreSQL's programs from the Maven registry, PostgreSQL 17.11, instead of the installed ones; they are
    /// fetched once and kept
    #[arg(long)]
    pub(crate) download: bool,
    #[command(flatten)]
    pub(crate) fetched: FetchedArgs,
    /// Folder for the loaded database, removed at the end [default: the system's for temporary files]
    #[arg(long, value_name = "DIR")]
    pub(crate) folder: Option<PathBuf>,
    /// Folder to save the result of each system in [default: $LANEMARK_RESULTS, else lanemark in the user's
    /// state folder, ~/.local/state]
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Write the figures side by side as CSV
    #[arg(long, value_name = "FILE.csv")]
    pub(crate) csv: Option<PathBuf>,
}

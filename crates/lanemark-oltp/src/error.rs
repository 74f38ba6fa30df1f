//! The errors between Lanemark and a database.

use crate::known::{DATA_VERSION, NAMES};

/// The error of loading, running or checking.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OltpError {
    /// A number out of its bounds.
    #[error("{what}: {value} is not from {min} to {max}")]
    Bound {
        /// Name of the number.
        what: &'static str,
        /// Value of the number.
        value: i64,
        /// Least value.
        min: i64,
        /// Greatest value.
        max: i64,
    },
    /// A run that does not know what it is asked for.
    #[error("the run does not know {what}")]
    Unknown {
        /// Name of the missing setting.
        what: &'static str,
    },
    /// A database's name that means none.
    #[error("{0}: names no database")]
    Name(String),
    /// No PostgreSQL is installed.
    #[error("PostgreSQL: its programs initdb and postgres are not installed")]
    NoPrograms,
    /// A database that this build leaves out.
    #[error("{database}: not in this build; one made with --features {feature} has it")]
    NotBuiltIn {
        /// Name of the database that was given.
        database: &'static str,
        /// The feature that has it.
        feature: &'static str,
    },
    /// No server answers, or it lets us not in.
    #[error("{database}: can't be reached: {reason}")]
    Unreachable {
        /// The database, without its password.
        database: String,
        /// The server's or system's words.
        reason: String,
    },
    /// The account or file lacks rights.
    #[error("{database}: no rights: {reason}")]
    Rights {
        /// The database.
        database: String,
        /// The server's words.
        reason: String,
    },
    /// A database that was not loaded by Lanemark.
    #[error("{0}: exists and was not made by Lanemark")]
    Foreign(String),
    /// A database that Lanemark loaded with other settings.
    #[error("{database}: holds {found}, not {wanted}")]
    Different {
        /// The database.
        database: String,
        /// Settings of the data that is there.
        found: String,
        /// Settings that were asked for.
        wanted: String,
    },
    /// `--overwrite` names something else.
    #[error("--overwrite {given}: the database is {name}")]
    OverwriteMismatch {
        /// Name that was given.
        given: String,
        /// The database's name.
        name: String,
    },
    /// A database of Lanemark's that holds foreign content besides.
    #[error("{database}: also holds what Lanemark did not make: {what}")]
    Beside {
        /// The database.
        database: String,
        /// Content that is not Lanemark's.
        what: String,
    },
    /// A database that others use while it has to be used alone.
    #[error("in use: {0}")]
    InUse(String),
    /// A name under which nothing can be kept.
    #[error("{0:?}: names nothing that could be kept")]
    KeptName(String),
    /// A name under which contents are kept already.
    #[error("{database}: something is kept as {name}")]
    Kept {
        /// The database.
        database: String,
        /// Name under which the contents are kept.
        name: String,
    },
    /// The name has no kept database.
    #[error("{database}: nothing is kept as {name}")]
    NotKept {
        /// The database.
        database: String,
        /// Name that was given.
        name: String,
        /// The names of what is kept.
        kept: Vec<String>,
    },
    /// The database has no data of Lanemark's.
    #[error("{0}: has no data of Lanemark's")]
    NotLoaded(String),
    /// Loading was cut short.
    #[error("{database}: loading is not complete: {loaded} of {warehouses} warehouses")]
    Incomplete {
        /// The database.
        database: String,
        /// Warehouses that are loaded.
        loaded: i64,
        /// Warehouses in all.
        warehouses: i64,
    },
    /// Data of another version.
    #[error("{database}: has data of version {found}, and this program reads {DATA_VERSION}")]
    Version {
        /// The database.
        database: String,
        /// Version of the data.
        found: i64,
    },
    /// More users than terminals.
    #[error("{users} users need {} warehouses, ten users each, and there are {warehouses}", (users + 9) / 10)]
    Users {
        /// Users asked for.
        users: i64,
        /// Warehouses there are.
        warehouses: i64,
    },
    /// The database, or the version of it, does not have what was asked for.
    #[error("{what}: {reason}")]
    Lacks {
        /// Feature that was asked for.
        what: String,
        /// Reason why it is not there.
        reason: String,
    },
    /// A conflict with another transaction; a retry may succeed.
    #[error("a transaction was in another's way: {0}")]
    Conflict(String),
    /// A load that would not fit.
    #[error(
        "{database}: loading takes at least {:.1} GB, and {:.1} GB are free below {}",
        *.needed as f64 / 1e9, *.free as f64 / 1e9, below.display()
    )]
    NoRoom {
        /// The database.
        database: String,
        /// Bytes that the load takes, with its log.
        needed: u64,
        /// Bytes that are free, or will be.
        free: u64,
        /// Folder of the file system.
        below: std::path::PathBuf,
    },
    /// No room left.
    #[error("no room is left: {0}")]
    Full(String),
    /// The database says no.
    #[error("the database: {0}")]
    Database(String),
    /// A row that should be there is not.
    #[error("the data is damaged: {0}")]
    Damaged(String),
    /// A file or program of this machine.
    #[error("{what}: {reason}")]
    System {
        /// The file or program.
        what: String,
        /// The system's words.
        reason: String,
    },
    /// The person asked to stop.
    #[error("stopped")]
    Stopped,
}

impl OltpError {
    /// Whether nothing was touched because it might be somebody's.
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Foreign(_)
                | Self::Different { .. }
                | Self::OverwriteMismatch { .. }
                | Self::Beside { .. }
                | Self::Kept { .. }
        )
    }

    /// Whether something that was given is wrong.
    pub fn is_input(&self) -> bool {
        matches!(
            self,
            Self::Bound { .. }
                | Self::Unknown { .. }
                | Self::Name(_)
                | Self::NotBuiltIn { .. }
                | Self::NoPrograms
                | Self::Unreachable { .. }
                | Self::Rights { .. }
                | Self::NotLoaded(_)
                | Self::Incomplete { .. }
                | Self::Version { .. }
                | Self::Users { .. }
                | Self::NoRoom { .. }
                | Self::Lacks { .. }
                | Self::InUse(_)
                | Self::KeptName(_)
                | Self::NotKept { .. }
        )
    }

    /// Returns advice on how to go on.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Name(_) => format!("write {NAMES}"),
            Self::NoPrograms => {
                "install the package postgresql, or fetch the programs: --download".to_owned()
            }
            Self::Unreachable { .. } => {
                "is the server running, and are host, port, name and password right?".to_owned()
            }
            Self::Rights { .. } => "give an account that may make a schema there".to_owned(),
            Self::Foreign(name) => format!("to replace it: --overwrite {}", base_name(name)),
            Self::Different { database, .. } => {
                format!("to replace it: --overwrite {}", base_name(database))
            }
            Self::Unknown { .. } => {
                "run it again on a database whose server and device are of this machine".to_owned()
            }
            Self::Beside { .. } => "give Lanemark a database of its own".to_owned(),
            Self::InUse(_) => "end what else uses it".to_owned(),
            Self::KeptName(_) => "take up to 40 small letters, digits and underscores".to_owned(),
            Self::Kept { name, .. } => format!("to replace it: --overwrite {name}"),
            Self::NotKept { kept, .. } if kept.is_empty() => {
                "keep it first: lanemark oltp keep NAME".to_owned()
            }
            Self::NotKept { kept, .. } => format!("there is {}", kept.join(", ")),
            Self::NotLoaded(_) => "load first: lanemark oltp load".to_owned(),
            Self::Incomplete { .. } => {
                "load again with the same settings; what is there is kept".to_owned()
            }
            Self::Version { .. } => "load it anew".to_owned(),
            Self::Users { .. } => "take fewer --users, or load more --warehouses".to_owned(),
            Self::NoRoom { .. } => "load fewer --warehouses, or make room".to_owned(),
            Self::Full(_) => "make room, then load again: what is there is kept".to_owned(),
            Self::System { reason, .. } if reason.contains("No space left on device") => {
                "make room, then do it again: what is there is kept".to_owned()
            }
            _ => return None,
        })
    }
}

/// The part of a database's name that `--overwrite` takes.
pub(crate) fn base_name(name: &str) -> &str {
    name.rsplit(['/', ':']).next().unwrap_or(name)
}

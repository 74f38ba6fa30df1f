//! Errors that can occur while working with a database.

use crate::schemes::{DATA_VERSION, NAMES};

/// An error while loading, running or checking.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OltpError {
    /// A number outside its bounds.
    #[error("{what}: {value} is not between {min} and {max}")]
    Bound {
        what: &'static str,
        value: i64,
        /// Smallest accepted value.
        min: i64,
        /// Largest accepted value.
        max: i64,
    },
    /// A run result that does not contain a required setting.
    #[error("the run does not contain {what}")]
    Unknown {
        /// Name of the missing setting.
        what: &'static str,
    },
    /// A name that does not name a database.
    #[error("{0} does not name a database")]
    Name(String),
    /// PostgreSQL's programs are not installed.
    #[error("PostgreSQL: its programs initdb and postgres are not installed")]
    NoPrograms,
    /// A database that this build does not support.
    #[error("{database}: not in this build; build with --features {feature}")]
    NotBuiltIn {
        /// Type of the named database.
        database: &'static str,
        /// The Cargo feature that adds the database.
        feature: &'static str,
    },
    /// The server does not answer, or rejects the connection.
    #[error("{database}: can't be reached: {reason}")]
    Unreachable {
        /// The database, without its password.
        database: String,
        /// The message of the server or the system.
        reason: String,
    },
    /// The account or the permissions of the file do not allow this.
    #[error("{database}: permission denied: {reason}")]
    Rights {
        database: String,
        /// The server's message.
        reason: String,
    },
    /// A database that was not loaded by Lanemark.
    #[error("{0} exists and was not created by Lanemark")]
    Foreign(String),
    /// A database that Lanemark loaded with other settings.
    #[error("{database} contains {found}, not {wanted}")]
    Different {
        database: String,
        /// Settings of the existing data.
        found: String,
        /// Requested settings.
        wanted: String,
    },
    /// `--overwrite` names a different database.
    #[error("--overwrite {given}: the database is {name}")]
    OverwriteMismatch {
        given: String,
        /// The database's name.
        name: String,
    },
    /// A database that must be used exclusively, but is also used by another program.
    #[error("in use: {0}")]
    InUse(String),
    /// The database contains no Lanemark data.
    #[error("{0} contains no Lanemark data")]
    NotLoaded(String),
    /// An interrupted load.
    #[error("{database}: loading is not complete: {loaded} of {warehouses} warehouses are loaded")]
    Incomplete {
        database: String,
        /// Number of loaded warehouses.
        loaded: i64,
        /// Number of warehouses of the scale.
        warehouses: i64,
    },
    /// Data of another version.
    #[error(
        "{database} contains data of version {found}, but this program reads version {DATA_VERSION}"
    )]
    Version {
        database: String,
        /// Version of the data.
        found: i64,
    },
    /// There are more users than terminals.
    #[error("{users} users require {} warehouses (one per ten users), but the database contains {warehouses}", (users + 9) / 10)]
    Users { users: i64, warehouses: i64 },
    /// The database, or this version of it, does not support the requested feature.
    #[error("{what}: {reason}")]
    Lacks {
        /// The requested feature.
        what: String,
        /// Reason why the feature is not supported.
        reason: String,
    },
    /// A conflict with another transaction; a retry may succeed.
    #[error("a transaction conflicted with another: {0}")]
    Conflict(String),
    /// A load that does not fit on the file system.
    #[error(
        "{database}: loading needs {:.1} GB or more, but {:.1} GB are free in {}",
        *.needed as f64 / 1e9, *.free as f64 / 1e9, below.display()
    )]
    NoRoom {
        database: String,
        /// Bytes that the load needs, including the log.
        needed: u64,
        /// Bytes that are free or that the load will free.
        free: u64,
        /// A path in the file system.
        below: std::path::PathBuf,
    },
    /// The file system is full.
    #[error("no space is left: {0}")]
    Full(String),
    /// Any other error of the database.
    #[error("the database: {0}")]
    Database(String),
    /// An expected row is missing.
    #[error("the data is damaged: {0}")]
    Damaged(String),
    /// An error of a file or program of this machine.
    #[error("{what}: {reason}")]
    System {
        /// The file or program.
        what: String,
        /// The system's message.
        reason: String,
    },
    /// The user stopped the command.
    #[error("stopped")]
    Stopped,
}

impl OltpError {
    /// Returns whether the command refused to change data that may belong to another user or program.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Foreign(_) | Self::Different { .. } | Self::OverwriteMismatch { .. })
    }

    /// Returns whether an argument was invalid.
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
        )
    }

    /// Returns advice on how to continue.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Name(_) => format!("write {NAMES}"),
            Self::NoPrograms => "install the package postgresql".to_owned(),
            Self::Unreachable { .. } => {
                "check that the server is running, and that host, port, name and password are correct".to_owned()
            }
            Self::Rights { .. } => "use an account that may create a schema there".to_owned(),
            Self::Foreign(name) => format!("to replace it: --overwrite {}", base_name(name)),
            Self::Different { database, .. } => {
                format!("to replace it: --overwrite {}", base_name(database))
            }
            Self::Unknown { .. } => {
                "run it again on a database whose server and device are on this machine".to_owned()
            }
            Self::InUse(_) => "end the other program that uses it".to_owned(),
            Self::NotLoaded(_) => "load first: lanemark oltp load".to_owned(),
            Self::Incomplete { .. } => {
                "load again with the same settings; existing data is kept".to_owned()
            }
            Self::Version { .. } => "load it again".to_owned(),
            Self::Users { .. } => "use fewer --users, or load more --warehouses".to_owned(),
            Self::NoRoom { .. } => "load fewer --warehouses, or free some space".to_owned(),
            Self::Full(_) => "free some space, then load again: existing data is kept".to_owned(),
            Self::System { reason, .. } if reason.contains("No space left on device") => {
                "free some space, then try again: existing data is kept".to_owned()
            }
            _ => return None,
        })
    }
}

/// Returns the part of a database's name that `--overwrite` requires.
pub(crate) fn base_name(name: &str) -> &str {
    name.rsplit(['/', ':']).next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_that_the_user_can_mend_has_advice() {
        let text = |text: &str| text.to_owned();
        for (error, advice) in [
            (OltpError::NoPrograms, Some("package postgresql")),
            (OltpError::Foreign(text("server:5432/shop")), Some("--overwrite shop")),
            (OltpError::InUse(text("shop")), Some("end the other program")),
            (OltpError::NotLoaded(text("shop")), Some("oltp load")),
            (OltpError::Full(text("shop")), Some("free some space")),
            (OltpError::Database(text("a syntax error")), None),
            (OltpError::Stopped, None),
        ] {
            match (error.hint(), advice) {
                (Some(hint), Some(advice)) => assert!(hint.contains(advice), "{error}: {hint}"),
                (hint, advice) => assert_eq!(hint.as_deref(), advice, "{error}"),
            }
        }
    }
}

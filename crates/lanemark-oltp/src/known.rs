//! The knowledge of this build: kinds of databases, and the version of their data.

/// Names of a database in this build.
pub(crate) const NAMES: &str = match (cfg!(feature = "postgres"), cfg!(feature = "mysql")) {
    (false, false) => "sqlite:FILE",
    (true, false) => "sqlite:FILE or postgres://USER@HOST:PORT/NAME",
    (false, true) => "sqlite:FILE or mysql://USER@HOST:PORT/NAME",
    (true, true) => "sqlite:FILE, postgres://USER@HOST:PORT/NAME or mysql://USER@HOST:PORT/NAME",
};

/// The version of tables and contents; data of another version is refused.
pub(crate) const DATA_VERSION: i64 = 1;

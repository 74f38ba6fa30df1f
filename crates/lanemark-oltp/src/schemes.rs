//! The databases that this build supports, and the version of their data.

/// Names of the databases in this build, for error messages.
pub(crate) const NAMES: &str = if cfg!(feature = "mysql") {
    "sqlite:FILE, postgres://USER@HOST:PORT/NAME or mysql://USER@HOST:PORT/NAME"
} else {
    "sqlite:FILE or postgres://USER@HOST:PORT/NAME"
};

/// The version of tables and contents; data of a different version is rejected.
pub(crate) const DATA_VERSION: i64 = 1;

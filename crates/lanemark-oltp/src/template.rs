//! Contents kept under a name beside their database, and brought back as they were, in the time of a copy.
//!
//! SQLite copies the file, PostgreSQL the database within its server. What is kept is what is there at that moment, so
//! one keeps right after loading. Whoever else is connected must go first.

use std::time::Instant;

use crate::backend::{Templates, check_kept_name};
use crate::database::Database;
use crate::error::OltpError;

/// Keeps what a database holds as `name`; the seconds it took. `overwrite` names one that may be replaced.
pub fn keep(database: &Database, name: &str, overwrite: Option<&str>) -> Result<f64, OltpError> {
    check_kept_name(name)?;
    if let Some(given) = overwrite.filter(|&given| given != name) {
        let (given, name) = (given.to_owned(), name.to_owned());
        return Err(OltpError::OverwriteMismatch { given, name });
    }
    database.loaded()?;
    let begun = Instant::now();
    templates(database)?.keep(name, overwrite.is_some())?;
    Ok(begun.elapsed().as_secs_f64())
}

/// Brings back what was kept as `name`; the seconds it took. Contents of the same scale and seed are replaced, any
/// others only where `overwrite` names the database.
pub fn restore(database: &Database, name: &str, overwrite: Option<&str>) -> Result<f64, OltpError> {
    check_kept_name(name)?;
    database.check_called(overwrite)?;
    let begun = Instant::now();
    templates(database)?.restore(name, overwrite.is_some())?;
    Ok(begun.elapsed().as_secs_f64())
}

fn templates(database: &Database) -> Result<&dyn Templates, OltpError> {
    let backend = database.backend();
    let lacking = || backend.lacks("templates", "has none; load it anew");
    backend.templates().ok_or_else(lacking)
}

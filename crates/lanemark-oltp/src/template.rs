//! Templates: copies of a database's contents under a name, next to the database. Restoring a template takes as long as
//! copying it.
//!
//! SQLite copies the file; PostgreSQL copies the database within its server. A template contains the contents at the
//! time of the copy, so the best time to create it is directly after loading. All other connections must be closed
//! first.

use std::time::Instant;

use crate::backend::{Templates, check_kept_name};
use crate::database::Database;
use crate::error::OltpError;

/// Copies a database's contents to the template `name`; returns the duration in seconds. `overwrite` names a template
/// that may be replaced.
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

/// Restores the template `name`; returns the duration in seconds. Contents with the same scale and seed are replaced;
/// other contents are replaced only if `overwrite` names the database.
pub fn restore(database: &Database, name: &str, overwrite: Option<&str>) -> Result<f64, OltpError> {
    check_kept_name(name)?;
    database.check_called(overwrite)?;
    let begun = Instant::now();
    templates(database)?.restore(name, overwrite.is_some())?;
    Ok(begun.elapsed().as_secs_f64())
}

fn templates(database: &Database) -> Result<&dyn Templates, OltpError> {
    let backend = database.backend();
    let lacking = || backend.lacks("templates", "load the data again");
    backend.templates().ok_or_else(lacking)
}

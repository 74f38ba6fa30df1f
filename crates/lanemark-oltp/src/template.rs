//! Contents kept under a name beside their database, and brought back as they were, in the time of a copy.
//!
//! SQLite: the file `FILE.kept-NAME`, copied with `copy_file_range`, which shares blocks where the file system can.
//! PostgreSQL: the database `lanemark_kept_NAME` of the same server, copied file by file. What is kept is what is there
//! at that moment, so one keeps right after loading. Whoever else is connected must go first.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::database::{Database, Holding};
use crate::error::{OltpError, base_name};
#[cfg(feature = "postgres")]
use crate::postgres;
use crate::schema::{Scale, Table};
use crate::sqlite::Sqlite;

/// The longest name.
const NAME_MAX: usize = 40;

/// Keeps what a database holds as `name`; the seconds it took. `overwrite` names one that may be replaced.
pub fn keep(database: &Database, name: &str, overwrite: Option<&str>) -> Result<f64, OltpError> {
    check_name(name)?;
    if let Some(given) = overwrite.filter(|&given| given != name) {
        return Err(OltpError::OverwriteMismatch {
            given: given.to_owned(),
            name: name.to_owned(),
        });
    }
    database.loaded()?;
    let begun = Instant::now();
    match database {
        Database::Sqlite(path) => {
            refuse_others(database)?;
            let kept = kept_file(path, name);
            if overwrite.is_none() && kept.exists() {
                return Err(OltpError::Kept { database: database.name(), name: name.to_owned() });
            }
            Sqlite::alone(path, || copy(path, &kept))?;
        }
        #[cfg(feature = "postgres")]
        Database::Postgres(url) => {
            postgres::template::keep(database, url, name, overwrite.is_some())?;
        }
        #[cfg(feature = "mysql")]
        Database::Mysql(_) => return Err(lacking(database)),
    }
    Ok(begun.elapsed().as_secs_f64())
}

/// Brings back what was kept as `name`; the seconds it took. Contents of the same scale and seed are replaced, any
/// others only where `overwrite` names the database.
pub fn restore(database: &Database, name: &str, overwrite: Option<&str>) -> Result<f64, OltpError> {
    check_name(name)?;
    if let Some(given) = overwrite.filter(|given| !database.is_called(given)) {
        let name = base_name(&database.name()).to_owned();
        return Err(OltpError::OverwriteMismatch { given: given.to_owned(), name });
    }
    let begun = Instant::now();
    match database {
        Database::Sqlite(path) => restore_file(database, path, name, overwrite.is_some())?,
        #[cfg(feature = "postgres")]
        Database::Postgres(url) => {
            postgres::template::restore(database, url, name, overwrite.is_some())?;
        }
        #[cfg(feature = "mysql")]
        Database::Mysql(_) => return Err(lacking(database)),
    }
    Ok(begun.elapsed().as_secs_f64())
}

#[cfg(feature = "mysql")]
fn lacking(database: &Database) -> OltpError {
    let reason = format!("{} has none; load it anew", database.kind());
    OltpError::Lacks { what: "templates".to_owned(), reason }
}

/// Whether a name can be part of a file's and of a database's name.
fn check_name(name: &str) -> Result<(), OltpError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    match !name.is_empty() && name.len() <= NAME_MAX && name.bytes().all(plain) {
        true => Ok(()),
        false => Err(OltpError::KeptName(name.to_owned())),
    }
}

/// Refuses to lose contents that are not those of `scale`.
pub(crate) fn refuse_other(database: &Database, scale: &Scale) -> Result<(), OltpError> {
    match database.holding()? {
        Holding::Nothing => Ok(()),
        Holding::Foreign => Err(OltpError::Foreign(database.name())),
        Holding::Ours(loaded) if loaded.scale != *scale => Err(OltpError::Different {
            database: database.name(),
            found: loaded.scale.to_string(),
            wanted: scale.to_string(),
        }),
        Holding::Ours(_) => refuse_others(database),
    }
}

/// Refuses what holds anything beside our tables.
pub(crate) fn refuse_others(database: &Database) -> Result<(), OltpError> {
    let mut connection = database.connect()?;
    let mut other = None;
    let sql = match database {
        Database::Sqlite(_) => {
            "SELECT name FROM sqlite_master WHERE type <> 'index' AND name NOT LIKE 'sqlite_%'"
        }
        #[cfg(feature = "postgres")]
        Database::Postgres(_) => postgres::template::OTHERS,
        #[cfg(feature = "mysql")]
        Database::Mysql(_) => return Ok(()),
    };
    connection.scan(sql, &mut |row| {
        let name = row[0].text();
        let ours = name.starts_with("lanemark_") || Table::ALL.iter().any(|one| one.name() == name);
        if !ours {
            other.get_or_insert_with(|| name.to_owned());
        }
    })?;
    let beside = |what| OltpError::Beside { database: database.name(), what };
    other.map_or(Ok(()), |what| Err(beside(what)))
}

/// The file that keeps what `path` holds.
fn kept_file(path: &Path, name: &str) -> PathBuf {
    beside(path, &format!(".kept-{name}"))
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn restore_file(
    database: &Database,
    path: &Path,
    name: &str,
    overwrite: bool,
) -> Result<(), OltpError> {
    let kept = kept_file(path, name);
    if !kept.exists() {
        return Err(not_kept(database, name, kept_files(path)));
    }
    let scale = Database::Sqlite(kept.clone()).loaded()?.scale;
    if !overwrite {
        refuse_other(database, &scale)?;
    }
    if Sqlite::is_database(path) {
        return Sqlite::alone(path, || copy(&kept, path));
    }
    // Nothing is there, or what may be lost; the log of a file that is gone would be taken for the new one's.
    database.remove()?;
    copy(&kept, path)
}

pub(crate) fn not_kept(database: &Database, name: &str, mut kept: Vec<String>) -> OltpError {
    kept.sort();
    OltpError::NotKept { database: database.name(), name: name.to_owned(), kept }
}

/// The names that are kept of a file.
fn kept_files(path: &Path) -> Vec<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let start = kept_file(path, "").file_name().map(|name| name.to_string_lossy().into_owned());
    let start = start.unwrap_or_default();
    let entries = fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| {
        let name = entry.file_name().to_str()?.strip_prefix(&start)?.to_owned();
        check_name(&name).is_ok().then_some(name)
    });
    names.collect()
}

/// Copies a file whole or not at all.
fn copy(from: &Path, to: &Path) -> Result<(), OltpError> {
    let part = beside(to, ".part");
    let copied = fs::copy(from, &part)
        .and_then(|_| File::open(&part)?.sync_all())
        .and_then(|()| fs::rename(&part, to));
    copied.map_err(|error| {
        let _ = fs::remove_file(&part);
        match error.kind() {
            std::io::ErrorKind::StorageFull => OltpError::Full(to.display().to_string()),
            _ => OltpError::System { what: to.display().to_string(), reason: error.to_string() },
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        assert!(check_name("fresh_100w").is_ok());
        for name in ["", "a/b", "Fresh", "x\"; DROP", &"x".repeat(41)] {
            assert!(check_name(name).is_err(), "{name}");
        }
    }
}

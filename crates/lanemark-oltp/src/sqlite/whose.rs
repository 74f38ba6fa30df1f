//! A look at whose an SQLite file is, which changes nothing: neither the file, nor its log, nor the folder.
//!
//! Any connection that may write does: it switches the journal, rolls back what a crash left, ends a log when it goes.
//! So whose a file is gets looked at through one that may not. How depends on what lies there (SQLite, "Write-Ahead
//! Logging", section on read-only databases; "Uniform Resource Identifiers", `immutable` and `readonly_shm`):
//!
//! - a file with a rollback journal is opened read-only, with locks, which other programs expect;
//! - one with a write-ahead log in use is opened read-only together with the log's index;
//! - one whose log has no index, or whose journal waits to be rolled back, is read as it lies there, without either.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;
use std::time::Duration;

use rusqlite::OpenFlags;

use super::{Sqlite, at_opening, from_sqlite};
use crate::backend::{Holding, read_loaded};
use crate::error::OltpError;
use crate::session::Connection as _;
use lanemark_core::result::Counters;

/// First bytes of every SQLite file.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Offset of the file's write version in the head, and its value for a write-ahead log.
const WRITE_VERSION: (usize, u8) = (18, 2);
/// Time that a look waits for a writer before the file is read as it lies there.
const BUSY: Duration = Duration::from_secs(1);
/// Query for all that has a name, which a file that nobody has used lacks.
const NAMES: &str = "SELECT name FROM sqlite_master";
/// Numbers that programs set on files of theirs.
const MARKS: &str =
    "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version";

/// The head of a file; nothing where it ends before.
fn head(path: &Path) -> std::io::Result<Option<[u8; 100]>> {
    let mut head = [0; 100];
    match File::open(path)?.read_exact(&mut head) {
        Ok(()) => Ok(Some(head)),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the contents of `path`.
pub(crate) fn holding(path: &Path) -> Result<Holding, OltpError> {
    let lacks = |error: std::io::Error| OltpError::Rights {
        database: format!("sqlite:{}", path.display()),
        reason: error.to_string(),
    };
    match path.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Holding::Nothing),
        Err(error) => return Err(lacks(error)),
        Ok(found) if !found.is_file() => return Ok(Holding::Foreign),
        // A load that was killed before its first commit leaves an empty file.
        Ok(found) if found.len() == 0 => return Ok(Holding::Nothing),
        Ok(_) => {}
    }
    let Some(head) = head(path).map_err(lacks)?.filter(|head| head.starts_with(MAGIC)) else {
        return Ok(Holding::Foreign);
    };
    let [_, log, index] = Sqlite::files(path);
    let logged = head[WRITE_VERSION.0] == WRITE_VERSION.1;
    let ways: &[&str] = match logged {
        true if index.exists() => &["mode=ro&readonly_shm=1", "immutable=1"],
        true => &["immutable=1"],
        false => &["mode=ro", "immutable=1"],
    };
    // A log whose index is gone is not read, so what is in it alone cannot be told from nothing.
    let unread = logged && !index.exists() && log.metadata().is_ok_and(|found| found.len() > 0);
    // What begins as SQLite's files do and can't be read is not ours to judge either.
    let Some((mut seen, ours)) = ways.iter().find_map(|way| look(path, way).ok()) else {
        return Ok(Holding::Foreign);
    };
    Ok(match ours {
        Some(true) => read_loaded(&mut seen).map_or(Holding::Foreign, Holding::Ours),
        None if !unread => Holding::Nothing,
        _ => Holding::Foreign,
    })
}

/// A connection that can only read, with whether a table there bears our name; with nothing where the file holds
/// nothing and nobody has marked it.
fn look(path: &Path, way: &str) -> Result<(Sqlite, Option<bool>), OltpError> {
    let uri = uri(path, way);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let inner = rusqlite::Connection::open_with_flags(uri, flags);
    let inner = inner.map_err(|error| at_opening(path, &error))?;
    inner.busy_timeout(BUSY).map_err(from_sqlite)?;
    let mut seen = Sqlite { inner, counted: Counters::default() };
    let (names, marks) = (seen.rows(NAMES)?, seen.rows(MARKS)?);
    let marked = marks.iter().flatten().any(|mark| mark.int() != 0);
    let ours = names.iter().any(|row| row[0].text() == "lanemark_oltp");
    Ok((seen, (marked || !names.is_empty()).then_some(ours)))
}

/// The name that SQLite takes options with; every byte that could mean anything there is written as a number.
fn uri(path: &Path, way: &str) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    // Two slashes at the front would begin the name of a machine.
    let here = if path.is_absolute() { "/" } else { "./" };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    let encoded = |&byte: &u8| match plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02x}"),
    };
    let bytes: String = path.as_os_str().as_bytes().iter().map(encoded).collect();
    let trimmed = bytes.trim_start_matches('/');
    format!("file:{here}{trimmed}?{way}")
}

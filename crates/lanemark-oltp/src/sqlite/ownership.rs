//! Determines the owner of an SQLite file without changing the file, its log or the folder.
//!
//! A connection that may write changes files: it switches the journal mode, rolls back after a crash, and removes a log
//! when it closes. This check therefore uses a read-only connection. The method depends on the files (SQLite,
//! "Write-Ahead Logging", section on read-only databases; "Uniform Resource Identifiers", `immutable` and
//! `readonly_shm`):
//!
//! - a file in rollback-journal mode is opened read-only, with the locks that other programs expect;
//! - a file with a write-ahead log in use is opened read-only together with the log's index;
//! - a file whose log lacks an index, or whose journal requires a rollback, is read without its log and journal.

use std::io::ErrorKind;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use rusqlite::OpenFlags;

use super::opened::{self, FileBeginning};
use super::{MAGIC, SqliteConnection, at_opening, from_sqlite};
use crate::backend::{DatabaseContents, read_loaded};
use crate::error::OltpError;
use crate::session::Connection as _;
use lanemark_schema::result::DatabaseCounters;

/// Offset of the file's write version in the header, and the value for a write-ahead log.
const WRITE_VERSION: (usize, u8) = (18, 2);
/// Maximum time to wait for a writer before the file is read without locks.
const BUSY: Duration = Duration::from_secs(1);
/// Maximum number of checks of a file that changes during each check.
const CHECKS_MAX: usize = 20;
/// Pause before a file is checked again.
const PAUSE: Duration = Duration::from_millis(50);
/// Query for all named objects; an unused file contains no such object.
const NAMES: &str = "SELECT name FROM sqlite_master";
/// Query for the numbers with which programs mark their files.
const MARKS: &str =
    "SELECT application_id, user_version FROM pragma_application_id, pragma_user_version";

/// Returns the contents of `path`. A file that another load is creating may look foreign for a moment, so a file that
/// looks foreign is checked again if it changed during the check.
pub(crate) fn database_contents(path: &Path) -> Result<DatabaseContents, OltpError> {
    let is_foreign = |contents: &Result<DatabaseContents, _>| {
        contents.as_ref().is_ok_and(|contents| *contents == DatabaseContents::Foreign)
    };
    until_settled(|| contents_now(path), is_foreign, || file_states(path))
}

/// Returns the value of `read`. While the value `is_doubtful` and `state` changes during the call, `read` is called
/// again, up to [`CHECKS_MAX`] times in total.
fn until_settled<T, S: PartialEq>(
    mut read: impl FnMut() -> T,
    is_doubtful: impl Fn(&T) -> bool,
    mut state: impl FnMut() -> S,
) -> T {
    for _ in 1..CHECKS_MAX {
        let before = state();
        let value = read();
        if !is_doubtful(&value) || state() == before {
            return value;
        }
        sleep(PAUSE);
    }
    read()
}

/// Returns length and modification time of the file, its log and the log's index; `None` for a missing file.
fn file_states(path: &Path) -> [Option<(u64, Option<SystemTime>)>; 3] {
    let state = |found: std::fs::Metadata| (found.len(), found.modified().ok());
    SqliteConnection::files(path).map(|file| Some(state(file.metadata().ok()?)))
}

/// Returns the contents of `path` at this moment.
fn contents_now(path: &Path) -> Result<DatabaseContents, OltpError> {
    let lacks = |error: std::io::Error| OltpError::Rights {
        database: format!("sqlite:{}", path.display()),
        reason: error.to_string(),
    };
    match path.metadata() {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(DatabaseContents::Nothing),
        Err(error) => return Err(lacks(error)),
        Ok(found) if !found.is_file() => return Ok(DatabaseContents::Foreign),
        // A load that was killed before its first commit leaves an empty file.
        Ok(found) if found.len() == 0 => return Ok(DatabaseContents::Nothing),
        Ok(_) => {}
    }
    let [_, log, index] = SqliteConnection::files(path);
    let logged = match opened::read_beginning::<100>(path).map_err(lacks)? {
        // The connections of this process use a write-ahead log, whose index exists as long as they do.
        FileBeginning::OpenHere => index.exists(),
        FileBeginning::Read(Some(head)) if head.starts_with(MAGIC) => {
            head[WRITE_VERSION.0] == WRITE_VERSION.1
        }
        FileBeginning::Read(_) => return Ok(DatabaseContents::Foreign),
    };
    let modes: &[&str] = if !logged {
        &["mode=ro", "immutable=1"]
    } else if index.exists() {
        &["mode=ro&readonly_shm=1", "immutable=1"]
    } else {
        &["immutable=1"]
    };
    // A log without an index is not read. The log may contain tables, so the file does not count as empty.
    let unread = logged && !index.exists() && log.metadata().is_ok_and(|found| found.len() > 0);
    // A file that begins like an SQLite file but cannot be read counts as foreign.
    let Some((mut connection, ours)) = modes.iter().find_map(|mode| look(path, mode).ok()) else {
        return Ok(DatabaseContents::Foreign);
    };
    Ok(match ours {
        Some(true) => {
            read_loaded(&mut connection).map_or(DatabaseContents::Foreign, DatabaseContents::Ours)
        }
        None if !unread => DatabaseContents::Nothing,
        _ => DatabaseContents::Foreign,
    })
}

/// Opens a read-only connection, and returns whether a table has one of our names; `None` if the file is empty and no
/// program has marked it.
fn look(path: &Path, mode: &str) -> Result<(SqliteConnection, Option<bool>), OltpError> {
    let uri = uri(path, mode);
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let (inner, entry) =
        opened::connect(path, Path::new(&uri), flags).map_err(|error| at_opening(path, &error))?;
    inner.busy_timeout(BUSY).map_err(from_sqlite)?;
    let mut connection =
        SqliteConnection { inner, counted: DatabaseCounters::default(), _entry: entry };
    let names = connection.rows(NAMES)?;
    let marks = connection.rows(MARKS)?;
    let marked = marks.iter().flatten().any(|mark| mark.int() != 0);
    let ours = names.iter().any(|row| row[0].text() == "lanemark_oltp");
    Ok((connection, (marked || !names.is_empty()).then_some(ours)))
}

/// Returns the URI of a file with SQLite's options; every byte that could be syntax is percent-encoded.
fn uri(path: &Path, mode: &str) -> String {
    use std::os::unix::ffi::OsStrExt as _;
    // Two slashes at the front would begin a host name.
    let here = if path.is_absolute() { "/" } else { "./" };
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-".contains(&byte);
    let encoded = |&byte: &u8| {
        if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02x}") }
    };
    let bytes: String = path.as_os_str().as_bytes().iter().map(encoded).collect();
    let trimmed = bytes.trim_start_matches('/');
    format!("file:{here}{trimmed}?{mode}")
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn a_doubtful_value_is_read_again_only_while_the_files_change() {
        // The values of successive reads, whether the files change during each read, and the read that is returned.
        for (values, changes, wanted) in [
            (&["foreign", "ours"][..], &[true, true][..], 1),
            (&["ours", "foreign"], &[true, true], 0),
            (&["foreign", "ours"], &[false, true], 0),
            (&["foreign", "foreign", "ours"], &[true, false, true], 1),
        ] {
            let reads = Cell::new(0);
            let state = Cell::new(0);
            let read = || {
                let number = reads.get();
                reads.set(number + 1);
                state.set(state.get() + u32::from(changes[number]));
                (number, values[number])
            };
            let found = until_settled(read, |(_, value)| *value == "foreign", || state.get());
            assert_eq!(found, (wanted, values[wanted]), "{values:?} {changes:?}");
            assert_eq!(reads.get(), wanted + 1);
        }
    }

    #[test]
    fn a_file_that_never_settles_is_read_a_limited_number_of_times() {
        let reads = Cell::new(0);
        let state = Cell::new(0);
        let read = || reads.set(reads.get() + 1);
        let count = || {
            state.set(state.get() + 1);
            state.get()
        };
        until_settled(read, |()| true, count);
        assert_eq!(reads.get(), CHECKS_MAX);
    }
}

//! The files that SQLite keeps next to a database, and a check that SQLite created them.
//!
//! SQLite recognises its log and its journals by their first bytes, and treats a file with different first bytes as
//! empty: it overwrites or removes another program's `disk.db-wal` without a warning. This check therefore first
//! compares each file with SQLite's formats (SQLite, "Database File Format", sections 3 and 4.1; "WAL-mode File
//! Format", section 2.1): the first bytes are a magic number, or zeroes until SQLite has synced the file.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::Path;

use super::{companion_path, opened};
use crate::error::OltpError;

/// The suffixes of the file names, each with the valid first bytes.
const COMPANIONS: [(&str, &[&[u8]]); 3] = [
    ("-wal", &[&[0x37, 0x7f, 0x06, 0x82], &[0x37, 0x7f, 0x06, 0x83], &[0; 4]]),
    // The index begins with its version, 3007000, in the machine's byte order.
    ("-shm", &[&3_007_000_u32.to_ne_bytes(), &[0; 4]]),
    ("-journal", &[&[0xd9, 0xd5, 0x05, 0xf9], &[0; 4]]),
];

/// Rejects a database if a file of another program next to it has a name that SQLite uses. If this process has the
/// database open, SQLite has already accepted these files.
pub(super) fn check(path: &Path) -> Result<(), OltpError> {
    opened::unless_open(path, || check_files(path))
}

fn check_files(path: &Path) -> Result<(), OltpError> {
    // SQLite creates the files next to the target of a link.
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    for (ending, begins) in COMPANIONS {
        let file = companion_path(path, ending);
        let foreign = |reason: &str| {
            let reason = format!("exists and {reason}; move it away, or use a different database");
            OltpError::System { what: file.display().to_string(), reason }
        };
        match fs::symlink_metadata(&file) {
            Err(_) => continue,
            Ok(there) if !there.is_file() => return Err(foreign("is not a regular file")),
            Ok(there) if there.len() == 0 => continue,
            Ok(_) => {}
        }
        let mut first = [0xff; 4];
        match File::open(&file).and_then(|mut open| open.read_exact(&mut first)) {
            // Another connection has removed the file in the meantime.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            _ if begins.contains(&first.as_slice()) => {}
            _ => return Err(foreign("is not an SQLite file")),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::{SqliteConnection, SqliteFile};
    use super::*;
    use crate::backend::Backend as _;
    use crate::session::Connection as _;

    #[test]
    fn another_programs_file_is_refused_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk.db");
        drop(SqliteConnection::open(&path, true).unwrap());
        for (ending, _) in COMPANIONS {
            let file = companion_path(&path, ending);
            for content in ["an unrelated letter", "no"] {
                fs::write(&file, content).unwrap();
                assert!(SqliteConnection::open(&path, true).is_err(), "{ending}");
                assert!(SqliteFile(path.clone()).remove().is_err(), "{ending}");
                assert_eq!(fs::read_to_string(&file).unwrap(), content, "{ending}");
            }
            fs::remove_file(&file).unwrap();
            std::os::unix::fs::symlink(&path, &file).unwrap();
            assert!(SqliteConnection::open(&path, true).is_err(), "{ending}");
            fs::remove_file(&file).unwrap();
        }
        assert!(path.exists());
    }

    #[test]
    fn journals_that_sqlite_writes_are_recognised() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk.db");
        let mut first = SqliteConnection::open(&path, true).unwrap();
        first.script("CREATE TABLE one (a); INSERT INTO one VALUES (1)").unwrap();
        assert!(fs::metadata(companion_path(&path, "-wal")).unwrap().len() > 0);
        assert!(fs::metadata(companion_path(&path, "-shm")).unwrap().len() > 0);
        assert!(SqliteConnection::open(&path, false).is_ok());
        first
            .inner
            .execute_batch("PRAGMA journal_mode = DELETE; BEGIN IMMEDIATE; DELETE FROM one")
            .unwrap();
        assert!(companion_path(&path, "-journal").exists());
        assert!(check(&path).is_ok());
    }
}

//! The databases that this process has open, so that it never opens one of their files a second time by itself.
//!
//! SQLite locks a database and its index with POSIX locks (fcntl_locking(2)). They belong to the process, and the
//! kernel drops all of them as soon as the process closes any descriptor of the file. Another program could then
//! truncate the index, and the next access to the mapped index would end this process with SIGBUS. While a connection
//! exists, all files of its database are therefore read only through SQLite.
//!
//! A database is identified by device and inode, because it can have several names.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::OpenFlags;

/// The number of connections of each database that is open.
static OPEN: Mutex<BTreeMap<FileNumber, usize>> = Mutex::new(BTreeMap::new());

/// Device and inode of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct FileNumber(u64, u64);

impl FileNumber {
    /// Returns the number of the file at `path`, after links are followed.
    fn from_path(path: &Path) -> Option<Self> {
        let there = path.metadata().ok()?;
        Some(Self(there.dev(), there.ino()))
    }
}

/// The entry of an open connection. It must be dropped after the connection.
pub(super) struct OpenEntry(Option<FileNumber>);

impl Drop for OpenEntry {
    fn drop(&mut self) {
        let mut open = open_databases();
        let count = self.0.and_then(|number| Some((number, open.get(&number)?.saturating_sub(1))));
        match count {
            Some((number, 0)) => drop(open.remove(&number)),
            Some((number, left)) => drop(open.insert(number, left)),
            None => {}
        }
    }
}

/// Calls `act`, which may open and close the files of the database at `path`, unless this process has it open.
pub(super) fn unless_open<E>(path: &Path, act: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
    // No connection may be opened before the files are closed.
    let open = open_databases();
    if is_open(&open, path) { Ok(()) } else { act() }
}

/// Opens the database at `path`, which SQLite calls `name`.
pub(super) fn connect(
    path: &Path,
    name: &Path,
    flags: OpenFlags,
) -> rusqlite::Result<(rusqlite::Connection, OpenEntry)> {
    // The lock is held until the connection is in the list, so no other thread reads the files in between.
    let mut open = open_databases();
    let connection = rusqlite::Connection::open_with_flags(name, flags)?;
    let number = FileNumber::from_path(path);
    if let Some(number) = number {
        *open.entry(number).or_default() += 1;
    }
    Ok((connection, OpenEntry(number)))
}

/// The first bytes of a database.
pub(super) enum FileBeginning<const LENGTH: usize> {
    /// A connection of this process has the database open, so its file must not be opened.
    OpenHere,
    /// The bytes; `None` if the file is shorter.
    Read(Option<[u8; LENGTH]>),
}

/// Reads the first bytes of the database at `path`.
pub(super) fn read_beginning<const LENGTH: usize>(
    path: &Path,
) -> io::Result<FileBeginning<LENGTH>> {
    // No connection may be opened before the file is closed.
    let open = open_databases();
    if is_open(&open, path) {
        return Ok(FileBeginning::OpenHere);
    }
    let mut bytes = [0; LENGTH];
    match File::open(path)?.read_exact(&mut bytes) {
        Ok(()) => Ok(FileBeginning::Read(Some(bytes))),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(FileBeginning::Read(None)),
        Err(error) => Err(error),
    }
}

fn is_open(open: &BTreeMap<FileNumber, usize>, path: &Path) -> bool {
    FileNumber::from_path(path).is_some_and(|number| open.contains_key(&number))
}

fn open_databases() -> MutexGuard<'static, BTreeMap<FileNumber, usize>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::super::{SqliteConnection, SqliteFile, companion_path};
    use super::*;
    use crate::backend::Backend as _;
    use crate::session::Connection as _;

    /// Returns the number of locks that this process has on a file.
    fn locks(path: &Path) -> usize {
        let FileNumber(device, inode) = FileNumber::from_path(path).unwrap();
        let major = rustix::fs::major(device);
        let minor = rustix::fs::minor(device);
        let own = format!(" {} {major:02x}:{minor:02x}:{inode} ", std::process::id());
        let all = fs::read_to_string("/proc/locks").unwrap();
        all.lines().filter(|line| line.contains("POSIX") && line.contains(&own)).count()
    }

    #[test]
    fn no_access_drops_the_locks_of_an_open_connection() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("disk.db");
        let mut first = SqliteConnection::open(&path, true).unwrap();
        first.script("CREATE TABLE one (a); INSERT INTO one VALUES (1)").unwrap();
        let link = folder.path().join("link.db");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let files = [path.clone(), companion_path(&path, "-shm")];
        let are_locked = || files.iter().all(|file| locks(file) > 0);
        assert!(are_locked(), "{}", fs::read_to_string("/proc/locks").unwrap());
        type Access = fn(PathBuf);
        let accesses: [(&str, Access); 3] = [
            ("connect", |path| drop(SqliteConnection::open(&path, false).unwrap())),
            ("contents", |path| assert!(SqliteFile(path).examine_contents().is_ok())),
            ("load", |path| drop(SqliteFile(path).loaded())),
        ];
        for (name, access) in accesses {
            access(path.clone());
            assert!(are_locked(), "{name}");
            access(link.clone());
            assert!(are_locked(), "{name} by a link");
        }
        // After the connection, the files are read again.
        drop(first);
        fs::write(companion_path(&path, "-wal"), "an unrelated letter").unwrap();
        assert!(SqliteConnection::open(&path, false).is_err());
        assert!(matches!(read_beginning::<16>(&path).unwrap(), FileBeginning::Read(Some(_))));
    }
}

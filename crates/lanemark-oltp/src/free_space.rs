//! Free space for a database: checks before a load that there is enough, and checks whether a full file system caused
//! an error.
//!
//! The space per scale was measured on fresh contents, including indexes, and grows in proportion to the number of
//! warehouses. The check subtracts a twentieth, so that it rejects only loads that cannot fit. A database on another
//! machine or with an unknown data folder is loaded without a check.
//!
//! SQLite reports a full file system with a separate error. A server whose log cannot grow exits, and its clients see a
//! closed connection. The second check therefore reads the free space of the file system that stores the server's data,
//! if this file system is known and local.

use std::path::{Path, PathBuf};

use crate::backend::Backend;
use crate::database::Database;
use crate::error::OltpError;
use crate::schema::Scale;

/// A file system with less free space than this counts as full: PostgreSQL's log grows by files of 16 MiB.
const LEAST: u64 = 16 << 20;

/// Rejects a load that does not fit. `there` is the number of loaded warehouses, or `None` if the items are not loaded;
/// `freed` is the number of bytes that the load removes first.
pub(crate) fn require(
    database: &dyn Backend,
    scale: &Scale,
    there: Option<i64>,
    freed: u64,
) -> Result<(), OltpError> {
    let Some(left) = database.data_path().as_deref().and_then(free_space_at) else { return Ok(()) };
    let missing = scale.warehouses - there.unwrap_or(0);
    let data = database.footprint().bytes(scale, missing, there.is_none());
    let log = database.log(scale, missing, data)?;
    let needed = (data.saturating_add(log)) / 20 * 19;
    if needed <= left.free.saturating_add(freed) {
        return Ok(());
    }
    Err(OltpError::NoRoom {
        database: database.name(),
        needed,
        free: left.free.saturating_add(freed),
        below: left.below,
    })
}

/// The path of a database's data, which is queried while the database still answers.
pub(crate) struct DataFolder {
    name: String,
    path: Option<PathBuf>,
}

impl DataFolder {
    /// Queries the path of a database's data.
    pub(crate) fn query(database: &Database) -> Self {
        Self { name: database.name(), path: database.data_path() }
    }

    /// Adds the free space to an error that a full file system caused; returns other errors unchanged.
    pub(crate) fn explain(&self, error: OltpError) -> OltpError {
        let left = self.path.as_deref().and_then(free_space_at);
        let explained = match (&error, &left) {
            (OltpError::Full(reason), _) => reason,
            (OltpError::Database(reason) | OltpError::Unreachable { reason, .. }, Some(left))
                if left.free < LEAST =>
            {
                reason
            }
            _ => return error,
        };
        let mut text = format!("{}: {explained}", self.name);
        if let Some(left) = left {
            text += &format!("; {}", left.words());
        }
        OltpError::Full(text)
    }
}

/// The free space of a file system, in bytes.
struct FreeSpace {
    below: PathBuf,
    free: u64,
    size: u64,
}

impl FreeSpace {
    fn words(&self) -> String {
        let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let free = mib(self.free);
        let size = mib(self.size);
        let below = self.below.display();
        format!("{free:.1} of {size:.1} MiB are free in the file system of {below}")
    }
}

/// Returns the free space of the file system of `path`, or of its first existing parent.
fn free_space_at(path: &Path) -> Option<FreeSpace> {
    let here = Some(Path::new("."));
    let existing_ancestor = path.ancestors().chain(here).find(|ancestor| ancestor.exists())?;
    // A file system without a size (such as some file systems in memory or on networks) does not report free space.
    let found = rustix::fs::statvfs(existing_ancestor).ok().filter(|space| space.f_blocks > 0)?;
    Some(FreeSpace {
        below: existing_ancestor.to_owned(),
        free: found.f_bavail * found.f_frsize,
        size: found.f_blocks * found.f_frsize,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_space_is_stated_in_mebibytes() {
        let words = |free: u64, size: u64| FreeSpace { below: "/data".into(), free, size }.words();
        assert_eq!(
            words(3 << 19, 1 << 30),
            "1.5 of 1024.0 MiB are free in the file system of /data"
        );
        assert_eq!(words(0, (1 << 20) - 1), "0.0 of 1.0 MiB are free in the file system of /data");
    }

    #[test]
    fn only_errors_of_a_full_file_system_are_reported_as_full() {
        let folder = tempfile::tempdir().unwrap();
        let room = DataFolder::query(&Database::sqlite(folder.path().join("absent.db")));
        let message =
            room.explain(OltpError::Full("database or disk is full".to_owned())).to_string();
        for part in ["absent.db: database or disk is full", "MiB are free in", "no space is left"] {
            assert!(message.contains(part), "{part}: {message}");
        }
        let other = room.explain(OltpError::Damaged("x".to_owned()));
        assert!(matches!(other, OltpError::Damaged(_)), "{other}");
        let server = OltpError::System {
            what: "initdb".to_owned(),
            reason: "could not write: No space left on device".to_owned(),
        };
        assert!(server.hint().unwrap().starts_with("free some space"));
        let free = free_space_at(folder.path()).unwrap().free;
        let lost = room.explain(OltpError::Database("connection closed".to_owned()));
        assert_eq!(matches!(lost, OltpError::Full(_)), free < LEAST, "{lost}");
    }
}

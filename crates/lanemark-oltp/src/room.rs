//! Whether an error came of a file system without room, which a database does not always say.
//!
//! SQLite says so. A server whose log cannot grow goes down, and its clients see a connection that is closed; so the
//! file system below its data is looked at, where it is known and of this machine.

use std::path::{Path, PathBuf};

use crate::database::Database;
use crate::error::OltpError;

/// Less than this is no room: PostgreSQL's log grows by files of 16 MiB.
const LEAST: u64 = 16 << 20;

/// Where a database keeps its data, asked for while it still answers.
pub(crate) struct Room {
    name: String,
    path: Option<PathBuf>,
}

impl Room {
    /// Of a database.
    pub(crate) fn of(database: &Database) -> Self {
        Self { name: database.name(), path: database.data_path() }
    }

    /// An error with what is full, where it came of that.
    pub(crate) fn explain(&self, error: OltpError) -> OltpError {
        let left = self.path.as_deref().and_then(left);
        let told = match (&error, &left) {
            (OltpError::Full(reason), _) => reason,
            (OltpError::Database(reason) | OltpError::Unreachable { reason, .. }, Some(left))
                if left.free < LEAST =>
            {
                reason
            }
            _ => return error,
        };
        let mut text = format!("{}: {told}", self.name);
        if let Some(Left { below, free, size }) = left {
            let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
            let below = below.display();
            text += &format!("; {:.1} of {:.1} MiB are free below {below}", mib(free), mib(size));
        }
        OltpError::Full(text)
    }
}

/// What a file system has left.
struct Left {
    below: PathBuf,
    free: u64,
    size: u64,
}

/// Of the file system of `path`, or of where it would be.
fn left(path: &Path) -> Option<Left> {
    let here = Some(Path::new("."));
    let below = path.ancestors().chain(here).find(|one| one.exists())?;
    let found = rustix::fs::statvfs(below).ok()?;
    let (free, size) = (found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize);
    Some(Left { below: below.to_owned(), free, size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_come_of_it_is_told_as_full() {
        let folder = tempfile::tempdir().unwrap();
        let room = Room::of(&Database::Sqlite(folder.path().join("absent.db")));
        let told = room.explain(OltpError::Full("database or disk is full".to_owned())).to_string();
        for part in ["absent.db: database or disk is full", "MiB are free below", "no room is left"]
        {
            assert!(told.contains(part), "{part}: {told}");
        }
        let other = room.explain(OltpError::Damaged("x".to_owned()));
        assert!(matches!(other, OltpError::Damaged(_)), "{other}");
        let server = OltpError::System {
            what: "initdb".to_owned(),
            reason: "could not write: No space left on device".to_owned(),
        };
        assert!(server.hint().unwrap().starts_with("make room"));
        let free = left(folder.path()).unwrap().free;
        let lost = room.explain(OltpError::Database("connection closed".to_owned()));
        assert_eq!(matches!(lost, OltpError::Full(_)), free < LEAST, "{lost}");
    }
}

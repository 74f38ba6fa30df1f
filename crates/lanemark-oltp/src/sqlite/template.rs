//! The file `FILE.kept-NAME` that keeps what `FILE` held, copied with `copy_file_range`, which shares blocks where the
//! file system can.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::file::SqliteFile;
use super::{Sqlite, beside};
use crate::backend::{Backend as _, Templates, check_kept_name};
use crate::error::OltpError;

impl Templates for SqliteFile {
    fn others(&self) -> &'static str {
        "SELECT name FROM sqlite_master WHERE type <> 'index' AND name NOT LIKE 'sqlite_%'"
    }

    fn keep(&self, name: &str, overwrite: bool) -> Result<(), OltpError> {
        self.refuse_others()?;
        let kept = self.kept_file(name);
        if !overwrite && kept.exists() {
            return Err(OltpError::Kept { database: self.name(), name: name.to_owned() });
        }
        Sqlite::alone(&self.0, || copy(&self.0, &kept))
    }

    fn restore(&self, name: &str, overwrite: bool) -> Result<(), OltpError> {
        let kept = self.kept_file(name);
        if !kept.exists() {
            return Err(self.not_kept(name, self.kept_names()));
        }
        let scale = Self(kept.clone()).loaded()?.scale;
        if !overwrite {
            self.refuse_other(&scale)?;
        }
        if Sqlite::is_database(&self.0) {
            return Sqlite::alone(&self.0, || copy(&kept, &self.0));
        }
        // Nothing is there, or what may be lost; the log of a file that is gone would be taken for the new one's.
        self.remove()?;
        copy(&kept, &self.0)
    }
}

impl SqliteFile {
    fn kept_file(&self, name: &str) -> PathBuf {
        beside(&self.0, &format!(".kept-{name}"))
    }

    fn kept_names(&self) -> Vec<String> {
        let folder = self.0.parent().filter(|folder| !folder.as_os_str().is_empty());
        let start = self.kept_file("");
        let start = start.file_name().unwrap_or_default().to_string_lossy();
        let entries =
            fs::read_dir(folder.unwrap_or(Path::new("."))).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| {
            let name = entry.file_name().to_str()?.strip_prefix(&*start)?.to_owned();
            check_kept_name(&name).is_ok().then_some(name)
        });
        names.collect()
    }
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

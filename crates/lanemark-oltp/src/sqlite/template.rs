//! Templates as files `FILE.kept-NAME`. They are copied from `FILE` with `copy_file_range`, which shares blocks if the
//! file system supports this. A file with that name that is not an SQLite database belongs to another program, and is
//! never replaced.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use lanemark_files::companion;

use super::file::SqliteFile;
use super::{SqliteConnection, companion_path};
use crate::backend::{Backend as _, Templates, check_kept_name};
use crate::error::OltpError;

impl Templates for SqliteFile {
    fn others(&self) -> &'static str {
        "SELECT name FROM sqlite_master WHERE type <> 'index' AND name NOT LIKE 'sqlite_%'"
    }

    fn keep(&self, name: &str, overwrite: bool) -> Result<(), OltpError> {
        self.refuse_others()?;
        let kept_file = self.kept_file(name);
        if !overwrite && kept_file.exists() {
            return Err(OltpError::Kept { database: self.name(), name: name.to_owned() });
        }
        let is_link = fs::symlink_metadata(&kept_file).is_ok_and(|there| !there.is_file());
        if kept_file.exists() && !SqliteConnection::is_database(&kept_file) || is_link {
            let reason = "exists and is not a kept database; move it away".to_owned();
            return Err(OltpError::System { what: kept_file.display().to_string(), reason });
        }
        // The source is closed after the connection, because closing it drops the locks of the connection.
        let source = SqliteConnection::alone(&self.0, || {
            let source = File::open(&self.0).map_err(|error| copy_error(&self.0, &error))?;
            copy(&source, &kept_file).map(|()| source)
        })?;
        drop(source);
        Ok(())
    }

    fn restore(&self, name: &str, overwrite: bool) -> Result<(), OltpError> {
        let kept_file = self.kept_file(name);
        if !kept_file.exists() {
            return Err(self.not_kept(name, self.kept_names()));
        }
        let scale = Self(kept_file.clone()).loaded()?.scale;
        if !overwrite {
            self.refuse_other(&scale)?;
        }
        let source = File::open(&kept_file).map_err(|error| copy_error(&kept_file, &error))?;
        if SqliteConnection::is_database(&self.0) {
            return SqliteConnection::alone(&self.0, || copy(&source, &self.0));
        }
        // The file is absent or may be replaced. SQLite would apply a remaining log of a removed file to the new file.
        self.remove()?;
        copy(&source, &self.0)
    }
}

impl SqliteFile {
    fn kept_file(&self, name: &str) -> PathBuf {
        companion_path(&self.0, &format!(".kept-{name}"))
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

/// Copies a file completely or not at all.
fn copy(source: &File, to: &Path) -> Result<(), OltpError> {
    copy_whole(source, to).map_err(|error| copy_error(to, &error))
}

fn copy_error(path: &Path, error: &io::Error) -> OltpError {
    match error.kind() {
        io::ErrorKind::StorageFull => OltpError::Full(path.display().to_string()),
        _ => OltpError::System { what: path.display().to_string(), reason: error.to_string() },
    }
}

fn copy_whole(mut source: &File, to: &Path) -> io::Result<()> {
    let (mut part, name) = companion::create_partial_file(to)?;
    let copied = io::copy(&mut source, &mut part)
        .and_then(|_| part.set_permissions(source.metadata()?.permissions()))
        .and_then(|()| part.sync_all())
        .and_then(|()| fs::rename(&name, to));
    copied.inspect_err(|_| drop(fs::remove_file(&name)))
}

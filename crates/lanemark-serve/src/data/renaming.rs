//! Files that appear at their names whole: a new file replaces the old one, or the old one is renamed.
//!
//! A crash of the machine leaves the old file or the whole new file, because the content is stored before the name, and
//! the name before the function returns.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use lanemark_files::companion;
use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;

/// Maximum number of renamed files next to a companion.
const RENAMED_MAX: u32 = 100;

/// Writes a new file next to `path`, and renames it to `path` when its content is stored, so that a crash leaves the
/// old file or the whole new file. The new file is locked for this server.
pub(super) fn replace_file(
    path: &Path,
    write: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<File> {
    let (file, partial) = companion::create_partial_file(path)?;
    // The name is this server's own, so only a file system without locks can refuse the lock.
    let _ = flock(&file, FlockOperation::NonBlockingLockExclusive);
    let replaced = write(&file)
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::rename(&partial, path))
        .inspect_err(|_| drop(std::fs::remove_file(&partial)));
    replaced.and_then(|()| sync_folder_of(path))?;
    Ok(file)
}

/// Renames a file to a free name next to it, and returns that name.
pub(super) fn rename_away(path: &Path) -> io::Result<PathBuf> {
    for number in 1..=RENAMED_MAX {
        let name = companion::path(path, &format!(".old-{number}"));
        match renameat_with(CWD, path, CWD, &name, RenameFlags::NOREPLACE) {
            Err(Errno::EXIST) => {}
            renamed => {
                renamed?;
                sync_folder_of(path)?;
                return Ok(name);
            }
        }
    }
    Err(io::Error::other(format!("there are {RENAMED_MAX} old files next to it")))
}

/// Stores the names in the folder of `path`. File systems without this operation, and folders that this user may not
/// read, are skipped.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let synced = File::open(folder.unwrap_or(Path::new("."))).and_then(|folder| folder.sync_all());
    match synced.map_err(|error| (Errno::from_io_error(&error), error)) {
        Ok(()) | Err((Some(Errno::INVAL | Errno::ACCESS), _)) => Ok(()),
        Err((_, error)) => Err(error),
    }
}

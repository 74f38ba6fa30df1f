//! An output file with a reserved name. The name is taken before the run starts, and the file is written completely or
//! not at all.
//!
//! A lock file next to the output, `.lanemark-NAME.lock`, reserves the name. It is created with `O_EXCL` and locked for
//! the duration of the run, so two runs never share a name. An existing output stays untouched until it is replaced.
//! New content goes to `.lanemark-NAME-….tmp`, which is also locked, and which is renamed to the output when it is
//! complete.
//!
//! The run removes these files when it ends. If it is killed by a signal that cannot be caught, the files remain,
//! without their locks. The next run that writes into the folder recognises these files by the missing lock and removes
//! them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use crate::error::LabError;

/// Prefix of the names of files that a run removes at its end.
const OURS: &str = ".lanemark-";
/// Permissions of an output that all users may read.
const FOR_ALL: u32 = 0o644;
/// Permissions of an output that only its owner may read.
const FOR_OWNER: u32 = 0o600;
/// Number of attempts to take a name that other runs take and release.
const TRIES: u32 = 1000;

/// The files and folders to remove if the program ends before their owners are dropped.
static ALIVE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// A reserved name.
#[derive(Debug)]
pub struct ReservedName {
    path: PathBuf,
    lock: LockFile,
    /// Folders that were created for the file, innermost first.
    made: Vec<PathBuf>,
    written: AtomicBool,
    /// Whether the name was free, and must still be free at the first write.
    fresh: bool,
    /// Permissions of the file.
    mode: u32,
}

impl ReservedName {
    /// Reserves the name `path`. If a file exists there, it will be replaced.
    pub fn exactly(path: &Path) -> Result<Self, LabError> {
        if path.is_dir() {
            return Err(LabError::input(format!("{} is a folder", path.display())));
        }
        clean(folder_of(path));
        let lock = LockFile::take(path).map_err(|error| unwritable(path, &error))?;
        let lock = lock.ok_or_else(|| {
            let lock = sibling_path(path, ".lock").unwrap_or_default();
            let path = path.display();
            let lock = lock.display();
            LabError::input(format!(
                "{path}: another run is writing it, according to its lock {lock}"
            ))
            .hint("wait until that run ends, or use a different file")
        })?;
        Ok(Self {
            path: path.to_owned(),
            lock,
            made: Vec::new(),
            written: AtomicBool::new(false),
            fresh: false,
            mode: FOR_ALL,
        })
    }

    /// Reserves `path`, and creates its parent folders.
    pub fn with_folders(path: &Path) -> Result<Self, LabError> {
        let made = make_folders(folder_of(path))?;
        let mut reserved = Self::exactly(path).inspect_err(|_| remove_folders(&made))?;
        reserved.made = made;
        Ok(reserved)
    }

    /// Reserves the first free name in `folder`, among the names that `name` returns for 1, 2 and so on.
    pub fn in_folder(folder: &Path, name: impl Fn(u32) -> String) -> Result<Self, LabError> {
        let mut made = make_folders(folder)?;
        clean(folder);
        let mut number = 1;
        loop {
            let path = folder.join(name(number));
            if is_there(&path) {
                number += 1;
                continue;
            }
            match LockFile::take(&path) {
                // The previous owner of the lock may have written the file in the meantime.
                Ok(Some(lock)) if !is_there(&path) => {
                    let written = AtomicBool::new(false);
                    return Ok(Self { path, lock, made, written, fresh: true, mode: FOR_ALL });
                }
                Ok(_) => number += 1,
                // Another run created the folder, did not write a file, and removed the folder again.
                Err(error) if error.kind() == io::ErrorKind::NotFound && !folder.exists() => {
                    made = make_folders(folder)?;
                }
                Err(error) => {
                    remove_folders(&made);
                    return Err(unwritable(&path, &error));
                }
            }
        }
    }

    /// Makes the file readable for this user only, because its contents are private.
    #[must_use]
    pub fn for_this_user_only(mut self) -> Self {
        self.mode = FOR_OWNER;
        self
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes `bytes`. A reader sees either the old file or the complete new file.
    pub fn write(&self, bytes: &[u8]) -> Result<(), LabError> {
        let first = self.fresh && !self.written.load(Ordering::Relaxed);
        replace_with_mode(&self.path, bytes, first, self.mode)
            .map_err(|error| unwritable(&self.path, &error))?;
        self.written.store(true, Ordering::Relaxed);
        Ok(())
    }
}

impl Drop for ReservedName {
    fn drop(&mut self) {
        if !*self.written.get_mut() {
            // The folders are removed after the lock file, which is in the innermost folder.
            self.lock.remove();
            remove_folders(&self.made);
        }
        let mut alive = ALIVE.lock().unwrap_or_else(PoisonError::into_inner);
        alive.retain(|path| !self.made.contains(path));
    }
}

/// Removes the temporary files of all runs in this process, for a program that is about to end without dropping their
/// owners.
pub fn remove_reserved_files() {
    let alive = std::mem::take(&mut *ALIVE.lock().unwrap_or_else(PoisonError::into_inner));
    // A folder was created before its files, and can be removed only when it is empty.
    for path in alive.iter().rev() {
        if fs::remove_file(path).is_err() {
            let _ = fs::remove_dir(path);
        }
    }
}

/// A locked file next to the output, which exists as long as this value exists.
#[derive(Debug)]
struct LockFile {
    path: PathBuf,
    file: File,
    removed: bool,
}

impl LockFile {
    /// Takes the lock of `path`, or returns `None` if another run holds it.
    fn take(path: &Path) -> io::Result<Option<Self>> {
        let name = sibling_path(path, ".lock")?;
        for _ in 0..TRIES {
            match Self::make(&name) {
                Ok(Some(made)) => return Ok(Some(made)),
                Ok(None) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    if !remove_dead(&name) {
                        return Ok(None);
                    }
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Creates a file with this name if the name is free. Returns `None` if another run treated the file as abandoned
    /// and removed it.
    fn make(name: &Path) -> io::Result<Option<Self>> {
        let flags = OFlags::NOFOLLOW.bits().cast_signed();
        let mut options = OpenOptions::new();
        options.read(true).write(true).create_new(true).mode(0o600).custom_flags(flags);
        let file = options.open(name)?;
        let made = Self { path: name.to_owned(), file, removed: false };
        ALIVE.lock().unwrap_or_else(PoisonError::into_inner).push(name.to_owned());
        // Waits for a run that is checking whether this file is abandoned. On a file system without locks, no files are
        // cleaned up.
        let _ = flock(&made.file, FlockOperation::LockExclusive);
        if is_still(&made.file, name) { Ok(Some(made)) } else { Ok(None) }
    }

    fn remove(&mut self) {
        if !std::mem::replace(&mut self.removed, true) {
            if is_still(&self.file, &self.path) {
                let _ = fs::remove_file(&self.path);
            }
            let mut alive = ALIVE.lock().unwrap_or_else(PoisonError::into_inner);
            alive.retain(|path| *path != self.path);
        }
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Writes `bytes` to a file that replaces `path`. If `first` is set, `path` must be free.
pub fn replace(path: &Path, bytes: &[u8], first: bool) -> io::Result<()> {
    replace_with_mode(path, bytes, first, FOR_ALL)
}

fn replace_with_mode(path: &Path, bytes: &[u8], first: bool, mode: u32) -> io::Result<()> {
    for number in 0..TRIES {
        let name = sibling_path(path, &format!("-{}-{number}.tmp", std::process::id()))?;
        let mut made = match LockFile::make(&name) {
            Ok(Some(made)) => made,
            Ok(None) => continue,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(error),
        };
        made.file.write_all(bytes)?;
        made.file.set_permissions(fs::Permissions::from_mode(mode))?;
        made.file.sync_all()?;
        if first {
            rename_to_free(&name, path)?;
        } else {
            fs::rename(&name, path)?;
        }
        sync_folder_of(path)?;
        // The temporary name no longer exists. A file that has the name now belongs to another run.
        return Ok(());
    }
    Err(io::Error::other("no free name is available next to it"))
}

/// Stores the names in the folder of `path`, so that a crash of the machine does not lose a new name. File systems
/// without this operation, and folders that this user may not read, are skipped.
pub(crate) fn sync_folder_of(path: &Path) -> io::Result<()> {
    match File::open(folder_of(path)).and_then(|folder| folder.sync_all()) {
        Err(error)
            if !matches!(Errno::from_io_error(&error), Some(Errno::INVAL | Errno::ACCESS)) =>
        {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// Renames a file if the new name is free.
fn rename_to_free(from: &Path, to: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // The lock file reserves the name, which is sufficient for runs of this program.
        Err(Errno::INVAL | Errno::NOSYS) if !is_there(to) => fs::rename(from, to),
        Err(error) => Err(error.into()),
    }
}

/// Removes the files that killed runs left in `folder`.
fn clean(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        let ours = name.starts_with(OURS.as_bytes())
            && (name.ends_with(b".lock") || name.ends_with(b".tmp"));
        if ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            remove_dead(&entry.path());
        }
    }
}

/// Removes a file whose run is no longer alive. Returns `false` if the run is alive or its state is unknown.
fn remove_dead(name: &Path) -> bool {
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    let file = match OpenOptions::new().read(true).write(true).custom_flags(flags).open(name) {
        Ok(file) => file,
        Err(error) => return error.kind() == io::ErrorKind::NotFound,
    };
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        return false;
    }
    // Lanemark's locks are empty, and its files have one name. Any other file belongs to another program.
    let is_lock = name.as_os_str().as_encoded_bytes().ends_with(b".lock");
    let foreign = |there: fs::Metadata| is_lock && there.len() > 0 || there.nlink() > 1;
    if file.metadata().map_or(true, foreign) {
        return false;
    }
    // A file that this run could lock is abandoned, as long as the name still refers to the locked file.
    !is_still(&file, name) || fs::remove_file(name).is_ok()
}

/// Returns whether `name` still refers to the open file.
fn is_still(file: &File, name: &Path) -> bool {
    match (file.metadata(), fs::symlink_metadata(name)) {
        (Ok(open), Ok(named)) => (open.dev(), open.ino()) == (named.dev(), named.ino()),
        _ => false,
    }
}

fn is_there(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok()
}

/// Returns the name of the companion file of `path` with this ending.
fn sibling_path(path: &Path, ending: &str) -> io::Result<PathBuf> {
    let name =
        path.file_name().ok_or_else(|| io::Error::other("the path does not end in a file name"))?;
    let mut own = std::ffi::OsString::from(OURS);
    own.push(name);
    own.push(ending);
    Ok(path.with_file_name(own))
}

/// Returns the parent folder of `path`.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Creates a folder and its parents, and returns the folders that did not exist, innermost first.
fn make_folders(folder: &Path) -> Result<Vec<PathBuf>, LabError> {
    let missing = |folder: &&Path| !folder.as_os_str().is_empty() && !folder.exists();
    let made: Vec<PathBuf> =
        folder.ancestors().take_while(missing).map(Path::to_path_buf).collect();
    fs::create_dir_all(folder).map_err(|error| {
        LabError::run(format!("{}: can't be created: {error}", folder.display()))
    })?;
    let mut alive = ALIVE.lock().unwrap_or_else(PoisonError::into_inner);
    alive.extend(made.iter().rev().cloned());
    Ok(made)
}

/// Removes the folders that are empty.
fn remove_folders(made: &[PathBuf]) {
    for folder in made {
        let _ = fs::remove_dir(folder);
    }
}

fn unwritable(path: &Path, error: &io::Error) -> LabError {
    LabError::run(format!("{}: can't be written: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_run_that_writes_nothing_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        drop(ReservedName::in_folder(&inner, |number| format!("{number}.json")).unwrap());
        drop(ReservedName::with_folders(&inner.join("c/run.json")).unwrap());
        assert!(names(folder.path()).is_empty());
        // An existing folder stays.
        fs::create_dir_all(&inner).unwrap();
        drop(ReservedName::in_folder(&inner, |number| format!("{number}.json")).unwrap());
        assert!(inner.is_dir());
    }

    #[test]
    fn a_name_is_one_runs_until_it_ends() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.html");
        fs::write(&path, "old").unwrap();
        let own = ReservedName::exactly(&path).unwrap();
        assert_eq!(
            fs::read(&path).unwrap(),
            b"old",
            "the old content remains until it is replaced"
        );
        let said = ReservedName::exactly(&path).unwrap_err().to_string();
        assert!(said.contains("another run is writing it"), "{said}");
        own.write(b"new").unwrap();
        assert!(ReservedName::exactly(&path).is_err());
        drop(own);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        ReservedName::exactly(&path).unwrap();
        assert_eq!(names(folder.path()), ["page.html"]);
    }

    #[test]
    fn files_of_dead_processes_are_removed_and_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in [".lanemark-a.json.lock", ".lanemark-a.json-17-0.tmp", ".tmpAbC", "a.lock"] {
            fs::write(path(name), "").unwrap();
        }
        let living = ReservedName::exactly(&path("b.json")).unwrap();
        let own = ReservedName::exactly(&path("a.json")).unwrap();
        drop(own);
        assert_eq!(names(folder.path()), [".lanemark-b.json.lock", ".tmpAbC", "a.lock"]);
        drop(living);
        assert_eq!(names(folder.path()), [".tmpAbC", "a.lock"]);
    }

    #[test]
    fn a_name_taken_by_another_process_is_respected() {
        let folder = tempfile::tempdir().unwrap();
        let own =
            ReservedName::in_folder(folder.path(), |number| format!("{number}.json")).unwrap();
        fs::write(own.path(), "theirs").unwrap();
        assert!(own.write(b"ours").is_err());
        assert_eq!(fs::read(own.path()).unwrap(), b"theirs");
    }
}

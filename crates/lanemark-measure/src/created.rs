//! A file that is created for a run and removed after the run.
//!
//! The file is created with `O_CREAT | O_EXCL | O_NOFOLLOW`, so it can never be an existing file or the target of a
//! symbolic link. The file is removed when its owner is dropped: at the end, after an error, or after a panic. The
//! folder stays open, and the name is looked up in that folder, so renaming a parent folder does not redirect the
//! removal. The file is removed only if the name still refers to the device and inode of the created file; the open
//! descriptor prevents the inode from being reused.
//!
//! A kill that cannot be caught leaves the file in place. An extended attribute marks the file if the file system
//! supports extended attributes, and the file is locked while its run exists. A later run recognises the file by its
//! mark and the missing lock ([`left_over`]).
//!
//! Another file that takes the name between the check and the removal is removed instead; Linux does not provide an
//! atomic call that would prevent this.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lanemark_schema::units::Bytes;
use rustix::fs::{
    AtFlags, FallocateFlags, FileType, FlockOperation, Mode, OFlags, StatVfs, XattrFlags,
};
use rustix::io::Errno;

use crate::error::MeasureError;

/// Counter that makes the names of files unique within this process.
static NAMES: AtomicU32 = AtomicU32::new(0);

/// The extended attribute of files that were created for a run.
const MARK: &str = "user.lanemark.made-for-a-run";
/// Maximum number of files in a folder that are searched for leftovers.
const LOOKED_AT_MAX: usize = 10_000;

/// The files that are removed when their run ends.
static MADE: Mutex<Vec<Arc<NamedFile>>> = Mutex::new(Vec::new());

/// The identity of a file, independent of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileIdentity {
    device: u64,
    inode: u64,
}

/// A file that is removed when this value is dropped.
#[derive(Debug)]
pub(crate) struct CreatedFile {
    file: OwnedFd,
    path: PathBuf,
    named: Arc<NamedFile>,
    removed: bool,
}

/// A file, identified by its name in a folder.
#[derive(Debug)]
struct NamedFile {
    folder: OwnedFd,
    name: OsString,
    identity: FileIdentity,
}

/// A file that a killed run left in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftoverFile {
    pub path: PathBuf,
    pub size: Bytes,
}

impl FileIdentity {
    pub(crate) fn new(stat: &rustix::fs::Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

impl CreatedFile {
    /// Creates the file `path`, which must not exist, with room for `size` bytes.
    pub(crate) fn at(path: &Path, size: u64) -> Result<Self, MeasureError> {
        let ends_as_folder = path.as_os_str().as_encoded_bytes().ends_with(b"/");
        let name = path.file_name().filter(|_| !ends_as_folder).ok_or_else(|| {
            MeasureError::NoFolder { path: path.to_owned(), folder: path.to_owned() }
        })?;
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let folder = open_folder(path, folder)?;
        check_space(path, &folder, size)?;
        match Self::make(path, &folder, name) {
            Ok(made) => made.reserve(size),
            Err(Errno::EXIST) => Err(file_exists_error(path, &folder, name)),
            Err(error) => Err(creation_error(path, error)),
        }
    }

    /// Creates a file with a unique name in the folder `path`, with room for `size` bytes.
    pub(crate) fn inside(path: &Path, size: u64) -> Result<Self, MeasureError> {
        let folder = open_folder(path, path)?;
        check_space(path, &folder, size)?;
        loop {
            let number = NAMES.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!("lanemark-{}-{number}.dat", std::process::id()));
            match Self::make(&path.join(&name), &folder, &name) {
                Ok(made) => return made.reserve(size),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(creation_error(path, error)),
            }
        }
    }

    fn make(path: &Path, folder: &OwnedFd, name: &OsStr) -> Result<Self, Errno> {
        // The folder's descriptor is duplicated first, because no call between the creation of the file and the
        // creation of the guard may fail.
        let folder = rustix::io::fcntl_dupfd_cloexec(folder, 0)?;
        let flags =
            OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::RDWR | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&folder, name, flags, Mode::RUSR | Mode::WUSR)?;
        let identity = FileIdentity::new(&rustix::fs::fstat(&file)?);
        let named = Arc::new(NamedFile { folder, name: name.to_owned(), identity });
        created_files().push(Arc::clone(&named));
        // If this run is killed, a later run recognises the file by the lock and the mark. The file system may support
        // neither.
        let _ = rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive);
        let _ = rustix::fs::fsetxattr(&file, MARK, b"1", XattrFlags::empty());
        Ok(Self { file, path: path.to_owned(), named, removed: false })
    }

    fn reserve(self, size: u64) -> Result<Self, MeasureError> {
        reserve(&self.path, self.file.as_fd(), size)?;
        Ok(self)
    }

    /// Makes the file remain when this value is dropped.
    pub(crate) fn keep(&mut self) {
        self.removed = true;
        self.forget();
        let _ = rustix::fs::fremovexattr(&self.file, MARK);
    }

    /// Removes the file now, and returns an error if that fails.
    pub(crate) fn remove(mut self) -> Result<(), MeasureError> {
        let path = self.path.clone();
        self.unlink().map_err(|source| MeasureError::NotRemoved { path, source })
    }

    fn unlink(&mut self) -> io::Result<()> {
        if std::mem::replace(&mut self.removed, true) {
            return Ok(());
        }
        self.forget();
        self.named.unlink()
    }

    /// Removes the file from the list of files that are removed at the program's end.
    fn forget(&self) {
        created_files().retain(|one| !Arc::ptr_eq(one, &self.named));
    }
}

impl NamedFile {
    fn unlink(&self) -> io::Result<()> {
        match rustix::fs::statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) if FileIdentity::new(&stat) == self.identity => {
                Ok(rustix::fs::unlinkat(&self.folder, &self.name, AtFlags::empty())?)
            }
            // Another process moved or replaced the file; the file that now has this name is not ours.
            Ok(_) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl AsFd for CreatedFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for CreatedFile {
    fn drop(&mut self) {
        // A failure is ignored: if `remove` was not called, another error has already occurred.
        let _ = self.unlink();
    }
}

fn created_files() -> MutexGuard<'static, Vec<Arc<NamedFile>>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all files that were created for this program's runs, before the program exits without ending the runs.
pub fn remove_created() {
    let all = std::mem::take(&mut *created_files());
    for named in all {
        let _ = named.unlink();
    }
}

/// Returns the files in the folder of `path`, or in `path` if it is a folder, that were created for a killed run.
pub fn left_over(path: &Path) -> Vec<LeftoverFile> {
    let folder = match path.parent() {
        _ if path.is_dir() => path,
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(LOOKED_AT_MAX);
    let mut found: Vec<LeftoverFile> =
        entries.filter_map(|entry| leftover_of_dead_process(entry.path())).collect();
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Returns the file at `path` if it was created for a run that no longer exists.
fn leftover_of_dead_process(path: PathBuf) -> Option<LeftoverFile> {
    let name = path.file_name()?.to_str();
    let by_name = name.is_some_and(|name| {
        let numbers = name.strip_prefix("lanemark-").and_then(|name| name.strip_suffix(".dat"));
        let number =
            |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        numbers
            .and_then(|numbers| numbers.split_once('-'))
            .is_some_and(|(process, count)| number(process) && number(count))
    });
    let marked = || rustix::fs::lgetxattr(&path, MARK, &mut [0u8; 8][..]).is_ok();
    if !by_name && !marked() {
        return None;
    }
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(&path, flags, Mode::empty()).ok()?;
    let stat = rustix::fs::fstat(&file).ok()?;
    let alone = FileType::from_raw_mode(stat.st_mode).is_file()
        && rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok();
    alone.then(|| LeftoverFile { path, size: Bytes(stat.st_size.cast_unsigned()) })
}

/// Allocates blocks for a file up to `size`, which becomes its minimum length. The content of the file does not change.
pub(crate) fn reserve(path: &Path, file: BorrowedFd<'_>, size: u64) -> Result<(), MeasureError> {
    let failed = |error: Errno| match error {
        Errno::NOSPC | Errno::DQUOT => MeasureError::NoSpace {
            path: path.to_owned(),
            free: Bytes(rustix::fs::fstatvfs(file).map_or(0, |space| free(&space))),
            needed: Bytes(size),
        },
        error => system(path, "reserve room for", error),
    };
    match rustix::fs::fallocate(file, FallocateFlags::empty(), 0, size) {
        Ok(()) => Ok(()),
        // The layout writes the whole file anyway, so its length is sufficient. The length must not decrease.
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => {
            let stat = rustix::fs::fstat(file).map_err(failed)?;
            if stat.st_size.cast_unsigned() < size {
                rustix::fs::ftruncate(file, size).map_err(failed)?;
            }
            Ok(())
        }
        Err(error) => Err(failed(error)),
    }
}

/// Returns an error if the file system of `folder` does not have room for `size` bytes.
pub(crate) fn check_space(path: &Path, folder: impl AsFd, size: u64) -> Result<(), MeasureError> {
    let space = rustix::fs::fstatvfs(folder)
        .map_err(|error| system(path, "query the free space of", error))?;
    // A file system without a size (some tmpfs and network file systems) does not report free space; if space is
    // missing, the write itself fails.
    if space.f_blocks > 0 && free(&space) < size {
        let path = path.to_owned();
        return Err(MeasureError::NoSpace { path, free: Bytes(free(&space)), needed: Bytes(size) });
    }
    Ok(())
}

fn free(space: &StatVfs) -> u64 {
    space.f_bavail.saturating_mul(space.f_frsize)
}

fn open_folder(path: &Path, folder: &Path) -> Result<OwnedFd, MeasureError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    rustix::fs::open(folder, flags, Mode::empty()).map_err(|error| match error {
        Errno::NOENT | Errno::NOTDIR => {
            MeasureError::NoFolder { path: path.to_owned(), folder: folder.to_owned() }
        }
        error => creation_error(path, error),
    })
}

/// Returns the error for a name that was not there when it was looked up, but exists now.
fn file_exists_error(path: &Path, folder: &OwnedFd, name: &OsStr) -> MeasureError {
    let path = path.to_owned();
    match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) if rustix::fs::FileType::from_raw_mode(stat.st_mode).is_symlink() => {
            MeasureError::DanglingLink { path }
        }
        _ => MeasureError::Replaced { path },
    }
}

fn creation_error(path: &Path, error: Errno) -> MeasureError {
    match error {
        Errno::ACCESS | Errno::PERM => {
            MeasureError::Permission { path: path.to_owned(), action: "create" }
        }
        error => system(path, "create", error),
    }
}

fn system(path: &Path, action: &'static str, error: Errno) -> MeasureError {
    MeasureError::System { path: path.to_owned(), action, source: error.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_put_in_its_place_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("target");
        let created = CreatedFile::at(&path, 4096).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "another user's").unwrap();
        drop(created);
        assert_eq!(fs::read_to_string(&path).unwrap(), "another user's");
    }

    #[test]
    fn files_of_a_killed_run_are_recognised_and_files_of_a_live_run_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("target");
        fs::write(folder.path().join("somebodys"), "data").unwrap();
        fs::write(folder.path().join("lanemark-notes-1.dat"), "data").unwrap();
        let created = CreatedFile::at(&path, 4096).unwrap();
        assert_eq!(left_over(folder.path()), []);
        // A killed run does not drop its guard, and its locks end with the process.
        let CreatedFile { file, .. } = &created;
        rustix::fs::flock(file, FlockOperation::Unlock).unwrap();
        let marked = rustix::fs::fgetxattr(file, MARK, &mut [0u8; 8][..]).is_ok();
        let left = LeftoverFile { path: path.clone(), size: Bytes(4096) };
        assert_eq!(left_over(&path), if marked { vec![left.clone()] } else { Vec::new() });
        // If the file system does not store marks, the file is recognised by its name.
        let named = folder.path().join("lanemark-17-0.dat");
        fs::write(&named, "data").unwrap();
        let found = left_over(folder.path());
        assert!(found.contains(&LeftoverFile { path: named, size: Bytes(4) }), "{found:?}");
    }

    #[test]
    fn it_is_found_in_a_folder_that_was_renamed() {
        let outer = tempfile::tempdir().unwrap();
        let before = outer.path().join("before");
        let after = outer.path().join("after");
        fs::create_dir(&before).unwrap();
        let created = CreatedFile::inside(&before, 4096).unwrap();
        fs::rename(&before, &after).unwrap();
        assert_eq!(fs::read_dir(&after).unwrap().count(), 1);
        created.remove().unwrap();
        assert_eq!(fs::read_dir(&after).unwrap().count(), 0);
    }

    #[test]
    fn it_has_its_size_and_is_private() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("target");
        let _created = CreatedFile::at(&path, 1 << 20).unwrap();
        let metadata = fs::metadata(&path).unwrap();
        assert_eq!((metadata.len(), metadata.mode() & 0o777), (1 << 20, 0o600));
    }
}

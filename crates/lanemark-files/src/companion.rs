//! Companion files: files that a command creates next to a file that the user named, such as `disk.img.map`.
//!
//! The user did not choose the name, so an existing file with this name may belong to another program. In another
//! user's folder, the name may be a link to a file that only root can write. A companion is therefore opened by one of
//! two methods. A new file is created with `O_EXCL | O_NOFOLLOW` (open(2)). An existing file is opened with
//! `O_NOFOLLOW`, and is used only if it is a regular file with one name whose first bytes are the mark of our format.
//! An empty file is also used, because it does not contain data that could be lost.
//!
//! A file of another program that contains our mark is not detected.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::io::Errno;
use thiserror::Error;

/// Number of attempts to open a file while other programs create and remove it.
const ATTEMPTS: u32 = 100;

/// A companion file, open for reading and writing.
#[derive(Debug)]
pub struct CompanionFile {
    pub file: File,
    /// Whether the file is empty, because it is new or was empty before.
    pub is_empty: bool,
}

/// The reason why a companion file cannot be opened.
#[derive(Debug, Error)]
pub enum CompanionError {
    /// Another program's file has this name.
    #[error("{} exists and {reason}", path.display())]
    Foreign {
        path: PathBuf,
        /// The difference from a Lanemark file.
        reason: String,
    },
    /// The kernel returned an error.
    #[error("{}: can't be opened: {source}", path.display())]
    System {
        path: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
}

/// Returns the path of a companion: `named` with `ending` appended to the file name.
pub fn path(named: &Path, ending: &str) -> PathBuf {
    let mut name = named.as_os_str().to_owned();
    name.push(ending);
    name.into()
}

/// Opens or creates the companion at `path`, whose content begins with `mark`.
///
/// # Errors
/// Returns [`CompanionError::Foreign`] if another program's file has this name; the file is not changed.
pub fn open(path: &Path, mark: &[u8]) -> Result<CompanionFile, CompanionError> {
    let system = |source| CompanionError::System { path: path.to_owned(), source };
    for _ in 0..ATTEMPTS {
        match create(path) {
            Ok(file) => return Ok(CompanionFile { file, is_empty: true }),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(system(error)),
        }
        match open_existing(path, mark) {
            Err(CompanionError::System { source, .. })
                if source.kind() == io::ErrorKind::NotFound => {}
            opened => return opened,
        }
    }
    Err(system(io::Error::other("other programs keep creating and removing it")))
}

fn open_existing(path: &Path, mark: &[u8]) -> Result<CompanionFile, CompanionError> {
    let system = |source| CompanionError::System { path: path.to_owned(), source };
    let foreign =
        |reason: &str| CompanionError::Foreign { path: path.to_owned(), reason: reason.to_owned() };
    // Opening a device or a pipe has effects, so the kind is checked first.
    let kind = fs::symlink_metadata(path).map_err(system)?.file_type();
    if kind.is_symlink() {
        return Err(foreign("is a symbolic link, which is not followed"));
    }
    if !kind.is_file() {
        return Err(foreign("is not a regular file"));
    }
    let mut options = OpenOptions::new();
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed();
    let file = match options.read(true).write(true).custom_flags(flags).open(path) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
            return Err(foreign("is a symbolic link, which is not followed"));
        }
        opened => opened.map_err(system)?,
    };
    let there = file.metadata().map_err(system)?;
    if !there.is_file() {
        return Err(foreign("is not a regular file"));
    }
    if there.nlink() > 1 {
        return Err(foreign("also has another name"));
    }
    if there.len() == 0 {
        return Ok(CompanionFile { file, is_empty: true });
    }
    let mut begins = vec![0; mark.len()];
    match file.read_exact_at(&mut begins, 0) {
        Ok(()) if begins == mark => Ok(CompanionFile { file, is_empty: false }),
        Ok(()) => Err(foreign("is not a Lanemark file")),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
            Err(foreign("is not a Lanemark file"))
        }
        Err(error) => Err(system(error)),
    }
}

/// Creates the file `path` for this user only, open for reading and writing.
///
/// # Errors
/// Returns `AlreadyExists` if the name exists, even as a dangling link.
pub fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let flags = (OFlags::NOFOLLOW | OFlags::CLOEXEC).bits().cast_signed();
    options.read(true).write(true).create_new(true).mode(0o600).custom_flags(flags).open(path)
}

/// Creates a file with a free name next to `named`. The file is renamed when its content is complete.
///
/// # Errors
/// Returns the kernel's error.
pub fn create_partial_file(named: &Path) -> io::Result<(File, PathBuf)> {
    for number in 0..ATTEMPTS {
        let name = path(named, &format!(".{}-{number}.part", std::process::id()));
        match create(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|file| (file, name)),
        }
    }
    Err(io::Error::other("no free name is available next to it"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const MARK: &[u8] = b"ours 1 ";

    fn foreign(path: &Path) -> String {
        match open(path, MARK) {
            Err(error @ CompanionError::Foreign { .. }) => error.to_string(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_new_companion_is_for_this_user_only_and_is_recognised_later() {
        let folder = tempfile::tempdir().unwrap();
        let at = path(&folder.path().join("disk"), ".map");
        assert!(at.ends_with("disk.map"));
        let mut made = open(&at, MARK).unwrap();
        assert!(made.is_empty);
        assert_eq!(made.file.metadata().unwrap().mode() & 0o777, 0o600);
        assert!(open(&at, MARK).unwrap().is_empty);
        made.file.write_all(b"ours 1 and more").unwrap();
        assert!(!open(&at, MARK).unwrap().is_empty);
    }

    #[test]
    fn another_programs_file_is_refused_and_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("disk.map");
        for content in ["theirs, and long enough", "our", "ours 2 "] {
            fs::write(&at, content).unwrap();
            assert!(foreign(&at).contains("not a Lanemark file"), "{content}");
            assert_eq!(fs::read_to_string(&at).unwrap(), content);
        }
    }

    #[test]
    fn no_link_is_followed_and_no_device_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let in_folder = |name: &str| folder.path().join(name);
        fs::write(in_folder("victim"), "ours 1 of root").unwrap();
        std::os::unix::fs::symlink(in_folder("victim"), in_folder("link")).unwrap();
        std::os::unix::fs::symlink(in_folder("new"), in_folder("dangling")).unwrap();
        fs::hard_link(in_folder("victim"), in_folder("second")).unwrap();
        assert!(foreign(&in_folder("link")).contains("symbolic link"));
        assert!(foreign(&in_folder("dangling")).contains("symbolic link"));
        assert!(!in_folder("new").exists());
        assert!(foreign(&in_folder("second")).contains("another name"));
        fs::create_dir(in_folder("folder")).unwrap();
        assert!(foreign(&in_folder("folder")).contains("not a regular file"));
        rustix::fs::mknodat(
            rustix::fs::CWD,
            in_folder("pipe"),
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
            0,
        )
        .unwrap();
        assert!(foreign(&in_folder("pipe")).contains("not a regular file"));
    }

    #[test]
    fn a_part_takes_no_name_that_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let named = folder.path().join("database");
        let (_first, one) = create_partial_file(&named).unwrap();
        std::os::unix::fs::symlink(
            folder.path().join("victim"),
            path(&named, &format!(".{}-1.part", std::process::id())),
        )
        .unwrap();
        let (_second, two) = create_partial_file(&named).unwrap();
        assert!(one.to_string_lossy().ends_with("-0.part"), "{one:?}");
        assert!(two.to_string_lossy().ends_with("-2.part"), "{two:?}");
        assert!(!folder.path().join("victim").exists());
    }
}

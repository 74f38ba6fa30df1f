//! Temporary folders and files that only this user can read, and that are removed when the process ends.
//!
//! Contents such as the capture of a machine include serial numbers, so a folder has mode 0700 regardless of the umask.
//! A folder is removed when its owner drops it. A process that ends because of a signal does not drop its values; it
//! calls [`remove_all`], which removes every remaining folder and file. After SIGKILL, they remain.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use crate::removal::remove_tree;

/// Number of attempts to remove a folder while another thread still writes to it.
const ATTEMPTS: u32 = 50;
/// Time between two attempts.
const PAUSE: Duration = Duration::from_millis(2);

/// The paths that are removed when the process ends; `None` once the process has begun to end.
static ALIVE: Mutex<Option<Vec<PathBuf>>> = Mutex::new(Some(Vec::new()));

/// A temporary folder with mode 0700. It is removed with all its contents when this value is dropped, unless a file
/// system is mounted in it.
#[derive(Debug)]
pub struct PrivateFolder(PathBuf);

/// A file that is removed when this value is dropped, and when the process ends.
#[derive(Debug)]
pub struct PrivateFile(PathBuf);

impl PrivateFolder {
    /// Creates a folder whose name begins with `prefix`, among the system's temporary files.
    ///
    /// # Errors
    /// Returns the kernel's error, or an error if the process is ending.
    pub fn new(prefix: &str) -> io::Result<Self> {
        Self::within(&std::env::temp_dir(), prefix)
    }

    /// Creates a folder in `folder` with a name that begins with `prefix`.
    ///
    /// # Errors
    /// Returns the kernel's error, or an error if the process is ending.
    pub fn within(folder: &Path, prefix: &str) -> io::Result<Self> {
        // The lock is held while the folder is created, so the process cannot end between the creation of the folder
        // and its entry in the list.
        let mut alive = live_files();
        let alive = alive.as_mut().ok_or_else(process_ending_error)?;
        let mut builder = tempfile::Builder::new();
        builder.prefix(prefix).rand_bytes(12).permissions(Permissions::from_mode(0o700));
        let folder = builder.tempdir_in(folder)?;
        // The umask may have removed permissions from the folder.
        fs::set_permissions(folder.path(), Permissions::from_mode(0o700))?;
        let path = folder.keep();
        alive.push(path.clone());
        Ok(Self(path))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Removes the folder with all its contents now.
    ///
    /// # Errors
    /// Returns the errors of [`remove_tree`], for example if a file system is mounted in the folder.
    pub fn remove(self) -> io::Result<()> {
        remove_tree(&self.0)
    }

    /// Excludes the folder from the removal at the end of this process. Another process, which still needs the
    /// contents, removes it.
    pub fn leave_to_another_process(&self) {
        forget(&self.0);
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        let _ = remove_tree(&self.0);
        forget(&self.0);
    }
}

impl PrivateFile {
    /// Registers the file `path`, which is removed when this value is dropped or the process ends.
    pub fn register(path: PathBuf) -> Self {
        if let Some(alive) = live_files().as_mut() {
            alive.push(path.clone());
        }
        Self(path)
    }
}

impl Drop for PrivateFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
        forget(&self.0);
    }
}

/// Runs a step that writes into a private folder. The process does not end before the step, and no step begins after
/// the process has begun to end, so a folder that is being removed is not filled again.
///
/// The step must neither create nor drop a private folder or file.
///
/// # Errors
/// Returns the step's error, or an error if the process is ending.
pub fn write_step<T>(step: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let alive = live_files();
    if alive.is_some() { step() } else { Err(process_ending_error()) }
}

/// Removes all folders and files of the process, which must then end. No folder can be created afterwards.
pub fn remove_all() {
    let Some(all) = live_files().take() else { return };
    for path in all.iter().rev() {
        for _ in 0..ATTEMPTS {
            let removed = match fs::symlink_metadata(path) {
                Ok(there) if there.is_dir() => remove_tree(path),
                Ok(_) => fs::remove_file(path),
                Err(_) => break,
            };
            if removed.is_err() {
                thread::sleep(PAUSE);
            }
        }
    }
}

fn forget(path: &Path) {
    if let Some(alive) = live_files().as_mut() {
        alive.retain(|known| known != path);
    }
}

fn live_files() -> MutexGuard<'static, Option<Vec<PathBuf>>> {
    ALIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn process_ending_error() -> io::Error {
    io::Error::other("the process is ending")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    /// The process has only one list, so all these checks are in one test.
    #[test]
    fn folders_are_private_and_go_with_their_owner_or_with_the_process() {
        let outer = tempfile::tempdir().unwrap();
        let make = || PrivateFolder::within(outer.path(), "lanemark-test-").unwrap();
        let dropped = make();
        let left = make();
        let others = make();
        assert_eq!(mode(dropped.path()), 0o700);
        let gone = dropped.path().to_owned();
        fs::write(gone.join("serial"), "S1").unwrap();
        drop(dropped);
        assert!(!gone.exists());
        fs::create_dir(left.path().join("below")).unwrap();
        fs::write(left.path().join("below/serial"), "S1").unwrap();
        others.leave_to_another_process();
        let file = outer.path().join("page.html");
        fs::write(&file, "token").unwrap();
        let page = PrivateFile::register(file.clone());
        remove_all();
        assert!(!left.path().exists() && !file.exists() && others.path().exists());
        assert!(PrivateFolder::within(outer.path(), "lanemark-test-").is_err());
        drop((left, page, others));
        assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 0);
    }
}

//! The mount point: checks the file, and removes the remains of a killed server.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;

use lanemark_files::mounts::{mount_at, mounts};
use rustix::fs::{AtFlags, CWD, StatxFlags};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;
use thiserror::Error;

/// Name of the mount's source; the next server recognises the mount by this name.
pub(super) const SOURCE: &str = "lanemark-serve";

/// The folder for the files of disks, each named after its server process. Each file has a distinct path, because
/// mkfs.btrfs treats two loop devices over files with the same path as one device.
pub const DISKS: &str = "/run/lanemark-serve";

/// The reason why a mount failed.
#[derive(Debug, Error)]
pub enum MountError {
    /// The path has content that the mount would hide.
    #[error("{}: {reason}", path.display())]
    Refused {
        path: PathBuf,
        /// Description of the content.
        reason: String,
    },
    /// The kernel or the underlying file system returned an error.
    #[error("{}: {error}", path.display())]
    System { path: PathBuf, error: io::Error },
}

impl MountError {
    /// Returns the error for a mount that the kernel rejected.
    pub(super) fn of_mount(path: &Path, error: io::Error) -> Self {
        let path = path.to_owned();
        let lacks = |why: &str| io::Error::new(error.kind(), format!("{error}: {why}"));
        let error = match error.kind() {
            io::ErrorKind::NotFound if !Path::new("/dev/fuse").exists() => {
                lacks("/dev/fuse does not exist; run `modprobe fuse`")
            }
            io::ErrorKind::NotFound => {
                lacks("users other than root need fusermount3, from the Debian package fuse3")
            }
            io::ErrorKind::PermissionDenied => {
                lacks("users other than root need access to /dev/fuse, and fusermount3")
            }
            _ => error,
        };
        Self::System { path, error }
    }
}

/// An empty file as the mount point.
#[derive(Debug)]
pub(super) struct MountPoint {
    path: PathBuf,
    /// Whether the file was created for this mount.
    is_made: bool,
}

impl MountPoint {
    /// Uses the file at `path`, and creates it if it does not exist. Also returns a line if a dead mount was removed.
    pub(super) fn take(path: &Path) -> Result<(Self, Option<String>), MountError> {
        let system = |error| MountError::System { path: path.to_owned(), error };
        let refused =
            |reason: &str| MountError::Refused { path: path.to_owned(), reason: reason.to_owned() };
        let full_path = absolute(path).map_err(system)?;
        let mut note = None;
        match is_served(&full_path) {
            Some(false) => {
                return Err(refused("the path is already a mount point"));
            }
            Some(true) if !is_dead(&full_path) => {
                return Err(refused("another server has it mounted"));
            }
            Some(true) => {
                unmount(&full_path).map_err(system)?;
                note = Some(format!(
                    "{}: its last server did not shut down cleanly and left its mount behind",
                    path.display()
                ));
            }
            None => {}
        }
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&full_path);
        let is_made = match made {
            Ok(_) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => false,
            Err(error) => return Err(system(error)),
        };
        let there = fs::symlink_metadata(&full_path).map_err(system)?;
        if !there.is_file() {
            return Err(refused(
                "only an empty file can be the mount point, and this path is not a file",
            ));
        }
        if there.len() > 0 || there.blocks() > 0 {
            return Err(refused(
                "only an empty file can be the mount point, and this file contains data",
            ));
        }
        if there.uid() != rustix::process::geteuid().as_raw() {
            return Err(refused("only a file that you own can be the mount point"));
        }
        Ok((Self { path: full_path, is_made }, note))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for MountPoint {
    fn drop(&mut self) {
        // Only an empty file is removed; an active file system or another program's data is not removed.
        let is_empty = fs::symlink_metadata(&self.path).is_ok_and(|there| there.len() == 0);
        if self.is_made && is_empty {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns a path for the file of this process's disk, and a line if remains of killed servers were removed.
pub(super) fn of_disk() -> io::Result<(PathBuf, Option<String>)> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(DISKS)?;
    let cleared = clear_dead(Path::new(DISKS))?;
    let note = format!("removed mounts of disk servers that did not shut down cleanly: {cleared}");
    let full_path = Path::new(DISKS).join(std::process::id().to_string());
    Ok((full_path, (cleared > 0).then_some(note)))
}

/// Unmounts the disks of dead servers in `folder` and removes their files. Returns the number of mounts. An empty file
/// without a mount is removed too if its name is not the number of a running process.
fn clear_dead(folder: &Path) -> io::Result<u32> {
    let mut cleared = 0;
    for entry in fs::read_dir(folder)?.flatten() {
        let path = entry.path();
        // Another server that starts at the same time may remove the file first.
        match is_served(&path) {
            Some(true) if is_dead(&path) => {
                cleared += u32::from(unmount(&path).is_ok() && fs::remove_file(&path).is_ok());
            }
            Some(_) => {}
            None => {
                let is_running = Path::new("/proc").join(entry.file_name()).exists();
                let is_empty = entry.metadata().is_ok_and(|file| file.is_file() && file.len() == 0);
                if is_empty && !is_running {
                    let _ = fs::remove_file(&path);
                }
            }
        }
    }
    Ok(cleared)
}

/// Returns the absolute form of `path`, with the links in its folder resolved and the last component unchanged.
fn absolute(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    Ok(std::fs::canonicalize(folder.unwrap_or(Path::new(".")))?.join(name))
}

/// Returns whether the server of the mount at `path` is gone. The kernel is forced to request the attributes, because
/// it caches the last attributes for a while after the server's end.
fn is_dead(path: &Path) -> bool {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_FORCE_SYNC;
    let error = rustix::fs::statx(CWD, path, flags, StatxFlags::BASIC_STATS).err();
    matches!(error, Some(Errno::NOTCONN | Errno::CONNABORTED))
}

/// Returns whether a server owns the mount at `path`; `None` if there is no mount.
fn is_served(path: &Path) -> Option<bool> {
    let mounts = mounts();
    Some(mount_at(&mounts, path)?.source == Path::new(SOURCE))
}

/// Unmounts `path`. Returns true if a program had the mount open; in that case the name disappears immediately, and the
/// mount disappears when that program ends.
pub(super) fn unmount(path: &Path) -> io::Result<bool> {
    match rustix::mount::unmount(path, UnmountFlags::NOFOLLOW) {
        Ok(()) => Ok(false),
        Err(Errno::BUSY) => {
            rustix::mount::unmount(path, UnmountFlags::NOFOLLOW | UnmountFlags::DETACH)?;
            Ok(true)
        }
        // For a user other than root, the program `fusermount3` unmounts.
        Err(Errno::PERM) => {
            let words = [&["-u", "-q"][..], &["-u", "-q", "-z"]];
            for (is_open, words) in words.into_iter().enumerate() {
                let done = Command::new("fusermount3").args(words).arg("--").arg(path).status()?;
                if done.success() {
                    return Ok(is_open == 1);
                }
            }
            Err(io::ErrorKind::PermissionDenied.into())
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_files_of_dead_servers_are_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        // No process has this number: it is above the maximum of Linux.
        let dead = u32::MAX.to_string();
        let running = std::process::id().to_string();
        let path = |name: &str| folder.path().join(name);
        for name in [&dead, &running] {
            fs::write(path(name), "").unwrap();
        }
        fs::write(path("4294967294"), "x").unwrap();
        fs::create_dir(path("4294967293")).unwrap();
        assert_eq!(clear_dead(folder.path()).unwrap(), 0);
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        let mut left: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
        left.sort();
        let mut wanted = [running, "4294967293".to_owned(), "4294967294".to_owned()];
        wanted.sort();
        assert_eq!(left, wanted);
    }

    #[test]
    fn only_an_empty_file_is_used_and_existing_data_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        fs::write(path("data"), "x").unwrap();
        fs::write(path("empty"), "").unwrap();
        std::os::unix::fs::symlink(path("empty"), path("link")).unwrap();
        for (name, wanted) in
            [("data", "contains data"), ("link", "not a file"), ("", "not a file")]
        {
            let error = MountPoint::take(&path(name)).unwrap_err().to_string();
            assert!(error.contains(wanted), "{error}");
        }
        assert!(matches!(MountPoint::take(&path("no/file")), Err(MountError::System { .. })));
        drop(MountPoint::take(&path("empty")).unwrap());
        let (made, note) = MountPoint::take(&path("made")).unwrap();
        assert!(note.is_none() && path("made").exists());
        drop(made);
        assert!(!path("made").exists() && path("empty").exists());
        assert_eq!(fs::read(path("data")).unwrap(), b"x");
    }
}

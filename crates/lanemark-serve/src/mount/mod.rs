//! A served system as a file: a FUSE file system (`fuse(4)`) that consists of one file, mounted over an empty file.
//!
//! The file has the export's length and the mode 0600. The file is always open for direct I/O, regardless of the
//! program's flags. Each request of a program is therefore one request to the drive, and the file and the connections
//! see the same data. Replies come from the engine's thread in any order.
//!
//! The mount does not hide existing content: the file must not exist, or must be empty and owned by this user. The
//! mount disappears when its owner ends. If the process is killed, the kernel marks the mount as dead, and the next
//! server at this path removes it.

mod file;
mod mount_point;

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use fuser::{BackgroundSession, Config, MountOption, SessionACL};
use rustix::fs::{Mode, OFlags};

use crate::attach::{FreeLoopDevice, LoopDevice};
use crate::connection::ServerState;
use crate::undo;
use file::ServedFile;
pub use mount_point::{DISKS, MountError};
use mount_point::{MountPoint, SOURCE};

/// A mounted file. The file is unmounted when this value is dropped.
pub struct Mount {
    session: Option<BackgroundSession>,
    point: MountPoint,
    ended: Arc<AtomicBool>,
    undone: undo::UndoEntry,
}

impl Mount {
    /// Mounts the export over `path`. Also returns a line if remains of an earlier mount were removed.
    ///
    /// # Errors
    /// Returns an error if the path has other content, or if the kernel does not allow this user to mount.
    pub(crate) fn new(
        path: &Path,
        shared: &Arc<ServerState>,
    ) -> Result<(Self, Option<String>), MountError> {
        let (point, note) = MountPoint::take(path)?;
        let ended = Arc::new(AtomicBool::new(false));
        let file = ServedFile::new(Arc::clone(shared), Arc::clone(&ended))
            .map_err(|error| MountError::System { path: path.to_owned(), error })?;
        let mut config = Config::default();
        config.mount_options = vec![
            MountOption::FSName(SOURCE.to_owned()),
            MountOption::DefaultPermissions,
            MountOption::NoSuid,
            MountOption::NoDev,
            MountOption::NoExec,
            MountOption::NoAtime,
        ];
        config.n_threads = Some(file.threads());
        let mounted = fuser::spawn_mount(file, point.path(), &config);
        let session = mounted.map_err(|error| MountError::of_mount(path, error))?;
        let path_of_mount = point.path().to_owned();
        let undone = undo::register_undo(move || {
            let _ = mount_point::unmount(&path_of_mount);
        });
        Ok((Self { session: Some(session), point, ended, undone }, note))
    }

    pub fn path(&self) -> &Path {
        self.point.path()
    }

    /// Opens the file without the page cache.
    pub(crate) fn open(&self) -> io::Result<std::fs::File> {
        let flags = OFlags::RDWR | OFlags::DIRECT | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(rustix::fs::open(self.path(), flags, Mode::empty())?.into())
    }

    /// Ends the mount. Returns true if a program still had the file open: its requests fail from now on.
    pub fn end(mut self) -> bool {
        self.close()
    }

    fn close(&mut self) -> bool {
        let Some(session) = self.session.take() else { return false };
        let is_open = self.undone.cancel() && mount_point::unmount(self.path()).unwrap_or(true);
        self.ended.store(true, Ordering::SeqCst);
        // The threads end when the last program closes the file, or with this process.
        drop(session);
        is_open
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        self.close();
    }
}

/// The mounts of a session: a file, and a disk.
pub struct Mounts {
    shared: Arc<ServerState>,
    file: Option<Mount>,
    disk: Option<LoopDevice>,
}

impl Mounts {
    pub(crate) fn new(shared: Arc<ServerState>) -> Self {
        Self { shared, file: None, disk: None }
    }

    /// Mounts the system over `path`. Returns a line if remains of an earlier mount were removed.
    ///
    /// # Errors
    /// Returns an error if the path has other content, or if the kernel does not allow this user to mount.
    pub fn mount(&mut self, path: &Path) -> Result<Option<String>, MountError> {
        let (mount, note) = Mount::new(path, &self.shared)?;
        self.file = Some(mount);
        Ok(note)
    }

    /// Makes the system available as a disk, over the file at `path` or a new file in [`DISKS`]. Returns a line if
    /// remains of an earlier mount were removed.
    ///
    /// # Errors
    /// Returns the errors of a mount, and an error if there are no loop devices or this user is not permitted to use
    /// them.
    pub fn attach(&mut self, path: Option<&Path>) -> Result<Option<String>, MountError> {
        let of_loop = |error| MountError::System { path: PathBuf::from("a loop device"), error };
        // The device is opened before the mount; `attach` explains why.
        let free = FreeLoopDevice::find().map_err(of_loop)?;
        let (path, cleared) = match path {
            Some(path) => (path.to_owned(), None),
            None => mount_point::of_disk().map_err(of_loop)?,
        };
        let note = self.mount(&path)?.or(cleared);
        let file = self.file.as_ref().map(Mount::open).transpose().map_err(of_loop)?;
        if let Some(file) = file {
            self.disk = Some(LoopDevice::over(&file, free).map_err(of_loop)?);
        }
        Ok(note)
    }

    /// Serves a client of the kernel's protocol (`fuse(4)`) until it closes `socket`. Only fuzzing does this.
    ///
    /// # Errors
    /// Returns an error if the client does not follow the protocol.
    #[doc(hidden)]
    pub fn serve_protocol(&self, socket: OwnedFd) -> io::Result<()> {
        let file = ServedFile::new(Arc::clone(&self.shared), Arc::default())?;
        fuser::Session::from_fd(file, socket, SessionACL::All, Config::default())?.run()
    }

    pub fn file(&self) -> Option<&Path> {
        self.file.as_ref().map(Mount::path)
    }

    /// Returns the path of the disk's node.
    pub fn disk(&self) -> Option<&Path> {
        self.disk.as_ref().map(LoopDevice::node)
    }

    /// Ends the disk and the file, and returns lines about programs that still used them.
    pub(crate) fn end(&mut self) -> Vec<String> {
        let mut notes = Vec::new();
        if let Some(disk) = self.disk.take() {
            notes.extend(disk.flush());
            let node = disk.node().to_owned();
            if disk.end() {
                notes.push(format!(
                    "{}: still mounted or open; its requests now fail, and it disappears when the last program closes it",
                    node.display()
                ));
            }
        }
        if let Some(file) = self.file.take() {
            let path = file.path().to_owned();
            if file.end() {
                notes.push(format!("{}: still open; its requests now fail", path.display()));
            }
        }
        notes
    }
}

impl Drop for Mounts {
    fn drop(&mut self) {
        self.end();
    }
}

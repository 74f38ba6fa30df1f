//! A tree in a folder on disk. Only regular files are opened, because a captured tree may contain named pipes and
//! devices.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use lanemark_files::private::PrivateFolder;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::entry::{EntryKind, READ_MAX};

#[derive(Debug)]
pub(crate) struct FolderTree {
    /// Path of the folder without links.
    root: PathBuf,
    /// The folder of an unpacked capture, which is removed with this value.
    _unpacked: Option<PrivateFolder>,
}

impl FolderTree {
    /// Opens the folder `root`, which must be readable.
    pub(crate) fn open(root: &Path) -> io::Result<Self> {
        let root = fs::canonicalize(root)?;
        fs::read_dir(&root)?;
        Ok(Self { root, _unpacked: None })
    }

    /// Opens the tree of an unpacked capture.
    pub(crate) fn unpacked(folder: PrivateFolder) -> io::Result<Self> {
        // A manually created capture may contain the tree in a folder `sys`.
        let sys_folder = folder.path().join("sys");
        let root = if sys_folder.is_dir() { sys_folder } else { folder.path().to_owned() };
        Ok(Self { _unpacked: Some(folder), ..Self::open(&root)? })
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    pub(crate) fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        let kind = fs::symlink_metadata(self.root.join(path))?.file_type();
        Ok(if kind.is_symlink() {
            EntryKind::Link
        } else if kind.is_dir() {
            EntryKind::Folder
        } else if kind.is_file() {
            EntryKind::File
        } else {
            EntryKind::Special
        })
    }

    pub(crate) fn link(&self, path: &Path) -> io::Result<PathBuf> {
        fs::read_link(self.root.join(path))
    }

    pub(crate) fn names(
        &self,
        path: &Path,
    ) -> io::Result<impl Iterator<Item = io::Result<OsString>> + use<>> {
        let folder = fs::read_dir(self.root.join(path))?;
        Ok(folder.map(|entry| entry.map(|entry| entry.file_name())))
    }

    pub(crate) fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = rustix::fs::open(self.root.join(path), flags, Mode::empty())?;
        let mut bytes = Vec::new();
        File::from(file).take(READ_MAX + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    pub(crate) fn is_inapplicable(error: &io::Error) -> bool {
        let codes = [
            Errno::INVAL,
            Errno::NXIO,
            Errno::NODEV,
            Errno::OPNOTSUPP,
            Errno::NODATA,
            Errno::NOTTY,
            Errno::NOSYS,
        ];
        Errno::from_io_error(error).is_some_and(|code| codes.contains(&code))
    }
}

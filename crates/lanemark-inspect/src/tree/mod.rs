//! The folders, links and files of a sysfs tree: on disk, or in memory for a text that describes a machine.

mod entry;
#[cfg(feature = "machine")]
mod folder;
mod memory;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

pub(crate) use entry::{EntryKind, READ_MAX};
#[cfg(feature = "machine")]
pub(crate) use folder::FolderTree;
pub(crate) use memory::MemoryTree;

/// The entries of a tree, named by paths without links below its root.
#[derive(Debug)]
pub(crate) enum Tree {
    #[cfg(feature = "machine")]
    Folder(FolderTree),
    Memory(MemoryTree),
}

impl Tree {
    pub(crate) fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        match self {
            #[cfg(feature = "machine")]
            Self::Folder(tree) => tree.kind(path),
            Self::Memory(tree) => tree.kind(path),
        }
    }

    /// Returns the target of the link at `path`.
    pub(crate) fn link(&self, path: &Path) -> io::Result<PathBuf> {
        match self {
            #[cfg(feature = "machine")]
            Self::Folder(tree) => tree.link(path),
            Self::Memory(tree) => tree.link(path),
        }
    }

    /// Returns the names in the folder at `path`, in any order.
    pub(crate) fn names(
        &self,
        path: &Path,
    ) -> io::Result<Box<dyn Iterator<Item = io::Result<OsString>> + '_>> {
        match self {
            #[cfg(feature = "machine")]
            Self::Folder(tree) => Ok(Box::new(tree.names(path)?)),
            Self::Memory(tree) => Ok(Box::new(tree.names(path)?.map(Ok))),
        }
    }

    /// Returns the content of the file at `path`, or more than [`READ_MAX`] bytes of it.
    pub(crate) fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self {
            #[cfg(feature = "machine")]
            Self::Folder(tree) => tree.read(path),
            Self::Memory(tree) => tree.read(path),
        }
    }

    /// Returns whether a driver reports this error for an attribute that does not apply to the device.
    pub(crate) fn is_inapplicable(&self, error: &io::Error) -> bool {
        match self {
            #[cfg(feature = "machine")]
            Self::Folder(_) => FolderTree::is_inapplicable(error),
            Self::Memory(_) => error.kind() == io::ErrorKind::InvalidInput,
        }
    }
}

//! A tree in memory.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::entry::EntryKind;

/// Entries by their path below the root. The folders above an entry are entries, too.
#[derive(Debug, Default)]
pub(crate) struct MemoryTree(BTreeMap<PathBuf, MemoryEntry>);

#[derive(Debug)]
enum MemoryEntry {
    /// A folder with the names in it.
    Folder(Vec<OsString>),
    Link(PathBuf),
    File(Vec<u8>),
}

impl MemoryTree {
    pub(crate) fn add_folder(&mut self, path: &Path) {
        if !self.0.contains_key(path) {
            self.add(path, MemoryEntry::Folder(Vec::new()));
        }
    }

    pub(crate) fn add_link(&mut self, path: &Path, target: &str) {
        self.add(path, MemoryEntry::Link(target.into()));
    }

    pub(crate) fn add_file(&mut self, path: &Path, content: impl Into<Vec<u8>>) {
        self.add(path, MemoryEntry::File(content.into()));
    }

    fn add(&mut self, path: &Path, entry: MemoryEntry) {
        let is_new = self.0.insert(path.to_owned(), entry).is_none();
        let Some(folder) = path.parent().filter(|_| is_new) else { return };
        self.add_folder(folder);
        if let Some(MemoryEntry::Folder(names)) = self.0.get_mut(folder) {
            names.extend(path.file_name().map(OsString::from));
        }
    }

    pub(super) fn kind(&self, path: &Path) -> io::Result<EntryKind> {
        Ok(match self.entry(path)? {
            MemoryEntry::Folder(_) => EntryKind::Folder,
            MemoryEntry::Link(_) => EntryKind::Link,
            MemoryEntry::File(_) => EntryKind::File,
        })
    }

    pub(super) fn link(&self, path: &Path) -> io::Result<PathBuf> {
        match self.entry(path)? {
            MemoryEntry::Link(target) => Ok(target.clone()),
            MemoryEntry::Folder(_) | MemoryEntry::File(_) => {
                Err(io::ErrorKind::InvalidInput.into())
            }
        }
    }

    pub(super) fn names(&self, path: &Path) -> io::Result<impl Iterator<Item = OsString> + '_> {
        match self.entry(path)? {
            MemoryEntry::Folder(names) => Ok(names.iter().cloned()),
            MemoryEntry::Link(_) | MemoryEntry::File(_) => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    pub(super) fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        match self.entry(path)? {
            MemoryEntry::File(content) => Ok(content.clone()),
            MemoryEntry::Folder(_) | MemoryEntry::Link(_) => {
                Err(io::ErrorKind::InvalidInput.into())
            }
        }
    }

    fn entry(&self, path: &Path) -> io::Result<&MemoryEntry> {
        self.0.get(path).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

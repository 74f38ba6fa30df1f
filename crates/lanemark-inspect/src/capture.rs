//! Captures: tar files with the parts of a sysfs tree that an inspection reads, and the trees that are unpacked from
//! them.
//!
//! While an inspection runs, [`RecordedFiles`] records each folder, link and file that the inspection reads. A capture
//! contains only these, so that an inspection of the capture has the same result. A file that exists but could not be
//! read is stored as an empty file.
//!
//! A capture may come from an untrusted source. Captures are unpacked in a separate folder. The reader rejects names
//! that lead out of the folder, entries below links, and entries other than folders, links and files, and it limits
//! counts and sizes. Links are created unchanged, because [`Sysfs`](crate::Sysfs) resolves them itself and never leaves
//! its root.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use lanemark_files::private::{PrivateFolder, write_step};
use tar::{Archive, Builder, EntryType, Header};

use crate::tree::{EntryKind, Tree};

/// Maximum number of entries in a capture.
const ENTRIES_MAX: usize = 65_536;
/// Maximum size of one file in a capture, in bytes.
const FILE_MAX: u64 = 64 * 1024;
/// Maximum total size of all files in a capture, in bytes.
const BYTES_MAX: u64 = 64 << 20;
/// Maximum number of folders above an entry.
const DEPTH_MAX: usize = 128;

/// Files that an inspection has read, by path in the tree.
#[derive(Debug, Default)]
pub(crate) struct RecordedFiles(BTreeMap<PathBuf, RecordedEntry>);

#[derive(Debug)]
enum RecordedEntry {
    Folder,
    Link(PathBuf),
    /// A file with its content, if the content was read.
    File(Vec<u8>),
}

impl RecordedFiles {
    /// Records the entry at `relative` of `tree`.
    pub(crate) fn see(&mut self, relative: &Path, tree: &Tree) {
        if relative.as_os_str().is_empty()
            || self.0.contains_key(relative)
            || self.0.len() >= ENTRIES_MAX
        {
            return;
        }
        let entry = match tree.kind(relative) {
            Ok(EntryKind::Link) => {
                let Ok(target) = tree.link(relative) else { return };
                RecordedEntry::Link(target)
            }
            Ok(EntryKind::Folder) => RecordedEntry::Folder,
            Ok(EntryKind::File) => RecordedEntry::File(Vec::new()),
            Ok(EntryKind::Special) | Err(_) => return,
        };
        self.0.insert(relative.to_owned(), entry);
    }

    /// Records the content of the file at `relative`.
    pub(crate) fn content(&mut self, relative: &Path, bytes: &[u8]) {
        if let Some(RecordedEntry::File(content)) = self.0.get_mut(relative) {
            *content = bytes.to_vec();
        }
    }

    /// Returns all entries as a tar file, which has the same bytes for the same tree.
    pub(crate) fn tar(&self) -> io::Result<Vec<u8>> {
        let mut tar = Builder::new(Vec::new());
        for (relative, entry) in &self.0 {
            let mut header = Header::new_gnu();
            header.set_mtime(0);
            match entry {
                RecordedEntry::Folder => {
                    header.set_entry_type(EntryType::Directory);
                    header.set_mode(0o755);
                    header.set_size(0);
                    tar.append_data(&mut header, relative, io::empty())?;
                }
                RecordedEntry::Link(target) => {
                    header.set_entry_type(EntryType::Symlink);
                    header.set_mode(0o777);
                    header.set_size(0);
                    tar.append_link(&mut header, relative, target)?;
                }
                RecordedEntry::File(content) => {
                    header.set_entry_type(EntryType::Regular);
                    header.set_mode(0o644);
                    header.set_size(content.len() as u64);
                    tar.append_data(&mut header, relative, content.as_slice())?;
                }
            }
        }
        tar.into_inner()
    }
}

/// Unpacks a capture into a folder that is removed when the returned value is dropped.
///
/// # Errors
/// Returns an error if the input is not a capture, or exceeds the limits of a capture.
pub(crate) fn unpack(input: impl Read) -> io::Result<PrivateFolder> {
    let folder = PrivateFolder::new("lanemark-capture-")?;
    let mut archive = Archive::new(input.take(4 * BYTES_MAX));
    let mut entries = 0;
    let mut bytes = 0_u64;
    for entry in archive.entries()? {
        let mut entry = entry?;
        entries += 1;
        if entries > ENTRIES_MAX {
            return Err(invalid_data_error(&format!("more than {ENTRIES_MAX} entries")));
        }
        let Some(relative) = relative_path(&entry.path()?)? else { continue };
        write_step(|| {
            let full = made_above(folder.path(), &relative)?;
            match entry.header().entry_type() {
                EntryType::Directory => create_folder(&full)?,
                EntryType::Symlink => {
                    let target = entry
                        .link_name()?
                        .ok_or_else(|| invalid_data_error("a link without a target"))?;
                    std::os::unix::fs::symlink(target, &full)?;
                }
                EntryType::Regular | EntryType::Continuous => {
                    let mut content = Vec::new();
                    entry.by_ref().take(FILE_MAX + 1).read_to_end(&mut content)?;
                    bytes += content.len() as u64;
                    if content.len() as u64 > FILE_MAX || bytes > BYTES_MAX {
                        let message = format!(
                            "{} has more than {FILE_MAX} bytes, or all files together have more than {BYTES_MAX}",
                            relative.display()
                        );
                        return Err(invalid_data_error(&message));
                    }
                    // A second entry with the same name must not write through the first.
                    fs::File::create_new(&full)
                        .and_then(|mut file| io::Write::write_all(&mut file, &content))?;
                }
                _ => {
                    let message = format!("{} is not a folder, link or file", relative.display());
                    return Err(invalid_data_error(&message));
                }
            }
            Ok(())
        })?;
    }
    match entries {
        0 => Err(invalid_data_error("it is empty")),
        _ => Ok(folder),
    }
}

/// Returns the position of an entry below the root; `None` for the root itself.
fn relative_path(path: &Path) -> io::Result<Option<PathBuf>> {
    let mut relative = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => relative.push(name),
            Component::CurDir => {}
            _ => {
                return Err(invalid_data_error(&format!(
                    "{} leads out of the capture",
                    path.display()
                )));
            }
        }
    }
    if relative.components().count() > DEPTH_MAX {
        return Err(invalid_data_error("its folders are nested too deeply"));
    }
    Ok((!relative.as_os_str().is_empty()).then_some(relative))
}

/// Returns the full path of `relative` below `root` after creating all its parent folders, which are never links.
fn made_above(root: &Path, relative: &Path) -> io::Result<PathBuf> {
    let mut full = root.to_owned();
    for component in relative.parent().into_iter().flat_map(Path::components) {
        full.push(component);
        create_folder(&full)?;
    }
    Ok(root.join(relative))
}

fn create_folder(folder: &Path) -> io::Result<()> {
    match fs::symlink_metadata(folder) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(invalid_data_error("an entry is below a link or a file")),
        Err(_) => fs::create_dir(folder),
    }
}

fn invalid_data_error(message: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("is not a capture: {message}"))
}

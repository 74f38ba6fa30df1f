//! The files of an export: its data, the companions of the data and the image under it, each opened so that no other
//! program's data is lost.
//!
//! The data is locked for one server (flock(2)); an image is locked against servers that write it, and shared with
//! servers that read it. Not every file system supports locks. If the data cannot be opened, the files that were
//! created are removed.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use lanemark_files::companion::{self, CompanionError, CompanionFile};
use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::io::Errno;

use super::error::DataError;
use super::image::{self, ImageContent};
use super::journal::{BackingImage, FileIdentity, ModifiedTime};

/// File systems whose files the kernel generates: proc, sysfs, debugfs, tracefs and securityfs (`linux/magic.h`).
const KERNEL_FILE_SYSTEMS: [u64; 5] = [0x9fa0, 0x6265_6572, 0x6462_6720, 0x7472_6163, 0x7363_6673];

/// Files that were created while the data was opened; they are removed if the data cannot be opened.
#[derive(Debug, Default)]
pub(super) struct CreatedFiles(Vec<PathBuf>);

impl CreatedFiles {
    /// Returns whether this start of the server created the file.
    pub(super) fn is_made(&self, path: &Path) -> bool {
        self.0.iter().any(|made| made == path)
    }

    /// Opens or creates a companion file for the data.
    pub(super) fn companion(
        &mut self,
        path: &Path,
        mark: &str,
    ) -> Result<CompanionFile, DataError> {
        let was_there = std::fs::symlink_metadata(path).is_ok();
        let opened = companion::open(path, mark.as_bytes()).map_err(|error| match error {
            CompanionError::Foreign { path, reason } => DataError::Refused {
                path,
                why: format!("exists and {reason}"),
                hint: "move it away, or choose a different file for --data".to_owned(),
            },
            CompanionError::System { path, source } => {
                DataError::System { path, action: "opened", source }
            }
        })?;
        if !was_there {
            self.0.push(path.to_owned());
        }
        Ok(opened)
    }

    pub(super) fn keep(&mut self) {
        self.0.clear();
    }
}

impl Drop for CreatedFiles {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Opens or creates the data file, and locks it for this server.
pub(super) fn take(
    path: &Path,
    image: Option<&OpenImage>,
    made: &mut CreatedFiles,
) -> Result<File, DataError> {
    let fail = |action| move |source| DataError::System { path: path.to_owned(), action, source };
    let refused = |why: &str, hint: &str| DataError::Refused {
        path: path.to_owned(),
        why: why.to_owned(),
        hint: hint.to_owned(),
    };
    match companion::create(path) {
        Ok(file) => {
            made.0.push(path.to_owned());
            lock(&file, FlockOperation::NonBlockingLockExclusive, path)?;
            return Ok(file);
        }
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(fail("opened")(error)),
    }
    match std::fs::metadata(path) {
        Ok(there) if !there.is_file() => {
            let kind = there.file_type();
            let what = match (kind.is_block_device(), kind.is_dir()) {
                (true, _) => "is a block device, but data can only be stored in files",
                (_, true) => "is a folder",
                _ => "is not a regular file",
            };
            return Err(refused(what, "name a new file"));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(refused("is a link without a target", "name a new file"));
        }
        Err(error) => return Err(fail("opened")(error)),
        Ok(_) => {}
    }
    let mut options = OpenOptions::new();
    // If the file was replaced by a pipe in the meantime, `open` must not block.
    let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed();
    let file = options.read(true).write(true).custom_flags(flags).open(path);
    let file = file.map_err(fail("opened"))?;
    let there = file.metadata().map_err(fail("opened"))?;
    if !there.is_file() {
        return Err(fail("opened")(io::Error::other("is not a regular file")));
    }
    check_medium(path, &file)?;
    if image.is_some_and(|image| image.is(&there)) {
        let why = "is also the image of --over, which is read-only";
        return Err(refused(why, "name a new file for --data"));
    }
    lock(&file, FlockOperation::NonBlockingLockExclusive, path)?;
    Ok(file)
}

/// Rejects a file that is not on a disk: for example, `/proc/self/mem` is reported as a regular file of length zero.
fn check_medium(path: &Path, file: &File) -> Result<(), DataError> {
    let is_of_kernel = rustix::fs::fstatfs(file)
        .is_ok_and(|system| KERNEL_FILE_SYSTEMS.contains(&(system.f_type as u64)));
    if is_of_kernel {
        Err(DataError::Refused {
            path: path.to_owned(),
            why: "is generated by the kernel and does not keep data".to_owned(),
            hint: "name a file on a disk".to_owned(),
        })
    } else {
        Ok(())
    }
}

/// Locks a file, if its file system supports locks.
pub(super) fn lock(file: &File, kind: FlockOperation, path: &Path) -> Result<(), DataError> {
    match flock(file, kind) {
        Err(Errno::WOULDBLOCK) => Err(DataError::Refused {
            path: path.to_owned(),
            why: "is locked by another program".to_owned(),
            hint: "stop the other server, or choose a different file".to_owned(),
        }),
        _ => Ok(()),
    }
}

pub(super) struct OpenImage {
    pub(super) file: File,
    there: Metadata,
    pub(super) path: PathBuf,
}

impl OpenImage {
    /// Opens the image at `path`; no server can write it while it is open.
    pub(super) fn open(path: &Path) -> Result<Self, DataError> {
        let fail = |source| DataError::System { path: path.to_owned(), action: "opened", source };
        let not_regular = || {
            let why = "an image must be a regular file".to_owned();
            DataError::Misfit { path: path.to_owned(), why }
        };
        if !std::fs::metadata(path).map_err(fail)?.is_file() {
            return Err(not_regular());
        }
        let flags = (OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed();
        let mut options = OpenOptions::new();
        let file = options.read(true).custom_flags(flags).open(path).map_err(fail)?;
        let there = file.metadata().map_err(fail)?;
        if !there.is_file() {
            return Err(not_regular());
        }
        check_medium(path, &file)?;
        lock(&file, FlockOperation::NonBlockingLockShared, path)?;
        let content = ImageContent::recognise(there.len(), |bytes, at| file.read_at(bytes, at));
        if let ImageContent::Container(format) = content.map_err(fail)? {
            return Err(DataError::Refused {
                hint: image::conversion(path),
                why: format!(
                    "is a disk image in the format {format}, and only raw images can be served"
                ),
                path: path.to_owned(),
            });
        }
        Ok(Self { file, there, path: path.to_owned() })
    }

    /// Returns the length in bytes.
    pub(super) fn length(&self) -> u64 {
        self.there.len()
    }

    /// Returns whether this is the file of `other`.
    pub(super) fn is(&self, other: &Metadata) -> bool {
        (self.there.dev(), self.there.ino()) == (other.dev(), other.ino())
    }

    /// Returns the record of the image for a journal. A line end in the path would end the record.
    pub(super) fn noted(&self) -> BackingImage {
        let extent = FileIdentity { length: self.length(), inode: self.there.ino() };
        let modified = Some(ModifiedTime::from_metadata(&self.there));
        BackingImage {
            extent,
            modified,
            path: self.path.display().to_string().replace('\n', "\\n"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_raw_images_are_served() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        let refused = |at: u64, magic: &[u8], length: u64| {
            let file = File::create(&path).unwrap();
            file.set_len(length).unwrap();
            file.write_all_at(magic, at).unwrap();
            drop(file);
            match OpenImage::open(&path) {
                Err(DataError::Refused { why, hint, .. }) => Some((why, hint)),
                Err(error) => panic!("{error}"),
                Ok(_) => None,
            }
        };
        let (why, hint) = refused(0, b"QFI\xfb", 65_536).unwrap();
        assert!(why.contains("qcow2") && hint.starts_with("qemu-img convert -O raw "), "{hint}");
        // At another position, the same bytes are data.
        assert_eq!(refused(4_096, b"QFI\xfb", 65_536), None);
        assert!(refused(65_536 - 512, b"conectix", 65_536).unwrap().0.contains("VHD"));
        // A file system and a partition table are data.
        assert_eq!(refused(0x438, &[0x53, 0xef], 65_536), None);
        assert_eq!(refused(512, b"EFI PART", 65_536), None);
        // Empty images, and images that are shorter than any magic number, are raw.
        for length in [0, 3, 511] {
            assert_eq!(refused(0, b"", length), None);
        }
    }
}

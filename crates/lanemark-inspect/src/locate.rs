//! Finds the location of a path on this machine: the number of its block device.
//!
//! A device node contains the number itself. For any other file, the file system reports a device number. Some file
//! systems (btrfs, and file systems on several devices) report a number that does not belong to a device; in this case,
//! `/proc/self/mountinfo` (proc_pid_mountinfo(5)) contains the source of the mount.

use std::fs;
use std::path::Path;

use lanemark_files::mounts::{device_number, mount_of_device, mounts};
use rustix::fs::FileType;

use crate::error::InspectError;

/// The location of a path: its block device and file system.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FileLocation {
    /// Possible numbers of the block device, the most likely first.
    pub(crate) numbers: Vec<String>,
    /// Type of the path's file system.
    pub(crate) file_system: Option<String>,
}

pub(crate) fn locate(path: &Path) -> Result<FileLocation, InspectError> {
    let to_error = |source| InspectError::Path { path: path.to_owned(), source };
    let stat = rustix::fs::stat(path).map_err(|error| to_error(error.into()))?;
    if FileType::from_raw_mode(stat.st_mode).is_block_device() {
        return Ok(FileLocation { numbers: vec![device_number(stat.st_rdev)], file_system: None });
    }
    let real = fs::canonicalize(path).map_err(to_error)?;
    let number = device_number(stat.st_dev);
    let mounts = mounts();
    let mount = mount_of_device(&mounts, &number, &real);
    let source = mount.and_then(|mount| source_number(&mount.source));
    let file_system = mount.map(|mount| mount.file_system.clone());
    Ok(FileLocation {
        numbers: [Some(number), source].into_iter().flatten().collect(),
        file_system,
    })
}

fn source_number(source: &Path) -> Option<String> {
    let stat = rustix::fs::stat(source).ok()?;
    FileType::from_raw_mode(stat.st_mode).is_block_device().then(|| device_number(stat.st_rdev))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_temporary_folder_lies_on_a_file_system() {
        assert!(locate(&std::env::temp_dir()).unwrap().file_system.is_some());
    }
}

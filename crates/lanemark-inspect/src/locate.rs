//! The location of a path of this machine: the number of its block device.
//!
//! A device node is its own location. A file system reports a device number with each file. Some file systems (btrfs,
//! and file systems over several devices) report a number that belongs to no device; then `/proc/self/mountinfo`
//! (proc_pid_mountinfo(5)) contains the source of the mount.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, major, minor};

use crate::error::InspectError;

/// The location of a path: its block device and file system.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Location {
    /// Possible numbers of its block device, the likeliest first.
    pub(crate) numbers: Vec<String>,
    /// Type of the path's file system.
    pub(crate) file_system: Option<String>,
}

/// Finds the location of `path`.
pub(crate) fn locate(path: &Path) -> Result<Location, InspectError> {
    let failed = |source| InspectError::Path { path: path.to_owned(), source };
    let stat = rustix::fs::stat(path).map_err(|error| failed(error.into()))?;
    if FileType::from_raw_mode(stat.st_mode).is_block_device() {
        return Ok(Location { numbers: vec![number(stat.st_rdev)], file_system: None });
    }
    let real = fs::canonicalize(path).map_err(failed)?;
    let own = number(stat.st_dev);
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mount = find(&mounts, &own, &real);
    let source = mount.as_ref().and_then(|mount| source_number(&mount.source));
    Ok(Location {
        numbers: [Some(own), source].into_iter().flatten().collect(),
        file_system: mount.map(|mount| mount.file_system),
    })
}

#[derive(Debug, PartialEq, Eq)]
struct Mount {
    device: String,
    point: PathBuf,
    file_system: String,
    source: PathBuf,
}

/// Returns the mount of `device` with the longest mount point above `path`; of several on one point, the last is
/// visible.
fn find(mounts: &str, device: &str, path: &Path) -> Option<Mount> {
    mounts
        .lines()
        .filter_map(parse)
        .filter(|mount| path.starts_with(&mount.point))
        .max_by_key(|mount| (mount.device == device, mount.point.components().count()))
}

/// Parses `36 35 98:0 /root /mount/point rw,noatime master:1 - ext3 /dev/root rw`.
fn parse(line: &str) -> Option<Mount> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(2);
    let device = place.next()?.to_owned();
    let point = unescape(place.nth(1)?);
    let mut kind = kind.split(' ');
    let (file_system, source) = (kind.next()?.to_owned(), unescape(kind.next()?));
    Some(Mount { device, point, file_system, source })
}

/// Decodes a path of mountinfo, in which space, tab, newline and backslash are written `\040` and so on.
fn unescape(text: &str) -> PathBuf {
    let mut parts = text.split('\\');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let code = part.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) => {
                plain.push(char::from(code));
                plain.push_str(&part[3..]);
            }
            None => {
                plain.push('\\');
                plain.push_str(part);
            }
        }
    }
    plain.into()
}

fn number(device: u64) -> String {
    format!("{}:{}", major(device), minor(device))
}

fn source_number(source: &Path) -> Option<String> {
    let stat = rustix::fs::stat(source).ok()?;
    FileType::from_raw_mode(stat.st_mode).is_block_device().then(|| number(stat.st_rdev))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
24 22 254:16 / /mnt/my\\040disk rw shared:1 master:2 - xfs /dev/vdb rw
26 22 0:40 / /data rw - btrfs /dev/vdc rw
nonsense
1 2 3 -
";

    #[test]
    fn the_mount_that_holds_a_path_most_closely_is_found() {
        let found = |device, path| find(MOUNTS, device, Path::new(path)).unwrap();
        assert_eq!(found("254:0", "/home/a").file_system, "ext4");
        assert_eq!(found("254:16", "/mnt/my disk/a").source, Path::new("/dev/vdb"));
        assert_eq!(found("0:99", "/data/a").source, Path::new("/dev/vdc"));
        assert_eq!(find("", "0:1", Path::new("/")), None);
    }

    #[test]
    fn the_temporary_folder_lies_on_a_file_system() {
        assert!(locate(&std::env::temp_dir()).unwrap().file_system.is_some());
    }
}

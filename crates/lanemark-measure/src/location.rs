//! The location of a file: its file system and the block device under it.
//!
//! The location comes from `/proc/self/mountinfo` (proc_pid_mountinfo(5)) and `/sys/dev/block`. Values that they do not
//! contain are absent: an overlay or network file system lacks a block device. A device that consists of others (RAID,
//! LVM) is named itself; `lanemark-inspect` finds its members.

use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};

use rustix::fs::{FileType, major, minor};

/// The location of a target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Location {
    /// The kind of file system, `ext4`; `None` for a block device.
    pub file_system: Option<String>,
    /// The block device, `vda`.
    pub block_device: Option<String>,
}

/// A line of mountinfo.
#[derive(Debug, PartialEq, Eq)]
struct Mount {
    /// `major:minor`, as stat reports it for the mount's files.
    device: String,
    point: PathBuf,
    file_system: String,
    /// Source of the mount, `/dev/vda`.
    source: String,
}

impl Location {
    /// Finds the location of the open `file`.
    pub fn of(file: impl AsFd) -> Self {
        let Ok(stat) = rustix::fs::fstat(&file) else { return Self::default() };
        if FileType::from_raw_mode(stat.st_mode).is_block_device() {
            return Self { file_system: None, block_device: block_device(&number(stat.st_rdev)) };
        }
        let device = number(stat.st_dev);
        let path = fs::read_link(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()));
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mount = find(&mounts, &device, &path.unwrap_or_default());
        Self {
            block_device: block_device(&device)
                .or_else(|| block_device(&source_number(&mount.as_ref()?.source)?)),
            file_system: mount.map(|mount| mount.file_system),
        }
    }
}

/// Returns the mount of `device` with the longest mount point above `path`. Some file systems (btrfs) report another
/// device for their files than mountinfo does; then only the path decides.
fn find(mounts: &str, device: &str, path: &Path) -> Option<Mount> {
    // Of several mounts on one point, the last is visible.
    mounts
        .lines()
        .filter_map(parse)
        .filter(|mount| mount.device == device || path.starts_with(&mount.point))
        .max_by_key(|mount| {
            let holds = path.starts_with(&mount.point);
            let depth = if holds { mount.point.components().count() } else { 0 };
            (mount.device == device, depth)
        })
}

/// Parses `36 35 98:0 /root /mount/point rw,noatime master:1 - ext3 /dev/root rw`.
fn parse(line: &str) -> Option<Mount> {
    let (place, kind) = line.split_once(" - ")?;
    let mut place = place.split(' ').skip(2);
    let device = place.next()?.to_owned();
    let point = PathBuf::from(unescape(place.nth(1)?));
    let mut kind = kind.split(' ');
    let (file_system, source) = (kind.next()?.to_owned(), unescape(kind.next()?));
    Some(Mount { device, point, file_system, source })
}

/// Decodes a path of mountinfo, which writes space, tab, newline and backslash as `\040` and so on.
fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut parts = text.split('\\');
    plain.push_str(parts.next().unwrap_or_default());
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
    plain
}

fn number(device: u64) -> String {
    format!("{}:{}", major(device), minor(device))
}

/// Returns the number of the device node `source`.
fn source_number(source: &str) -> Option<String> {
    let stat = rustix::fs::stat(source).ok()?;
    FileType::from_raw_mode(stat.st_mode).is_block_device().then(|| number(stat.st_rdev))
}

/// Returns the name of the block device with a number.
fn block_device(number: &str) -> Option<String> {
    let link = fs::read_link(format!("/sys/dev/block/{number}")).ok()?;
    Some(link.file_name()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTS: &str = "\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
23 22 0:21 / /proc rw - proc proc rw
24 22 254:16 / /mnt/my\\040disk rw shared:1 master:2 - xfs /dev/vdb rw
25 22 254:16 / /mnt/again rw - xfs /dev/vdb rw
26 22 0:40 / /data rw - btrfs /dev/vdc rw
";

    #[test]
    fn the_mount_of_the_device_that_holds_the_path_is_found() {
        let found = |device, path| find(MOUNTS, device, Path::new(path)).unwrap();
        assert_eq!(found("254:0", "/home/a").file_system, "ext4");
        assert_eq!(found("254:16", "/mnt/my disk/a").point, Path::new("/mnt/my disk"));
        assert_eq!(found("254:16", "/mnt/again/a").point, Path::new("/mnt/again"));
        assert_eq!(found("0:99", "/data/a").source, "/dev/vdc");
    }

    #[test]
    fn only_the_node_of_a_block_device_has_a_number() {
        for none in ["/dev/null", "/", "/no/such/node", ""] {
            assert_eq!(source_number(none), None, "{none}");
        }
        // The kernel lists the number and the name of each device.
        let partitions = fs::read_to_string("/proc/partitions").unwrap_or_default();
        for line in partitions.lines().skip(2) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [major, minor, _, name] = fields.as_slice() else { continue };
            let node = format!("/dev/{name}");
            if Path::new(&node).exists() {
                assert_eq!(source_number(&node), Some(format!("{major}:{minor}")), "{node}");
            }
        }
    }

    #[test]
    fn lines_that_are_not_mounts_are_passed_over() {
        assert_eq!(find("nonsense\n1 2 3 - \n", "0:1", Path::new("/")), None);
    }

    #[test]
    fn the_temporary_folder_lies_somewhere() {
        let file = tempfile::tempfile().unwrap();
        assert!(Location::of(&file).file_system.is_some());
    }
}

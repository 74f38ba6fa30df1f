//! The location of a file: its file system and the block device under it.
//!
//! The location comes from `/proc/self/mountinfo` (proc_pid_mountinfo(5)) and `/sys/dev/block`. Values that these files
//! do not contain are absent: for example, an overlay or network file system is not on a block device. A device that
//! consists of other devices (RAID, LVM) is reported as one device; `lanemark-inspect` finds its members.

use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use lanemark_files::mounts::{device_number, mount_of_device, mounts};
use rustix::fs::FileType;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TargetLocation {
    /// Type of the file system, such as `ext4`; `None` for a block device.
    pub file_system: Option<String>,
    /// Name of the block device, such as `vda`.
    pub block_device: Option<String>,
}

impl TargetLocation {
    /// Finds the location of the open `file`.
    pub fn find(file: impl AsFd) -> Self {
        let Ok(stat) = rustix::fs::fstat(&file) else { return Self::default() };
        if FileType::from_raw_mode(stat.st_mode).is_block_device() {
            return Self {
                file_system: None,
                block_device: block_device(&device_number(stat.st_rdev)),
            };
        }
        let device = device_number(stat.st_dev);
        let path = fs::read_link(format!("/proc/self/fd/{}", file.as_fd().as_raw_fd()));
        let mounts = mounts();
        let mount = mount_of_device(&mounts, &device, &path.unwrap_or_default());
        Self {
            block_device: block_device(&device)
                .or_else(|| block_device(&source_number(&mount?.source)?)),
            file_system: mount.map(|mount| mount.file_system.clone()),
        }
    }
}

/// Returns the number of the device node `source`.
fn source_number(source: &Path) -> Option<String> {
    let stat = rustix::fs::stat(source).ok()?;
    FileType::from_raw_mode(stat.st_mode).is_block_device().then(|| device_number(stat.st_rdev))
}

fn block_device(number: &str) -> Option<String> {
    let link = fs::read_link(format!("/sys/dev/block/{number}")).ok()?;
    Some(link.file_name()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_node_of_a_block_device_has_a_number() {
        for none in ["/dev/null", "/", "/no/such/node", ""] {
            assert_eq!(source_number(Path::new(none)), None, "{none}");
        }
        // The kernel lists the number and the name of each device.
        let partitions = fs::read_to_string("/proc/partitions").unwrap_or_default();
        for line in partitions.lines().skip(2) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [major, minor, _, name] = fields.as_slice() else { continue };
            let node = format!("/dev/{name}");
            if Path::new(&node).exists() {
                assert_eq!(
                    source_number(Path::new(&node)),
                    Some(format!("{major}:{minor}")),
                    "{node}"
                );
            }
        }
    }
}

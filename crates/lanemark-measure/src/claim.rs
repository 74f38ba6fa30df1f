//! Claims a block device for writing, but only a device that is not in use and that the user offered by name.
//!
//! A device is **in use** if the kernel does not open it, or its whole disk, with `O_EXCL`: mounts, swap,
//! device-mapper, RAID and bcache claim their devices. The name of the device does not matter, because the claim
//! belongs to the device and not to the name. The kernel does not claim a device that is the medium of a loop device,
//! or a loop device whose file is also the medium of another loop device; the check searches for both cases. A device
//! in use is rejected even if the user offered it.
//!
//! A device is **offered** if `--i-will-lose-all-data-on` names it. If a device is not offered, the error lists the
//! contents that `blkid` finds on the device and on its partitions.
//!
//! The claim lasts as long as the device is written, so no other process can mount the device during that time.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::{Dev, FileType, Mode, OFlags, major, minor};
use rustix::io::Errno;

use crate::error::MeasureError;

#[derive(Debug)]
pub(crate) struct Claim {
    /// The device, open for reading and writing, and claimed.
    pub(crate) file: OwnedFd,
}

/// A block device and its folder in sysfs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Device {
    /// The kernel's name of the device, such as `sda1`.
    name: String,
    /// Folder of the device in sysfs.
    folder: PathBuf,
}

impl Claim {
    /// Claims the device `number` at `path` if `offered` names the same device.
    ///
    /// # Errors
    /// Returns an error if the device is in use or is not the offered device.
    pub(crate) fn new(
        path: &Path,
        number: Dev,
        offered: Option<&Path>,
    ) -> Result<Self, MeasureError> {
        let device = Device::from_number(number).ok_or_else(|| MeasureError::DeviceInUse {
            path: path.to_owned(),
            uses: vec!["the kernel does not show it in /sys/dev/block".to_owned()],
        })?;
        let disk = device.disk();
        let uses = uses(&device, &disk);
        if !uses.is_empty() {
            return Err(MeasureError::DeviceInUse { path: path.to_owned(), uses });
        }
        match offered {
            None => {
                let holds = device.with_partitions().iter().flat_map(signatures).collect();
                return Err(MeasureError::DeviceNotOffered { path: path.to_owned(), holds });
            }
            Some(offered) if number_of(offered) != Some(number) => {
                return Err(MeasureError::OfferMismatch {
                    path: path.to_owned(),
                    offered: offered.to_owned(),
                });
            }
            Some(_) => {}
        }
        if disk != device {
            // A claim on the disk fails while one of its partitions is claimed. The claim on the disk is released
            // immediately, because it would block our own claim on a partition.
            drop(claim(path, &PathBuf::from("/dev").join(&disk.name), OFlags::RDONLY, &disk)?);
        }
        Ok(Self { file: claim(path, path, OFlags::RDWR, &device)? })
    }
}

/// Opens a device that no other process has claimed.
fn claim(
    path: &Path,
    node: &Path,
    access: OFlags,
    device: &Device,
) -> Result<OwnedFd, MeasureError> {
    let flags = access | OFlags::EXCL | OFlags::CLOEXEC | OFlags::NOCTTY;
    rustix::fs::open(node, flags, Mode::empty()).map_err(|error| match error {
        Errno::BUSY => {
            // The uses of a disk include the uses of its partitions.
            let mut uses = uses(device, device);
            uses.push(format!(
                "the kernel reports that {} or a part of it is claimed",
                device.name
            ));
            MeasureError::DeviceInUse { path: path.to_owned(), uses }
        }
        Errno::ACCESS | Errno::PERM => {
            MeasureError::Permission { path: path.to_owned(), action: "write" }
        }
        Errno::ROFS => MeasureError::System {
            path: path.to_owned(),
            action: "write to the read-only device",
            source: error.into(),
        },
        error => {
            MeasureError::System { path: path.to_owned(), action: "claim", source: error.into() }
        }
    })
}

impl Device {
    fn from_number(number: Dev) -> Option<Self> {
        let link = format!("/sys/dev/block/{}:{}", major(number), minor(number));
        let folder = fs::canonicalize(link).ok()?;
        Some(Self { name: folder.file_name()?.to_str()?.to_owned(), folder })
    }

    /// Returns the disk of a partition, or the device itself.
    fn disk(&self) -> Self {
        let parent = || {
            let folder = self.folder.parent()?.to_owned();
            Some(Self { name: folder.file_name()?.to_str()?.to_owned(), folder })
        };
        let is_partition = self.folder.join("partition").exists();
        is_partition.then(parent).flatten().unwrap_or_else(|| self.clone())
    }

    /// Returns the device itself and its partitions.
    fn with_partitions(&self) -> Vec<Self> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let parts =
            entries.map(|entry| entry.path()).filter(|path| path.join("partition").exists());
        let part = |folder: PathBuf| {
            Some(Self { name: folder.file_name()?.to_str()?.to_owned(), folder: folder.clone() })
        };
        std::iter::once(self.clone()).chain(parts.filter_map(part)).collect()
    }

    fn number(&self) -> String {
        fs::read_to_string(self.folder.join("dev")).unwrap_or_default().trim().to_owned()
    }
}

/// Returns descriptions of the uses of a device, its partitions or its disk.
fn uses(device: &Device, disk: &Device) -> Vec<String> {
    let mut parts = device.with_partitions();
    if disk != device {
        parts.push(disk.clone());
    }
    let mut found = Vec::new();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    for part in &parts {
        let number = part.number();
        for line in mounts.lines() {
            let mut words = line.split(' ').skip(2);
            if words.next() == Some(&number) {
                let point = words.nth(1).unwrap_or("somewhere");
                found.push(format!("{} is mounted on {point}", part.name));
            }
        }
        let swap = |line: &str| {
            let node = line.split_whitespace().next().map(Path::new);
            node.and_then(number_of).map(device_number_text) == Some(number.clone())
        };
        if swaps.lines().skip(1).any(swap) {
            found.push(format!("{} is in use as swap space", part.name));
        }
        let holders = fs::read_dir(part.folder.join("holders")).into_iter().flatten().flatten();
        for holder in holders {
            let holder = holder.file_name();
            found.push(format!("{} is a part of {}", part.name, holder.to_string_lossy()));
        }
    }
    found.extend(loop_devices(&parts));
    found
}

/// Returns descriptions of the loop devices whose medium is one of `parts`, or is also the medium of one of `parts`.
fn loop_devices(parts: &[Device]) -> Vec<String> {
    let medium = |folder: &Path| {
        let file = fs::read_to_string(folder.join("loop/backing_file")).ok()?;
        let stat = rustix::fs::stat(file.trim_end()).ok()?;
        Some((stat.st_dev, stat.st_ino, stat.st_rdev, FileType::from_raw_mode(stat.st_mode)))
    };
    let media: Vec<_> =
        parts.iter().filter_map(|part| Some((part, medium(&part.folder)?))).collect();
    let mut found = Vec::new();
    for other in fs::read_dir("/sys/block").into_iter().flatten().flatten() {
        let name = other.file_name().to_string_lossy().into_owned();
        let Some((device, inode, number, kind)) = medium(&other.path()) else { continue };
        if kind.is_block_device() {
            let under = parts.iter().find(|part| part.number() == device_number_text(number));
            found.extend(under.map(|part| format!("{} is the medium of {name}", part.name)));
        }
        let twins = media
            .iter()
            .filter(|(part, medium)| part.name != name && (medium.0, medium.1) == (device, inode));
        found.extend(twins.map(|(part, _)| format!("{} and {name} share one medium", part.name)));
    }
    found
}

/// Returns descriptions of the signatures that `blkid` finds on a device.
fn signatures(device: &Device) -> Vec<String> {
    let node = PathBuf::from("/dev").join(&device.name);
    let probe = Command::new("blkid").args(["--probe", "--output", "export"]).arg(&node).output();
    let name = &device.name;
    match probe {
        Ok(output) if output.status.success() => {
            let content = export_description(&String::from_utf8_lossy(&output.stdout));
            content.map(|what| format!("{name} holds {what}")).into_iter().collect()
        }
        // According to blkid(8), status 2 means that there is no signature, and 8 that there are several.
        Ok(output) if output.status.code() == Some(2) => Vec::new(),
        Ok(output) if output.status.code() == Some(8) => {
            vec![format!("{name} contains several signatures")]
        }
        _ => vec![format!("{name}: blkid could not examine its contents")],
    }
}

/// Returns text such as `ext4 "data" (5f1c…)` from blkid's export; `None` if the export only contains the position of a
/// partition.
fn export_description(export: &str) -> Option<String> {
    let keys = export.lines().filter_map(|line| line.split_once('=')).map(|(key, _)| key);
    if keys.clone().all(|key| key == "DEVNAME" || key.starts_with("PART_ENTRY_")) {
        return None;
    }
    let value = |key: &str| {
        let line = export.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        line.filter(|text| !text.is_empty())
    };
    let kind = value("TYPE")
        .map(str::to_owned)
        .or_else(|| value("PTTYPE").map(|kind| format!("a {kind} partition table")))
        .unwrap_or_else(|| "something".to_owned());
    let label = value("LABEL").map(|label| format!(" \"{label}\"")).unwrap_or_default();
    let id = value("UUID").or_else(|| value("PTUUID"));
    Some(kind + &label + &id.map(|id| format!(" ({id})")).unwrap_or_default())
}

/// Returns the number of the block device at `path`.
fn number_of(path: &Path) -> Option<Dev> {
    let stat = rustix::fs::stat(path).ok()?;
    FileType::from_raw_mode(stat.st_mode).is_block_device().then_some(stat.st_rdev)
}

fn device_number_text(number: Dev) -> String {
    format!("{}:{}", major(number), minor(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_blkid_becomes_a_description() {
        let file_system = "DEVNAME=/dev/sda1\nLABEL=data\nUUID=5f1c\nTYPE=ext4\nUSAGE=filesystem\n";
        let words = |export| export_description(export).unwrap_or_default();
        assert_eq!(words(file_system), "ext4 \"data\" (5f1c)");
        assert_eq!(words("PTUUID=ab\nPTTYPE=gpt\n"), "a gpt partition table (ab)");
        assert_eq!(words("DEVNAME=/dev/sda1\nUSAGE=crypto\n"), "something");
        // A partition without any content.
        let blank = "DEVNAME=/dev/sda1\nPART_ENTRY_SCHEME=dos\nPART_ENTRY_NUMBER=2\n";
        assert_eq!((export_description(blank), export_description("")), (None, None));
    }

    #[test]
    fn a_device_that_is_mounted_is_in_use() {
        // A container's root may not be on a block device, but a file that is mounted into the container is.
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let device = mounts.lines().find_map(|line| {
            let (major, minor) = line.split(' ').nth(2)?.split_once(':')?;
            Device::from_number(rustix::fs::makedev(major.parse().ok()?, minor.parse().ok()?))
        });
        let Some(device) = device else {
            return lanemark_testbed::skipped("no block device is mounted");
        };
        let found = uses(&device, &device.disk());
        assert!(found.iter().any(|one| one.contains("is mounted on /")), "{found:?}");
    }
}

//! Files as block devices (losetup from util-linux), and file systems that are mounted for a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::{text, tool, tool_or_skip};

/// Maximum time until a file system that is in use must become unused.
const PATIENCE: Duration = Duration::from_secs(10);

/// A loop device over a separate file.
#[derive(Debug)]
pub struct LoopDevice {
    folder: tempfile::TempDir,
    node: PathBuf,
}

impl LoopDevice {
    /// Creates a device over a file with the content `bytes`. The device uses direct I/O to the file if `direct` is
    /// set, and the page cache otherwise. Returns `None` if this user is not permitted to create a loop device.
    ///
    /// # Panics
    /// Panics if the file cannot be written, and in CI if loop devices are missing.
    pub fn with_content(bytes: &[u8], direct: bool) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let medium = folder.path().join("medium");
        fs::write(&medium, bytes).expect("room for the medium");
        Self::over(folder, direct)
    }

    /// Creates a device over a file of `length` bytes that was never written.
    ///
    /// # Panics
    /// Panics if the file cannot be created, and in CI if loop devices are missing.
    pub fn sparse(length: u64) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = fs::File::create(folder.path().join("medium")).expect("a new file");
        file.set_len(length).expect("a longer file");
        Self::over(folder, true)
    }

    fn over(folder: tempfile::TempDir, direct: bool) -> Option<Self> {
        let medium = folder.path().join("medium");
        let direct = format!("--direct-io={}", if direct { "on" } else { "off" });
        let node = tool_or_skip("losetup", &["-f", "--show", &direct, text(&medium)])?;
        Some(Self { folder, node: PathBuf::from(node) })
    }

    /// Returns the device's node, such as `/dev/loop0`.
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// Returns the file under the device.
    pub fn medium(&self) -> PathBuf {
        self.folder.path().join("medium")
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = tool("losetup", &["-d", text(&self.node)]);
    }
}

/// A file system mounted on a separate folder.
#[derive(Debug)]
pub struct Mounted(tempfile::TempDir);

impl Mounted {
    /// Mounts a file system with the arguments that `mount` takes before the folder, such as `-t tmpfs lanemark`.
    /// Returns `None` if this user is not permitted to mount.
    ///
    /// # Panics
    /// Panics in CI if the file system cannot be mounted.
    pub fn with(arguments: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let all: Vec<&str> = arguments.iter().copied().chain([text(folder.path())]).collect();
        tool_or_skip("mount", &all)?;
        Some(Self(folder))
    }

    /// Creates an ext4 file system on `device`, and mounts it.
    ///
    /// # Panics
    /// Panics under the same condition as [`Mounted::with`].
    pub fn ext4(device: &Path) -> Option<Self> {
        tool_or_skip("mkfs.ext4", &["-q", "-F", text(device)])?;
        Self::with(&[text(device)])
    }

    /// Returns the mount point.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Mounted {
    /// Unmounts, and panics if the file system is still in use after ten seconds.
    ///
    /// A process that has just been killed, or a kernel worker that has announced the last completion of a ring but has
    /// not yet released its file, may still use the file system for a moment until it gets a processor.
    fn drop(&mut self) {
        let began = Instant::now();
        while let Err(error) = tool("umount", &[text(self.0.path())]) {
            if error.contains("not mounted") {
                return;
            }
            if began.elapsed() >= PATIENCE {
                assert!(std::thread::panicking(), "{}: {error}", self.0.path().display());
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

//! Files as block devices (losetup of util-linux), and what is mounted for a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::{text, tool, tool_or_skip};

/// Time that a file system in use has to become free.
const PATIENCE: Duration = Duration::from_secs(10);

/// A loop device over a file of its own.
#[derive(Debug)]
pub struct LoopDevice {
    folder: tempfile::TempDir,
    node: PathBuf,
}

impl LoopDevice {
    /// A device over a file that holds `bytes`, with direct I/O to the file or through the page cache; none where this
    /// user may not make one.
    ///
    /// # Panics
    /// Where the file cannot be written, and in CI where there are no loop devices.
    pub fn holding(bytes: &[u8], direct: bool) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let medium = folder.path().join("medium");
        fs::write(&medium, bytes).expect("room for the medium");
        Self::over(folder, direct)
    }

    /// A device over a file of `length` bytes that was never written.
    ///
    /// # Panics
    /// Where the file cannot be made, and in CI where there are no loop devices.
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

    /// Returns the device's node, `/dev/loop0`.
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// The file under it.
    pub fn medium(&self) -> PathBuf {
        self.folder.path().join("medium")
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = tool("losetup", &["-d", text(&self.node)]);
    }
}

/// A file system mounted on a folder of its own.
#[derive(Debug)]
pub struct Mounted(tempfile::TempDir);

impl Mounted {
    /// Mounts by the arguments that `mount` has before the folder, `-t tmpfs lanemark`; none where this user may not.
    ///
    /// # Panics
    /// In CI where it cannot be mounted.
    pub fn with(arguments: &[&str]) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let all: Vec<&str> = arguments.iter().copied().chain([text(folder.path())]).collect();
        tool_or_skip("mount", &all)?;
        Some(Self(folder))
    }

    /// Makes an ext4 file system on `device` and mounts it.
    ///
    /// # Panics
    /// As [`Mounted::with`].
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
    fn drop(&mut self) {
        // Processes that have just been killed may still be about to close their files.
        let began = Instant::now();
        while tool("umount", &[text(self.0.path())]).is_err() && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

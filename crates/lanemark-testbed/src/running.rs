//! A program that a test starts, and a folder in which the program mounts files. Both are removed at the end of the
//! test.

use std::fs;
use std::ops::{Deref, DerefMut};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Output};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::{text, tool};

/// Maximum time that a program may take after SIGTERM to unmount its files and exit.
const PATIENCE: Duration = Duration::from_secs(10);

/// A process that ends with the test: it receives SIGTERM, and SIGKILL if it is still running after ten seconds.
#[derive(Debug)]
pub struct Running(Option<Child>);

impl Running {
    /// Takes over a process that has just been started.
    pub fn new(child: Child) -> Self {
        Self(Some(child))
    }

    /// Waits until the process ends by itself, and returns its output.
    ///
    /// # Panics
    /// Panics if the kernel does not return its state.
    pub fn output(mut self) -> Output {
        let child = self.0.take().expect("only `output` and `kill` take the process");
        child.wait_with_output().expect("the process is a child of the test")
    }

    /// Kills the process without giving it time to remove its mounts, like a crash.
    ///
    /// # Panics
    /// Panics if the kernel does not return its state.
    pub fn kill(mut self) {
        let mut child = self.0.take().expect("only `output` and `kill` take the process");
        child.kill().expect("the process is a child of the test");
        child.wait().expect("the process is a child of the test");
    }
}

impl Deref for Running {
    type Target = Child;
    fn deref(&self) -> &Child {
        self.0.as_ref().expect("only `output` and `kill` take the process")
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        self.0.as_mut().expect("only `output` and `kill` take the process")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let Some(mut child) = self.0.take() else { return };
        let id = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        // A process that has already been waited for no longer owns its process id.
        if let (Ok(None), Some(id)) = (child.try_wait(), id) {
            let _ = kill_process(id, Signal::TERM);
        }
        let began = Instant::now();
        while matches!(child.try_wait(), Ok(None)) && began.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// A temporary folder. When this value is dropped, no mount may remain in the folder: a remaining mount is removed, and
/// the test fails.
#[derive(Debug)]
pub struct MountFolder(tempfile::TempDir);

impl MountFolder {
    /// Creates an empty folder with a short path, because the length of a socket's path is limited.
    ///
    /// # Panics
    /// Panics if the folder cannot be created.
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Default for MountFolder {
    fn default() -> Self {
        Self::new()
    }
}

impl Drop for MountFolder {
    fn drop(&mut self) {
        let left = mounts_in(self.path());
        // The last mount may be inside the mounts before it.
        for point in left.iter().rev() {
            let unmounted = tool("umount", &["-l", text(point)]);
            let _ = unmounted.or_else(|_| tool("fusermount3", &["-u", "-z", text(point)]));
        }
        assert!(left.is_empty() || std::thread::panicking(), "still mounted: {left:?}");
    }
}

/// Returns the mount points of this process at and below `folder`, in the order in which they were mounted.
///
/// # Panics
/// Panics if the kernel does not list the mounts.
pub fn mounts_in(folder: &Path) -> Vec<PathBuf> {
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let mounts = fs::read("/proc/self/mountinfo").expect("a list of the mounts");
    // The fifth word of a line is the mount point. The paths of tests contain no escaped characters.
    let points = mounts.split(|byte| *byte == b'\n').filter_map(|line| {
        let point = line.split(|byte| *byte == b' ').nth(4)?;
        Some(PathBuf::from(std::ffi::OsStr::from_bytes(point)))
    });
    points.filter(|point| point.starts_with(&folder)).collect()
}

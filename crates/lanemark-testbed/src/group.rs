//! A control group with a limit, for the calling thread and its child processes.
//!
//! Both versions of control groups are supported. In version 1, only the thread joins the group; in version 2, the
//! whole process joins, so tests with these groups take turns.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::skipped;

static TURN: Mutex<()> = Mutex::new(());

/// A control group of this test. When this value is dropped, the calling thread leaves the group.
#[derive(Debug)]
pub struct Group {
    root: PathBuf,
    folder: PathBuf,
    unified: bool,
    _turn: MutexGuard<'static, ()>,
}

/// Finds the mount point of a controller, and returns whether it is the unified hierarchy.
fn root_of(controller: &str) -> Option<(PathBuf, bool)> {
    let first = Path::new("/sys/fs/cgroup").join(controller);
    if first.join("tasks").exists() {
        return Some((first, false));
    }
    let unified = PathBuf::from("/sys/fs/cgroup");
    let name = if controller == "blkio" { "io" } else { controller };
    let has = fs::read_to_string(unified.join("cgroup.controllers")).ok()?;
    has.split_whitespace().any(|one| one == name).then_some(())?;
    fs::write(unified.join("cgroup.subtree_control"), format!("+{name}")).ok()?;
    Some((unified, true))
}

impl Group {
    /// Creates a group in which reads of `device` are limited to `most` a second.
    ///
    /// # Panics
    /// Panics in CI if the group cannot be created.
    pub fn reads_a_second(device: &Path, most: u64) -> Option<Self> {
        let group = Self::new("blkio")?;
        group.set_reads_a_second(device, most);
        Some(group)
    }

    /// Creates a group in which reads of `device` are limited to `most` bytes a second.
    ///
    /// # Panics
    /// Panics in CI if the group cannot be created.
    pub fn read_bytes_a_second(device: &Path, most: u64) -> Option<Self> {
        let group = Self::new("blkio")?;
        group.limit(device, "blkio.throttle.read_bps_device", "rbps", most);
        Some(group)
    }

    /// Creates a group whose threads may use `us_in_100_ms` microseconds of processor time per 100 ms.
    ///
    /// # Panics
    /// Panics in CI if the group cannot be created.
    pub fn processor_time(us_in_100_ms: u64) -> Option<Self> {
        let group = Self::new("cpu")?;
        let set = if group.unified {
            fs::write(group.folder.join("cpu.max"), format!("{us_in_100_ms} 100000"))
        } else {
            fs::write(group.folder.join("cpu.cfs_quota_us"), us_in_100_ms.to_string())
        };
        set.expect("our own group accepts a quota");
        Some(group)
    }

    /// Changes the number of reads a second that are allowed from `device`; 0 removes the limit.
    ///
    /// # Panics
    /// Panics if the kernel rejects the limit.
    pub fn set_reads_a_second(&self, device: &Path, most: u64) {
        self.limit(device, "blkio.throttle.read_iops_device", "riops", most);
    }

    /// Changes the number of bytes a second that may be read from `device`; 0 removes the limit.
    ///
    /// # Panics
    /// Panics if the kernel rejects the limit.
    pub fn set_read_bytes_a_second(&self, device: &Path, most: u64) {
        self.limit(device, "blkio.throttle.read_bps_device", "rbps", most);
    }

    fn new(controller: &str) -> Option<Self> {
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let made = root_of(controller).and_then(|(root, unified)| {
            let folder = root.join(format!("lanemark-test-{}-{controller}", std::process::id()));
            fs::create_dir(&folder).ok()?;
            Some(Self { root, folder, unified, _turn: turn })
        });
        let Some(group) = made else {
            skipped(&format!("this user cannot create control groups with {controller}"));
            return None;
        };
        group.join(&group.folder);
        Some(group)
    }

    fn join(&self, folder: &Path) {
        let (file, member) = if self.unified {
            ("cgroup.procs", std::process::id().to_string())
        } else {
            ("tasks", rustix::thread::gettid().as_raw_nonzero().to_string())
        };
        let joined = fs::write(folder.join(file), member);
        assert!(joined.is_ok() || std::thread::panicking(), "{}: {joined:?}", folder.display());
    }

    fn limit(&self, device: &Path, file: &str, key: &str, most: u64) {
        let number = rustix::fs::stat(device).expect("the device is there").st_rdev;
        let number = format!("{}:{}", rustix::fs::major(number), rustix::fs::minor(number));
        let set = match (self.unified, most) {
            (true, 0) => fs::write(self.folder.join("io.max"), format!("{number} {key}=max")),
            (true, _) => fs::write(self.folder.join("io.max"), format!("{number} {key}={most}")),
            (false, _) => fs::write(self.folder.join(file), format!("{number} {most}")),
        };
        set.expect("our own group accepts a limit");
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.join(&self.root);
        // A group whose last thread has just ended may be busy for a moment.
        for _ in 0..50 {
            if fs::remove_dir(&self.folder).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
    }
}

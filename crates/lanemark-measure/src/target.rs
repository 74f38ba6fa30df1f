//! The target of a measurement, opened so that no user data can be lost.
//!
//! A file that does not exist is created, written in full, and removed. An existing file is written only if `overwrite`
//! names this file and it is not the medium of a loop device; it is never truncated or removed. For a workload without
//! writing tests, the target is opened read-only. Every target is locked, and a target that another program has locked
//! is rejected. Block devices are written only according to the rules of `claim`. All other targets are rejected.
//!
//! The path is looked up first with `O_PATH`, which does not open the file (opening a tape or a watchdog has side
//! effects). The file that is opened afterwards must have the same device and inode. Files are compared by device and
//! inode and never by name, because a file can have many names.
//!
//! `O_DIRECT` is set after opening, because creating a file with this flag leaves an empty file on file systems that do
//! not support it.

use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{Test, Workload};
use rustix::fs::{
    AtFlags, Dev, FileType, FlockOperation, Mode, OFlags, SeekFrom, Stat, StatxFlags, flock,
};
use rustix::io::Errno;

use crate::claim::Claim;
use crate::created::{CreatedFile, FileIdentity, check_space, reserve};
use crate::error::MeasureError;
use crate::location::TargetLocation;

/// File systems whose files the kernel generates: proc, sysfs, debugfs, tracefs and securityfs (`linux/magic.h`).
const KERNEL_FILE_SYSTEMS: [u64; 5] = [0x9fa0, 0x6265_6572, 0x6462_6720, 0x7472_6163, 0x7363_6673];
/// The sizes of created and overwritten files are multiples of this size, so that direct I/O can access their last
/// bytes.
const SIZE_STEP: u64 = 4096;
/// Time to wait for the lock of another program. A program that was killed holds its lock until the kernel has
/// completed its requests.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);
/// Interval between two attempts to lock a target.
const LOCK_PAUSE: Duration = Duration::from_millis(10);
/// `TMPFS_MAGIC` and `RAMFS_MAGIC` of `linux/magic.h`: file systems that consist of the page cache.
const MEMORY_FILE_SYSTEMS: [u64; 2] = [0x0102_1994, 0x8584_58f6];

#[derive(Debug)]
pub struct Target {
    held: HeldTarget,
    /// Size of the target while it is measured, in bytes.
    pub size: u64,
    /// Whether the target is a block device.
    pub device: bool,
    /// Number of bytes to write before the target is measured.
    pub layout: Option<u64>,
    /// Reason why the page cache is in use, if it is.
    pub page_cache: Option<String>,
    /// Type of the file system, such as `ext4`; `None` for a block device.
    pub file_system: Option<String>,
    /// Name of the block device under the target.
    pub block_device: Option<String>,
}

#[derive(Debug)]
enum HeldTarget {
    Created(CreatedFile),
    Existing(OwnedFd),
}

/// The file at a path, after links are followed.
struct ResolvedFile {
    identity: FileIdentity,
    kind: FileType,
    /// The number of the device, if the file is a device.
    number: Dev,
}

impl ResolvedFile {
    fn is_device(&self) -> bool {
        self.kind.is_block_device()
    }
}

/// The data that the user allows the run to destroy.
#[derive(Clone, Copy, Debug, Default)]
pub struct OverwritePermission<'a> {
    /// An existing file.
    pub overwrite: Option<&'a Path>,
    /// A block device.
    pub offered: Option<&'a Path>,
}

impl Target {
    /// Opens or creates the target at `path` for `workload`.
    pub fn open(
        path: &Path,
        workload: &Workload,
        allowed: OverwritePermission<'_>,
        buffered: bool,
    ) -> Result<Self, MeasureError> {
        let OverwritePermission { overwrite, offered } = allowed;
        let furthest = workload.tests.iter().max_by_key(|test| test.end());
        let furthest =
            furthest.ok_or_else(|| MeasureError::NothingToRun { workload: workload.id.clone() })?;
        let layout = furthest.end().get().next_multiple_of(SIZE_STEP);
        let writer = workload.tests.iter().find(|test| test.destroys());
        let found = find(path)?;
        let named = match overwrite {
            Some(overwrite) => Some((overwrite, find(overwrite)?)),
            None => None,
        };
        check_overwrite(path, found.as_ref(), named.as_ref())?;
        if let (Some(offered), false) =
            (offered, found.as_ref().is_some_and(ResolvedFile::is_device))
        {
            return Err(MeasureError::OfferMismatch {
                path: path.to_owned(),
                offered: offered.to_owned(),
            });
        }
        let makes_or_is_a_file =
            found.as_ref().is_none_or(|found| found.kind.is_file() || found.kind.is_dir());
        if makes_or_is_a_file && is_among_devices(path) {
            return Err(MeasureError::NoDevice { path: path.to_owned() });
        }
        let target = match (&found, writer) {
            (None, _) => Self::created(CreatedFile::at(path, layout)?, layout),
            (Some(found), _) if found.kind.is_dir() => {
                Self::created(CreatedFile::inside(path, layout)?, layout)
            }
            (Some(found), None) if found.kind.is_file() || found.kind.is_block_device() => {
                Self::read_only(path, found, furthest)?
            }
            (Some(found), Some(_)) if found.kind.is_block_device() => {
                Self::claimed(path, found, offered, furthest)?
            }
            (Some(found), Some(test)) if found.kind.is_file() => {
                if named.is_none() {
                    return Err(MeasureError::Exists {
                        path: path.to_owned(),
                        test: test.name.clone(),
                    });
                }
                Self::overwritten(path, found, layout)?
            }
            (Some(found), _) => {
                return Err(MeasureError::WrongKind {
                    path: path.to_owned(),
                    kind: kind_name(found.kind),
                });
            }
        };
        let mut target = target.bypass_page_cache(path, buffered)?;
        let location = TargetLocation::find(&target);
        (target.file_system, target.block_device) = (location.file_system, location.block_device);
        target.check_alignment(path, &workload.tests)?;
        Ok(target)
    }

    fn created(file: CreatedFile, size: u64) -> Self {
        Self {
            held: HeldTarget::Created(file),
            size,
            device: false,
            layout: Some(size),
            page_cache: None,
            file_system: None,
            block_device: None,
        }
    }

    /// Opens a block device whose content may be lost.
    fn claimed(
        path: &Path,
        resolved_file: &ResolvedFile,
        offered: Option<&Path>,
        furthest: &Test,
    ) -> Result<Self, MeasureError> {
        let file = Claim::new(path, resolved_file.number, offered)?.file;
        let stat = rustix::fs::fstat(&file).map_err(|error| system(path, "look up", error))?;
        if stat.st_rdev != resolved_file.number {
            return Err(MeasureError::Replaced { path: path.to_owned() });
        }
        lock(path, &file)?;
        let size = device_size(path, &file)?;
        check_reach(path, size, furthest)?;
        let layout = furthest.end().get().next_multiple_of(SIZE_STEP).min(size);
        Ok(Self {
            held: HeldTarget::Existing(file),
            size,
            device: true,
            layout: Some(layout),
            page_cache: None,
            file_system: None,
            block_device: None,
        })
    }

    /// Opens an existing file or block device for a workload that only reads.
    fn read_only(
        path: &Path,
        resolved_file: &ResolvedFile,
        furthest: &Test,
    ) -> Result<Self, MeasureError> {
        let (file, stat) = reopen(path, resolved_file, OFlags::RDONLY, "read")?;
        lock(path, &file)?;
        let device = resolved_file.kind.is_block_device();
        let size = if device { device_size(path, &file)? } else { stat.st_size.cast_unsigned() };
        check_reach(path, size, furthest)?;
        Ok(Self {
            held: HeldTarget::Existing(file),
            size,
            device,
            layout: None,
            page_cache: None,
            file_system: None,
            block_device: None,
        })
    }

    /// Opens an existing file whose content may be lost. The file may grow, but never shrinks.
    fn overwritten(
        path: &Path,
        resolved_file: &ResolvedFile,
        layout: u64,
    ) -> Result<Self, MeasureError> {
        if let Some(device) = loop_device(resolved_file.identity) {
            return Err(MeasureError::InUse { path: path.to_owned(), device });
        }
        let (file, stat) = reopen(path, resolved_file, OFlags::RDWR, "write")?;
        lock(path, &file)?;
        let allocated = stat.st_blocks.cast_unsigned().saturating_mul(512);
        check_space(path, &file, layout.saturating_sub(allocated))?;
        let size = stat.st_size.cast_unsigned();
        if size < layout {
            reserve(path, file.as_fd(), layout)?;
        }
        Ok(Self {
            held: HeldTarget::Existing(file),
            size: size.max(layout),
            device: false,
            layout: Some(layout),
            page_cache: None,
            file_system: None,
            block_device: None,
        })
    }

    /// Enables direct I/O, or records why it is not available.
    fn bypass_page_cache(mut self, path: &Path, buffered: bool) -> Result<Self, MeasureError> {
        let reason = buffered.then(|| "as requested".to_owned());
        self.page_cache = reason.or_else(|| self.memory_file_system());
        if self.page_cache.is_none() {
            match self.set_direct() {
                Ok(()) => return Ok(self),
                Err(Errno::INVAL) => {
                    self.page_cache = Some("the file system does not support O_DIRECT".to_owned());
                }
                Err(error) => return Err(system(path, "enable direct I/O on", error)),
            }
        }
        // Clears the flag O_NONBLOCK, which was used to open the file, because requests would fail instead of waiting.
        rustix::fs::fcntl_setfl(&self, OFlags::empty())
            .map_err(|error| system(path, "set the flags of", error))?;
        Ok(self)
    }

    /// Sets `O_DIRECT`, and turns off access times if the user is permitted to do so, because they reduce the rate of
    /// reads on a fast device by 2%.
    fn set_direct(&self) -> Result<(), Errno> {
        match rustix::fs::fcntl_setfl(self, OFlags::DIRECT | OFlags::NOATIME) {
            Err(Errno::PERM) => rustix::fs::fcntl_setfl(self, OFlags::DIRECT),
            other => other,
        }
    }

    /// Returns the reason why a memory file system does not bypass the page cache. Newer kernels accept O_DIRECT on
    /// tmpfs, although a tmpfs is stored in the page cache.
    fn memory_file_system(&self) -> Option<String> {
        // The file system of a device node is a tmpfs, which is unrelated to the device.
        let kind = (!self.device).then(|| rustix::fs::fstatfs(self).ok())??.f_type as u64;
        MEMORY_FILE_SYSTEMS
            .contains(&kind)
            .then(|| "the file system keeps its files in memory".to_owned())
    }

    /// Rejects tests whose alignment direct I/O does not support, if the kernel reports the required alignment (Linux
    /// 6.1).
    fn check_alignment(&self, path: &Path, tests: &[Test]) -> Result<(), MeasureError> {
        if self.page_cache.is_some() {
            return Ok(());
        }
        let alignment = rustix::fs::statx(self, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN);
        let step = alignment.map_or(0, |stat| u64::from(stat.stx_dio_offset_align));
        if step == 0 {
            return Ok(());
        }
        for test in tests {
            for (field, value) in [
                ("block", test.block_least()),
                ("alignment", test.alignment()),
                ("offset", test.offset),
            ] {
                if !value.get().is_multiple_of(step) {
                    return Err(MeasureError::Misaligned {
                        path: path.to_owned(),
                        test: test.name.clone(),
                        field,
                        value,
                        step: Bytes(step),
                    });
                }
            }
        }
        Ok(())
    }

    /// Keeps a created file.
    pub fn keep(&mut self) {
        if let HeldTarget::Created(file) = &mut self.held {
            file.keep();
        }
    }

    /// Closes the target, and removes a created file unless it is kept.
    pub fn finish(self) -> Result<(), MeasureError> {
        match self.held {
            HeldTarget::Created(file) => file.remove(),
            HeldTarget::Existing(_) => Ok(()),
        }
    }
}

impl AsFd for Target {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.held {
            HeldTarget::Created(file) => file.as_fd(),
            HeldTarget::Existing(file) => file.as_fd(),
        }
    }
}

/// Returns whether `path` is in the file system of the device nodes; `/dev/shm` is a different file system.
fn is_among_devices(path: &Path) -> bool {
    let devices = Path::new("/dev");
    let folder = match path.parent() {
        _ if path.is_dir() => path,
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let Ok(folder) = folder.canonicalize() else { return path.starts_with(devices) };
    let number = |path: &Path| rustix::fs::stat(path).map(|stat| stat.st_dev).ok();
    folder.starts_with(devices) && number(&folder) == number(devices)
}

/// Locks a target until it is closed, because two runs on one target would measure each other. The lock also detects a
/// server, which locks its data. Some file systems do not support locks.
fn lock(path: &Path, file: &OwnedFd) -> Result<(), MeasureError> {
    let began = Instant::now();
    while let Err(Errno::WOULDBLOCK) = flock(file, FlockOperation::NonBlockingLockExclusive) {
        if began.elapsed() >= LOCK_PATIENCE {
            return Err(MeasureError::Locked { path: path.to_owned() });
        }
        std::thread::sleep(LOCK_PAUSE);
    }
    Ok(())
}

fn device_size(path: &Path, file: &OwnedFd) -> Result<u64, MeasureError> {
    rustix::fs::seek(file, SeekFrom::End(0))
        .map_err(|error| system(path, "query the size of", error))
}

/// Rejects a target that is smaller than the workload needs.
fn check_reach(path: &Path, size: u64, furthest: &Test) -> Result<(), MeasureError> {
    if size >= furthest.end().get() {
        return Ok(());
    }
    Err(MeasureError::TargetTooSmall {
        path: path.to_owned(),
        size: Bytes(size),
        needed: furthest.end(),
        test: furthest.name.clone(),
    })
}

/// Returns the file at `path`, after following links, if it exists.
fn find(path: &Path) -> Result<Option<ResolvedFile>, MeasureError> {
    let looked_up = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())
        .and_then(rustix::fs::fstat);
    match looked_up {
        Ok(stat) => {
            let kind = FileType::from_raw_mode(stat.st_mode);
            let number = stat.st_rdev;
            Ok(Some(ResolvedFile { identity: FileIdentity::new(&stat), kind, number }))
        }
        // A missing parent folder is reported when the file is created.
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(Errno::ACCESS) => {
            Err(MeasureError::Permission { path: path.to_owned(), action: "look up" })
        }
        Err(error) => Err(system(path, "look up", error)),
    }
}

/// Returns an error if the permission to overwrite does not name the regular file that was found.
fn check_overwrite(
    path: &Path,
    found: Option<&ResolvedFile>,
    named: Option<&(&Path, Option<ResolvedFile>)>,
) -> Result<(), MeasureError> {
    let Some((overwrite, named)) = named else { return Ok(()) };
    let same = match (found, named) {
        (Some(found), Some(named)) => found.identity == named.identity && !found.kind.is_dir(),
        _ => false,
    };
    if same {
        return Ok(());
    }
    Err(MeasureError::OverwriteMismatch {
        path: path.to_owned(),
        overwrite: (*overwrite).to_owned(),
    })
}

/// Opens the file that was found, and fails if another file has replaced it since.
fn reopen(
    path: &Path,
    resolved_file: &ResolvedFile,
    access: OFlags,
    action: &'static str,
) -> Result<(OwnedFd, Stat), MeasureError> {
    // If a pipe has replaced the file, O_NONBLOCK prevents `open` from waiting for a writer.
    let flags = access | OFlags::CLOEXEC | OFlags::NOCTTY | OFlags::NONBLOCK;
    let file = rustix::fs::open(path, flags, Mode::empty()).map_err(|error| match error {
        Errno::ACCESS | Errno::PERM => MeasureError::Permission { path: path.to_owned(), action },
        error => system(path, "open", error),
    })?;
    let stat = rustix::fs::fstat(&file).map_err(|error| system(path, "look up", error))?;
    let is_of_kernel = rustix::fs::fstatfs(&file)
        .is_ok_and(|system| KERNEL_FILE_SYSTEMS.contains(&(system.f_type as u64)));
    if is_of_kernel && resolved_file.kind.is_file() {
        let kind = "file that the kernel generates";
        return Err(MeasureError::WrongKind { path: path.to_owned(), kind });
    }
    let same = FileIdentity::new(&stat) == resolved_file.identity
        && FileType::from_raw_mode(stat.st_mode) == resolved_file.kind;
    if same { Ok((file, stat)) } else { Err(MeasureError::Replaced { path: path.to_owned() }) }
}

/// Returns the loop device, such as `loop0`, whose medium is the given file, because the device may contain a mounted
/// file system.
fn loop_device(identity: FileIdentity) -> Option<String> {
    let devices = fs::read_dir("/sys/block").ok()?.flatten();
    let mut over = devices.filter(|device| {
        let backing = fs::read_to_string(device.path().join("loop/backing_file"));
        let stat = backing.ok().and_then(|file| rustix::fs::stat(file.trim_end()).ok());
        stat.is_some_and(|stat| FileIdentity::new(&stat) == identity)
    });
    Some(over.next()?.file_name().to_string_lossy().into_owned())
}

fn kind_name(kind: FileType) -> &'static str {
    match kind {
        FileType::CharacterDevice => "character device",
        FileType::Fifo => "pipe",
        FileType::Socket => "socket",
        _ => "target of this kind",
    }
}

fn system(path: &Path, action: &'static str, error: Errno) -> MeasureError {
    MeasureError::System { path: path.to_owned(), action, source: error.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_is_not_among_the_device_nodes() {
        for path in ["/dev", "/dev/null", "/dev/a-device-that-does-not-exist"] {
            assert!(is_among_devices(Path::new(path)), "{path}");
        }
        let folder = tempfile::tempdir().unwrap();
        assert!(!is_among_devices(folder.path()) && !is_among_devices(&folder.path().join("new")));
        let number = |path: &str| rustix::fs::stat(path).ok().map(|stat| stat.st_dev);
        let is_separate = number("/dev/shm").is_some_and(|shm| Some(shm) != number("/dev"));
        assert_eq!(is_among_devices(Path::new("/dev/shm/new")), !is_separate);
    }
}

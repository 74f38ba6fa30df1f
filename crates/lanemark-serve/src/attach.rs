//! A served system as a disk: a loop device (loop(4)) with direct I/O over the mounted file. Each request to the disk
//! becomes one request to the file, without a cache between them.
//!
//! The kernel removes the device after its last user (`LO_FLAGS_AUTOCLEAR`), and this process is one of the users. The
//! device therefore also disappears after a kill, as soon as it is no longer mounted. In this process, the node of the
//! disk has a lower descriptor number than the connection that serves the file. The kernel closes the files of a killed
//! process from the highest number down, and closing the node writes the disk's data from the page cache. By then the
//! connection must already be closed; otherwise the write would wait for this process forever.
//!
//! A write with forced unit access arrives as a write and a flush, because the loop driver does not support it.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::io::Errno;
use rustix::ioctl::{Ioctl, IoctlOutput, NoArg, Opcode, Setter, ioctl};

use crate::data::SECTOR;
use crate::undo;

/// Number of attempts to obtain a free device, because another process may take it first.
const ATTEMPTS: usize = 16;
/// The request `LOOP_CLR_FD` of `linux/loop.h`.
const CLEAR: Opcode = 0x4C01;
/// The request `LOOP_CONFIGURE` of `linux/loop.h`.
const CONFIGURE: Opcode = 0x4C0A;
/// The flag `LO_FLAGS_AUTOCLEAR` of `linux/loop.h`.
const AUTOCLEAR: u32 = 4;
/// The flag `LO_FLAGS_DIRECT_IO` of `linux/loop.h`.
const DIRECT_IO: u32 = 16;

/// A loop device that this process holds open. The device is detached when this value is dropped.
#[derive(Debug)]
pub struct LoopDevice {
    node: PathBuf,
    open: Arc<Mutex<Option<File>>>,
    undone: undo::UndoEntry,
}

/// A free device that is not configured yet.
#[derive(Debug)]
pub(crate) struct FreeLoopDevice {
    node: PathBuf,
    open: File,
    /// Kept open, so that no later file receives a lower descriptor number than the node.
    _control: File,
}

/// `struct loop_config` of `linux/loop.h`.
#[repr(C)]
struct LoopConfig {
    file: u32,
    block_size: u32,
    info: LoopInfo,
    reserved: [u64; 8],
}

/// `struct loop_info64` of `linux/loop.h`.
#[repr(C)]
struct LoopInfo {
    of_file: [u64; 3],
    offset: u64,
    size: u64,
    number: u32,
    encryption: [u32; 2],
    flags: u32,
    name: [u8; 64],
    encrypted: [u8; 96],
    init: [u64; 2],
}

/// `LOOP_CTL_GET_FREE`, which returns the number of a free device.
struct GetFree;

// SAFETY: the request does not take an argument, and the kernel does not write to memory.
unsafe impl Ioctl for GetFree {
    type Output = u32;
    const IS_MUTATING: bool = false;

    fn opcode(&self) -> Opcode {
        0x4C82
    }

    fn as_ptr(&mut self) -> *mut std::ffi::c_void {
        std::ptr::null_mut()
    }

    unsafe fn output_from_ptr(
        number: IoctlOutput,
        _: *mut std::ffi::c_void,
    ) -> rustix::io::Result<Self::Output> {
        Ok(number.unsigned_abs())
    }
}

impl FreeLoopDevice {
    /// Finds a free device, and opens it.
    pub(crate) fn find() -> io::Result<Self> {
        let control = OpenOptions::new().read(true).write(true).open("/dev/loop-control");
        let control = control.map_err(|error| match error.kind() {
            io::ErrorKind::PermissionDenied => {
                io::Error::new(error.kind(), "only root may attach a disk")
            }
            io::ErrorKind::NotFound => {
                io::Error::new(error.kind(), "the kernel lacks loop devices; run `modprobe loop`")
            }
            _ => error,
        })?;
        // SAFETY: `GetFree` is the request that its documentation describes.
        let number = unsafe { ioctl(&control, GetFree) }?;
        let node = PathBuf::from(format!("/dev/loop{number}"));
        let open = OpenOptions::new().read(true).write(true).open(&node);
        let open = open.map_err(|error| {
            io::Error::new(error.kind(), format!("{}: {error}", node.display()))
        })?;
        Ok(Self { node, open, _control: control })
    }
}

impl LoopDevice {
    /// Makes `file` a disk.
    pub(crate) fn over(file: &File, mut free: FreeLoopDevice) -> io::Result<Self> {
        let mut name = [0; 64];
        name[..14].copy_from_slice(b"lanemark-serve");
        let mut attempt = 0;
        loop {
            let info = LoopInfo {
                of_file: [0; 3],
                offset: 0,
                size: 0,
                number: 0,
                encryption: [0; 2],
                flags: AUTOCLEAR | DIRECT_IO,
                name,
                encrypted: [0; 96],
                init: [0; 2],
            };
            let descriptor = file.as_raw_fd().unsigned_abs();
            let config =
                LoopConfig { file: descriptor, block_size: SECTOR as u32, info, reserved: [0; 8] };
            // SAFETY: `LOOP_CONFIGURE` reads a `loop_config`, and the argument is one.
            let done = unsafe { ioctl(&free.open, Setter::<CONFIGURE, _>::new(config)) };
            attempt += 1;
            match done {
                Ok(()) => break,
                Err(Errno::BUSY) if attempt < ATTEMPTS => free = FreeLoopDevice::find()?,
                Err(error) => return Err(error.into()),
            }
        }
        let FreeLoopDevice { node, open, .. } = free;
        with_flushes(&node)?;
        let open = Arc::new(Mutex::new(Some(open)));
        let last = Arc::clone(&open);
        let undone = undo::register_undo(move || detach(&last));
        Ok(Self { node, open, undone })
    }

    /// Returns the path of the device's node, such as `/dev/loop0`.
    pub fn node(&self) -> &Path {
        &self.node
    }

    /// Writes the data that the page cache and mounted file systems hold for the disk to the disk. Returns a line if
    /// this was impossible.
    ///
    /// `blockdev(8)` does this in a separate process. A drive without power holds the write until it has power again,
    /// and a thread of this process in such a write would keep the process from ending, even after SIGKILL: the kernel
    /// fails the write only once this process has closed the file under the disk.
    pub(crate) fn flush(&self) -> Option<String> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let folders = [path, "/usr/sbin:/sbin".into()].join(std::ffi::OsStr::new(":"));
        let done = Command::new("blockdev")
            .arg("--flushbufs")
            .arg(&self.node)
            .env("PATH", folders)
            .stdin(Stdio::null())
            .output();
        let why = match done {
            Ok(done) if done.status.success() => return None,
            Ok(done) => String::from_utf8_lossy(&done.stderr).trim().to_owned(),
            Err(error) => format!("blockdev: {error}"),
        };
        Some(format!("{}: its cached data may not be stored: {why}", self.node.display()))
    }

    /// Detaches the disk. Returns true if another process still uses it. The device then disappears after its last
    /// user, and its requests fail until then.
    pub fn end(self) -> bool {
        self.close()
    }

    fn close(&self) -> bool {
        if self.undone.cancel() {
            detach(&self.open);
        }
        let name = self.node.file_name().unwrap_or_default();
        Path::new("/sys/block").join(name).join("loop").exists()
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        self.close();
    }
}

/// Makes the kernel send flushes to a device. If a user has turned off flushes for an earlier file of the device
/// (`queue/write_cache`), they stay off for later files, because the setting belongs to the device number.
fn with_flushes(node: &Path) -> io::Result<()> {
    let switch = Path::new("/sys/block").join(node.file_name().unwrap_or_default());
    let switch = switch.join("queue/write_cache");
    let setting = fs::read_to_string(&switch);
    if setting.is_ok_and(|setting| setting.trim() == "write back") {
        return Ok(());
    }
    let turned = fs::write(&switch, "write back").and_then(|()| fs::read_to_string(&switch));
    let why = match turned {
        Ok(setting) if setting.trim() == "write back" => return Ok(()),
        Ok(setting) => format!("stays \"{}\"", setting.trim()),
        Err(error) => error.to_string(),
    };
    let node = node.display();
    let switch = switch.display();
    let message = format!("{node} would not receive flushes: {switch}: {why}");
    Err(io::Error::other(message))
}

/// Closes the device; the kernel removes it after its last user.
fn detach(open: &Mutex<Option<File>>) {
    let open = open.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(open) = open {
        // SAFETY: `LOOP_CLR_FD` takes no argument. If another process has already detached the device, no action is
        // needed.
        let _ = unsafe { ioctl(&open, NoArg::<CLEAR>::new()) };
    }
}

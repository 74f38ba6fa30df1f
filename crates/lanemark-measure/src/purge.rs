//! Restores a block device to its state as new before it is measured.
//!
//! SNIA's test specification begins with a purge by ATA SECURITY ERASE, SCSI FORMAT UNIT, NVMe Format or a vendor's
//! method. This module implements `discard` and `secure-discard` (the ioctls BLKDISCARD and BLKSECDISCARD of
//! `linux/fs.h`), which have the same effect on many drives. Any other text is a shell command. The variable
//! `LANEMARK_DEVICE` contains the device, and this program keeps the device closed while the command runs.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::MeasureError;

/// `_IO(0x12, 119)`: discards a range whose data is no longer needed.
const BLKDISCARD: libc::Ioctl = 0x1277;
/// `_IO(0x12, 125)`: discards a range so that its data cannot be recovered.
const BLKSECDISCARD: libc::Ioctl = 0x127d;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PurgeMethod<'a> {
    Discard,
    /// A secure discard of the whole device, after which its data cannot be recovered.
    SecureDiscard,
    Command(&'a str),
}

impl<'a> PurgeMethod<'a> {
    /// Parses `discard` or `secure-discard`; any other text is a command.
    pub fn named(text: &'a str) -> Self {
        match text {
            "discard" => Self::Discard,
            "secure-discard" => Self::SecureDiscard,
            command => Self::Command(command),
        }
    }

    /// Purges with an ioctl; a command is ignored.
    pub(crate) fn discard(
        self,
        path: &Path,
        device: impl AsFd,
        size: u64,
    ) -> Result<(), MeasureError> {
        let request = match self {
            Self::Discard => BLKDISCARD,
            Self::SecureDiscard => BLKSECDISCARD,
            Self::Command(_) => return Ok(()),
        };
        let range = [0u64, size];
        // SAFETY: both requests read two numbers, start and length, from the pointer.
        let answer = unsafe { libc::ioctl(device.as_fd().as_raw_fd(), request, range.as_ptr()) };
        match answer {
            0 => Ok(()),
            _ => Err(failed(path, io::Error::last_os_error().to_string())),
        }
    }

    /// Runs a command; other methods are ignored. The device must not be open.
    pub(crate) fn command(self, path: &Path) -> Result<(), MeasureError> {
        let Self::Command(command) = self else { return Ok(()) };
        // The command's output is not part of the result.
        let done = Command::new("sh")
            .args(["-c", command])
            .env("LANEMARK_DEVICE", path)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status();
        match done {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(failed(path, format!("`{command}` ended with {status}"))),
            Err(error) => Err(failed(path, error.to_string())),
        }
    }
}

fn failed(path: &Path, reason: String) -> MeasureError {
    MeasureError::Purge { path: path.to_owned(), reason }
}

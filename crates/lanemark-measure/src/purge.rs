//! Bringing a block device back to how it was when it was new, before it is measured.
//!
//! SNIA's test specification begins with a purge: ATA SECURITY ERASE, SCSI FORMAT UNIT, NVMe Format or a vendor's
//! way. `discard` and `secure-discard` are done here (ioctl BLKDISCARD and BLKSECDISCARD of `linux/fs.h`), which on many
//! drives comes to the same. Anything else is a command that the shell runs; it finds the device in
//! `LANEMARK_DEVICE`, and nothing of this program has it open meanwhile.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::error::MeasureError;

/// `_IO(0x12, 119)`: the range is of no use any more.
const BLKDISCARD: libc::Ioctl = 0x1277;
/// `_IO(0x12, 125)`: and must not be found again.
const BLKSECDISCARD: libc::Ioctl = 0x127d;

/// The way in which a device is purged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purge<'a> {
    /// A discard of the whole device.
    Discard,
    /// A secure discard of the whole device: its data cannot be recovered.
    SecureDiscard,
    /// A command of the shell.
    Command(&'a str),
}

impl<'a> Purge<'a> {
    /// `discard`, `secure-discard`, or else a command.
    pub fn named(text: &'a str) -> Self {
        match text {
            "discard" => Self::Discard,
            "secure-discard" => Self::SecureDiscard,
            command => Self::Command(command),
        }
    }

    /// Purges by ioctl; nothing for a command.
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
        // SAFETY: both requests read two numbers, start and length, from where the pointer leads.
        let answer = unsafe { libc::ioctl(device.as_fd().as_raw_fd(), request, range.as_ptr()) };
        match answer {
            0 => Ok(()),
            _ => Err(failed(path, io::Error::last_os_error().to_string())),
        }
    }

    /// Runs a command; nothing for the others. The device must not be open.
    pub(crate) fn command(self, path: &Path) -> Result<(), MeasureError> {
        let Self::Command(command) = self else { return Ok(()) };
        // What it prints is no result of ours.
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

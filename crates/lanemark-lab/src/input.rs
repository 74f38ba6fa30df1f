//! Files that are read whole: regular ones, up to a length, and never waited for.
//!
//! A pipe could keep the command waiting for ever, and a device has no end. Traces are read line by line and may come
//! from a pipe; they are opened elsewhere.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::error::LabError;

/// The longest result, of this program or another, and the longest file of a sweep.
pub const RESULT_MAX: u64 = 1 << 30;
/// The longest job file or file of settings.
pub const JOB_MAX: u64 = 16 << 20;

/// Opens a regular file to read it.
pub fn open(path: &Path) -> io::Result<File> {
    let refused = || io::Error::other("is no regular file");
    // Opening a tape winds it, and opening a watchdog starts it.
    if !std::fs::metadata(path)?.is_file() {
        return Err(refused());
    }
    // Should a pipe have come in its place, opening it would wait for somebody who writes.
    let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(refused()),
    }
}

/// The content of a regular file of at most `most` bytes.
pub fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_on(&open(path)?, most)
}

/// Reads the rest of an open file, of at most `most` bytes.
pub fn read_on(file: &File, most: u64) -> io::Result<Vec<u8>> {
    let too_long = |length: u64| {
        io::Error::other(format!("has {length} bytes or more; at most {most} are read"))
    };
    let length = file.metadata()?.len();
    if length > most {
        return Err(too_long(length));
    }
    let mut bytes = Vec::new();
    // A file may grow while it is read, and some tell no length.
    file.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        length if length > most => Err(too_long(length)),
        _ => Ok(bytes),
    }
}

/// The first `most` bytes of a regular file.
pub fn head(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text of a regular file of at most `most` bytes; what is no UTF-8 is none.
pub fn text(path: &Path, most: u64) -> Result<String, LabError> {
    let name = path.display();
    let bytes = bytes(path, most)
        .map_err(|error| LabError::input(format!("{name}: can't be read: {error}")))?;
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        LabError::input(format!("{name}: is no text: byte {at} is no UTF-8"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_devices_and_folders_are_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe.json");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).unwrap();
        for path in [pipe.as_path(), Path::new("/dev/zero"), folder.path()] {
            let error = bytes(path, 100).unwrap_err().to_string();
            assert_eq!(error, "is no regular file", "{}", path.display());
        }
    }

    #[test]
    fn more_than_the_bound_is_refused_whatever_length_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        std::fs::write(&path, [b'x'; 101]).unwrap();
        assert!(bytes(&path, 100).unwrap_err().to_string().contains("at most 100"));
        assert_eq!(bytes(&path, 101).unwrap().len(), 101);
        assert_eq!(head(&path, 7).unwrap(), b"xxxxxxx");
        // A file of /proc says that it is empty.
        assert!(bytes(Path::new("/proc/self/maps"), 100).is_err());
        assert!(!bytes(Path::new("/proc/self/maps"), 1 << 20).unwrap().is_empty());
    }
}

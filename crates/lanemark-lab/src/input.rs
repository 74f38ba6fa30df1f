//! Files that are read completely, up to a maximum length: regular files and piped input.
//!
//! A named pipe in a folder could block the command forever, and a device is endless, so neither is opened. Input that
//! the user piped in is read to its end: standard input, as `-` or `/dev/stdin`, and the pipes that a shell passes as
//! `/dev/fd/N` (`<(…)` in bash). Such input can be read only once. Traces are read line by line and are opened
//! elsewhere, according to the same rule.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::fs::OFlags;

use crate::encoding::decoded;
use crate::error::LabError;

/// The maximum length of a result, from this program or another, and of a sweep file.
pub const RESULT_MAX: u64 = 1 << 30;
/// The maximum length of a job file or a settings file.
pub const JOB_MAX: u64 = 16 << 20;

/// Returns whether `path` names an open input of this process, such as `-`, `/dev/stdin` or `/dev/fd/3`. Such input can
/// be read only once.
pub fn is_piped(path: &Path) -> bool {
    let Some(name) = path.to_str() else { return false };
    let number = ["/dev/fd/", "/proc/self/fd/"].iter().find_map(|at| name.strip_prefix(at));
    is_standard(path) || number.is_some_and(|number| number.parse::<u16>().is_ok())
}

fn is_standard(path: &Path) -> bool {
    ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].iter().any(|name| path == Path::new(name))
}

/// Opens a regular file or piped input for reading.
///
/// # Errors
/// Returns the kernel's error, or an error if the path is neither.
pub fn open(path: &Path) -> io::Result<File> {
    let refused =
        || io::Error::other("neither a regular file nor piped input, such as `-` or `/dev/stdin`");
    if is_standard(path) {
        // The descriptor is duplicated, because a socket cannot be opened by its path.
        return Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?));
    }
    let is_piped = is_piped(path);
    let is_readable_kind = |kind: std::fs::FileType| kind.is_file() || is_piped && kind.is_fifo();
    // Opening a tape rewinds it, and opening a watchdog starts it.
    if !is_readable_kind(std::fs::metadata(path)?.file_type()) {
        return Err(refused());
    }
    // Without this flag, a pipe without a writer, or a pipe that has taken this name in the meantime, would block the
    // open.
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if !is_readable_kind(file.metadata()?.file_type()) {
        return Err(refused());
    }
    if is_piped {
        // The writer may be slower than this reader.
        let flags = rustix::fs::fcntl_getfl(&file)?;
        rustix::fs::fcntl_setfl(&file, flags.difference(OFlags::NONBLOCK))?;
    }
    Ok(file)
}

/// Returns the content of a regular file of up to `most` bytes.
pub fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_on(&open(path)?, most)
}

/// Reads the rest of an open file of up to `most` bytes.
pub fn read_on(file: &File, most: u64) -> io::Result<Vec<u8>> {
    let too_long = |length: u64| {
        io::Error::other(format!("the length is {length} bytes or more; the maximum is {most}"))
    };
    let length = file.metadata()?.len();
    if length > most {
        return Err(too_long(length));
    }
    let mut bytes = Vec::new();
    // A file may grow while it is read, and some files report no length.
    file.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 {
        length if length > most => Err(too_long(length)),
        _ => Ok(bytes),
    }
}

/// Returns the first `most` bytes of a regular file.
pub fn head(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Returns the text of a regular file of up to `most` bytes. The file must be UTF-8, or UTF-16 with a byte order mark,
/// which PowerShell uses when it writes the output of a program.
pub fn text(path: &Path, most: u64) -> Result<String, LabError> {
    let name = path.display();
    let bytes = bytes(path, most)
        .map_err(|error| LabError::input(format!("{name}: can't be read: {error}")))?;
    decoded(bytes).map_err(|message| {
        let error = LabError::input(format!("{name}: {message}"));
        if message.starts_with("is a picture") {
            error.hint("use the text, which CrystalDiskMark copies with Ctrl+Shift+C")
        } else {
            error
        }
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
            assert!(error.starts_with("neither a regular file"), "{}: {error}", path.display());
        }
    }

    #[test]
    fn a_pipe_that_a_shell_passes_is_read_to_its_end_and_no_further_than_the_bound() {
        use std::io::Write;
        use std::os::fd::AsRawFd;
        for (length, most) in [(70_000, 70_000), (70_000, 69_999)] {
            let (reader, mut writer) = io::pipe().unwrap();
            let path = format!("/dev/fd/{}", reader.as_raw_fd());
            let slow = std::thread::spawn(move || {
                std::thread::sleep(std::time::Duration::from_millis(50));
                // The text is longer than the capacity of a pipe, so the reader must drain the pipe.
                let _ = writer.write_all(&vec![b'x'; length]);
            });
            match bytes(Path::new(&path), most) {
                Ok(read) => assert!(most >= length as u64 && read.len() == length),
                Err(error) => {
                    assert!(error.to_string().contains("the maximum is 69999"), "{error}");
                }
            }
            drop(reader);
            slow.join().unwrap();
        }
        for (path, piped) in
            [("-", true), ("/dev/stdin", true), ("/dev/fd/x", false), ("./-", false)]
        {
            assert_eq!(is_piped(Path::new(path)), piped, "{path}");
        }
    }

    #[test]
    fn excess_input_is_refused_regardless_of_the_stated_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("long");
        std::fs::write(&path, [b'x'; 101]).unwrap();
        assert!(bytes(&path, 100).unwrap_err().to_string().contains("the maximum is 100"));
        assert_eq!(bytes(&path, 101).unwrap().len(), 101);
        assert_eq!(head(&path, 7).unwrap(), b"xxxxxxx");
        // Files of /proc report a length of 0.
        assert!(bytes(Path::new("/proc/self/maps"), 100).is_err());
        assert!(!bytes(Path::new("/proc/self/maps"), 1 << 20).unwrap().is_empty());
    }
}

//! A trace file that is being read: the progress, and the hash of the bytes that were read.

use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use lanemark_lab::input;
use lanemark_trace::TraceInput;
use sha2::{Digest, Sha256};

use crate::output::failure::Failure;

/// Size of one read, in bytes.
const BUFFER: usize = 256 * 1024;

/// A trace file whose bytes are counted and hashed as they are read.
pub(crate) struct TraceFile {
    file: File,
    read_bytes: Rc<TraceDigest>,
}

/// The bytes of a trace that were read so far: their hash and their count.
#[derive(Default)]
pub(crate) struct TraceDigest {
    hasher: RefCell<Sha256>,
    bytes: Cell<u64>,
    /// Size of the file, if known.
    size: Option<u64>,
}

/// Opens a compressed or uncompressed trace. The count and the hash describe the file as stored.
pub(crate) fn open(
    path: &Path,
) -> Result<(BufReader<TraceInput<TraceFile>>, Rc<TraceDigest>), Failure> {
    let fail =
        |error: io::Error| Failure::input(format!("{}: can't be read: {error}", path.display()));
    let file = if input::is_piped(path) { input::open(path) } else { File::open(path) };
    let file = file.map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    let size = metadata.is_file().then_some(metadata.len());
    let read_bytes = Rc::new(TraceDigest { size, ..TraceDigest::default() });
    let file = TraceFile { file, read_bytes: Rc::clone(&read_bytes) };
    let text = TraceInput::new(file).map_err(fail)?;
    Ok((BufReader::with_capacity(BUFFER, text), read_bytes))
}

impl Read for TraceFile {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read_bytes.hasher.borrow_mut().update(&buffer[..read]);
        self.read_bytes.bytes.set(self.read_bytes.bytes.get() + read as u64);
        Ok(read)
    }
}

impl TraceDigest {
    /// Returns the share that has been read, if the size is known.
    pub(crate) fn share(&self) -> Option<f64> {
        let size = self.size.filter(|&size| size > 0)?;
        Some((self.bytes.get() as f64 / size as f64).min(1.0))
    }

    /// Returns the SHA-256 of the bytes read.
    pub(crate) fn hash(&self) -> String {
        let digest = self.hasher.borrow().clone().finalize();
        digest.iter().fold(String::new(), |mut text, byte| {
            // Writing to a string cannot fail.
            let _ = write!(text, "{byte:02x}");
            text
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_known_with_the_size_and_at_most_one() {
        for (size, bytes, share) in [
            (None, 50, None),
            (Some(0), 0, None),
            (Some(0), 50, None),
            (Some(1), 0, Some(0.0)),
            (Some(200), 50, Some(0.25)),
            (Some(200), 200, Some(1.0)),
            // The file grew while it was read.
            (Some(200), 300, Some(1.0)),
        ] {
            let read = TraceDigest { size, bytes: Cell::new(bytes), ..TraceDigest::default() };
            assert_eq!(read.share(), share, "{bytes} of {size:?}");
        }
    }

    #[test]
    fn all_bytes_of_a_file_are_counted_and_hashed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("trace");
        std::fs::write(&path, "abc").unwrap();
        let (mut text, read) = open(&path).unwrap_or_else(|_| panic!("an error"));
        let mut found = String::new();
        text.read_to_string(&mut found).unwrap();
        assert_eq!((found.as_str(), read.bytes.get(), read.share()), ("abc", 3, Some(1.0)));
        // The example in FIPS 180-2, appendix B.1.
        let wanted = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(read.hash(), wanted);
    }
}

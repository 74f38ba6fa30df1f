//! A trace's file while it is read: the progress, and the hash of the bytes read.

use std::cell::{Cell, RefCell};
use std::fmt::Write;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::rc::Rc;

use lanemark_lab::input;
use lanemark_trace::TraceInput;
use sha2::{Digest, Sha256};

use crate::failure::Failure;

/// Size of one read, in bytes.
const BUFFER: usize = 256 * 1024;

/// A trace's file, whose bytes are counted and hashed as they are read.
pub(crate) struct TraceFile {
    file: File,
    read_bytes: Rc<ReadBytes>,
}

/// The bytes of a trace that were read so far: hash and count.
#[derive(Default)]
pub(crate) struct ReadBytes {
    hasher: RefCell<Sha256>,
    bytes: Cell<u64>,
    /// The file's size, if it has one.
    size: Option<u64>,
}

/// Opens a trace, compressed or not; count and hash describe the stored file.
pub(crate) fn open(
    path: &Path,
) -> Result<(BufReader<TraceInput<TraceFile>>, Rc<ReadBytes>), Failure> {
    let fail =
        |error: io::Error| Failure::input(format!("{}: can't be read: {error}", path.display()));
    let file = if input::is_piped(path) { input::open(path) } else { File::open(path) };
    let file = file.map_err(fail)?;
    let metadata = file.metadata().map_err(fail)?;
    let size = metadata.is_file().then_some(metadata.len());
    let read_bytes = Rc::new(ReadBytes { size, ..ReadBytes::default() });
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

impl ReadBytes {
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

//! Reads a trace that gzip or Zstandard may have compressed as the original text.
//!
//! The first bytes identify the format: RFC 1952 (gzip, including files with several members) or RFC 8878 (Zstandard,
//! including files with several frames). Any other input is returned unchanged. A trace typically compresses to about a
//! twentieth of its size. An input that compresses far better is probably designed to exhaust disk space or time,
//! and causes an error. The Zstandard reader limits the size of windows.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

/// The first bytes of a gzip file.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// The first bytes of a Zstandard frame.
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Number of bytes that may be unpacked regardless of the ratio.
const FREE: u64 = 64 << 20;
/// Maximum ratio of unpacked bytes to packed bytes beyond [`FREE`].
const RATIO: u64 = 500;
/// Size of one read of the packed input.
const BUFFER: usize = 256 * 1024;

/// The text of a trace that may be packed.
pub struct TraceInput<R: Read> {
    kind: Compression<CountedInput<R>>,
    given: u64,
}

enum Compression<R: Read> {
    Plain(BufReader<R>),
    Gzip(Box<MultiGzDecoder<BufReader<R>>>),
    /// Zstandard; there is no decoder between two frames.
    Zstd(Frames<R>),
}

/// The frames of a Zstandard file, in sequence.
enum Frames<R: Read> {
    Within(Box<StreamingDecoder<BufReader<R>, ruzstd::decoding::FrameDecoder>>),
    Between(BufReader<R>),
    Over,
}

/// An input whose bytes are counted, including the first bytes, which were examined.
struct CountedInput<R> {
    head: VecDeque<u8>,
    input: R,
    bytes: u64,
}

impl<R: Read> Read for CountedInput<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read =
            if self.head.is_empty() { self.input.read(buffer)? } else { self.head.read(buffer)? };
        self.bytes += read as u64;
        Ok(read)
    }
}

impl<R: Read> TraceInput<R> {
    /// Starts to read `input`, whose first bytes identify the format.
    ///
    /// # Errors
    /// Returns the input's I/O error.
    pub fn new(input: R) -> io::Result<Self> {
        let mut input = CountedInput { head: VecDeque::new(), input, bytes: 0 };
        // A pipe may return single bytes.
        while input.head.len() < ZSTD.len() {
            let mut byte = [0];
            match input.input.read(&mut byte) {
                Ok(0) => break,
                Ok(_) => input.head.push_back(byte[0]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let head: Vec<u8> = input.head.iter().copied().collect();
        let input = BufReader::with_capacity(BUFFER, input);
        let kind = match head {
            head if head.starts_with(GZIP) => {
                Compression::Gzip(Box::new(MultiGzDecoder::new(input)))
            }
            head if head.starts_with(ZSTD) => Compression::Zstd(Frames::Between(input)),
            _ => Compression::Plain(input),
        };
        Ok(Self { kind, given: 0 })
    }

    /// Returns the number of bytes that were read from the input.
    fn packed_bytes(&self) -> u64 {
        match &self.kind {
            Compression::Plain(input) => input.get_ref().bytes,
            Compression::Gzip(input) => input.get_ref().get_ref().bytes,
            Compression::Zstd(Frames::Within(input)) => input.get_ref().get_ref().bytes,
            Compression::Zstd(Frames::Between(input)) => input.get_ref().bytes,
            Compression::Zstd(Frames::Over) => u64::MAX,
        }
    }
}

impl<R: Read> Read for TraceInput<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.kind {
            Compression::Plain(input) => return input.read(buffer),
            Compression::Gzip(input) => {
                input.read(buffer).map_err(|error| packed_error("gzip", &error))?
            }
            Compression::Zstd(frames) => frames.read(buffer)?,
        };
        self.given += read as u64;
        if self.given > FREE && self.given / RATIO > self.packed_bytes() {
            let message = format!(
                "it unpacks to more than {RATIO} times its size, unlike any recorded trace; if it is a trace, unpack it first"
            );
            return Err(io::Error::other(message));
        }
        Ok(read)
    }
}

impl<R: Read> Frames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match std::mem::replace(self, Self::Over) {
                Self::Over => return Ok(0),
                Self::Within(mut frame) => {
                    let read =
                        frame.read(buffer).map_err(|error| packed_error("Zstandard", &error))?;
                    if read > 0 || buffer.is_empty() {
                        *self = Self::Within(frame);
                        return Ok(read);
                    }
                    *self = Self::Between(frame.into_inner());
                }
                Self::Between(mut input) => {
                    if input.fill_buf()?.is_empty() {
                        return Ok(0);
                    }
                    let frame = StreamingDecoder::new(input).map_err(|error| {
                        packed_error("Zstandard", &io::Error::other(error.to_string()))
                    })?;
                    *self = Self::Within(Box::new(frame));
                }
            }
        }
    }
}

/// Returns an error of the reader for `format`, which can be distinguished from an error of the file.
fn packed_error(format: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("as {format}: {error}"))
}

//! A trace that gzip or Zstandard has compressed, read as the original text.
//!
//! The first bytes identify the format: RFC 1952 (gzip, also with several members), RFC 8878 (Zstandard, also with
//! several frames). Any other input is returned unchanged. Packed text is typically about twenty times smaller. An
//! input with a much higher ratio is designed to exhaust disks and time, and ends with an error. Zstandard's reader
//! bounds its windows.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

/// First bytes of a gzip file.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// First bytes of a frame of Zstandard.
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];
/// Bytes that may be unpacked regardless of the ratio.
const FREE: u64 = 64 << 20;
/// Maximum ratio of unpacked to read bytes, beyond that.
const RATIO: u64 = 500;
/// Size of one read of the packed input.
const BUFFER: usize = 256 * 1024;

/// The text of a trace, packed or not.
pub struct TraceInput<R: Read> {
    kind: Compression<CountedInput<R>>,
    given: u64,
}

enum Compression<R: Read> {
    Plain(BufReader<R>),
    Gzip(Box<MultiGzDecoder<BufReader<R>>>),
    /// There is no decoder between two frames.
    Zstd(Frames<R>),
}

/// The frames of Zstandard, one after another.
enum Frames<R: Read> {
    Within(Box<StreamingDecoder<BufReader<R>, ruzstd::decoding::FrameDecoder>>),
    Between(BufReader<R>),
    Over,
}

/// An input whose bytes are counted, including the first bytes that were examined.
struct CountedInput<R> {
    head: VecDeque<u8>,
    input: R,
    bytes: u64,
}

impl<R: Read> Read for CountedInput<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match self.head.is_empty() {
            true => self.input.read(buffer)?,
            false => self.head.read(buffer)?,
        };
        self.bytes += read as u64;
        Ok(read)
    }
}

impl<R: Read> TraceInput<R> {
    /// Starts to read `input`, whose first bytes identify its format.
    ///
    /// # Errors
    /// Returns the input's I/O error.
    pub fn new(input: R) -> io::Result<Self> {
        let mut input = CountedInput { head: VecDeque::new(), input, bytes: 0 };
        // A pipe may return a single byte.
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

    /// Returns the bytes of the input that were read.
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
                input.read(buffer).map_err(|error| packed("gzip", &error))?
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
                    let read = frame.read(buffer).map_err(|error| packed("Zstandard", &error))?;
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
                        packed("Zstandard", &io::Error::other(error.to_string()))
                    })?;
                    *self = Self::Within(Box::new(frame));
                }
            }
        }
    }
}

/// Returns the error of a reader of `format`, which distinguishes it from an error of the file.
fn packed(format: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("as {format}: {error}"))
}

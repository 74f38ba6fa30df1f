//! A small NBD client for tests, which can also send invalid requests.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Time after which a server counts as unresponsive.
const PATIENCE: Duration = Duration::from_secs(20);

/// A connection to an NBD server.
#[derive(Debug)]
pub struct NbdClient {
    /// The socket, for requests that the functions below do not cover.
    pub stream: UnixStream,
    /// Length of the export.
    pub size: u64,
    cookie: u64,
}

/// The outcome of a request. The inner error is the number of a protocol error, which is not a failure of the
/// connection.
pub type Answer<T> = io::Result<Result<T, u32>>;

impl NbdClient {
    /// Connects without negotiating.
    ///
    /// # Errors
    /// Returns the socket's I/O error.
    pub fn raw(path: &Path) -> io::Result<UnixStream> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// Connects, and negotiates the export with simple replies.
    ///
    /// # Errors
    /// Returns the socket's I/O error, or an error if the server rejects the negotiation.
    pub fn connect(path: &Path) -> io::Result<Self> {
        let mut stream = Self::raw(path)?;
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting)?;
        let mut option = 3u32.to_be_bytes().to_vec();
        option.extend_from_slice(b"IHAVEOPT");
        option.extend_from_slice(&[0, 0, 0, 1, 0, 0, 0, 0]);
        stream.write_all(&option)?;
        let mut export = [0; 10];
        stream.read_exact(&mut export)?;
        let size = u64::from_be_bytes(export[..8].try_into().unwrap_or_default());
        Ok(Self { stream, size, cookie: 0 })
    }

    /// Sends a request without waiting for its answer, and returns its cookie.
    ///
    /// # Errors
    /// Returns the socket's I/O error.
    pub fn send(
        &mut self,
        flags: u16,
        kind: u16,
        offset: u64,
        length: u32,
        payload: &[u8],
    ) -> io::Result<u64> {
        self.cookie += 1;
        let mut bytes = 0x2560_9513u32.to_be_bytes().to_vec();
        bytes.extend_from_slice(&flags.to_be_bytes());
        bytes.extend_from_slice(&kind.to_be_bytes());
        bytes.extend_from_slice(&self.cookie.to_be_bytes());
        bytes.extend_from_slice(&offset.to_be_bytes());
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(payload);
        self.stream.write_all(&bytes)?;
        Ok(self.cookie)
    }

    /// Receives the next reply, without data, and returns its cookie and error number.
    ///
    /// # Errors
    /// Returns the socket's I/O error, or an error if the message is not a reply.
    pub fn answer(&mut self) -> io::Result<(u64, u32)> {
        let mut bytes = [0; 16];
        self.stream.read_exact(&mut bytes)?;
        if bytes[..4] != 0x6744_6698u32.to_be_bytes() {
            return Err(io::Error::other("the message is not a reply"));
        }
        let error = u32::from_be_bytes(bytes[4..8].try_into().unwrap_or_default());
        Ok((u64::from_be_bytes(bytes[8..].try_into().unwrap_or_default()), error))
    }

    fn ask(
        &mut self,
        flags: u16,
        kind: u16,
        offset: u64,
        length: u32,
        payload: &[u8],
    ) -> Answer<()> {
        let cookie = self.send(flags, kind, offset, length, payload)?;
        match self.answer()? {
            (own, _) if own != cookie => {
                Err(io::Error::other("the reply belongs to another request"))
            }
            (_, 0) => Ok(Ok(())),
            (_, error) => Ok(Err(error)),
        }
    }

    /// Reads a range.
    ///
    /// # Errors
    /// Returns the socket's I/O error.
    pub fn read(&mut self, offset: u64, length: u32) -> Answer<Vec<u8>> {
        if let Err(error) = self.ask(0, 0, offset, length, &[])? {
            return Ok(Err(error));
        }
        let mut bytes = vec![0; length as usize];
        self.stream.read_exact(&mut bytes)?;
        Ok(Ok(bytes))
    }

    /// Writes a range; if `stored` is set, the server stores the data before it replies.
    ///
    /// # Errors
    /// Returns the socket's I/O error.
    pub fn write(&mut self, offset: u64, bytes: &[u8], stored: bool) -> Answer<()> {
        self.ask(u16::from(stored), 1, offset, bytes.len() as u32, bytes)
    }

    /// Flushes all acknowledged data to storage.
    ///
    /// # Errors
    /// Returns the socket's I/O error.
    pub fn flush(&mut self) -> Answer<()> {
        self.ask(0, 3, 0, 0, &[])
    }

    /// Trims a range.
    ///
    /// # Errors
    /// Returns the socket's I/O error.
    pub fn trim(&mut self, offset: u64, length: u32) -> Answer<()> {
        self.ask(0, 4, offset, length, &[])
    }

    /// Zeroes a range. Unless `hole` is set, the server keeps the space allocated.
    ///
    /// # Errors
    /// Returns the socket's I/O error.
    pub fn zero(&mut self, offset: u64, length: u32, hole: bool) -> Answer<()> {
        self.ask(if hole { 0 } else { 2 }, 6, offset, length, &[])
    }
}

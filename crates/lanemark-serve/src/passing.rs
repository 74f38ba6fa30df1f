//! Long data between a socket and a file, which the kernel moves without a copy in this process.
//!
//! A page of the file goes to the socket as it is (sendfile(2)). What is written to it before the client has read that may
//! be read in place of what was there, as of any two requests that are under way together.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::sendfile;
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, SpliceFlags, fcntl_setpipe_size, pipe_with, splice};

use crate::socket::Socket;

/// The size that a pipe is asked to have.
const SIZE: usize = 1 << 20;

/// Sends `length` bytes of `file` from `offset` on.
///
/// # Errors
/// As the file's and the socket's; a part may have been sent.
pub(crate) fn send(file: &File, offset: u64, length: u64, socket: &Socket) -> io::Result<()> {
    let (mut at, end) = (offset, offset + length);
    while at < end {
        let left = (end - at) as usize;
        match sendfile(socket.as_fd(), file, Some(&mut at), left) {
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// A pipe, through which data goes from a socket to a file.
pub(crate) struct Pipe {
    read: OwnedFd,
    write: OwnedFd,
}

impl Pipe {
    /// # Errors
    /// Where the kernel gives none.
    pub(crate) fn new() -> io::Result<Self> {
        let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
        // A shorter one takes more steps.
        let _ = fcntl_setpipe_size(&write, SIZE);
        Ok(Self { read, write })
    }

    /// Receives `length` bytes and writes them to `file` from `offset` on. The inner error is the file's: then all was
    /// received nevertheless.
    ///
    /// # Errors
    /// As the socket's, and where it ends before.
    pub(crate) fn receive(
        &self,
        socket: &Socket,
        length: u64,
        file: &File,
        offset: u64,
    ) -> io::Result<io::Result<()>> {
        let (mut at, end) = (offset, offset + length);
        let mut written = Ok(());
        while at < end {
            let left = (end - at) as usize;
            let here =
                match splice(socket.as_fd(), None, &self.write, None, left, SpliceFlags::empty()) {
                    Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                    Ok(here) => here as u64,
                    Err(Errno::INTR) => continue,
                    Err(error) => return Err(error.into()),
                };
            let until = at + here;
            while at < until && written.is_ok() {
                let left = (until - at) as usize;
                match splice(&self.read, None, file, Some(&mut at), left, SpliceFlags::empty()) {
                    Ok(0) => written = Err(io::ErrorKind::WriteZero.into()),
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => written = Err(error.into()),
                }
            }
            // What the file did not take is not left for the next request.
            self.forget(until - at)?;
            at = until;
        }
        Ok(written)
    }

    fn forget(&self, mut length: u64) -> io::Result<()> {
        let mut bytes = [0; 4096];
        while length > 0 {
            let most = length.min(bytes.len() as u64) as usize;
            match rustix::io::read(&self.read, &mut bytes[..most]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => length -= read as u64,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::os::unix::fs::FileExt;
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;

    /// More than a pipe and a socket hold, and no multiple of a page.
    const LENGTH: usize = 3 * (1 << 20) + 700;

    fn bytes() -> Vec<u8> {
        (0..LENGTH as u32).map(|at| (at % 251) as u8).collect()
    }

    fn pair() -> (Socket, UnixStream) {
        let (own, other) = UnixStream::pair().unwrap();
        (Socket::Unix(own), other)
    }

    #[test]
    fn a_part_of_a_file_is_sent_as_it_is() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&bytes(), 100).unwrap();
        let (own, mut other) = pair();
        let reader = thread::spawn(move || {
            let mut read = vec![0; LENGTH];
            other.read_exact(&mut read).unwrap();
            read
        });
        send(&file, 100, LENGTH as u64, &own).unwrap();
        assert!(reader.join().unwrap() == bytes());
    }

    #[test]
    fn a_file_that_is_shorter_and_a_client_that_has_gone_are_errors() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(LENGTH as u64).unwrap();
        let (own, other) = pair();
        let error = send(&file, LENGTH as u64, 1, &own).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        drop(other);
        let error = send(&file, 0, LENGTH as u64, &own).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    /// A socket on which `said` comes, before its client ends.
    fn saying(said: Vec<u8>) -> Socket {
        let (own, mut other) = pair();
        thread::spawn(move || other.write_all(&said));
        own
    }

    #[test]
    fn what_is_received_lies_in_its_place() {
        let file = tempfile::tempfile().unwrap();
        let said = [bytes(), b"next".to_vec()].concat();
        let socket = saying(said);
        let pipe = Pipe::new().unwrap();
        pipe.receive(&socket, LENGTH as u64, &file, 4096).unwrap().unwrap();
        let mut found = vec![0; LENGTH];
        file.read_exact_at(&mut found, 4096).unwrap();
        assert!(found == bytes());
        assert_eq!(file.metadata().unwrap().len(), 4096 + LENGTH as u64);
        let mut next = [0; 4];
        assert_eq!((socket.receive(&mut next).unwrap(), &next), (4, b"next"));
    }

    #[test]
    fn a_file_that_takes_nothing_leaves_nothing_for_the_next_request() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "").unwrap();
        let file = File::open(path).unwrap();
        let said = [bytes(), b"next".to_vec()].concat();
        let socket = saying(said);
        let pipe = Pipe::new().unwrap();
        assert!(pipe.receive(&socket, LENGTH as u64, &file, 0).unwrap().is_err());
        let mut next = [0; 4];
        assert_eq!((socket.receive(&mut next).unwrap(), &next), (4, b"next"));
    }

    #[test]
    fn a_client_that_ends_before_all_has_come_is_an_error() {
        let file = tempfile::tempfile().unwrap();
        let socket = saying(bytes());
        let gone = Pipe::new().unwrap().receive(&socket, 2 * LENGTH as u64, &file, 0);
        assert_eq!(gone.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}

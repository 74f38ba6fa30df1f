//! Sends long data from a file to a socket; the kernel does this without a copy in this process.
//!
//! A page of the file goes to the socket without a copy (sendfile(2)). If the page is overwritten before the client has
//! read it, the client may read the new data, as with any two concurrent requests. Received data is first read into
//! memory: if a client disconnects in the middle of a write, no part of that write is stored.

use std::fs::File;
use std::io;

use rustix::fs::sendfile;
use rustix::io::Errno;

use crate::socket::Socket;

/// Sends `length` bytes of `file`, starting at `offset`.
///
/// # Errors
/// Returns the I/O error of the file or the socket; a part of the data may have been sent.
pub(crate) fn send(file: &File, offset: u64, length: u64, socket: &Socket) -> io::Result<()> {
    let mut at = offset;
    let end = offset + length;
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

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::FileExt;
    use std::os::unix::net::UnixStream;
    use std::thread;

    use super::*;

    /// Longer than a pipe and a socket can buffer, and not a multiple of a page.
    const LENGTH: usize = 3 * (1 << 20) + 700;

    fn bytes() -> Vec<u8> {
        (0..LENGTH as u32).map(|at| (at % 251) as u8).collect()
    }

    fn pair() -> (Socket, UnixStream) {
        let (server_end, other) = UnixStream::pair().unwrap();
        (Socket::Unix(server_end), other)
    }

    #[test]
    fn a_part_of_a_file_is_sent_as_it_is() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&bytes(), 100).unwrap();
        let (server_end, mut other) = pair();
        let reader = thread::spawn(move || {
            let mut read = vec![0; LENGTH];
            other.read_exact(&mut read).unwrap();
            read
        });
        send(&file, 100, LENGTH as u64, &server_end).unwrap();
        assert!(reader.join().unwrap() == bytes());
    }

    #[test]
    fn a_file_that_is_shorter_and_a_client_that_has_gone_are_errors() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(LENGTH as u64).unwrap();
        let (server_end, other) = pair();
        let error = send(&file, LENGTH as u64, 1, &server_end).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
        drop(other);
        let error = send(&file, 0, LENGTH as u64, &server_end).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }
}

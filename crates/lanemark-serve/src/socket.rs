//! Sockets for a server and its connections: a Unix socket of one user, or TCP on loopback.

use std::fs;
use std::io::{self, Read};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::Mode;
use rustix::io::Errno;
use rustix::ioctl::{Getter, Opcode, ioctl};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};

use crate::undo::{self, UndoEntry};

/// `SIOCOUTQ` of `linux/sockios.h`.
const UNREAD: Opcode = 0x5411;

/// The address of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// A Unix socket, to which only its owner may connect.
    Unix(PathBuf),
    /// A port on 127.0.0.1; 0 for any free port. Every user of the machine may connect.
    Loopback(u16),
}

#[derive(Debug)]
pub struct Listener {
    kind: SocketKind,
    /// Address as it is shown to users and passed to programs.
    address: String,
}

#[derive(Debug)]
enum SocketKind {
    Unix(UnixListener, PathBuf, UndoEntry),
    Tcp(TcpListener),
}

#[derive(Debug)]
pub(crate) enum Socket {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Listener {
    /// Listens at `endpoint`. The socket file of a dead server is removed.
    ///
    /// # Errors
    /// Returns an error if the address is in use or cannot be created.
    pub fn bind(endpoint: &Endpoint) -> io::Result<Self> {
        match endpoint {
            Endpoint::Unix(path) => {
                remove_dead(path)?;
                let full_path = std::path::absolute(path)?;
                let created = full_path.clone();
                let bind = || {
                    // No other user may connect, not even before the mode is changed.
                    let before = rustix::process::umask(Mode::from_raw_mode(0o177));
                    let bound = UnixListener::bind(path);
                    rustix::process::umask(before);
                    bound
                };
                let (listener, undone) =
                    undo::create_with_undo(bind, move || drop(fs::remove_file(created)))?;
                let mut listener = Self {
                    kind: SocketKind::Unix(listener, full_path.clone(), undone),
                    address: String::new(),
                };
                fs::set_permissions(&full_path, fs::Permissions::from_mode(0o600))?;
                let shown = fs::canonicalize(&full_path)?;
                listener.address = format!("nbd+unix:///?socket={}", shown.display());
                Ok(listener)
            }
            Endpoint::Loopback(port) => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, *port))?;
                let address = format!("nbd://{}", listener.local_addr()?);
                Ok(Self { kind: SocketKind::Tcp(listener), address })
            }
        }
    }

    /// Returns the address, as an NBD URI.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the port of a TCP socket.
    pub fn port(&self) -> Option<u16> {
        match &self.kind {
            SocketKind::Tcp(listener) => Some(listener.local_addr().ok()?.port()),
            SocketKind::Unix(..) => None,
        }
    }

    /// Waits for the next connection.
    pub(crate) fn accept(&self) -> io::Result<Socket> {
        match &self.kind {
            SocketKind::Unix(listener, ..) => Ok(Socket::Unix(listener.accept()?.0)),
            SocketKind::Tcp(listener) => {
                let (stream, _) = listener.accept()?;
                stream.set_nodelay(true)?;
                Ok(Socket::Tcp(stream))
            }
        }
    }

    /// Makes a wait for connections return an error.
    pub(crate) fn close(&self) {
        let _ = shutdown(self.as_fd(), Shutdown::Both);
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.kind {
            SocketKind::Unix(listener, ..) => listener.as_fd(),
            SocketKind::Tcp(listener) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let SocketKind::Unix(_, path, undone) = &self.kind
            && undone.cancel()
        {
            let _ = fs::remove_file(path);
        }
    }
}

/// Removes a socket file without a listener; fails if the path is any other file or socket.
fn remove_dead(path: &Path) -> io::Result<()> {
    let there = match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        there => there?,
    };
    if !there.file_type().is_socket() {
        return Err(io::Error::other("there is a file with this name that is not a socket"));
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Ok(_) => Err(io::Error::other("another server listens there")),
        Err(error) => Err(error),
    }
}

impl Socket {
    /// Returns the address of the other end; `None` for a Unix socket.
    pub(crate) fn peer(&self) -> Option<std::net::IpAddr> {
        match self {
            Self::Unix(_) => None,
            Self::Tcp(stream) => Some(stream.peer_addr().ok()?.ip()),
        }
    }

    /// Sends as much of `bytes` as the socket has room for.
    pub(crate) fn send_some(&self, bytes: &[u8]) -> Result<usize, Errno> {
        match send(self.as_fd(), bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(0),
            sent => sent,
        }
    }

    /// Sends all of `bytes`, however long that takes.
    pub(crate) fn send_all(&self, mut bytes: &[u8]) -> Result<(), Errno> {
        while !bytes.is_empty() {
            match send(self.as_fd(), bytes, SendFlags::NOSIGNAL) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reads available bytes, waiting for the first byte if necessary; returns 0 at the end of the stream.
    pub(crate) fn receive(&self, bytes: &mut [u8]) -> io::Result<usize> {
        loop {
            let read = match self {
                Self::Unix(stream) => (&*stream).read(bytes),
                Self::Tcp(stream) => (&*stream).read(bytes),
            };
            match read {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => return read,
            }
        }
    }

    /// Reads the bytes that are available now; returns `None` if no bytes are available yet, and 0 at the end of the
    /// stream.
    pub(crate) fn receive_now(&self, bytes: &mut [u8]) -> io::Result<Option<usize>> {
        loop {
            match recv(self.as_fd(), &mut *bytes, RecvFlags::DONTWAIT) {
                Ok((read, _)) => return Ok(Some(read)),
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Returns the memory of sent data that the other end has not read; `None` if the socket does not report it. For a
    /// TCP socket, this is only the data that has not reached the kernel of the other end.
    pub(crate) fn unread(&self) -> Option<u32> {
        let Self::Unix(stream) = self else { return None };
        // SAFETY: the request writes an `int` to its argument.
        let unread = unsafe { ioctl(stream, Getter::<UNREAD, i32>::new()) };
        u32::try_from(unread.ok()?).ok()
    }

    /// Sets the time limit of reads and sends.
    pub(crate) fn set_time_out(&self, time: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Unix(stream) => {
                stream.set_read_timeout(time)?;
                stream.set_write_timeout(time)
            }
            Self::Tcp(stream) => {
                stream.set_read_timeout(time)?;
                stream.set_write_timeout(time)
            }
        }
    }

    /// Ends the connection: reads return its end, and sends fail.
    pub(crate) fn close(&self) {
        let _ = shutdown(self.as_fd(), Shutdown::Both);
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Unix(stream) => stream.as_fd(),
            Self::Tcp(stream) => stream.as_fd(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_is_private_and_the_server_removes_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let endpoint = Endpoint::Unix(path.clone());
        let listener = Listener::bind(&endpoint).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let taken = Listener::bind(&endpoint).unwrap_err().to_string();
        assert!(taken.contains("another server"), "{taken}");
        drop(listener);
        assert!(!path.exists());
    }

    #[test]
    fn only_the_remains_of_a_killed_server_are_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists() && Listener::bind(&Endpoint::Unix(path)).is_ok());
        let other = folder.path().join("file");
        fs::write(&other, "text").unwrap();
        assert!(Listener::bind(&Endpoint::Unix(other.clone())).is_err());
        assert_eq!(fs::read(other).unwrap(), b"text");
    }

    #[test]
    fn a_socket_knows_its_available_and_unread_bytes() {
        let (own, other) = UnixStream::pair().unwrap();
        let own = Socket::Unix(own);
        let other = Socket::Unix(other);
        let mut bytes = [0; 64];
        assert_eq!(other.receive_now(&mut bytes).unwrap(), None);
        assert_eq!(own.unread(), Some(0));
        own.send_all(&[7; 40]).unwrap();
        let length = own.unread().unwrap();
        own.send_all(&[7; 40]).unwrap();
        assert_eq!((length > 0, own.unread()), (true, Some(2 * length)));
        assert_eq!(other.receive_now(&mut bytes[..40]).unwrap(), Some(40));
        assert_eq!(own.unread(), Some(length));
        own.close();
        assert_eq!(other.receive_now(&mut bytes).unwrap(), Some(40));
        assert_eq!(other.receive_now(&mut bytes).unwrap(), Some(0));
    }

    #[test]
    fn a_port_is_on_loopback() {
        let listener = Listener::bind(&Endpoint::Loopback(0)).unwrap();
        assert!(listener.address().starts_with("nbd://127.0.0.1:"));
    }
}

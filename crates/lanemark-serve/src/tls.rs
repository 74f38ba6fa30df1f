//! Puts TLS in front of the server: the unencrypted part of the negotiation, the handshake, and a relay.
//!
//! NBD begins unencrypted and switches to TLS with `NBD_OPT_STARTTLS`. Until then, any other option is answered with
//! `NBD_REP_ERR_TLS_REQD`, as the protocol's "forced" mode requires. After the handshake, a thread relays bytes between
//! the client's connection and one end of a socket pair; the server serves the other end like any client. Unencrypted
//! bytes after `STARTTLS` are read as part of the handshake, and end the connection, so bytes that were sent before the
//! handshake are never attributed to the client.
//!
//! Only TLS 1.3 is supported, and only certificates, because rustls does not support pre-shared keys.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig, ServerConnection};

use crate::nbd::negotiation::{self, HEADER, OPTION_MAX, OptionHeader, in_the_clear};

/// Time limit for a client's unencrypted negotiation and handshake together.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// Maximum number of options before `STARTTLS`.
const OPTIONS_MAX: usize = 64;
/// Maximum number of buffered bytes in one direction.
const BACKLOG: usize = 256 << 10;

/// The clients that a server accepts.
#[derive(Clone, Debug)]
pub enum AcceptedClients {
    /// Clients with a certificate from one of these authorities, in PEM.
    Of(Vec<u8>),
    /// All clients that can reach the port.
    Any,
}

/// A server's certificate and key, and the clients that it accepts.
#[derive(Clone, Debug)]
pub struct Tls {
    config: Arc<ServerConfig>,
}

/// A reason why a certificate or a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The certificate is invalid.
    #[error("the certificate: {0}")]
    Certificate(String),
    /// The key is invalid.
    #[error("the key: {0}")]
    Key(String),
    /// The client authorities are invalid.
    #[error("the client authorities: {0}")]
    Authorities(String),
    /// Certificate and key do not match.
    #[error("{0}")]
    Together(#[from] rustls::Error),
}

impl Tls {
    /// Creates a server's side of TLS from a chain of certificates and a key in PEM.
    ///
    /// # Errors
    /// Returns an error if the certificate or the key is invalid, or if they do not match.
    pub fn new(
        certificates: &[u8],
        key: &[u8],
        clients: &AcceptedClients,
    ) -> Result<Self, TlsError> {
        let chain = read_certificates(certificates).map_err(TlsError::Certificate)?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| TlsError::Key(format!("no private key in PEM: {error}")))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let builder = match clients {
            AcceptedClients::Any => builder.with_no_client_auth(),
            AcceptedClients::Of(authorities) => {
                let mut roots = RootCertStore::empty();
                for certificate in read_certificates(authorities).map_err(TlsError::Authorities)? {
                    roots
                        .add(certificate)
                        .map_err(|error| TlsError::Authorities(error.to_string()))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                        .build()
                        .map_err(|error| TlsError::Authorities(error.to_string()))?;
                builder.with_client_cert_verifier(verifier)
            }
        };
        Ok(Self { config: Arc::new(builder.with_single_cert(chain, key)?) })
    }

    /// Starts a thread that puts TLS in front of a connection, and returns the thread. It completes the handshake of
    /// the client, passes the unencrypted end to `begin`, and then relays.
    ///
    /// # Errors
    /// Returns the kernel's error if no thread can be started.
    pub(crate) fn front(
        &self,
        client: TcpStream,
        begin: impl FnOnce(UnixStream) -> io::Result<()> + Send + 'static,
    ) -> io::Result<thread::JoinHandle<()>> {
        let config = Arc::clone(&self.config);
        thread::Builder::new().name("tls".to_owned()).spawn(move || {
            // The outcome concerns only the client.
            let _ = front(config, &client, begin);
        })
    }
}

fn read_certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all = all.map_err(|error| format!("no certificates in PEM: {error}"))?;
    if all.is_empty() { Err("no certificate in PEM".to_owned()) } else { Ok(all) }
}

/// A stream whose reads and writes fail after a deadline, even if bytes keep arriving slowly.
struct DeadlineStream<'s> {
    stream: &'s TcpStream,
    until: Instant,
}

impl DeadlineStream<'_> {
    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for DeadlineStream<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(bytes)
    }
}

impl Write for DeadlineStream<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Completes the handshake of a client, starts serving it, and relays until one side ends.
fn front(
    config: Arc<ServerConfig>,
    client: &TcpStream,
    begin: impl FnOnce(UnixStream) -> io::Result<()>,
) -> io::Result<()> {
    let mut timed = DeadlineStream { stream: client, until: Instant::now() + HANDSHAKE };
    let Some(flags) = start_tls(&mut timed)? else { return Ok(()) };
    let mut tls = ServerConnection::new(config).map_err(io::Error::other)?;
    while tls.is_handshaking() {
        tls.complete_io(&mut timed)?;
    }
    // The server does not serve the client until the client has proved its identity.
    let (served, inner) = UnixStream::pair()?;
    begin(served)?;
    let relayed = relay(tls, client, &inner, flags);
    let _ = inner.shutdown(std::net::Shutdown::Both);
    relayed
}

/// Relays between a client and the server's end of a pair of sockets until one side ends.
fn relay(
    mut tls: ServerConnection,
    client: &TcpStream,
    inner: &UnixStream,
    flags: [u8; 4],
) -> io::Result<()> {
    // The server sends its greeting again, which the client has already received, and expects the client's flags.
    inner.set_read_timeout(Some(HANDSHAKE))?;
    let mut greeting = [0; negotiation::GREETING];
    (&*inner).read_exact(&mut greeting)?;
    (&*inner).write_all(&flags)?;
    client.set_nonblocking(true)?;
    inner.set_nonblocking(true)?;
    tls.set_buffer_limit(Some(BACKLOG));
    Relay { tls, client, inner, to_inner: Vec::new(), inner_ended: false }.run()
}

/// Negotiates without encryption until the client starts TLS. Returns the client's flags, or `None` if the connection
/// ended.
fn start_tls(stream: &mut DeadlineStream<'_>) -> io::Result<Option<[u8; 4]>> {
    stream.write_all(&negotiation::greeting())?;
    let mut flags = [0; 4];
    stream.read_exact(&mut flags)?;
    for _ in 0..OPTIONS_MAX {
        let mut header = [0; HEADER];
        stream.read_exact(&mut header)?;
        let Some(header) = OptionHeader::read(&header).filter(|parsed| parsed.length <= OPTION_MAX)
        else {
            return Ok(None);
        };
        io::copy(&mut stream.take(header.length.into()), &mut io::sink())?;
        let answer = in_the_clear(header);
        stream.write_all(&answer.reply)?;
        if answer.starts_tls {
            return Ok(Some(flags));
        }
        if answer.ends {
            return Ok(None);
        }
    }
    Ok(None)
}

/// A relay between a client over TLS and the server's end of a pair of sockets.
struct Relay<'s> {
    tls: ServerConnection,
    client: &'s TcpStream,
    inner: &'s UnixStream,
    /// Bytes from the client that the server has not read yet.
    to_inner: Vec<u8>,
    inner_ended: bool,
}

impl Relay<'_> {
    fn run(&mut self) -> io::Result<()> {
        self.take_plain()?;
        loop {
            if self.inner_ended && !self.tls.wants_write() {
                return Ok(());
            }
            let (client, inner) = self.wait()?;
            if client.contains(PollFlags::OUT) {
                self.send_to_client()?;
            }
            if client.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR)
                && self.takes_from_client()
            {
                if self.tls.read_tls(&mut &*self.client)? == 0 {
                    return Ok(());
                }
                let processed = self.tls.process_new_packets();
                if processed.is_err() {
                    // If possible, the alert that states the reason is sent.
                    let _ = self.send_to_client();
                }
                processed.map_err(io::Error::other)?;
                self.take_plain()?;
            }
            if inner.contains(PollFlags::OUT) {
                self.send_to_inner()?;
            }
            if inner.intersects(PollFlags::IN | PollFlags::HUP | PollFlags::ERR)
                && self.takes_from_inner()
            {
                self.receive_from_inner()?;
            }
        }
    }

    fn takes_from_client(&self) -> bool {
        !self.inner_ended && self.to_inner.len() < BACKLOG
    }

    fn takes_from_inner(&self) -> bool {
        !self.inner_ended && !self.tls.wants_write()
    }

    /// Waits until one side can continue, and returns the events of each side.
    fn wait(&self) -> io::Result<(PollFlags, PollFlags)> {
        let flag = |wanted: bool, flag: PollFlags| if wanted { flag } else { PollFlags::empty() };
        let client = flag(self.takes_from_client(), PollFlags::IN)
            | flag(self.tls.wants_write(), PollFlags::OUT);
        let inner = flag(self.takes_from_inner(), PollFlags::IN)
            | flag(!self.to_inner.is_empty(), PollFlags::OUT);
        let mut both = [PollFd::new(self.client, client), PollFd::new(self.inner, inner)];
        match poll(&mut both, None) {
            Err(rustix::io::Errno::INTR) => Ok((PollFlags::empty(), PollFlags::empty())),
            polled => {
                polled?;
                let [client, inner] = both.map(|entry| entry.revents());
                // A closed side is detected even without a pending operation on it. Without this, the wait would not
                // end.
                let gone = PollFlags::HUP | PollFlags::ERR;
                let stuck = client.intersects(gone) && !self.takes_from_client()
                    || inner.intersects(gone) && !self.takes_from_inner() && !self.inner_ended;
                if stuck && !client.contains(PollFlags::OUT) {
                    return Err(io::ErrorKind::ConnectionReset.into());
                }
                Ok((client, inner))
            }
        }
    }

    /// Moves the client's decrypted bytes from TLS to `to_inner`.
    fn take_plain(&mut self) -> io::Result<()> {
        match self.tls.reader().read_to_end(&mut self.to_inner) {
            Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
            _ => {}
        }
        self.send_to_inner()
    }

    fn send_to_inner(&mut self) -> io::Result<()> {
        while !self.to_inner.is_empty() {
            match (&*self.inner).write(&self.to_inner) {
                Ok(sent) => drop(self.to_inner.drain(..sent)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn receive_from_inner(&mut self) -> io::Result<()> {
        let mut bytes = [0; 64 << 10];
        match (&*self.inner).read(&mut bytes) {
            Ok(0) => {
                self.inner_ended = true;
                self.tls.send_close_notify();
            }
            Ok(read) => self.tls.writer().write_all(&bytes[..read])?,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        self.send_to_client()
    }

    fn send_to_client(&mut self) -> io::Result<()> {
        while self.tls.wants_write() {
            match self.tls.write_tls(&mut &*self.client) {
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use rustls::server::ResolvesServerCertUsingSni;

    use super::*;

    /// The ends of the two connections of a relay.
    struct RelayEnds {
        client: TcpStream,
        inner: UnixStream,
    }

    impl RelayEnds {
        /// Returns the relay's ends, the client's end and the server's end.
        fn new() -> (Self, TcpStream, UnixStream) {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let far = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (client, _) = listener.accept().unwrap();
            let (server, inner) = UnixStream::pair().unwrap();
            client.set_nonblocking(true).unwrap();
            inner.set_nonblocking(true).unwrap();
            (Self { client, inner }, far, server)
        }

        /// Returns a relay before the handshake, without certificates.
        fn relay(&self, to_inner: Vec<u8>, inner_ended: bool) -> Relay<'_> {
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let config = ServerConfig::builder_with_provider(provider)
                .with_safe_default_protocol_versions()
                .unwrap()
                .with_no_client_auth()
                .with_cert_resolver(Arc::new(ResolvesServerCertUsingSni::new()));
            let tls = ServerConnection::new(Arc::new(config)).unwrap();
            Relay { tls, client: &self.client, inner: &self.inner, to_inner, inner_ended }
        }
    }

    #[test]
    fn the_relay_takes_from_each_side_while_it_has_room_and_the_server_has_not_ended() {
        let (ends, _far, _server) = RelayEnds::new();
        for (backlog, inner_ended, from_client, from_inner) in [
            (0, false, true, true),
            (BACKLOG - 1, false, true, true),
            (BACKLOG, false, false, true),
            (BACKLOG + 1, false, false, true),
            (0, true, false, false),
        ] {
            let relay = ends.relay(vec![0; backlog], inner_ended);
            let found = (relay.takes_from_client(), relay.takes_from_inner());
            assert_eq!(found, (from_client, from_inner), "{backlog} {inner_ended}");
        }
    }

    #[test]
    fn a_closed_client_ends_the_wait_even_if_nothing_is_taken_from_it() {
        let gone = PollFlags::HUP | PollFlags::ERR;
        let (ends, far, _server) = RelayEnds::new();
        // A client that closes without having read all data resets the connection.
        (&ends.client).write_all(b"unread").unwrap();
        drop(far);
        let mut reset = [PollFd::new(&ends.client, PollFlags::empty())];
        poll(&mut reset, None).unwrap();
        assert!(reset[0].revents().intersects(gone));
        // The next read reports the end.
        for backlog in [0, BACKLOG - 1] {
            let (client, _) = ends.relay(vec![0; backlog], false).wait().unwrap();
            assert!(client.intersects(gone), "{backlog}");
        }
        let error = ends.relay(vec![0; BACKLOG], false).wait().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }

    #[test]
    fn a_closed_server_ends_the_wait_without_an_error() {
        let (ends, _far, server) = RelayEnds::new();
        drop(server);
        // The next read reports the end, or has reported it.
        for inner_ended in [false, true] {
            let (client, inner) = ends.relay(Vec::new(), inner_ended).wait().unwrap();
            assert!(client.is_empty() && inner.contains(PollFlags::HUP), "{inner_ended}");
        }
    }

    #[test]
    fn a_server_that_reads_slowly_gets_all_bytes_in_order() {
        let (ends, _far, server) = RelayEnds::new();
        // More bytes than the kernel buffers for a socket pair.
        let all: Vec<u8> = (0..4u32 << 20).map(|number| (number % 251) as u8).collect();
        let mut relay = ends.relay(all.clone(), false);
        relay.send_to_inner().unwrap();
        let left = relay.to_inner.len();
        assert!(left > 0 && left < all.len(), "{left}");
        let (mut received, mut bytes) = (Vec::new(), vec![0; 1 << 20]);
        while received.len() < all.len() {
            let read = (&server).read(&mut bytes).unwrap();
            received.extend_from_slice(&bytes[..read]);
            relay.send_to_inner().unwrap();
        }
        assert!(received == all && relay.to_inner.is_empty());
        drop(server);
        relay.to_inner.push(0);
        assert!(relay.send_to_inner().is_err());
    }

    #[test]
    fn a_side_without_data_is_no_error_and_the_end_of_the_server_is_noted() {
        let (ends, _far, server) = RelayEnds::new();
        let mut relay = ends.relay(Vec::new(), false);
        relay.take_plain().unwrap();
        assert!(relay.to_inner.is_empty());
        relay.receive_from_inner().unwrap();
        (&server).write_all(b"abc").unwrap();
        relay.receive_from_inner().unwrap();
        assert!(!relay.inner_ended);
        drop(server);
        relay.receive_from_inner().unwrap();
        assert!(relay.inner_ended);
    }
}

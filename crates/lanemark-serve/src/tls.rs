//! TLS in front of the server: the part of the negotiation that is in the clear, the handshake, and a relay.
//!
//! NBD begins in the clear and goes over to TLS by `NBD_OPT_STARTTLS`, as the protocol's "forced" mode asks: any other
//! option is answered with `NBD_REP_ERR_TLS_REQD` until then. Behind the handshake a thread carries bytes between the
//! client's connection and a pair of sockets, at whose other end the server serves as it does any client. What comes
//! in the clear behind `STARTTLS` is read as part of the handshake, and ends the connection: nothing that was sent before
//! it is taken for the client's.
//!
//! TLS 1.3 alone. Certificates only: rustls has no pre-shared keys.

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

/// Time that a client has for all of the negotiation in the clear and the handshake.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// The most options before `STARTTLS`.
const OPTIONS_MAX: usize = 64;
/// Bytes that wait in one direction before no more are taken.
const BACKLOG: usize = 256 << 10;

/// The clients that a server takes.
#[derive(Clone, Debug)]
pub enum Clients {
    /// Those with a certificate of one of these authorities, in PEM.
    Of(Vec<u8>),
    /// Any that can reach the port.
    Any,
}

/// A server's certificate and key, and whom it takes.
#[derive(Clone, Debug)]
pub struct Tls {
    config: Arc<ServerConfig>,
}

/// A reason why certificates or a key can't be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// The certificate is none.
    #[error("the certificate: {0}")]
    Certificate(String),
    /// The key is none.
    #[error("the key: {0}")]
    Key(String),
    /// The authorities of clients are none.
    #[error("the authorities of clients: {0}")]
    Authorities(String),
    /// Certificate and key do not go together.
    #[error("{0}")]
    Together(#[from] rustls::Error),
}

impl Tls {
    /// A server's side of TLS, of a chain of certificates and a key in PEM.
    ///
    /// # Errors
    /// Where one of them is not what it should be, or they do not go together.
    pub fn new(certificates: &[u8], key: &[u8], clients: &Clients) -> Result<Self, TlsError> {
        let chain = read_certificates(certificates).map_err(TlsError::Certificate)?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| TlsError::Key(format!("no private key in PEM: {error}")))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let builder = match clients {
            Clients::Any => builder.with_no_client_auth(),
            Clients::Of(authorities) => {
                let mut roots = RootCertStore::empty();
                for one in read_certificates(authorities).map_err(TlsError::Authorities)? {
                    roots.add(one).map_err(|error| TlsError::Authorities(error.to_string()))?;
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

    /// Puts TLS in front of a connection: returns the end at which the client is served in the clear, and the thread that
    /// relays.
    ///
    /// # Errors
    /// Where there can be no pair of sockets or no thread.
    pub(crate) fn front(
        &self,
        client: TcpStream,
    ) -> io::Result<(UnixStream, thread::JoinHandle<()>)> {
        let (served, inner) = UnixStream::pair()?;
        let config = Arc::clone(&self.config);
        let relaying = thread::Builder::new().name("tls".to_owned()).spawn(move || {
            // However it ended, it is the client's affair.
            let _ = relay(config, &client, &inner);
            let _ = inner.shutdown(std::net::Shutdown::Both);
        })?;
        Ok((served, relaying))
    }
}

fn read_certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let all = all.map_err(|error| format!("no certificates in PEM: {error}"))?;
    if all.is_empty() { Err("no certificate in PEM".to_owned()) } else { Ok(all) }
}

/// A stream whose reads and writes fail when a time is over, however slowly bytes come.
struct Timed<'s> {
    stream: &'s TcpStream,
    until: Instant,
}

impl Timed<'_> {
    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(left) }
    }
}

impl Read for Timed<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.stream.set_read_timeout(Some(self.left()?))?;
        self.stream.read(bytes)
    }
}

impl Write for Timed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.stream.set_write_timeout(Some(self.left()?))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Brings a client to the end of the handshake, and relays until one side ends.
fn relay(config: Arc<ServerConfig>, client: &TcpStream, inner: &UnixStream) -> io::Result<()> {
    let mut timed = Timed { stream: client, until: Instant::now() + HANDSHAKE };
    let Some(flags) = start_tls(&mut timed)? else { return Ok(()) };
    let mut tls = ServerConnection::new(config).map_err(io::Error::other)?;
    while tls.is_handshaking() {
        tls.complete_io(&mut timed)?;
    }
    // The server behind greets anew, which the client has seen, and asks for its flags.
    inner.set_read_timeout(Some(HANDSHAKE))?;
    let mut greeting = [0; negotiation::GREETING];
    (&*inner).read_exact(&mut greeting)?;
    (&*inner).write_all(&flags)?;
    client.set_nonblocking(true)?;
    inner.set_nonblocking(true)?;
    tls.set_buffer_limit(Some(BACKLOG));
    Relay { tls, client, inner, to_inner: Vec::new(), inner_ended: false }.run()
}

/// Negotiates in the clear until the client starts TLS; returns its flags, or none where it ended.
fn start_tls(stream: &mut Timed<'_>) -> io::Result<Option<[u8; 4]>> {
    stream.write_all(&negotiation::greeting())?;
    let mut flags = [0; 4];
    stream.read_exact(&mut flags)?;
    for _ in 0..OPTIONS_MAX {
        let mut header = [0; HEADER];
        stream.read_exact(&mut header)?;
        let Some(header) = OptionHeader::read(&header).filter(|one| one.length <= OPTION_MAX)
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
    /// Bytes of the client that the server has not taken.
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
                    // The alert that says why goes out as far as it can.
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

    /// Waits until one side can go on, and returns what each can do.
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
                let [client, inner] = both.map(|one| one.revents());
                // A side that is gone is seen even where nothing of it is wanted; without this the wait would not end.
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

    /// Takes what the client has sent out of TLS.
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

//! The server: it listens only on loopback, and limits connections, headers and the time that they take.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use lanemark_lab::{CancelFlag, Pool};
use lanemark_study::Library;
use tokio::net::{TcpListener, TcpStream};

use crate::guard::Guard;
use crate::machine::MachineSource;
use crate::routes::{self, UiServerState};
use crate::visitor::{Visitor, Visitors};

/// Maximum total size of the headers of a request, in bytes.
const HEAD_MAX: usize = 16 << 10;
/// Maximum number of headers of a request.
const HEADERS_MAX: usize = 64;
/// Time limit for receiving a request's headers.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Interval at which the server checks for cancellation.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The laboratory in a browser, which is listening but not yet serving.
#[derive(Debug)]
pub struct UiServer {
    listener: std::net::TcpListener,
    server: Arc<UiServerState>,
    address: String,
}

impl UiServer {
    /// Listens on port `port` of 127.0.0.1, or on any free port if `port` is 0.
    ///
    /// # Errors
    /// Returns an error if the port is in use, or if the system does not provide random bytes.
    pub fn new(port: u16, library: Library) -> io::Result<Self> {
        Self::at(IpAddr::V4(Ipv4Addr::LOCALHOST), port, library)
    }

    /// Listens on a loopback address.
    ///
    /// # Errors
    /// Returns an error if `ip` is not a loopback address, and the errors of [`UiServer::new`].
    pub fn at(ip: IpAddr, port: u16, library: Library) -> io::Result<Self> {
        Self::on(ip, port, library, MachineSource::default())
    }

    /// Listens, and uses `machine` instead of the running machine as "this machine".
    ///
    /// # Errors
    /// Returns the errors of [`UiServer::new`].
    pub fn on_machine(port: u16, library: Library, machine: MachineSource) -> io::Result<Self> {
        Self::on(IpAddr::V4(Ipv4Addr::LOCALHOST), port, library, machine)
    }

    fn on(ip: IpAddr, port: u16, library: Library, machine: MachineSource) -> io::Result<Self> {
        if !ip.is_loopback() {
            let message =
                format!("{ip} is not a loopback address; the laboratory only serves this machine");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let listener = std::net::TcpListener::bind(SocketAddr::new(ip, port))?;
        listener.set_nonblocking(true)?;
        let bound = listener.local_addr()?;
        let guard = Guard::new(bound.port())?;
        let address = format!("http://{bound}/?token={}", guard.token());
        let server = UiServerState::new(guard, library, machine, Pool::default().threads());
        Ok(Self { listener, server, address })
    }

    /// Returns the address that gives access, with the token.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns the server, for reading its counts.
    pub fn server(&self) -> &Arc<UiServerState> {
        &self.server
    }

    /// Serves requests until `cancel` is set.
    ///
    /// # Errors
    /// Returns an error if the threads cannot be started, or if the port can no longer accept connections.
    pub fn run(self, cancel: &CancelFlag) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_io()
            .enable_time()
            .build()?;
        let outcome = runtime.block_on(self.answer(cancel));
        // A running step ends within milliseconds of the cancellation of its job; the server does not wait for it.
        runtime.shutdown_background();
        outcome
    }

    async fn answer(self, cancel: &CancelFlag) -> io::Result<()> {
        let listener = TcpListener::from_std(self.listener)?;
        let router = routes::router(self.server);
        let mut visitors = Visitors::new();
        let mut look = tokio::time::interval(LOOK_EVERY);
        loop {
            let stream = tokio::select! {
                _ = look.tick() => if cancel.is_cancelled() { return Ok(()) } else { continue },
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    // Too many files are open, or the client disconnected before it was accepted. The next attempt may
                    // succeed.
                    Err(_) => {
                        tokio::time::sleep(LOOK_EVERY).await;
                        continue;
                    }
                },
            };
            tokio::spawn(serve_connection(stream, router.clone(), visitors.take()));
        }
    }
}

async fn serve_connection(stream: TcpStream, router: axum::Router, visitor: Arc<Visitor>) {
    let _ = stream.set_nodelay(true);
    let router = router.layer(Extension(Arc::clone(&visitor)));
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // A broken connection is not a server error, and there is no client left to receive one.
    visitor.serve(async { drop(serving.await) }).await;
}

//! The server: it listens on loopback alone, and bounds connections, headers and the time that they take.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use lanemark_lab::{Cancel, Pool};
use lanemark_study::Library;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use crate::guard::Guard;
use crate::machine::Machine;
use crate::routes::{self, Server};

/// Connections at a time; others wait.
const CONNECTIONS_MAX: usize = 512;
/// Bytes and number of the headers of a request.
const HEAD_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 64;
/// Time in which a request's head has to come.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// Interval at which the wish to end is looked for.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The laboratory in a browser, listening and not yet answering.
#[derive(Debug)]
pub struct Ui {
    listener: std::net::TcpListener,
    server: Arc<Server>,
    address: String,
}

impl Ui {
    /// Listens on port `port` of 127.0.0.1, or on any that is free where it is 0.
    ///
    /// # Errors
    /// Where the port is taken, or the system gives no random bytes.
    pub fn new(port: u16, library: Library) -> io::Result<Self> {
        Self::at(IpAddr::V4(Ipv4Addr::LOCALHOST), port, library)
    }

    /// Listens at an address of loopback.
    ///
    /// # Errors
    /// Where `ip` is another machine's or reachable from one, and as [`Ui::new`].
    pub fn at(ip: IpAddr, port: u16, library: Library) -> io::Result<Self> {
        Self::on(ip, port, library, Machine::default())
    }

    /// Listens with another machine than the running one as "this machine".
    ///
    /// # Errors
    /// As [`Ui::new`].
    pub fn on_machine(port: u16, library: Library, machine: Machine) -> io::Result<Self> {
        Self::on(IpAddr::V4(Ipv4Addr::LOCALHOST), port, library, machine)
    }

    fn on(ip: IpAddr, port: u16, library: Library, machine: Machine) -> io::Result<Self> {
        if !ip.is_loopback() {
            let message = format!("{ip} is not loopback; the laboratory is for this machine alone");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let listener = std::net::TcpListener::bind(SocketAddr::new(ip, port))?;
        listener.set_nonblocking(true)?;
        let bound = listener.local_addr()?;
        let guard = Guard::new(bound.port())?;
        let address = format!("http://{bound}/?token={}", guard.token());
        let server = Server::new(guard, library, machine, Pool::default().threads());
        Ok(Self { listener, server, address })
    }

    /// Returns the address that lets in, with the token.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Returns what answers, for its counts.
    pub fn server(&self) -> &Arc<Server> {
        &self.server
    }

    /// Answers until `cancel` is set.
    ///
    /// # Errors
    /// Where the threads cannot be started, or the port does not listen any more.
    pub fn run(self, cancel: &Cancel) -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_io()
            .enable_time()
            .build()?;
        let outcome = runtime.block_on(self.answer(cancel));
        // A step under way ends within milliseconds of a cancelled job; nobody waits for it.
        runtime.shutdown_background();
        outcome
    }

    async fn answer(self, cancel: &Cancel) -> io::Result<()> {
        let listener = TcpListener::from_std(self.listener)?;
        let router = routes::router(self.server);
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let mut look = tokio::time::interval(LOOK_EVERY);
        loop {
            let stream = tokio::select! {
                _ = look.tick() => match cancel.is_cancelled() {
                    true => return Ok(()),
                    false => continue,
                },
                accepted = listener.accept(), if places.available_permits() > 0 => match accepted {
                    Ok((stream, _)) => stream,
                    // Too many open files, or a client that went away before it was answered: the next may do.
                    Err(_) => {
                        tokio::time::sleep(LOOK_EVERY).await;
                        continue;
                    }
                },
            };
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { return Ok(()) };
            let router = router.clone();
            tokio::spawn(async move {
                connection(stream, router).await;
                drop(place);
            });
        }
    }
}

/// Answers the requests of one connection.
async fn connection(stream: TcpStream, router: axum::Router) {
    let _ = stream.set_nodelay(true);
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIME)
        .max_buf_size(HEAD_MAX)
        .max_headers(HEADERS_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // A connection that breaks off is no error of ours, and the client is gone.
    let _ = serving.await;
}

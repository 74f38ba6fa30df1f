//! The server: a thread that accepts connections, and two threads per connection.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::clients::{ConnectionRegistry, RegisteredConnection};
use crate::connection::ServerState;
use crate::outbox::Outbox;
use crate::socket::{Listener, Socket};

pub use crate::clients::{ARRIVING_MAX, CONNECTIONS_MAX};

pub struct Server {
    listener: Arc<Listener>,
    taking: Option<JoinHandle<()>>,
    clients: Arc<ConnectionRegistry>,
}

impl Server {
    /// Begins to accept connections.
    ///
    /// # Errors
    /// Returns the kernel's error if no thread can be started.
    pub(crate) fn start(listener: Listener, shared: Arc<ServerState>) -> io::Result<Self> {
        let listener = Arc::new(listener);
        let clients = Arc::new(ConnectionRegistry::default());
        let listens = Arc::clone(&listener);
        let own = Arc::clone(&clients);
        let taking = thread::Builder::new().name("taking".to_owned());
        let taking = taking.spawn(move || {
            take(&listens, &own, &|socket| serve_plain_client(socket, &own, &shared));
        })?;
        Ok(Self { listener, taking: Some(taking), clients })
    }

    /// Returns the address, as an NBD URI.
    pub fn address(&self) -> &str {
        self.listener.address()
    }

    /// Returns the port, if the server listens on TCP.
    pub fn port(&self) -> Option<u16> {
        self.listener.port()
    }

    pub fn connections(&self) -> usize {
        self.clients.open()
    }

    /// Ends all connections and waits for their threads.
    pub fn end(&mut self) {
        self.clients.stop();
        self.listener.close();
        if let Some(taking) = self.taking.take() {
            let _ = taking.join();
        }
        self.clients.end();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Accepts connections until the server ends.
fn take(
    listener: &Listener,
    clients: &ConnectionRegistry,
    begin: &dyn Fn(Socket) -> io::Result<()>,
) {
    loop {
        let socket = listener.accept();
        if clients.has_ended() {
            return;
        }
        if socket.and_then(begin).is_err() {
            // Either the process has run out of files or threads, or the client disconnected before it was accepted.
            thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Serves a client without TLS.
pub(crate) fn serve_plain_client(
    socket: Socket,
    clients: &Arc<ConnectionRegistry>,
    shared: &Arc<ServerState>,
) -> io::Result<()> {
    let address = socket.peer();
    let outbox = Arc::new(Outbox::new(socket, Arc::clone(&shared.delivered)));
    let sender = Arc::clone(&outbox);
    let arriving = clients.arrive(address, Box::new(move || sender.close()));
    begin(outbox, arriving, clients, shared)
}

/// Starts a thread that serves a client.
fn begin(
    outbox: Arc<Outbox>,
    client: RegisteredConnection,
    clients: &ConnectionRegistry,
    shared: &Arc<ServerState>,
) -> io::Result<()> {
    let shares = Arc::clone(shared);
    let serving = thread::Builder::new().name(format!("client {}", client.number()));
    let serving = serving.spawn(move || serve(&shares, &outbox, &client))?;
    clients.keep(serving);
    Ok(())
}

/// Serves one client, with a second thread that sends, until the connection ends.
fn serve(shared: &ServerState, outbox: &Arc<Outbox>, client: &RegisteredConnection) {
    let number = client.number();
    let sending = shared.engine.as_ref().map(|_| {
        let sender = Arc::clone(outbox);
        thread::Builder::new().name(format!("sender {number}")).spawn(move || sender.run())
    });
    if !matches!(sending, Some(Err(_))) {
        // The outcome concerns only the client.
        let _ = shared.serve(outbox, client);
    }
    outbox.close();
    if let Some(Ok(sending)) = sending {
        let _ = sending.join();
    }
}

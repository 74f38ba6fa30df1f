//! The server: a thread that takes connections, and the threads of each.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::connection::Shared;
use crate::outbox::Outbox;
use crate::socket::{Listener, Socket};
#[cfg(feature = "tls")]
use crate::tls::Tls;

/// The most connections at a time; more are closed as they come.
pub const CONNECTIONS_MAX: usize = 64;

/// A server at work.
pub struct Server {
    listener: Arc<Listener>,
    taking: Option<JoinHandle<()>>,
    open: Arc<Open>,
}

/// The connections that are open.
#[derive(Default)]
struct Open {
    ended: AtomicBool,
    connections: Mutex<HashMap<u32, Arc<Outbox>>>,
    /// Threads of connections, some of which have ended.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Server {
    /// Begins to take connections.
    ///
    /// # Errors
    /// Where there can be no thread.
    pub(crate) fn start(
        listener: Listener,
        shared: Arc<Shared>,
        #[cfg(feature = "tls")] tls: Option<Tls>,
    ) -> io::Result<Self> {
        let (listener, open) = (Arc::new(listener), Arc::new(Open::default()));
        let (listens, opens) = (Arc::clone(&listener), Arc::clone(&open));
        let taking = thread::Builder::new().name("taking".to_owned());
        let taking = taking.spawn(move || {
            let accept = || listens.accept();
            #[cfg(feature = "tls")]
            let accept = || behind_tls(accept()?, tls.as_ref(), &opens);
            take(&accept, &opens, &shared);
        })?;
        Ok(Self { listener, taking: Some(taking), open })
    }

    /// The address, as an NBD URI.
    pub fn address(&self) -> &str {
        self.listener.address()
    }

    /// The port, where it listens on one.
    pub fn port(&self) -> Option<u16> {
        self.listener.port()
    }

    /// Connections that are open.
    pub fn connections(&self) -> usize {
        lock(&self.open.connections).len()
    }

    /// Ends all connections and waits for their threads.
    pub fn end(&mut self) {
        self.open.ended.store(true, Ordering::SeqCst);
        self.listener.close();
        if let Some(taking) = self.taking.take() {
            let _ = taking.join();
        }
        lock(&self.open.connections).values().for_each(|outbox| outbox.close());
        let threads = std::mem::take(&mut *lock(&self.open.threads));
        for thread in threads {
            let _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end();
    }
}

/// Puts TLS in front of a connection that has come by TCP, where the server has it.
#[cfg(feature = "tls")]
fn behind_tls(socket: Socket, tls: Option<&Tls>, open: &Open) -> io::Result<Socket> {
    match (tls, socket) {
        (Some(tls), Socket::Tcp(client)) => {
            let room = lock(&open.connections).len() < CONNECTIONS_MAX;
            if !room {
                return Err(io::ErrorKind::ConnectionRefused.into());
            }
            let (served, relaying) = tls.front(client)?;
            lock(&open.threads).push(relaying);
            Ok(Socket::Unix(served))
        }
        (_, socket) => Ok(socket),
    }
}

fn take(accept: &dyn Fn() -> io::Result<Socket>, open: &Arc<Open>, shared: &Arc<Shared>) {
    let mut number = 0u32;
    loop {
        let socket = match accept() {
            _ if open.ended.load(Ordering::SeqCst) => return,
            Ok(socket) => socket,
            Err(_) => {
                // Out of files, or a client that went away while it came.
                thread::sleep(Duration::from_millis(10));
                continue;
            }
        };
        if lock(&open.connections).len() >= CONNECTIONS_MAX {
            continue;
        }
        number = number.wrapping_add(1);
        let outbox = Arc::new(Outbox::new(socket));
        lock(&open.connections).insert(number, Arc::clone(&outbox));
        let (opens, own, shares) = (Arc::clone(open), Arc::clone(&outbox), Arc::clone(shared));
        let serving = thread::Builder::new().name(format!("client {number}"));
        let serving = serving.spawn(move || serve(&shares, &own, &opens, number));
        let mut threads = lock(&open.threads);
        threads.retain(|thread| !thread.is_finished());
        match serving {
            Ok(thread) => threads.push(thread),
            Err(_) => {
                lock(&open.connections).remove(&number);
            }
        }
    }
}

/// Serves one client, with a second thread that sends, until the connection ends.
fn serve(shared: &Shared, outbox: &Arc<Outbox>, open: &Open, number: u32) {
    let sending = shared.engine.as_ref().map(|_| {
        let own = Arc::clone(outbox);
        thread::Builder::new().name(format!("sender {number}")).spawn(move || own.run())
    });
    if !matches!(sending, Some(Err(_))) {
        // However it ended, it is the client's affair.
        let _ = shared.serve(outbox, number);
    }
    outbox.close();
    if let Some(Ok(sending)) = sending {
        let _ = sending.join();
    }
    lock(&open.connections).remove(&number);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

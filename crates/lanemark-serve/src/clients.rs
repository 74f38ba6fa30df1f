//! The connections of a server, in two lists: arriving connections, which have not agreed on the export yet, and served
//! connections.
//!
//! Any process that can reach the socket can open connections, and a silent peer can keep a connection open at no cost.
//! A connection therefore counts as a client only after its negotiation, with TLS and a certificate if the server
//! demands them. Before that, it is in a small list of arriving connections. If the list overflows, the server closes
//! the oldest connection from the address with the most connections. Half-open connections therefore cannot exclude a
//! client that negotiates without pausing.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Maximum number of clients at a time; the connection of any other client is closed after its negotiation.
pub const CONNECTIONS_MAX: usize = 64;
/// Maximum number of connections at a time that have not finished their negotiation.
pub const ARRIVING_MAX: usize = 32;

/// Function that ends a connection in any state.
pub(crate) type ConnectionCloser = Box<dyn Fn() + Send + Sync>;

#[derive(Default)]
pub(crate) struct ConnectionRegistry {
    ended: AtomicBool,
    lists: Mutex<ConnectionLists>,
    /// Threads of connections; some may have ended.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct ConnectionLists {
    /// Number of the last connection.
    newest: u32,
    /// The arriving connections, in order of arrival.
    arriving: Vec<(u32, ConnectedPeer)>,
    served: HashMap<u32, ConnectedPeer>,
}

/// The other end of a connection.
struct ConnectedPeer {
    /// Address of the other end; `None` for a Unix socket.
    address: Option<IpAddr>,
    close: ConnectionCloser,
}

/// A connection. It stays on one of the lists until this value is dropped.
pub(crate) struct RegisteredConnection {
    clients: Arc<ConnectionRegistry>,
    number: u32,
}

impl ConnectionRegistry {
    /// Adds a new connection to the list of arriving connections. If the list is full, another connection is closed.
    pub(crate) fn arrive(
        self: &Arc<Self>,
        address: Option<IpAddr>,
        close: ConnectionCloser,
    ) -> RegisteredConnection {
        let mut lists = lock(&self.lists);
        lists.newest = lists.newest.wrapping_add(1);
        let number = lists.newest;
        lists.arriving.push((number, ConnectedPeer { address, close }));
        if lists.arriving.len() > ARRIVING_MAX {
            let at = lists.to_go();
            let (_, peer) = lists.arriving.remove(at);
            (peer.close)();
        }
        RegisteredConnection { clients: Arc::clone(self), number }
    }

    /// Records a thread of a connection, so that it is joined at the end.
    pub(crate) fn keep(&self, thread: JoinHandle<()>) {
        let mut threads = lock(&self.threads);
        threads.retain(|thread| !thread.is_finished());
        threads.push(thread);
    }

    /// Returns the number of open connections.
    pub(crate) fn open(&self) -> usize {
        let connections = lock(&self.lists);
        connections.arriving.len() + connections.served.len()
    }

    /// Returns whether [`ConnectionRegistry::end`] was called.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::SeqCst)
    }

    pub(crate) fn stop(&self) {
        self.ended.store(true, Ordering::SeqCst);
    }

    /// Ends all connections and waits for their threads.
    pub(crate) fn end(&self) {
        self.stop();
        loop {
            let lists = lock(&self.lists);
            lists.arriving.iter().for_each(|(_, peer)| (peer.close)());
            lists.served.values().for_each(|peer| (peer.close)());
            drop(lists);
            // A thread may start another thread for its connection.
            let Some(thread) = lock(&self.threads).pop() else { return };
            let _ = thread.join();
        }
    }
}

impl ConnectionLists {
    /// Returns the arriving connection to close next: the oldest connection of the address with the most connections.
    fn to_go(&self) -> usize {
        let count_of_address = |address: Option<IpAddr>| {
            self.arriving.iter().filter(|(_, peer)| peer.address == address).count()
        };
        let most = self.arriving.iter().map(|(_, peer)| count_of_address(peer.address)).max();
        let oldest =
            |(_, peer): &(u32, ConnectedPeer)| Some(count_of_address(peer.address)) == most;
        self.arriving.iter().position(oldest).unwrap_or(0)
    }
}

impl RegisteredConnection {
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Moves a connection to the list of clients after its negotiation. Returns false if the list is full or the
    /// connection was closed.
    pub(crate) fn negotiated(&self) -> bool {
        let mut lists = lock(&self.clients.lists);
        let Some(at) = lists.arriving.iter().position(|(number, _)| *number == self.number) else {
            return false;
        };
        let (_, peer) = lists.arriving.remove(at);
        if lists.served.len() >= CONNECTIONS_MAX {
            return false;
        }
        lists.served.insert(self.number, peer);
        true
    }
}

impl Drop for RegisteredConnection {
    fn drop(&mut self) {
        let mut lists = lock(&self.clients.lists);
        lists.arriving.retain(|(number, _)| *number != self.number);
        lists.served.remove(&self.number);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens connections from addresses that end in these numbers, and returns the connections that were closed.
    fn gone(all: &[u8]) -> Vec<usize> {
        let clients = Arc::new(ConnectionRegistry::default());
        let gone = Arc::new(Mutex::new(Vec::new()));
        let arrive = |(at, end): (usize, &u8)| {
            let noted = Arc::clone(&gone);
            let close = Box::new(move || noted.lock().unwrap().push(at));
            clients.arrive(Some(IpAddr::from([10, 0, 0, *end])), close)
        };
        let _all: Vec<RegisteredConnection> = all.iter().enumerate().map(arrive).collect();
        gone.lock().unwrap().clone()
    }

    #[test]
    fn of_those_who_have_not_negotiated_the_oldest_of_the_busiest_address_goes() {
        assert!(gone(&[1; ARRIVING_MAX]).is_empty());
        assert_eq!(gone(&[1; ARRIVING_MAX + 2]), [0, 1]);
        // The first connection, from another address, stays.
        let mut flood = vec![2];
        flood.extend([1; 3 * ARRIVING_MAX]);
        assert!(!gone(&flood).contains(&0));
    }

    #[test]
    fn a_place_is_for_whoever_has_negotiated() {
        let clients = Arc::new(ConnectionRegistry::default());
        let arrive = || clients.arrive(None, Box::new(|| ()));
        let served: Vec<RegisteredConnection> = (0..CONNECTIONS_MAX)
            .map(|_| arrive())
            .inspect(|one| assert!(one.negotiated()))
            .collect();
        let late = arrive();
        assert!(!late.negotiated());
        assert_eq!(clients.open(), CONNECTIONS_MAX);
        drop(served);
        assert!(arrive().negotiated());
        // A connection that was closed does not become a client afterwards.
        let evicted = arrive();
        let _flood: Vec<RegisteredConnection> = (0..=ARRIVING_MAX).map(|_| arrive()).collect();
        assert!(!evicted.negotiated());
    }
}

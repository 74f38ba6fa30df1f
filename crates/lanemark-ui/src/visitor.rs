//! Connections before and after they have presented the token.
//!
//! Any program on the machine can open a connection. Connections without the token are limited: only a few exist at a
//! time, the oldest is closed when a new one arrives, and each is closed after a short time. Therefore idle connections
//! cannot fill the server. A page presents the token with its first request, and is counted separately from then on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Maximum number of connections with the token at a time.
const KNOWN_MAX: usize = 512;
/// Maximum number of connections without the token at a time. A page that sends two hundred requests at once opens two
/// hundred connections.
pub const STRANGERS_MAX: usize = 256;
/// Time limit for presenting the token.
pub const STRANGER_TIME: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(crate) struct Visitor {
    slots: Arc<Semaphore>,
    slot: Mutex<Option<OwnedSemaphorePermit>>,
    known: AtomicBool,
    /// Notified when another connection without the token needs the slot.
    leave: Notify,
}

/// The connections without the token, oldest first, and the slots of the other connections.
#[derive(Debug)]
pub(crate) struct Visitors {
    strangers: Vec<Arc<Visitor>>,
    slots: Arc<Semaphore>,
}

impl Visitors {
    pub(crate) fn new() -> Self {
        Self { strangers: Vec::new(), slots: Arc::new(Semaphore::new(KNOWN_MAX)) }
    }

    /// Adds a new connection, which may close the oldest connection without the token.
    pub(crate) fn take(&mut self) -> Arc<Visitor> {
        // After a connection has ended, only this list holds its visitor.
        self.strangers.retain(|stranger| !stranger.is_known() && Arc::strong_count(stranger) > 1);
        while self.strangers.len() >= STRANGERS_MAX {
            self.strangers.remove(0).leave.notify_one();
        }
        let visitor = Arc::new(Visitor {
            slots: Arc::clone(&self.slots),
            slot: Mutex::new(None),
            known: AtomicBool::new(false),
            leave: Notify::new(),
        });
        self.strangers.push(Arc::clone(&visitor));
        visitor
    }
}

impl Visitor {
    /// Records that the connection has presented the token. The connection remains limited if all slots are taken.
    pub(crate) fn let_in(&self) {
        let mut permit = self.slot.lock().unwrap_or_else(PoisonError::into_inner);
        if permit.is_none() {
            *permit = Arc::clone(&self.slots).try_acquire_owned().ok();
            self.known.store(permit.is_some(), Ordering::Release);
        }
    }

    /// Returns whether the connection has presented the token.
    pub(crate) fn is_known(&self) -> bool {
        self.known.load(Ordering::Acquire)
    }

    /// Serves the connection until it ends or is closed.
    pub(crate) async fn serve(&self, serving: impl Future<Output = ()>) {
        let mut serving = std::pin::pin!(serving);
        let mut late = std::pin::pin!(tokio::time::sleep(STRANGER_TIME));
        tokio::select! {
            () = &mut serving => return,
            () = self.leave.notified() => {}
            () = &mut late => {}
        }
        if self.is_known() {
            serving.await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_stranger_leaves_and_no_known_visitor() {
        let mut visitors = Visitors::new();
        let known = visitors.take();
        known.let_in();
        let strangers: Vec<_> = (0..=STRANGERS_MAX).map(|_| visitors.take()).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let is_notified = async |stranger: &Visitor| {
            tokio::time::timeout(Duration::from_millis(1), stranger.leave.notified()).await.is_ok()
        };
        let notified: Vec<bool> =
            strangers.iter().map(|stranger| runtime.block_on(is_notified(stranger))).collect();
        assert_eq!(notified.iter().filter(|notified| **notified).count(), 1);
        assert!(notified[0] && known.is_known());
    }

    #[test]
    fn closed_connections_take_no_slot_and_no_more_are_known_than_there_are_slots() {
        let mut visitors = Visitors::new();
        (0..3 * STRANGERS_MAX).for_each(|_| drop(visitors.take()));
        assert_eq!(visitors.strangers.len(), 1);
        let all: Vec<_> = (0..=KNOWN_MAX).map(|_| visitors.take()).collect();
        all.iter().for_each(|visitor| visitor.let_in());
        assert_eq!(all.iter().filter(|visitor| visitor.is_known()).count(), KNOWN_MAX);
    }
}

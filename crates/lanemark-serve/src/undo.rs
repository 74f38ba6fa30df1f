//! Removes mounts, disks and sockets before the process ends, however it ends, because they would outlast it.
//!
//! Each owner removes its mount, disk or socket when it is dropped, including after a panic. If a signal ends the
//! program immediately, values are not dropped; the code that ends the program therefore calls [`undo_all`] first.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

type UndoAction = Box<dyn FnOnce() + Send>;

/// All actions, by number.
static PENDING: Mutex<PendingActions> =
    Mutex::new(PendingActions { actions: BTreeMap::new(), next: 0, has_ended: false });

struct PendingActions {
    actions: BTreeMap<u64, UndoAction>,
    next: u64,
    /// Whether the process is ending, so that nothing new may be created.
    has_ended: bool,
}

#[derive(Debug)]
pub(crate) struct UndoEntry(u64);

impl UndoEntry {
    /// Removes the action, because its owner performs it. Returns false if the action was already performed.
    pub(crate) fn cancel(&self) -> bool {
        pending_actions().actions.remove(&self.0).is_some()
    }
}

pub(crate) fn register_undo(action: impl FnOnce() + Send + 'static) -> UndoEntry {
    pending_actions().register(Box::new(action))
}

/// Creates something, and registers the action that removes it, without a moment between the two at which the end of
/// the process would leave it.
///
/// # Errors
/// Returns the error of `create`, or an error if the process is ending.
pub(crate) fn create_with_undo<T>(
    create: impl FnOnce() -> io::Result<T>,
    undo: impl FnOnce() + Send + 'static,
) -> io::Result<(T, UndoEntry)> {
    let mut pending = pending_actions();
    if pending.has_ended {
        return Err(io::Error::other("the server is ending"));
    }
    let created = create()?;
    Ok((created, pending.register(Box::new(undo))))
}

/// Performs all actions, the newest first. Afterwards, `create_with_undo` fails.
pub fn undo_all() {
    loop {
        let mut pending = pending_actions();
        pending.has_ended = true;
        let last = pending.actions.pop_last();
        drop(pending);
        let Some((_, action)) = last else { return };
        action();
    }
}

impl PendingActions {
    fn register(&mut self, action: UndoAction) -> UndoEntry {
        let number = self.next;
        self.next += 1;
        self.actions.insert(number, action);
        UndoEntry(number)
    }
}

fn pending_actions() -> MutexGuard<'static, PendingActions> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

//! Removes mounts and disks before the process ends, however it ends, because they would outlast it.
//!
//! Each owner removes its mount or disk when it is dropped, including after a panic. If a signal ends the program
//! immediately, values are not dropped; the code that ends the program therefore calls [`undo_all`] first.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

type UndoAction = Box<dyn FnOnce() + Send>;

/// All actions, by number, and the number of the next action.
static LEFT: Mutex<(BTreeMap<u64, UndoAction>, u64)> = Mutex::new((BTreeMap::new(), 0));

/// A pending action.
#[derive(Debug)]
pub(crate) struct UndoEntry(u64);

impl UndoEntry {
    /// Removes the action, because its owner performs it. Returns false if the action was already performed.
    pub(crate) fn cancel(&self) -> bool {
        pending_actions().0.remove(&self.0).is_some()
    }
}

/// Registers an action.
pub(crate) fn register_undo(action: impl FnOnce() + Send + 'static) -> UndoEntry {
    let mut left = pending_actions();
    left.1 += 1;
    let number = left.1;
    left.0.insert(number, Box::new(action));
    UndoEntry(number)
}

/// Performs all actions, the newest first.
pub fn undo_all() {
    loop {
        let last = pending_actions().0.pop_last();
        let Some((_, action)) = last else { return };
        action();
    }
}

fn pending_actions() -> MutexGuard<'static, (BTreeMap<u64, UndoAction>, u64)> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

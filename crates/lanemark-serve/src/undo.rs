//! Removes mounts and disks before the process ends, however it ends, because they would outlast it.
//!
//! Each owner removes its mount or disk when it is dropped, including after a panic. If a signal ends the program
//! immediately, values are not dropped; the code that ends the program therefore calls [`all`] first.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

type Action = Box<dyn FnOnce() + Send>;

/// All actions, by number, and the number of the next action.
static LEFT: Mutex<(BTreeMap<u64, Action>, u64)> = Mutex::new((BTreeMap::new(), 0));

/// A pending action.
#[derive(Debug)]
pub(crate) struct UndoEntry(u64);

impl UndoEntry {
    /// Removes the action, because its owner performs it. Returns false if the action was already performed.
    pub(crate) fn cancel(&self) -> bool {
        left().0.remove(&self.0).is_some()
    }
}

/// Registers an action.
pub(crate) fn later(action: impl FnOnce() + Send + 'static) -> UndoEntry {
    let mut left = left();
    left.1 += 1;
    let number = left.1;
    left.0.insert(number, Box::new(action));
    UndoEntry(number)
}

/// Performs all actions, the newest first.
pub fn all() {
    loop {
        let last = left().0.pop_last();
        let Some((_, action)) = last else { return };
        action();
    }
}

fn left() -> MutexGuard<'static, (BTreeMap<u64, Action>, u64)> {
    LEFT.lock().unwrap_or_else(PoisonError::into_inner)
}

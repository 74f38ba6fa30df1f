//! A thread for work that changes its mount namespace, which belongs to a thread (mount_namespaces(7)).

use std::panic::resume_unwind;
use std::thread;

/// Runs `work` on a new thread, and waits for its outcome.
pub(crate) fn on_own_thread<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| scope.spawn(work).join().unwrap_or_else(|panic| resume_unwind(panic)))
}

//! A wish to end what is going on, which whoever runs it asks for now and then.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A flag that all of its clones share. Once set it stays.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Asks for the end. Tests that are under way end within some thousand events of the simulator, a few milliseconds.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the end was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

impl From<Arc<AtomicBool>> for Cancel {
    fn from(flag: Arc<AtomicBool>) -> Self {
        Self(flag)
    }
}

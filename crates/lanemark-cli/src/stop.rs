//! Ctrl-C: the first ends the run cleanly, the second ends the program.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::Failure;

/// Lets SIGINT and SIGTERM set a flag, and end the program where it is set already.
pub(crate) fn on_signal() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The order matters: at the first signal the flag is still down when this handler looks.
        let registered = flag::register_conditional_shutdown(signal, 130, Arc::clone(&stop))
            .and_then(|_| flag::register(signal, Arc::clone(&stop)));
        registered.map_err(|error| Failure::run(format!("signals can't be caught: {error}")))?;
    }
    Ok(stop)
}

/// Whether a signal has come.
pub(crate) fn requested(stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed)
}

//! Signals: every signal that ends a process ends a command within a second, and the results up to that point are
//! delivered.
//!
//! A thread waits for signals. A signal ends a command immediately, unless the command checks the flag of
//! [`on_signal`]. Such a command has most of a second to end normally, which is sufficient if the drive responds. If
//! the command cannot end (a device never completes a request, or a reader does not read the output), the thread runs
//! the action set by [`at_end`], and ends the program. A second signal ends the program immediately.
//!
//! In every case the temporary files of a run are removed, and the exit code is 128 plus the signal's number.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use lanemark_files::private;
use lanemark_lab::reserved;
use signal_hook::consts::{SIGABRT, SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM};
use signal_hook::consts::{SIGUSR1, SIGUSR2, SIGVTALRM, SIGXCPU, SIGXFSZ};
use signal_hook::iterator::Signals;

use crate::output::failure::Failure;

/// Time for a command to end normally, before the signal thread runs the action and ends the program.
const PATIENCE: Duration = Duration::from_millis(450);
/// Maximum time from the signal to the end of the program.
const END: Duration = Duration::from_millis(900);

/// The signals that end a process and that a process can catch (signal(7)). The list omits signals for faults of the
/// program, because their handler would return to the faulting instruction; SIGPIPE, which appears as a write error
/// here; and real-time signals, which are not sent to a program that does not use them.
const CAUGHT: [i32; 13] = [
    SIGABRT, SIGALRM, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
    SIGVTALRM, SIGXCPU, SIGXFSZ,
];

struct SignalState {
    /// Flag that the first signal sets.
    flag: Arc<AtomicBool>,
    /// The number of the first signal; 0 before the signal.
    signal: AtomicI32,
    /// Whether the command checks the flag.
    looked_at: AtomicBool,
    /// Additional time that the command needs to end, in ms.
    more_ms: AtomicU64,
    /// Whether the program is being ended because of a signal.
    ending: AtomicBool,
    /// Action to run if the command does not end in time. The thread that removes it from here is the thread that ends
    /// the run.
    last: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

fn state() -> &'static SignalState {
    static STATE: OnceLock<SignalState> = OnceLock::new();
    STATE.get_or_init(|| SignalState {
        flag: Arc::default(),
        signal: AtomicI32::new(0),
        looked_at: AtomicBool::new(false),
        more_ms: AtomicU64::new(0),
        ending: AtomicBool::new(false),
        last: Mutex::new(None),
    })
}

/// Starts the thread that waits for signals.
pub(crate) fn watch() -> Result<(), Failure> {
    let to_failure = |error| Failure::run(format!("signals can't be caught: {error}"));
    // nohup(1) ignores SIGHUP on purpose, and other parents may ignore other signals. SIGINT and SIGTERM are caught
    // even if they are ignored, because a shell without job control ignores SIGINT for background jobs.
    let is_caught = |signal: &&i32| [SIGINT, SIGTERM].contains(signal) || !is_ignored(**signal);
    let caught = CAUGHT.iter().filter(is_caught);
    let mut signals = Signals::new(caught).map_err(to_failure)?;
    let wait = move || signals.forever().for_each(on_stop_signal);
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(to_failure)?;
    Ok(())
}

/// Returns whether the process ignores a signal, according to the mask `SigIgn` of proc_pid_status(5).
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

fn on_stop_signal(signal: i32) {
    let state = state();
    let first = state.signal.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
    state.flag.store(true, Ordering::SeqCst);
    if first.is_err() || !state.looked_at.load(Ordering::SeqCst) {
        end();
    }
    let more = Duration::from_millis(state.more_ms.load(Ordering::SeqCst));
    // The time limit and the action have separate threads, because the action may block, and a second signal must still
    // be received.
    let end_after_patience = move || {
        thread::sleep(PATIENCE + more);
        if finish_with() {
            end();
        }
    };
    let at_last = move || {
        thread::sleep(END + more);
        end();
    };
    if thread::Builder::new().spawn(end_after_patience).is_err()
        || thread::Builder::new().spawn(at_last).is_err()
    {
        end();
    }
}

/// Runs the command's action. Returns `false` if there is no action, or if the command has already cancelled it.
fn finish_with() -> bool {
    let left = state().last.lock().unwrap_or_else(PoisonError::into_inner).take();
    left.map(|left| left()).is_some()
}

/// Ends the program now.
fn end() -> ! {
    state().ending.store(true, Ordering::SeqCst);
    lanemark_serve::undo::undo_all();
    lanemark_measure::remove_created();
    reserved::remove_reserved_files();
    private::remove_all();
    signal_hook::low_level::exit(i32::from(exit_code()))
}

/// Returns the flag that signals set from this call on, for a command that checks it.
pub(crate) fn on_signal() -> Arc<AtomicBool> {
    state().looked_at.store(true, Ordering::SeqCst);
    Arc::clone(&state().flag)
}

/// Extends the time for a command to end, for cleanup that takes longer than removing files.
pub(crate) fn extend_patience(more: Duration) {
    let more = u64::try_from(more.as_millis()).unwrap_or(u64::MAX);
    state().more_ms.store(more, Ordering::SeqCst);
}

/// Sets the action that runs if the command does not end in time after a signal.
pub(crate) fn at_end(last: impl FnOnce() + Send + 'static) {
    *state().last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(last));
}

/// Declares that the command ends normally, and cancels the action of [`at_end`]. This function does not return if the
/// action has begun, because only one thread may end a run.
pub(crate) fn ends_itself() {
    if state().last.lock().unwrap_or_else(PoisonError::into_inner).take().is_none() {
        loop {
            thread::park();
        }
    }
}

/// Clears the action after the command has ended. This function does not return while the signal thread is ending the
/// program: the command may have failed only because that thread removed its files.
pub(crate) fn clear_action() {
    while state().ending.load(Ordering::SeqCst) {
        thread::park();
    }
    drop(state().last.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// Returns whether a signal has arrived.
pub(crate) fn requested(stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed)
}

/// Returns the exit code of a command that a signal ended.
pub(crate) fn exit_code() -> u8 {
    match state().signal.load(Ordering::SeqCst) {
        0 => 128 + SIGINT as u8,
        signal => 128 + signal as u8,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_match_the_mask() {
        // Rust programs ignore SIGPIPE from the start. SIGKILL cannot be ignored.
        assert!(is_ignored(13));
        assert!(!is_ignored(9) && !is_ignored(19));
    }

    #[test]
    fn an_action_runs_once_and_an_interrupt_is_the_default() {
        assert_eq!(exit_code(), 130);
        assert!(!finish_with());
        let ran = Arc::new(AtomicBool::new(false));
        let own = Arc::clone(&ran);
        at_end(move || own.store(true, Ordering::SeqCst));
        assert!(finish_with() && ran.load(Ordering::SeqCst));
        assert!(!finish_with());
        // A command that ends normally cancels its action.
        let again = Arc::clone(&ran);
        ran.store(false, Ordering::SeqCst);
        at_end(move || again.store(true, Ordering::SeqCst));
        ends_itself();
        at_end(|| ());
        clear_action();
        assert!(!finish_with() && !ran.load(Ordering::SeqCst));
        assert!(!requested(&on_signal()));
    }
}

//! Signals: SIGINT, SIGTERM and SIGHUP end any command within a second, with what there is.
//!
//! A thread waits for them. A command that does not ask for them ends at once. One that does, by [`on_signal`], sees a
//! flag and is given most of a second to come to its end by itself, as with a drive that answers. Where it cannot (a
//! request that a device never completes, a reader of its output that does not read) the thread does what the command
//! left with [`at_end`], and ends the program. A second signal ends it at once.
//!
//! However it ends, what a run made for itself is removed, and the exit code is 128 and the signal's number.

use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use lanemark_lab::reserved;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

use crate::failure::Failure;
use crate::watch;

/// Time that a command has to end by itself, before another ends it with what it left to do.
const PATIENCE: Duration = Duration::from_millis(450);
/// Time after the signal at which the program ends, whatever is going on.
const END: Duration = Duration::from_millis(900);

/// The state of signal handling.
struct State {
    /// Set for whoever looks.
    flag: Arc<AtomicBool>,
    /// The first signal; 0 before.
    signal: AtomicI32,
    /// Whether the command looks.
    looked_at: AtomicBool,
    /// Additional time that the command needs to end, in ms.
    more_ms: AtomicU64,
    /// Action where the command does not end in time; taken by whoever ends it.
    last: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

fn state() -> &'static State {
    static STATE: OnceLock<State> = OnceLock::new();
    STATE.get_or_init(|| State {
        flag: Arc::default(),
        signal: AtomicI32::new(0),
        looked_at: AtomicBool::new(false),
        more_ms: AtomicU64::new(0),
        last: Mutex::new(None),
    })
}

/// Begins to wait for signals.
pub(crate) fn watch() -> Result<(), Failure> {
    let failed = |error| Failure::run(format!("signals can't be caught: {error}"));
    let mut caught = vec![SIGINT, SIGTERM];
    // nohup(1) has it ignored, and means that.
    if !is_ignored(SIGHUP) {
        caught.push(SIGHUP);
    }
    let mut signals = Signals::new(&caught).map_err(failed)?;
    let wait = move || signals.forever().for_each(received);
    thread::Builder::new().name("signals".to_owned()).spawn(wait).map_err(failed)?;
    Ok(())
}

/// Whether the kernel is told to ignore a signal: the mask `SigIgn` of proc_pid_status(5).
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

fn received(signal: i32) {
    let state = state();
    let first = state.signal.compare_exchange(0, signal, Ordering::SeqCst, Ordering::SeqCst);
    state.flag.store(true, Ordering::SeqCst);
    if first.is_err() || !state.looked_at.load(Ordering::SeqCst) {
        end();
    }
    let more = Duration::from_millis(state.more_ms.load(Ordering::SeqCst));
    // Each in a thread of its own: what is left to do may block, and a second signal is heard.
    let last = move || {
        thread::sleep(PATIENCE + more);
        if finish_with() {
            end();
        }
    };
    let at_last = move || {
        thread::sleep(END + more);
        end();
    };
    if thread::Builder::new().spawn(last).is_err() || thread::Builder::new().spawn(at_last).is_err()
    {
        end();
    }
}

/// Does what the command left to do. False where there was nothing, or the command is at it.
fn finish_with() -> bool {
    let left = state().last.lock().unwrap_or_else(PoisonError::into_inner).take();
    left.map(|left| left()).is_some()
}

/// Ends the program now.
fn end() -> ! {
    watch::give_back();
    #[cfg(feature = "fuse")]
    lanemark_serve::undo::all();
    lanemark_measure::remove_created();
    reserved::abandon();
    signal_hook::low_level::exit(i32::from(exit_code()))
}

/// Returns a flag that signals set from now on, for a command that looks at it.
pub(crate) fn on_signal() -> Arc<AtomicBool> {
    state().looked_at.store(true, Ordering::SeqCst);
    Arc::clone(&state().flag)
}

/// Gives a command longer to end, which has more to put in order than files.
#[cfg(any(feature = "postgres", feature = "fuse"))]
pub(crate) fn patient(more: Duration) {
    let more = u64::try_from(more.as_millis()).unwrap_or(u64::MAX);
    state().more_ms.store(more, Ordering::SeqCst);
}

/// Sets the action for a signal after which the command does not end in time.
pub(crate) fn at_end(last: impl FnOnce() + Send + 'static) {
    *state().last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(last));
}

/// The command ends by itself: what was left with [`at_end`] is not done. Does not return where that has begun, since
/// two must not end one run.
pub(crate) fn ends_itself() {
    if state().last.lock().unwrap_or_else(PoisonError::into_inner).take().is_none() {
        loop {
            thread::park();
        }
    }
}

/// Clears the action: the command has ended.
pub(crate) fn ended() {
    drop(state().last.lock().unwrap_or_else(PoisonError::into_inner).take());
}

/// Whether a signal has come.
pub(crate) fn requested(stop: &AtomicBool) -> bool {
    stop.load(Ordering::Relaxed)
}

/// The exit code of a command that a signal ended.
pub(crate) fn exit_code() -> u8 {
    match state().signal.load(Ordering::SeqCst) {
        0 => 128 + SIGINT as u8,
        signal => 128 + signal as u8,
    }
}

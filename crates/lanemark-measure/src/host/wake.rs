//! The time from a timer interrupt until the sleeping thread runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Time for which the thread sleeps, which is about as long as a read from flash takes.
const SLEEP_NS: u64 = 80_000;
/// Number of wakes at the start that are not counted.
const RAMP: usize = 50;

/// Returns the sorted delays of wakes in nanoseconds, or `None` if the measurement was stopped.
pub(super) fn samples(duration: Duration, stop: &AtomicBool) -> Option<Vec<f64>> {
    // The kernel may delay the timers of a thread by the thread's slack, which is 50 µs by default. SAFETY: the call
    // changes only a number of this thread.
    let slack = unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
    let set_slack = |slack: libc::c_ulong| {
        // SAFETY: this call also changes only a number of this thread.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack) };
    };
    set_slack(1);
    let begun = now_ns();
    let mut delays = Vec::new();
    let mut stopped = false;
    while now_ns() - begun < duration.as_nanos() as u64 || delays.len() < 2 * RAMP {
        if stop.load(Ordering::Relaxed) {
            stopped = true;
            break;
        }
        let until = now_ns() + SLEEP_NS;
        sleep_until(until);
        delays.push(now_ns().saturating_sub(until) as f64);
    }
    set_slack(slack.max(1) as libc::c_ulong);
    if stopped {
        return None;
    }
    let mut counted = delays.split_off(RAMP);
    counted.sort_by(f64::total_cmp);
    Some(counted)
}

fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Sleeps until an instant of the monotonic clock. If a signal ends the sleep early, the delay is zero.
fn sleep_until(at_ns: u64) {
    let at =
        Timespec { tv_sec: (at_ns / 1_000_000_000) as _, tv_nsec: (at_ns % 1_000_000_000) as _ };
    let _ = rustix::thread::clock_nanosleep_absolute(rustix::thread::ClockId::Monotonic, &at);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_counts_nanoseconds() {
        let seconds = clock_gettime(ClockId::Monotonic).tv_sec as f64;
        let now = now_ns() as f64 / 1e9;
        assert!((now - seconds).abs() < 60.0, "{now} s, expected {seconds} s");
    }
}

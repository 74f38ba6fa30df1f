//! The clocks of a measurement: monotonic time, and the processor time of one thread.
//!
//! Monotonic time comes from the processor's time stamp counter if the counter runs at a constant rate in all power
//! states (`constant_tsc`, `nonstop_tsc`) and is the kernel's own clock source. The kernel uses it as clock source only
//! if the counters of all processors agree. Each sample calibrates the counter's rate against
//! `clock_gettime(CLOCK_MONOTONIC)`, over [`BASELINE_NS`] or longer, and compares both clocks at the end of the sample
//! ([`Clock::drift`]). On other machines, each stamp is a call of `clock_gettime`, which the vDSO executes without
//! entering the kernel.
//!
//! Processor time comes from `getrusage(RUSAGE_THREAD)`. The total is exact on Linux. Most kernels split the total into
//! user and system time by timer ticks, so the split is accurate only over many ticks (getrusage(2); `cputime_adjust`
//! in the kernel's `kernel/sched/cputime.c`). The time that a thread was ready but waited for a core is the second
//! number in `/proc/thread-self/schedstat` (kernel documentation, `scheduler/sched-stats.rst`).
//!
//! The loop of a thread is generic over a [`ThreadClock`], which reads these clocks, so that a test can substitute its
//! own time.

use std::fs;
use std::sync::OnceLock;

use rustix::time::{ClockId, clock_gettime};

use crate::kernel_threads::KernelThreads;

/// Minimum time over which the counter's rate is calibrated. An error of 100 ns in a stamp then causes an error of 2e-5
/// in the rate.
const BASELINE_NS: u64 = 5_000_000;

/// The clocks of a thread's loop.
pub(crate) trait ThreadClock {
    /// Monotonic time in nanoseconds.
    fn now_ns(&self) -> u64;

    fn sleep(&self, ns: u64);

    /// Returns the processor time of the calling thread and of its kernel threads since their start.
    fn used(&self) -> (CpuTime, KernelThreads);
}

impl ThreadClock for Clock {
    #[inline]
    fn now_ns(&self) -> u64 {
        Self::now_ns(self)
    }

    fn sleep(&self, ns: u64) {
        std::thread::sleep(std::time::Duration::from_nanos(ns));
    }

    fn used(&self) -> (CpuTime, KernelThreads) {
        (CpuTime::of_this_thread(), KernelThreads::of_this_thread())
    }
}

/// A clock of monotonic time in nanoseconds. All copies of a clock agree.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    /// The counter's value at `start_ns`, and the nanoseconds per count multiplied by 2^32, if the counter is used.
    counter: Option<(u64, u64)>,
    start_ns: u64,
}

impl Clock {
    /// Creates a clock for a sample that begins now.
    pub(crate) fn new() -> Self {
        let Some((count, at_ns)) = origin() else {
            return Self { counter: None, start_ns: system_ns() };
        };
        while system_ns() - at_ns < BASELINE_NS {
            std::hint::spin_loop();
        }
        let (now, now_ns) = read_both_clocks();
        let counts = u128::from(now.saturating_sub(count).max(1));
        let scale = (u128::from(now_ns - at_ns) << 32) / counts;
        Self { counter: Some((now, scale as u64)), start_ns: now_ns }
    }

    /// Creates a clock that uses only the kernel's clock.
    #[cfg(test)]
    pub(crate) fn plain() -> Self {
        Self { counter: None, start_ns: system_ns() }
    }

    /// Returns the nanoseconds since a fixed point before the program began.
    #[inline]
    pub(crate) fn now_ns(&self) -> u64 {
        match self.counter {
            Some((start, scale)) => {
                // Another processor's counter may be a few counts lower than the counter that was read first.
                let passed = counter().saturating_sub(start);
                self.start_ns + ((u128::from(passed) * u128::from(scale)) >> 32) as u64
            }
            None => system_ns(),
        }
    }

    /// Returns the drift of this clock relative to the kernel's clock since the start, as a share of the elapsed time;
    /// absent if both are the same clock.
    pub(crate) fn drift(&self) -> Option<f64> {
        let (start, scale) = self.counter?;
        let (count, now_ns) = read_both_clocks();
        let clock_ns = (u128::from(count.saturating_sub(start)) * u128::from(scale)) >> 32;
        let kernel = now_ns - self.start_ns;
        (kernel > 0).then(|| (clock_ns as f64 - kernel as f64) / kernel as f64)
    }
}

/// Returns the counter and the kernel's time at the first call of this function, if the counter is reliable.
fn origin() -> Option<(u64, u64)> {
    static ORIGIN: OnceLock<Option<(u64, u64)>> = OnceLock::new();
    *ORIGIN.get_or_init(|| is_tsc_trusted().then(read_both_clocks))
}

/// Returns the counter and the kernel's time at one moment: the closest of several pairs, because the thread may be
/// preempted between the two readings.
fn read_both_clocks() -> (u64, u64) {
    let pair = || {
        let before = counter();
        let at_ns = system_ns();
        let after = counter();
        (after.saturating_sub(before), before + after.saturating_sub(before) / 2, at_ns)
    };
    let closest = (0..8).map(|_| pair()).min_by_key(|(apart, ..)| *apart);
    closest.map_or((0, 0), |(_, count, at_ns)| (count, at_ns))
}

fn is_tsc_trusted() -> bool {
    let read_text = |path| fs::read_to_string(path).unwrap_or_default();
    let keeps_time = || {
        read_text("/sys/devices/system/clocksource/clocksource0/current_clocksource").trim()
            == "tsc"
    };
    let has_constant_tsc = || {
        let text = read_text("/proc/cpuinfo");
        let flags = text.lines().find(|line| line.starts_with("flags")).unwrap_or_default();
        ["constant_tsc", "nonstop_tsc"]
            .iter()
            .all(|wanted| flags.split_whitespace().any(|flag| flag == *wanted))
    };
    cfg!(target_arch = "x86_64") && keeps_time() && has_constant_tsc()
}

#[cfg(target_arch = "x86_64")]
#[inline]
fn counter() -> u64 {
    // SAFETY: every x86-64 processor has this instruction, and Linux lets programs execute it.
    unsafe { std::arch::x86_64::_rdtsc() }
}

#[cfg(not(target_arch = "x86_64"))]
fn counter() -> u64 {
    0
}

fn system_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// The processor time of one thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuTime {
    /// Time in the program.
    pub(crate) user_ns: u64,
    /// Time in the kernel on behalf of the program.
    pub(crate) system_ns: u64,
    /// Number of times that the thread yielded the processor.
    pub(crate) switches_voluntary: u64,
    /// Number of times that the thread was preempted.
    pub(crate) switches_involuntary: u64,
    /// Time that the thread was ready but waited for a core, if the kernel reports it.
    pub(crate) ready_ns: Option<u64>,
}

impl CpuTime {
    /// Reads the processor time of the calling thread since it began.
    pub(crate) fn of_this_thread() -> Self {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer refers to a writable `rusage`, and the call writes only to it.
        let answer = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
        debug_assert_eq!(answer, 0, "RUSAGE_THREAD with a valid pointer cannot fail");
        // SAFETY: the structure was zeroed, and all-zero is a valid `rusage`, so the value is valid even if the call
        // failed.
        let usage = unsafe { usage.assume_init() };
        Self {
            user_ns: nanoseconds(usage.ru_utime),
            system_ns: nanoseconds(usage.ru_stime),
            switches_voluntary: usage.ru_nvcsw.cast_unsigned(),
            switches_involuntary: usage.ru_nivcsw.cast_unsigned(),
            ready_ns: ready_ns(),
        }
    }

    /// Returns the processor time from `earlier` to `self`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        // The kernel may move a tick between user and system time, so neither difference may underflow.
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
            switches_voluntary: self.switches_voluntary - earlier.switches_voluntary,
            switches_involuntary: self.switches_involuntary - earlier.switches_involuntary,
            ready_ns: self
                .ready_ns
                .zip(earlier.ready_ns)
                .map(|(now, then)| now.saturating_sub(then)),
        }
    }

    /// Returns the sum of `self` and `other`.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            user_ns: self.user_ns + other.user_ns,
            system_ns: self.system_ns + other.system_ns,
            switches_voluntary: self.switches_voluntary + other.switches_voluntary,
            switches_involuntary: self.switches_involuntary + other.switches_involuntary,
            ready_ns: self.ready_ns.zip(other.ready_ns).map(|(own, other)| own + other),
        }
    }
}

/// Reads the time that the calling thread has waited for a core since it began.
fn ready_ns() -> Option<u64> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

fn nanoseconds(time: libc::timeval) -> u64 {
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_usec.cast_unsigned() * 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_has_seconds_and_microseconds() {
        let time = libc::timeval { tv_sec: 3, tv_usec: 250_007 };
        assert_eq!(nanoseconds(time), 3_250_007_000);
    }

    #[test]
    fn work_uses_processor_time_and_monotonic_time() {
        let clock = Clock::new();
        // The clock is read around the processor time, so that a preemption between the readings cannot count only as
        // processor time. The kernel splits processor time into user and system time by ticks, and neither part ever
        // decreases. At 250 Hz, a reading therefore exceeded the elapsed time by 2 ms. A tick is up to 10 ms long.
        let tick = 10_000_000;
        let begun = clock.now_ns();
        let before = CpuTime::of_this_thread();
        while clock.now_ns() - begun < 10 * tick {}
        let used = CpuTime::of_this_thread().since(before);
        let total = used.user_ns + used.system_ns;
        assert!(total > 0 && total <= clock.now_ns() - begun + tick, "{total} ns");
    }

    #[test]
    fn both_clocks_agree() {
        let fast = Clock::new();
        let plain = Clock::plain();
        std::thread::sleep(std::time::Duration::from_millis(50));
        let apart = fast.now_ns().abs_diff(plain.now_ns());
        assert!(apart < 1_000_000, "{apart} ns apart");
        assert!(fast.drift().is_none_or(|drift| drift.abs() < 1e-3), "{:?}", fast.drift());
        assert_eq!(plain.drift(), None);
    }
}

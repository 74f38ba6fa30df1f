//! The two clocks of a measurement: monotonic time, and the processor time of one thread.
//!
//! Monotonic time comes from `clock_gettime(CLOCK_MONOTONIC)`, which the vDSO answers without entering
//! the kernel. Processor time comes from `getrusage(RUSAGE_THREAD)`; its total is exact on Linux, while
//! its split into user and system is, on most kernels, apportioned by timer ticks and so only right
//! over many of them (getrusage(2); `cputime_adjust` in the kernel's `kernel/sched/cputime.c`).

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of monotonic time since some fixed point before the program began.
pub(crate) fn now_ns() -> u64 {
    let time = clock_gettime(ClockId::Monotonic);
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}

/// Processor time that one thread used.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CpuTime {
    /// In the program.
    pub(crate) user_ns: u64,
    /// In the kernel, on the program's behalf.
    pub(crate) system_ns: u64,
}

impl CpuTime {
    /// What the calling thread has used since it began.
    pub(crate) fn of_this_thread() -> Self {
        let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: the pointer is to a writable `rusage`; the call writes nothing else.
        let answer = unsafe { libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr()) };
        debug_assert_eq!(answer, 0, "RUSAGE_THREAD with a valid pointer cannot fail");
        // SAFETY: it was zeroed, and all-zero is a valid `rusage`, so it holds even on failure.
        let usage = unsafe { usage.assume_init() };
        Self { user_ns: nanoseconds(usage.ru_utime), system_ns: nanoseconds(usage.ru_stime) }
    }

    /// What was used from `earlier` to `self`.
    pub(crate) fn since(self, earlier: Self) -> Self {
        // The kernel's split may move between user and system by a tick, so neither may underflow.
        Self {
            user_ns: self.user_ns.saturating_sub(earlier.user_ns),
            system_ns: self.system_ns.saturating_sub(earlier.system_ns),
        }
    }
}

fn nanoseconds(time: libc::timeval) -> u64 {
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_usec.cast_unsigned() * 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_uses_processor_time_and_monotonic_time() {
        let (before, begun) = (CpuTime::of_this_thread(), now_ns());
        while now_ns() - begun < 30_000_000 {}
        let used = CpuTime::of_this_thread().since(before);
        let total = used.user_ns + used.system_ns;
        assert!(total > 0 && total <= now_ns() - begun + 1_000_000, "{total} ns");
    }
}

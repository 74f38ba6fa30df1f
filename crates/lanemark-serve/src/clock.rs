//! Clocks to which simulated time is tied: the wall clock, slowed down by a time scale, and a clock that tests set.
//!
//! Sleeping is not exact. With the default timer slack of 50 µs, a sleep of 440 µs ends about 76 µs late at the median;
//! with a slack of 1 ns it ends 26 µs late, because an idle processor must wake. A wait that must end at its instant
//! therefore sleeps until `SPIN` before the instant, and then polls the clock. A wait that may end late only sleeps.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread::Thread;
use std::time;

use lanemark_schema::units::{Duration, Instant};

/// Duration at the end of an exact wait during which the thread polls the clock instead of sleeping.
const SPIN: time::Duration = time::Duration::from_micros(60);
/// Minimum sleep of a wait; the thread spins for a shorter remainder.
const NAP_LEAST: time::Duration = time::Duration::from_micros(5);

/// Signal that ends the wait of one thread.
#[derive(Debug, Default)]
pub struct WakeUp {
    rung: AtomicBool,
    waiter: OnceLock<Thread>,
}

impl WakeUp {
    /// Makes the calling thread the waiting thread. It is called only once.
    pub fn wait_here(&self) {
        let _ = self.waiter.set(std::thread::current());
    }

    /// Ends the current wait, or the next wait.
    pub fn ring(&self) {
        self.rung.store(true, Ordering::Release);
        if let Some(thread) = self.waiter.get() {
            thread.unpark();
        }
    }

    /// Returns whether the bell has been rung since the last call.
    pub fn was_rung(&self) -> bool {
        self.rung.swap(false, Ordering::Acquire)
    }

    fn is_rung(&self) -> bool {
        self.rung.load(Ordering::Acquire)
    }
}

/// A clock that shows simulated time.
pub trait Clock: Send + Sync {
    /// Returns the simulated time.
    fn now(&self) -> Instant;

    /// Returns the wall-clock time that a simulated duration takes.
    fn real(&self, simulated: Duration) -> Duration;

    /// Waits until `until`, or without limit, and returns early if `bell` is rung. An `exact` wait ends at its instant.
    fn wait(&self, until: Option<Instant>, exact: bool, bell: &WakeUp);
}

/// The wall clock, with a fixed number of seconds per second of simulated time.
#[derive(Clone, Copy, Debug)]
pub struct WallClock {
    start: time::Instant,
    scale: TimeScale,
}

/// The wall-clock time of a second of simulated time, in millionths of a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeScale(u64);

impl TimeScale {
    /// Simulated time runs as fast as the wall clock.
    pub const ONE: Self = Self(1_000_000);

    /// The smallest scale: simulated time runs a thousand times as fast as the wall clock.
    pub const FASTEST: Self = Self(1_000);

    /// The scales at which tests run, each with its factor in quarters: 1, 4 and 0.5.
    #[cfg(test)]
    pub(crate) const IN_TESTS: [(Self, u64); 3] =
        [(Self::ONE, 4), (Self(4_000_000), 16), (Self(500_000), 2)];

    pub fn factor(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl std::str::FromStr for TimeScale {
    type Err = String;

    /// Reads a factor from 0.001 to 100000, such as 10 or 0.5.
    fn from_str(text: &str) -> Result<Self, String> {
        let factor: f64 = text.parse().map_err(|_| format!("`{text}` is not a number"))?;
        if (0.001..=100_000.0).contains(&factor) {
            Ok(Self((factor * 1e6).round() as u64))
        } else {
            Err(format!("{text} is not between 0.001 and 100000"))
        }
    }
}

impl WallClock {
    pub fn start(scale: TimeScale) -> Self {
        Self { start: time::Instant::now(), scale }
    }

    /// Returns the wall-clock time from the start until `at`.
    fn place(&self, at: Instant) -> time::Duration {
        let picoseconds = u128::from(at.picoseconds()) * u128::from(self.scale.0) / 1_000_000;
        // The time is rounded up, because an instant is reached when the clock shows it.
        let nanoseconds = picoseconds.div_ceil(1_000);
        time::Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }
}

impl Clock for WallClock {
    fn now(&self) -> Instant {
        let real = self.start.elapsed().as_nanos() * 1_000;
        let simulated = real * 1_000_000 / u128::from(self.scale.0);
        let simulated = u64::try_from(simulated).unwrap_or(u64::MAX);
        Instant::from_picoseconds(simulated).min(Instant::END)
    }

    fn real(&self, simulated: Duration) -> Duration {
        simulated.scaled(self.scale.0, 1_000_000)
    }

    fn wait(&self, until: Option<Instant>, exact: bool, bell: &WakeUp) {
        let Some(until) = until else {
            return std::thread::park();
        };
        let target = self.place(until);
        loop {
            let left = target.saturating_sub(self.start.elapsed());
            if left.is_zero() || bell.is_rung() {
                return;
            }
            let sleep = if exact { left.saturating_sub(SPIN) } else { left };
            if sleep > NAP_LEAST {
                std::thread::park_timeout(sleep);
            } else {
                std::hint::spin_loop();
            }
        }
    }
}

/// Makes the calling thread's timers end when they are due, instead of up to 50 µs later.
pub fn without_timer_slack() {
    // If the kernel does not change the slack, sleeps are longer, and the recorded lateness shows this.
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
}

/// A clock that shows a fixed time until it is set.
#[derive(Debug)]
pub struct ManualClock {
    now: Mutex<Instant>,
    scale: TimeScale,
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::scaled(TimeScale::ONE)
    }
}

impl ManualClock {
    /// Creates a clock that shows zero, and whose time runs at this scale.
    pub fn scaled(scale: TimeScale) -> Self {
        Self { now: Mutex::default(), scale }
    }

    pub fn turn_to(&self, at: Instant) {
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        *now = at.max(*now);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn real(&self, simulated: Duration) -> Duration {
        simulated.scaled(self.scale.0, 1_000_000)
    }

    fn wait(&self, _: Option<Instant>, _: bool, _: &WakeUp) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after_us(us: u64) -> Instant {
        Instant::ZERO + Duration::from_microseconds(us)
    }

    #[test]
    fn a_scaled_clock_goes_slower_and_never_ahead() {
        let clock = WallClock::start("10".parse().unwrap());
        std::thread::sleep(time::Duration::from_millis(20));
        let now = clock.now();
        let real = clock.start.elapsed();
        assert!(now >= after_us(2_000), "{now:?}");
        assert!(u128::from(now.picoseconds()) * 10 <= real.as_nanos() * 1_000);
        assert_eq!(clock.real(Duration::from_microseconds(3)), Duration::from_microseconds(30));
    }

    #[test]
    fn an_exact_wait_ends_at_its_instant_and_not_before() {
        let clock = WallClock::start(TimeScale::ONE);
        let bell = WakeUp::default();
        for us in [300, 400, 1_000, 1_030] {
            clock.wait(Some(after_us(us)), true, &bell);
            assert!(clock.now() >= after_us(us));
        }
    }

    #[test]
    fn a_bell_ends_a_wait_also_one_that_begins_later() {
        let clock = WallClock::start(TimeScale::ONE);
        let bell = std::sync::Arc::new(WakeUp::default());
        let there = std::sync::Arc::clone(&bell);
        let waited = clock;
        let waiter = std::thread::spawn(move || {
            there.wait_here();
            while !there.was_rung() {
                waited.wait(Some(after_us(3_600_000_000)), false, &there);
            }
        });
        std::thread::sleep(time::Duration::from_millis(5));
        bell.ring();
        waiter.join().unwrap();
        assert!(clock.now() < after_us(60_000_000));
    }

    #[test]
    fn time_scales_are_bounded() {
        assert_eq!("0.5".parse(), Ok(TimeScale(500_000)));
        for wrong in ["0", "-1", "1e9", "nan", "x", ""] {
            assert!(wrong.parse::<TimeScale>().is_err(), "{wrong}");
        }
    }
}

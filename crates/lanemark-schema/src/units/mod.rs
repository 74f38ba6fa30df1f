//! Quantities: simulated time, bytes, rates, power, energy and ratios.
//!
//! Simulated time is a whole number of picoseconds, so a trajectory is the same on every machine. One SATA dword at 6
//! Gb/s takes 6,666.7 ps and one PCIe 5.0 symbol 250 ps, and neither accumulates a significant rounding error. `u64`
//! picoseconds reach 213 days. Only meaningful operations exist: `Bytes / BytesPerSecond` is a [`Duration`], `Instant +
//! Duration` is an [`Instant`], and two instants can be subtracted but not added.
//!
//! Values never wrap around. Input times are limited to 1,000 hours, and the sum of a few of them is far below the
//! maximum. Values that a queue sums without a limit (instants and busy times) saturate. A simulation that passes
//! [`Instant::END`] ends with an error.
//!
//! A quantity in a file or on a command line is text with its unit, such as `"115 us"` or `"16 KiB"`. MB is 10^6 bytes
//! and MiB is 2^20 bytes, and the two are never interchanged. A bare number is an error.
//!
//! Not modelled: fractions of a picosecond, and negative durations (an underflow is a bug and panics in debug builds).

mod notation;
mod power;

pub use notation::QuantityError;
pub use power::{Joules, Watts};

use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

const PICOSECONDS_PER_SECOND: u64 = 1_000_000_000_000;

/// A point in simulated time, in picoseconds since the start of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

/// A length of time in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

/// An amount of data in bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// A data rate in bytes a second.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct BytesPerSecond(pub u64);

/// A line rate in bits a second, before the overhead of the line code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitsPerSecond(pub u64);

/// A share of a whole, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ratio(f64);

impl Instant {
    /// The start of every run.
    pub const ZERO: Self = Self(0);
    /// The end of simulated time, 200 days after the start. No simulation continues beyond it. The remaining 13 days of
    /// the representable range are for the services that are then in progress.
    pub const END: Self = Self(200 * 86_400 * PICOSECONDS_PER_SECOND);

    /// Returns the instant `picoseconds` after the start.
    pub const fn from_picoseconds(picoseconds: u64) -> Self {
        Self(picoseconds)
    }

    /// Returns picoseconds since the start.
    pub const fn picoseconds(self) -> u64 {
        self.0
    }

    /// Returns the time from `earlier` to `self`; `earlier` must not be later than `self`.
    pub const fn since(self, earlier: Self) -> Duration {
        debug_assert!(self.0 >= earlier.0);
        Duration(self.0 - earlier.0)
    }

    /// Returns the time from `earlier` to `self`, or zero if `earlier` is later.
    pub const fn since_or_zero(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// The duration 0.
    pub const ZERO: Self = Self(0);
    /// Maximum representable time, 213 days.
    pub const MAX: Self = Self(u64::MAX);
    /// Maximum time that a file or a command line can state, 1,000 hours.
    pub const INPUT_MAX: Self = Self(1_000 * 3_600 * PICOSECONDS_PER_SECOND);

    /// Returns a duration in picoseconds.
    pub const fn from_picoseconds(picoseconds: u64) -> Self {
        Self(picoseconds)
    }

    /// Returns a duration in nanoseconds.
    pub const fn from_nanoseconds(nanoseconds: u64) -> Self {
        Self(nanoseconds * 1_000)
    }

    /// Returns a duration in microseconds.
    pub const fn from_microseconds(microseconds: u64) -> Self {
        Self(microseconds * 1_000_000)
    }

    /// Returns a duration in seconds.
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds * PICOSECONDS_PER_SECOND)
    }

    /// Returns the picoseconds, exactly.
    pub const fn picoseconds(self) -> u64 {
        self.0
    }

    /// Returns the nanoseconds, rounded to the nearest.
    pub const fn nanoseconds(self) -> u64 {
        (self.0 + 500) / 1_000
    }

    /// Returns the microseconds, for display and plots.
    pub fn as_microseconds(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Returns the seconds, for statistics.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / PICOSECONDS_PER_SECOND as f64
    }

    /// Returns the sum, or [`Duration::MAX`] if the sum is longer.
    #[inline]
    pub const fn saturating_add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the difference, or zero if `other` is longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns this time multiplied by `numerator / denominator`, rounded to the nearest picosecond, or
    /// [`Duration::MAX`] if the product is longer.
    pub const fn scaled(self, numerator: u64, denominator: u64) -> Self {
        let product = self.0 as u128 * numerator as u128;
        clamped((product + denominator as u128 / 2) / denominator as u128)
    }

    /// Returns the duration multiplied by `factor`, which must not be negative, to the nearest picosecond.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self((self.0 as f64 * factor).round() as u64)
    }
}

impl Bytes {
    /// Returns whether the size is 0.
    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }

    /// The size 0.
    pub const ZERO: Self = Self(0);

    /// Returns a size in KiB (2^10 bytes).
    pub const fn kibi(kibibytes: u64) -> Self {
        Self(kibibytes << 10)
    }

    /// Returns a size in MiB (2^20 bytes).
    pub const fn mebi(mebibytes: u64) -> Self {
        Self(mebibytes << 20)
    }

    /// Returns the number of bytes.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl BytesPerSecond {
    /// Returns megabytes (10^6 bytes) a second, for display and plots.
    pub fn as_megabytes(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl BitsPerSecond {
    /// Returns the time of `bits` bit times, rounded to the nearest picosecond.
    pub const fn time(self, bits: u64) -> Duration {
        divide_rounded(bits, PICOSECONDS_PER_SECOND, self.0)
    }
}

impl Ratio {
    /// The ratio 0.
    pub const ZERO: Self = Self(0.0);
    /// The ratio 1/2.
    pub const HALF: Self = Self(0.5);
    /// The ratio 1.
    pub const ONE: Self = Self(1.0);

    /// Returns the share `value`, or `None` if it is below 0 or above 1.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// Returns the share as a number from 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// Returns whether the ratio is 0.
    pub fn is_zero(&self) -> bool {
        *self == Self::ZERO
    }
}

/// Returns `count * scale / divisor`, rounded to the nearest whole number, or the maximum if it is too large. The
/// computation uses 64 bits if they are sufficient.
const fn divide_rounded(count: u64, scale: u64, divisor: u64) -> Duration {
    match count.checked_mul(scale) {
        Some(product) if product <= u64::MAX - divisor => {
            Duration((product + divisor / 2) / divisor)
        }
        _ => {
            let product = count as u128 * scale as u128;
            clamped((product + divisor as u128 / 2) / divisor as u128)
        }
    }
}

/// Returns a duration of `picoseconds`, or [`Duration::MAX`] if the value is too large.
const fn clamped(picoseconds: u128) -> Duration {
    if picoseconds > u64::MAX as u128 { Duration::MAX } else { Duration(picoseconds as u64) }
}

impl Add<Duration> for Instant {
    type Output = Self;
    #[inline]
    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}

impl Add for Duration {
    type Output = Self;
    #[inline]
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}

impl Sub for Duration {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl Mul<u64> for Duration {
    type Output = Self;
    #[inline]
    fn mul(self, rhs: u64) -> Self {
        Self(self.0.saturating_mul(rhs))
    }
}

impl Div<u64> for Duration {
    type Output = Self;
    fn div(self, rhs: u64) -> Self {
        Self(self.0 / rhs)
    }
}

impl Sum for Duration {
    fn sum<I: Iterator<Item = Self>>(durations: I) -> Self {
        durations.fold(Self::ZERO, Add::add)
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, rhs: Self) {
        self.0 += rhs.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl Mul<u64> for Bytes {
    type Output = Self;
    fn mul(self, rhs: u64) -> Self {
        Self(self.0 * rhs)
    }
}

impl Div<BytesPerSecond> for Bytes {
    type Output = Duration;
    fn div(self, rhs: BytesPerSecond) -> Duration {
        divide_rounded(self.0, PICOSECONDS_PER_SECOND, rhs.0)
    }
}

impl Div<Duration> for Bytes {
    type Output = BytesPerSecond;
    /// Returns the mean rate; zero for an empty duration, whose rate is unknown.
    fn div(self, rhs: Duration) -> BytesPerSecond {
        if rhs == Duration::ZERO {
            return BytesPerSecond(0);
        }
        let scaled = u128::from(self.0) * u128::from(PICOSECONDS_PER_SECOND);
        BytesPerSecond(u64::try_from(scaled / u128::from(rhs.0)).unwrap_or(u64::MAX))
    }
}

/// Writes a duration as a number of nanoseconds with three decimals, which is exact to the picosecond.
impl Serialize for Duration {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(self.0 as f64 / 1e3)
    }
}

impl<'de> Deserialize<'de> for Duration {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let nanoseconds = f64::deserialize(deserializer)?;
        if !(0.0..1.8e16).contains(&nanoseconds) {
            return Err(serde::de::Error::custom("a duration in ns must be from 0 to 1.8e16"));
        }
        Ok(Self((nanoseconds * 1e3).round() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_over_a_rate_are_a_time_in_both_word_sizes() {
        let rate = BytesPerSecond(600_000_000);
        assert_eq!(Bytes(600) / rate, Duration::from_microseconds(1));
        assert_eq!(Bytes(600_000_000_000_000) / rate, Duration::from_seconds(1_000_000));
    }

    #[test]
    fn sums_of_a_queue_saturate() {
        let long = Duration::from_picoseconds(u64::MAX - 1);
        let second = Duration::from_seconds(1);
        assert_eq!(long.saturating_add(second), Duration::MAX);
        assert_eq!(long * 3, Duration::MAX);
        assert_eq!(second.scaled(u64::MAX, 1), Duration::MAX);
        assert_eq!(Bytes(u64::MAX) / BytesPerSecond(1), Duration::MAX);
        assert_eq!((Instant::END + long).picoseconds(), u64::MAX);
    }

    #[test]
    fn the_end_of_simulated_time_can_be_written_and_read_again() {
        let all = Instant::END.since(Instant::ZERO);
        let text = serde_json::to_string(&all).unwrap();
        assert_eq!(serde_json::from_str::<Duration>(&text).unwrap(), all);
    }
}

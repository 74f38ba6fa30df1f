//! Quantities: simulated time, bytes, rates and ratios.
//!
//! Simulated time is a whole number of picoseconds, so a trajectory is the same on every machine:
//! one SATA dword at 6 Gb/s is 6,666.7 ps and one PCIe 5.0 symbol 250 ps, and neither accumulates a
//! rounding error that matters. `u64` picoseconds reach 213 days. Only operations with a meaning
//! exist: `Bytes / BytesPerSecond` is a [`Duration`], `Instant + Duration` an [`Instant`], and two
//! instants can be subtracted but not added.
//!
//! A quantity in a file or on a command line is text with its unit, `"115 us"` or `"16 KiB"`. MB is
//! 10^6 bytes and MiB 2^20, and neither stands for the other. A bare number is an error.
//!
//! Not modelled: fractions of a picosecond, and negative durations (an underflow is a bug and panics
//! in debug builds).

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Picoseconds in one second.
const PICOSECONDS_PER_SECOND: u64 = 1_000_000_000_000;

/// A point in simulated time: picoseconds since the start of a run.
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

/// A line rate in bits a second, before any line code is taken off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitsPerSecond(pub u64);

/// A share of a whole, from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ratio(f64);

impl Instant {
    /// The start of every run.
    pub const ZERO: Self = Self(0);

    /// The instant that lies `picoseconds` after the start.
    pub const fn from_picoseconds(picoseconds: u64) -> Self {
        Self(picoseconds)
    }

    /// Picoseconds since the start.
    pub const fn picoseconds(self) -> u64 {
        self.0
    }

    /// The time from `earlier` to `self`; `earlier` must not lie after `self`.
    pub const fn since(self, earlier: Self) -> Duration {
        debug_assert!(self.0 >= earlier.0);
        Duration(self.0 - earlier.0)
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// The longest time that can be told, 213 days.
    pub const MAX: Self = Self(u64::MAX);

    /// A duration of so many picoseconds.
    pub const fn from_picoseconds(picoseconds: u64) -> Self {
        Self(picoseconds)
    }

    /// A duration of so many nanoseconds.
    pub const fn from_nanoseconds(nanoseconds: u64) -> Self {
        Self(nanoseconds * 1_000)
    }

    /// A duration of so many microseconds.
    pub const fn from_microseconds(microseconds: u64) -> Self {
        Self(microseconds * 1_000_000)
    }

    /// A duration of so many seconds.
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds * PICOSECONDS_PER_SECOND)
    }

    /// Picoseconds, exactly.
    pub const fn picoseconds(self) -> u64 {
        self.0
    }

    /// Nanoseconds, rounded to the nearest.
    pub const fn nanoseconds(self) -> u64 {
        (self.0 + 500) / 1_000
    }

    /// Microseconds, for people and plots.
    pub fn as_microseconds(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// Seconds, for statistics.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / PICOSECONDS_PER_SECOND as f64
    }

    /// The difference, or zero where `other` is the longer.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// This time `numerator / denominator` times over, rounded to the nearest picosecond.
    pub const fn scaled(self, numerator: u64, denominator: u64) -> Self {
        let product = self.0 as u128 * numerator as u128;
        let rounded = (product + denominator as u128 / 2) / denominator as u128;
        debug_assert!(rounded <= u64::MAX as u128);
        Self(rounded as u64)
    }
}

impl Bytes {
    /// No data.
    pub const ZERO: Self = Self(0);

    /// So many KiB (2^10 bytes).
    pub const fn kibi(kibibytes: u64) -> Self {
        Self(kibibytes << 10)
    }

    /// So many MiB (2^20 bytes).
    pub const fn mebi(mebibytes: u64) -> Self {
        Self(mebibytes << 20)
    }

    /// The bare count.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl BytesPerSecond {
    /// Megabytes (10^6 bytes) a second, for people and plots.
    pub fn as_megabytes(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl BitsPerSecond {
    /// The time of `bits` bit times, rounded to the nearest picosecond.
    pub const fn time(self, bits: u64) -> Duration {
        divide_rounded(bits, PICOSECONDS_PER_SECOND, self.0)
    }
}

impl Ratio {
    /// None of it.
    pub const ZERO: Self = Self(0.0);
    /// All of it.
    pub const ONE: Self = Self(1.0);

    /// The share `value`, or `None` outside 0 to 1.
    pub fn new(value: f64) -> Option<Self> {
        (0.0..=1.0).contains(&value).then_some(Self(value))
    }

    /// The share as a number from 0 to 1.
    pub const fn get(self) -> f64 {
        self.0
    }
}

/// `count * scale / divisor` to the nearest whole, in 64 bits where they suffice.
const fn divide_rounded(count: u64, scale: u64, divisor: u64) -> Duration {
    match count.checked_mul(scale) {
        Some(product) if product <= u64::MAX - divisor => {
            Duration((product + divisor / 2) / divisor)
        }
        _ => {
            let product = count as u128 * scale as u128;
            let rounded = (product + divisor as u128 / 2) / divisor as u128;
            debug_assert!(rounded <= u64::MAX as u128);
            Duration(rounded as u64)
        }
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, rhs: Duration) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl Add for Duration {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign for Duration {
    fn add_assign(&mut self, rhs: Self) {
        self.0 += rhs.0;
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
    fn mul(self, rhs: u64) -> Self {
        Self(self.0 * rhs)
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
    /// The mean rate; zero for an empty duration, where no rate is known.
    fn div(self, rhs: Duration) -> BytesPerSecond {
        if rhs == Duration::ZERO {
            return BytesPerSecond(0);
        }
        let scaled = u128::from(self.0) * u128::from(PICOSECONDS_PER_SECOND);
        BytesPerSecond(u64::try_from(scaled / u128::from(rhs.0)).unwrap_or(u64::MAX))
    }
}

/// Why a text is not the quantity asked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityError {
    /// No number stands at the start.
    #[error("`{text}` does not start with a number")]
    NoNumber {
        /// The text as given.
        text: String,
    },
    /// A number without a unit.
    #[error("`{text}` has no unit; write it with one of {units}")]
    NoUnit {
        /// The text as given.
        text: String,
        /// The units that would do.
        units: &'static str,
    },
    /// A unit of another kind, or none at all.
    #[error("`{unit}` is not a unit of {quantity}; use one of {units}")]
    WrongUnit {
        /// The unit as given.
        unit: String,
        /// What was asked for.
        quantity: &'static str,
        /// The units that would do.
        units: &'static str,
    },
    /// Larger than can be held.
    #[error("`{text}` is too large for {quantity}")]
    TooLarge {
        /// The text as given.
        text: String,
        /// What was asked for.
        quantity: &'static str,
    },
    /// A value between two of the smallest steps, where rounding would change it.
    #[error("`{text}` is not a whole number of {step}")]
    NotWhole {
        /// The text as given.
        text: String,
        /// The smallest step of the quantity.
        step: &'static str,
    },
}

/// One kind of quantity as text: its units and how many base steps each holds.
struct Notation {
    quantity: &'static str,
    step: &'static str,
    /// Whether a value between two steps may be rounded to the nearest.
    rounds: bool,
    listed: &'static str,
    units: &'static [(&'static str, u64)],
}

impl Notation {
    fn parse(&self, text: &str) -> Result<u64, QuantityError> {
        let trimmed = text.trim();
        let end = trimmed
            .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
            .unwrap_or(trimmed.len());
        let (number, unit) = trimmed.split_at(end);
        let unit = unit.trim();
        let number = number.replace('_', "");
        let no_number = || QuantityError::NoNumber { text: text.to_owned() };
        let too_large =
            || QuantityError::TooLarge { text: text.to_owned(), quantity: self.quantity };
        let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
        if whole.is_empty() || fraction.contains('.') || number.ends_with('.') {
            return Err(no_number());
        }
        if unit.is_empty() {
            return Err(QuantityError::NoUnit { text: text.to_owned(), units: self.listed });
        }
        let Some(&(_, steps)) = self.units.iter().find(|(name, _)| *name == unit) else {
            return Err(QuantityError::WrongUnit {
                unit: unit.to_owned(),
                quantity: self.quantity,
                units: self.listed,
            });
        };
        let fraction = fraction.trim_end_matches('0');
        let digits: u128 = format!("{whole}{fraction}").parse().map_err(|_| too_large())?;
        let exponent = u32::try_from(fraction.len()).map_err(|_| too_large())?;
        let divisor = 10u128.checked_pow(exponent).ok_or_else(too_large)?;
        let scaled = digits.checked_mul(u128::from(steps)).ok_or_else(too_large)?;
        if !self.rounds && scaled % divisor != 0 {
            return Err(QuantityError::NotWhole { text: text.to_owned(), step: self.step });
        }
        u64::try_from((scaled + divisor / 2) / divisor).map_err(|_| too_large())
    }
}

const DURATION: Notation = Notation {
    quantity: "time",
    step: "picoseconds",
    rounds: true,
    listed: "ps, ns, us, ms, s, min, h",
    units: &[
        ("ps", 1),
        ("ns", 1_000),
        ("us", 1_000_000),
        ("µs", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", PICOSECONDS_PER_SECOND),
        ("min", 60 * PICOSECONDS_PER_SECOND),
        ("h", 3600 * PICOSECONDS_PER_SECOND),
    ],
};

const BYTES: Notation = Notation {
    quantity: "data",
    step: "bytes",
    rounds: false,
    listed: "B, kB, MB, GB, TB (powers of ten), KiB, MiB, GiB, TiB (powers of two)",
    units: &[
        ("B", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
    ],
};

const BYTES_PER_SECOND: Notation = Notation {
    quantity: "data rate",
    step: "bytes a second",
    rounds: true,
    listed: "B/s, kB/s, MB/s, GB/s, KiB/s, MiB/s, GiB/s",
    units: &[
        ("B/s", 1),
        ("kB/s", 1_000),
        ("MB/s", 1_000_000),
        ("GB/s", 1_000_000_000),
        ("KiB/s", 1 << 10),
        ("MiB/s", 1 << 20),
        ("GiB/s", 1 << 30),
    ],
};

const BITS_PER_SECOND: Notation = Notation {
    quantity: "line rate",
    step: "bits a second",
    rounds: true,
    listed: "Mb/s, Gb/s",
    units: &[("Mb/s", 1_000_000), ("Gb/s", 1_000_000_000)],
};

impl FromStr for Duration {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        DURATION.parse(text).map(Self)
    }
}

impl FromStr for Bytes {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        BYTES.parse(text).map(Self)
    }
}

impl FromStr for BytesPerSecond {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        BYTES_PER_SECOND.parse(text).map(Self)
    }
}

impl FromStr for BitsPerSecond {
    type Err = QuantityError;
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        BITS_PER_SECOND.parse(text).map(Self)
    }
}

impl FromStr for Ratio {
    type Err = QuantityError;
    /// Reads a percentage, `"70%"`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        const PERCENT: Notation = Notation {
            quantity: "share",
            step: "billionths",
            rounds: true,
            listed: "%",
            units: &[("%", 10_000_000)],
        };
        let billionths = PERCENT.parse(text)?;
        Self::new(billionths as f64 / 1e9)
            .ok_or_else(|| QuantityError::TooLarge { text: text.to_owned(), quantity: "share" })
    }
}

/// Writes `value` of base steps in the largest unit that leaves at least one, to three places.
fn write_scaled(
    f: &mut fmt::Formatter<'_>,
    value: u64,
    units: &[(&'static str, u64)],
) -> fmt::Result {
    let (name, steps) = units.iter().rev().find(|(_, steps)| value >= *steps).unwrap_or(&units[0]);
    let text = format!("{:.3}", value as f64 / *steps as f64);
    write!(f, "{} {name}", text.trim_end_matches('0').trim_end_matches('.'))
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const SHOWN: [(&str, u64); 5] = [
            ("ps", 1),
            ("ns", 1_000),
            ("us", 1_000_000),
            ("ms", 1_000_000_000),
            ("s", PICOSECONDS_PER_SECOND),
        ];
        write_scaled(f, self.0, &SHOWN)
    }
}

impl fmt::Display for Bytes {
    /// A short whole number of a power of two where there is one, powers of ten otherwise.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = &BYTES.units[5..];
        let whole = |(_, steps): &&(&str, u64)| self.0 >= *steps && self.0.is_multiple_of(*steps);
        match binary.iter().rev().find(whole) {
            Some((name, steps)) if self.0 / steps < 100_000 => {
                write!(f, "{} {name}", self.0 / steps)
            }
            _ => write_scaled(f, self.0, &BYTES.units[..5]),
        }
    }
}

impl fmt::Display for BytesPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, &BYTES_PER_SECOND.units[..4])
    }
}

impl fmt::Display for BitsPerSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_scaled(f, self.0, BITS_PER_SECOND.units)
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.2}", self.0 * 100.0);
        write!(f, "{}%", text.trim_end_matches('0').trim_end_matches('.'))
    }
}

/// In results a duration is a number of nanoseconds with three decimals: exact to the picosecond.
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
    fn quantities_read_with_their_unit() {
        assert_eq!("115 us".parse(), Ok(Duration::from_microseconds(115)));
        assert_eq!("0.5us".parse(), Ok(Duration::from_nanoseconds(500)));
        assert_eq!("16 KiB".parse(), Ok(Bytes(16_384)));
        assert_eq!("1.2 TB".parse(), Ok(Bytes(1_200_000_000_000)));
        assert_eq!("6 Gb/s".parse(), Ok(BitsPerSecond(6_000_000_000)));
        assert_eq!("520 MB/s".parse(), Ok(BytesPerSecond(520_000_000)));
        assert_eq!("70%".parse::<Ratio>().map(Ratio::get), Ok(0.7));
    }

    #[test]
    fn a_megabyte_is_not_a_mebibyte() {
        assert_ne!("1000 MB".parse::<Bytes>(), "1000 MiB".parse::<Bytes>());
    }

    #[test]
    fn a_bare_number_is_an_error_that_lists_the_units() {
        let error = "115".parse::<Duration>().unwrap_err();
        assert_eq!(
            error.to_string(),
            "`115` has no unit; write it with one of ps, ns, us, ms, s, min, h"
        );
    }

    #[test]
    fn wrong_units_overflow_and_fractions_are_errors() {
        assert!(matches!("5 KiB".parse::<Duration>(), Err(QuantityError::WrongUnit { .. })));
        assert!(matches!("9e9 s".parse::<Duration>(), Err(QuantityError::WrongUnit { .. })));
        assert!(matches!(
            "99999999999999999999 s".parse::<Duration>(),
            Err(QuantityError::TooLarge { .. })
        ));
        assert!(matches!("0.3 B".parse::<Bytes>(), Err(QuantityError::NotWhole { .. })));
        assert!(matches!("-5 us".parse::<Duration>(), Err(QuantityError::NoNumber { .. })));
        assert!(matches!("1.2.3 us".parse::<Duration>(), Err(QuantityError::NoNumber { .. })));
        assert!(matches!("101%".parse::<Ratio>(), Err(QuantityError::TooLarge { .. })));
    }

    #[test]
    fn bytes_over_a_rate_are_a_time_in_both_word_sizes() {
        let rate = BytesPerSecond(600_000_000);
        assert_eq!(Bytes(600) / rate, Duration::from_microseconds(1));
        assert_eq!(Bytes(600_000_000_000_000) / rate, Duration::from_seconds(1_000_000));
    }

    #[test]
    fn what_is_shown_reads_back() {
        for text in ["115 us", "6.667 ns", "1.5 s"] {
            assert_eq!(text.parse::<Duration>().unwrap().to_string(), text);
        }
        for text in ["16 KiB", "1000 MiB", "1.2 TB", "0 B"] {
            assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
        }
    }
}

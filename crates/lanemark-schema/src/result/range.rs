//! A value in a result with its path, and the accepted ranges of the kinds of values.

use std::fmt;

use crate::units::{Bytes, Duration};

/// Maximum time in a result, in ns: 5,000 hours. A time in picoseconds overflows slightly above this limit.
pub(super) const TIME_MAX_NS: f64 = 1.8e16;
/// Maximum amount of data in a figure: 2^60 bytes, so that sums of several figures still fit in 64 bits.
pub(super) const BYTES_MAX: Bytes = Bytes(1 << 60);
/// Maximum of any count.
pub(super) const COUNT_MAX: u64 = 1 << 60;
/// Maximum value of a rate, a power or an energy.
pub(super) const FIGURE_MAX: f64 = 1e18;
/// Maximum number of repeats, tests, hops or rounds.
pub(super) const ENTRIES_MAX: usize = 1_000_000;
/// Accepted excess of a share over 1. The causes are rounding, and work that was counted in one interval and ended
/// after it.
const SHARE_SLACK: f64 = 0.01;

/// A value of a result that is outside its range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutOfRangeValue {
    /// Path of the value in the result, such as `tests[2].samples[0].elapsed_ns`.
    pub path: String,
    /// The value, as text.
    pub value: String,
    /// The values that are accepted.
    pub bound: String,
}

impl fmt::Display for OutOfRangeValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}; expected {}", self.path, self.value, self.bound)
    }
}

impl std::error::Error for OutOfRangeValue {}

/// The result of a check: the first value that is out of range, if there is one.
pub(super) type RangeCheck = Result<(), OutOfRangeValue>;

#[derive(Clone)]
pub(super) struct ValuePath(String);

impl ValuePath {
    /// Creates a path from the root of the result.
    pub(super) fn from_root(path: &str) -> Self {
        Self(path.to_owned())
    }

    /// Returns the path of a field of the value at this path.
    pub(super) fn key(&self, key: &str) -> Self {
        Self(if self.0.is_empty() { key.to_owned() } else { format!("{}.{key}", self.0) })
    }

    /// Returns an error for the value at this path.
    pub(super) fn fail(&self, value: impl fmt::Display, bound: impl fmt::Display) -> RangeCheck {
        Err(OutOfRangeValue {
            path: self.0.clone(),
            value: value.to_string(),
            bound: bound.to_string(),
        })
    }
}

pub(super) fn check_each<T>(
    at: &ValuePath,
    all: &[T],
    check: fn(&ValuePath, &T) -> RangeCheck,
) -> RangeCheck {
    count(at, all.len())?;
    all.iter()
        .enumerate()
        .try_for_each(|(index, value)| check(&ValuePath(format!("{}[{index}]", at.0)), value))
}

pub(super) fn check_if_some<T>(
    at: &ValuePath,
    value: Option<&T>,
    check: fn(&ValuePath, &T) -> RangeCheck,
) -> RangeCheck {
    value.map_or(Ok(()), |value| check(at, value))
}

pub(super) fn count(at: &ValuePath, entries: usize) -> RangeCheck {
    if entries > ENTRIES_MAX {
        at.fail(format!("{entries} entries"), format!("at most {ENTRIES_MAX}"))
    } else {
        Ok(())
    }
}

pub(super) fn check_within(at: &ValuePath, value: f64, most: f64) -> RangeCheck {
    if (0.0..=most).contains(&value) { Ok(()) } else { at.fail(value, format!("from 0 to {most}")) }
}

pub(super) fn check_share(at: &ValuePath, value: f64) -> RangeCheck {
    if (0.0..=1.0 + SHARE_SLACK).contains(&value) { Ok(()) } else { at.fail(value, "from 0 to 1") }
}

pub(super) fn check_count(at: &ValuePath, value: u64) -> RangeCheck {
    if value <= COUNT_MAX { Ok(()) } else { at.fail(value, format!("at most {COUNT_MAX}")) }
}

pub(super) fn check_bytes(at: &ValuePath, value: Bytes) -> RangeCheck {
    if value <= BYTES_MAX { Ok(()) } else { at.fail(value, format!("at most {BYTES_MAX}")) }
}

pub(super) fn check_time(at: &ValuePath, value: Duration) -> RangeCheck {
    check_within(at, value.picoseconds() as f64 / 1e3, TIME_MAX_NS)
}

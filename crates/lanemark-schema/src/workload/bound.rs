//! The bounds of a test's values. Workload files, the command line, imports, the page, Python and result files all
//! use these constants, so that every reader accepts the same values and prints the same bound.

use std::fmt;
use std::ops::RangeInclusive;

use crate::units::{Bytes, Duration};

/// The values that a field accepts: from `min` to `max`, inclusive.
///
/// ```
/// use lanemark_schema::workload::bound::QUEUE_DEPTH;
///
/// assert!(QUEUE_DEPTH.contains(&65_536) && !QUEUE_DEPTH.contains(&0));
/// assert_eq!(QUEUE_DEPTH.to_string(), "from 1 to 65536");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FieldBounds<T> {
    /// The smallest accepted value.
    pub min: T,
    /// The largest accepted value.
    pub max: T,
}

impl<T: PartialOrd> FieldBounds<T> {
    /// Returns whether the field accepts `value`.
    pub fn contains(&self, value: &T) -> bool {
        self.min <= *value && *value <= self.max
    }
}

impl<T: Ord + Copy> FieldBounds<T> {
    /// Returns the accepted value that is nearest to `value`.
    pub fn clamp(&self, value: T) -> T {
        value.clamp(self.min, self.max)
    }
}

impl FieldBounds<u32> {
    /// Returns `value` if the field accepts it.
    pub fn accept(&self, value: u64) -> Option<u32> {
        u32::try_from(value).ok().filter(|value| self.contains(value))
    }

    /// Returns the bound as a range for a command-line parser.
    pub fn range(&self) -> RangeInclusive<i64> {
        self.min.into()..=self.max.into()
    }
}

impl<T: fmt::Display> fmt::Display for FieldBounds<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "from {} to {}", self.min, self.max)
    }
}

/// Number of requests that one thread keeps outstanding; the maximum is the depth of one NVMe queue.
pub const QUEUE_DEPTH: FieldBounds<u32> = FieldBounds { min: 1, max: 65_536 };
/// Number of threads of a test.
pub const THREADS: FieldBounds<u32> = FieldBounds { min: 1, max: 1024 };
/// Length of a request.
pub const BLOCK: FieldBounds<Bytes> = FieldBounds { min: Bytes(1), max: Bytes::mebi(64) };
/// Number of sizes in a mix.
pub const SIZES: FieldBounds<usize> = FieldBounds { min: 0, max: 64 };
/// Requests a second of an open loop; the minimum itself is not accepted.
pub const RATE: FieldBounds<f64> = FieldBounds { min: 0.0, max: 1e9 };
/// Delay before a test begins.
pub const DELAY: FieldBounds<Duration> =
    FieldBounds { min: Duration::ZERO, max: Duration::from_seconds(86_400) };
/// Length of a round, or of an interval of a series; the minimum itself is not accepted.
pub const ROUND: FieldBounds<Duration> =
    FieldBounds { min: Duration::ZERO, max: Duration::from_seconds(7 * 86_400) };
/// Number of users of a database.
pub const USERS: FieldBounds<u32> = FieldBounds { min: 1, max: 1_000_000 };
/// Number of warehouses of a database in a saved result, and the divisor of its contents.
pub const WAREHOUSES: FieldBounds<i64> = FieldBounds { min: 1, max: 10_000_000 };
/// Number of processes that write a simulated database's pages.
pub const PAGE_WRITERS: FieldBounds<u32> = FieldBounds { min: 1, max: 65_536 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_accepts_both_ends_and_nothing_beyond() {
        for value in [0, 1, 65_536, 65_537, u64::from(u32::MAX) + 2] {
            let accepted = (1..=65_536).contains(&value);
            assert_eq!(QUEUE_DEPTH.accept(value).is_some(), accepted, "{value}");
        }
        assert_eq!(QUEUE_DEPTH.range(), 1..=65_536);
        assert_eq!([0, 7, 99_999].map(|depth| QUEUE_DEPTH.clamp(depth)), [1, 7, 65_536]);
        assert!(!RATE.contains(&f64::NAN) && !RATE.contains(&-1.0));
    }
}

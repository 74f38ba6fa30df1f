//! The kinds and sizes of requests that a test mixes beside reads and writes of one size, and the start of tests.

use serde::{Deserialize, Serialize};

use super::{BLOCK_MAX, SECTOR, Test, TestError};
use crate::units::{Bytes, Duration, Ratio};

/// Greatest number of sizes of a mix: as many as there are kinds of blocks in JESD219, twice.
pub const SIZES_MAX: usize = 64;
/// Longest delay before a test begins.
const DELAY_MAX: Duration = Duration::from_seconds(86_400);

/// The requests of a test beside reads and writes of its block size. By default nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mix {
    /// The sizes of requests instead of one; then [`Test::block`] is the largest of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizeShare>,
    /// The share of requests that trim; the others read and write by [`Test::read_share`].
    #[serde(skip_serializing_if = "Ratio::is_zero")]
    pub trim_share: Ratio,
    /// After so many writes each thread asks for a flush, where given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_every: Option<u32>,
}

/// A request size and its share in a mix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeShare {
    /// Size of such a request.
    #[serde(rename = "block_bytes")]
    pub block: Bytes,
    /// The share of all requests that are so long. The shares of a mix need not sum to one; they are
    /// taken in proportion.
    pub share: f64,
}

/// The start of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Start {
    /// Together with the test before it, and not when that has ended.
    pub beside: bool,
    /// Delay after that moment.
    #[serde(rename = "delay_ns")]
    pub delay: Duration,
}

impl Start {
    /// Returns whether the test begins at once when the one before it has ended.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

impl Mix {
    /// Reads and writes of one size.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

impl Test {
    /// The least length of a request.
    pub fn block_least(&self) -> Bytes {
        self.mix.sizes.iter().map(|size| size.block).min().unwrap_or(self.block)
    }

    /// The mean length of a request.
    pub fn block_mean(&self) -> f64 {
        let sum: f64 = self.mix.sizes.iter().map(|size| size.share).sum();
        match self.mix.sizes.is_empty() {
            true => self.block.get() as f64,
            false => {
                let parts = self.mix.sizes.iter();
                parts.map(|size| size.block.get() as f64 * size.share / sum).sum()
            }
        }
    }

    /// Whether the test trims.
    pub fn trims(&self) -> bool {
        self.mix.trim_share > Ratio::ZERO
    }

    pub(super) fn check_mix(&self) -> Result<(), TestError> {
        let fail = |field, value: String, bound: &str| {
            Err(TestError { field, value, bound: bound.to_owned() })
        };
        let sizes = &self.mix.sizes;
        if sizes.len() > SIZES_MAX {
            return fail("sizes", format!("{} sizes", sizes.len()), "at most 64");
        }
        for size in sizes {
            let whole = size.block.get().is_multiple_of(SECTOR.get());
            if size.block == Bytes::ZERO || !whole || size.block > BLOCK_MAX {
                let bound = "multiples of 512 B from 512 B to 64 MiB";
                return fail("sizes", size.block.to_string(), bound);
            }
            if !(size.share > 0.0 && size.share.is_finite()) {
                return fail("sizes", size.share.to_string(), "shares above 0%");
            }
        }
        let largest = sizes.iter().map(|size| size.block).max();
        if largest.is_some_and(|largest| largest != self.block) {
            return fail("block", self.block.to_string(), "the largest of the sizes");
        }
        if self.mix.flush_every == Some(0) {
            return fail("flush_every", "0".to_owned(), "at least 1");
        }
        if self.start.delay > DELAY_MAX {
            return fail("delay", self.start.delay.to_string(), "at most 24 h");
        }
        Ok(())
    }
}

//! The kinds and sizes of requests that a test mixes beside reads and writes of one size, and the start of tests.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Duration, Ratio};

/// Greatest number of sizes of a mix: as many as there are kinds of blocks in JESD219, twice.
pub const SIZES_MAX: usize = 64;

/// The requests of a test beside reads and writes of its block size. By default nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Mix {
    /// The sizes of requests instead of one; then [`Test::block`](super::Test::block) is the largest of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizeShare>,
    /// The share of requests that trim; the others read and write by [`Requests::read_share`](super::Requests::read_share).
    #[serde(skip_serializing_if = "Ratio::is_zero")]
    pub trim_share: Ratio,
    /// After so many writes each thread asks for a flush, where given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_every: Option<u32>,
    /// Makes the test a copy of its span to this place of the target, where given: each block that was read is then
    /// written there, and only then its buffer takes the next block.
    #[serde(rename = "copy_to_bytes", skip_serializing_if = "Option::is_none")]
    pub copy_to: Option<Bytes>,
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
    /// Whether the test begins together with the test before it, and not when that has ended.
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
    /// Nothing beside reads and writes of one size.
    pub const PLAIN: Self =
        Self { sizes: Vec::new(), trim_share: Ratio::ZERO, flush_every: None, copy_to: None };

    /// The mean length of a request, where that is `block` without sizes.
    pub fn block_mean(&self, block: Bytes) -> f64 {
        if self.sizes.is_empty() {
            return block.get() as f64;
        }
        let sum: f64 = self.sizes.iter().map(|size| size.share).sum();
        self.sizes.iter().map(|size| size.block.get() as f64 * size.share / sum).sum()
    }

    /// Reads and writes of one size.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

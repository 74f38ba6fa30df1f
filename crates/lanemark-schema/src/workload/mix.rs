//! The kinds and sizes of requests that a test mixes with reads and writes of one size, and the start times of tests.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Duration, Ratio};

/// The requests of a test in addition to reads and writes of its block size. The default is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RequestMix {
    /// The sizes of requests, instead of one size; [`Test::block`](super::Test::block) is then the largest size.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<SizeShare>,
    /// The share of requests that trim. [`read_share`](super::SyntheticRequests::read_share) determines the share of
    /// reads among the other requests.
    #[serde(skip_serializing_if = "Ratio::is_zero")]
    pub trim_share: Ratio,
    /// Number of writes after which each thread submits a flush, if given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush_every: Option<u32>,
    /// Whether the writes wait in a page cache until a flush writes them back. The time of a flush then begins with the
    /// first of these writes, because fio measures it in this way.
    #[serde(skip_serializing_if = "is_false")]
    pub written_back: bool,
    /// If given, the test copies its span to this offset of the target. Each block that was read is written there
    /// before its buffer receives the next block.
    #[serde(rename = "copy_to_bytes", skip_serializing_if = "Option::is_none")]
    pub copy_to: Option<Bytes>,
}

/// A request size and its share in a mix.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct SizeShare {
    /// Size of the requests.
    #[serde(rename = "block_bytes")]
    pub block: Bytes,
    /// The share of all requests that have this size. The shares of a mix are relative weights and need not sum to one.
    pub share: f64,
}

/// The start time of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TestStart {
    /// Whether the test begins together with the previous test, instead of after the end of that test.
    pub beside: bool,
    /// Delay after the previous test's start or end.
    #[serde(rename = "delay_ns")]
    pub delay: Duration,
}

impl TestStart {
    /// Returns whether the test begins after the end of the previous test.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl RequestMix {
    /// The mix of reads and writes of one size.
    pub const PLAIN: Self = Self {
        sizes: Vec::new(),
        trim_share: Ratio::ZERO,
        flush_every: None,
        written_back: false,
        copy_to: None,
    };

    /// Returns the mean length of a request, which is `block` if the mix does not state sizes.
    pub fn block_mean(&self, block: Bytes) -> f64 {
        if self.sizes.is_empty() {
            return block.get() as f64;
        }
        let sum: f64 = self.sizes.iter().map(|size| size.share).sum();
        self.sizes.iter().map(|size| size.block.get() as f64 * size.share / sum).sum()
    }

    /// Returns whether the mix contains only reads and writes of one size.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

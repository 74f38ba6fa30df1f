//! The data that a drive holds before a run.

use crate::units::{Bytes, Ratio};
use crate::workload::Test;

/// Data that was written to a drive before a run, where its condition does not say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Content {
    /// The first so many bytes, in order.
    pub written: Bytes,
    /// The share of all data that compresses away.
    pub compressibility: Ratio,
}

impl Content {
    /// The content that `test` works on.
    pub fn of(test: &Test) -> Self {
        Self { written: test.end(), compressibility: test.compressibility }
    }

    /// Returns the size of a stored slot, as a share of the slot, on a drive that compresses to `best` at most.
    pub(crate) fn packed(&self, best: Ratio) -> f64 {
        (1.0 - self.compressibility.get()).max(best.get())
    }
}

impl From<Bytes> for Content {
    /// Data that does not compress.
    fn from(written: Bytes) -> Self {
        Self { written, compressibility: Ratio::ZERO }
    }
}

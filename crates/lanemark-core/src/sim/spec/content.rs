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
    /// The content that `test` works on. Where a copy goes nothing is written yet.
    pub fn of(test: &Test) -> Self {
        Self { written: test.span_end(), compressibility: test.compressibility }
    }

    /// The content that `tests` beside each other work on: up to the end that is furthest, and as little of it
    /// compressible as that of any.
    pub fn of_all<'t>(tests: impl IntoIterator<Item = &'t Test>) -> Self {
        let all = tests.into_iter().map(Self::of).reduce(|one, other| Self {
            written: one.written.max(other.written),
            compressibility: match one.compressibility < other.compressibility {
                true => one.compressibility,
                false => other.compressibility,
            },
        });
        all.unwrap_or(Self::from(Bytes::ZERO))
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

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
    /// Whether it was written just before, so that a pseudo-SLC cache still holds what it had room for. So it is where a
    /// test reads: its program lays out the data first, other than a database.
    pub is_just_written: bool,
}

impl Content {
    /// The content that `test` works on. Where a copy goes nothing is written yet.
    pub fn of(test: &Test) -> Self {
        let is_just_written = test.reads() && test.requests().is_some();
        Self { written: test.span_end(), compressibility: test.compressibility, is_just_written }
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
            is_just_written: one.is_just_written || other.is_just_written,
        });
        all.unwrap_or(Self::from(Bytes::ZERO))
    }

    /// Returns the size of a stored slot, as a share of the slot, on a drive that compresses to `best` at most.
    pub(crate) fn packed(&self, best: Ratio) -> f64 {
        (1.0 - self.compressibility.get()).max(best.get())
    }
}

impl From<Bytes> for Content {
    /// Data that does not compress, and was written long before.
    fn from(written: Bytes) -> Self {
        Self { written, compressibility: Ratio::ZERO, is_just_written: false }
    }
}

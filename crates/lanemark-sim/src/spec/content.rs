//! The data that a drive contains before a run.

use lanemark_schema::units::{Bytes, Ratio};
use lanemark_schema::workload::Test;

/// Data that was written to a drive before a run, if the drive's condition does not determine this data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriorContent {
    /// Length of the written data, which is sequential from the first byte.
    pub written: Bytes,
    /// The share of all data that compression removes.
    pub compressibility: Ratio,
    /// Whether the data was written just before the run, so that the pseudo-SLC cache is still as full as its capacity
    /// permits. This is true for a test that reads, except a database, because the test's program lays out the data
    /// first.
    pub is_just_written: bool,
    /// The part that the load continually overwrites in random order; `None` if this is the whole drive or not known.
    /// In the condition [`DriveCondition::Random`](super::DriveCondition::Random), the rest of the data was written
    /// once.
    pub rewritten: Option<RewrittenSpan>,
}

/// A part of a drive that a load overwrites in random order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RewrittenSpan {
    /// The first byte.
    pub start: Bytes,
    /// The end.
    pub end: Bytes,
}

impl PriorContent {
    /// Returns the content that `test` expects. The span of a test is written before the test begins. A test that only
    /// writes sequentially is an exception: it is the first to write its span, and starts with an empty drive. The
    /// destination of a copy is also empty.
    pub fn for_test(test: &Test) -> Self {
        let is_just_written = test.reads() && test.requests().is_some();
        let only_writes = !test.reads() && !test.trims() && test.writes();
        let written = if only_writes && test.is_in_order() { Bytes::ZERO } else { test.span_end() };
        let rewrites = test.writes() && !test.is_in_order();
        let span = RewrittenSpan { start: test.offset, end: test.span_end() };
        let rewritten = rewrites.then_some(span);
        Self { written, compressibility: test.compressibility, is_just_written, rewritten }
    }

    /// Returns the content for `tests` that run in parallel: data up to the highest end of any test, with the minimum
    /// compressibility of any test.
    pub fn of_all<'t>(tests: impl IntoIterator<Item = &'t Test>) -> Self {
        let all = tests.into_iter().map(Self::for_test).reduce(|one, other| Self {
            written: one.written.max(other.written),
            compressibility: if one.compressibility < other.compressibility {
                one.compressibility
            } else {
                other.compressibility
            },
            is_just_written: one.is_just_written || other.is_just_written,
            rewritten: match (one.rewritten, other.rewritten) {
                (Some(one), Some(other)) => Some(RewrittenSpan {
                    start: one.start.min(other.start),
                    end: one.end.max(other.end),
                }),
                (one, other) => one.or(other),
            },
        });
        all.unwrap_or(Self::from(Bytes::ZERO))
    }

    /// Returns the stored size of a slot, as a share of its original size, on a drive whose compression can reach the
    /// ratio `best`.
    pub(crate) fn packed(&self, best: Ratio) -> f64 {
        (1.0 - self.compressibility.get()).max(best.get())
    }
}

impl From<Bytes> for PriorContent {
    /// Returns content of this length that does not compress and was written long before the run.
    fn from(written: Bytes) -> Self {
        Self { written, compressibility: Ratio::ZERO, is_just_written: false, rewritten: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::random_read;
    use lanemark_schema::workload::Pattern;

    #[test]
    fn a_test_that_only_writes_in_order_finds_an_empty_drive() {
        let test = |pattern: Pattern, reads: f64| {
            random_read().with(|asked| {
                asked.pattern = pattern;
                asked.read_share = Ratio::new(reads).unwrap();
            })
        };
        let written = |pattern, reads| PriorContent::for_test(&test(pattern, reads)).written;
        let span = random_read().span;
        assert_eq!(written(Pattern::Sequential, 0.0), Bytes::ZERO);
        assert_eq!(written(Pattern::Backward, 0.0), Bytes::ZERO);
        // Data that a test reads must exist, and random writes overwrite existing data.
        assert_eq!(written(Pattern::Sequential, 0.5), span);
        assert_eq!(written(Pattern::Sequential, 1.0), span);
        assert_eq!(written(Pattern::Uniform, 0.0), span);
        let trims = test(Pattern::Sequential, 0.0)
            .with(|asked| asked.mix.trim_share = Ratio::new(0.5).unwrap());
        assert!(trims.trims() && PriorContent::for_test(&trims).written == span);
        // In parallel with a test that reads, the span of the reading test is written.
        let beside = [test(Pattern::Sequential, 0.0), test(Pattern::Sequential, 1.0)];
        assert_eq!(PriorContent::of_all(&beside).written, span);
    }
}

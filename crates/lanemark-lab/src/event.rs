//! Events in the laboratory, as values for whoever looks on.

use lanemark_core::result::{RunResult, Sample, SweepPoint};
use lanemark_core::sim::Progress;

/// The test and repeat of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// The number of the run among those that go on together: a study's system, a what-if's side; 0 where there is one.
    pub run: usize,
    /// The number of the test in its workload.
    pub test: usize,
    /// The number of the repeat.
    pub repeat: u32,
}

/// Something that happened. Those of one repeat come in their order: begun, then how far it is, then its sample. Those
/// of others come between, since repeats run side by side.
#[non_exhaustive]
pub enum Event<'e> {
    /// A repeat begins.
    Begun(At),
    /// A repeat goes on; told when it begins and then ten times a second.
    Advanced(At, Progress),
    /// A repeat has ended.
    Sampled(At, &'e Sample),
    /// The last repeat of a test has ended.
    TestEnded {
        /// The test, with the repeat that was the last.
        at: At,
        /// Makes the result so far of the run that the test belongs to, of the tests that have ended.
        so_far: &'e dyn Fn() -> RunResult,
    },
    /// A run of a test with one thing changed has ended.
    Asked {
        /// Number of such runs that have ended.
        ended: usize,
        /// Number of such runs in all.
        total: usize,
    },
    /// A short test with values drawn from their ranges has ended, of those that give predictions their intervals; told
    /// first when they begin.
    Drawn {
        /// Number of such tests that have ended.
        ended: usize,
        /// Number of such tests in all.
        total: usize,
    },
    /// A point of a sweep has ended, and is in its file.
    Point {
        /// Point that ended.
        point: &'e SweepPoint,
        /// Number of points that have ended, with those that were in the file before.
        ended: u64,
        /// Number of points that are asked for.
        total: u64,
    },
}

/// Whoever looks on. It is called in the thread that asked for the run.
pub type Watch<'w> = dyn FnMut(Event<'_>) + 'w;

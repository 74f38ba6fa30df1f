//! Events of runs, as values for an observer.

use lanemark_schema::result::{RunResult, Sample, SweepPoint};
use lanemark_sim::Progress;

/// The test and repeat of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TestPosition {
    /// The number of the run among simultaneous runs: a system of a study, a side of a what-if; 0 for a single run.
    pub run: usize,
    /// The number of the test in its workload.
    pub test: usize,
    /// The number of the repeat.
    pub repeat: u32,
}

/// An event of a run. The events of one repeat arrive in order: begun, advanced, sampled. Events of other repeats
/// arrive in between, because repeats run in parallel.
#[non_exhaustive]
pub enum Event<'e> {
    /// A repeat begins.
    Begun(TestPosition),
    /// The progress of a repeat, reported when it begins and then ten times a second.
    Advanced(TestPosition, Progress),
    /// A repeat has ended.
    Sampled(TestPosition, &'e Sample),
    /// The last repeat of a test has ended.
    TestEnded {
        /// The test, with the repeat that ended last.
        at: TestPosition,
        /// Returns the partial result of the test's run, with the tests that have ended.
        so_far: &'e dyn Fn() -> RunResult,
    },
    /// A run with one change, made for the sensitivity of a test, has ended.
    SensitivityRun {
        /// The number of such runs that have ended.
        ended: usize,
        /// The number of all such runs.
        total: usize,
    },
    /// A short test with drawn values, which an interval of a prediction needs, has ended. The event is
    /// also sent once before the first of them.
    Drawn {
        /// The number of such tests that have ended.
        ended: usize,
        /// The number of all such tests.
        total: usize,
    },
    /// A point of a sweep has ended, and its row is in the file.
    Point {
        /// The point that ended.
        point: &'e SweepPoint,
        /// The number of points that have ended, including the points that were already in the file.
        ended: u64,
        /// The number of requested points.
        total: u64,
    },
}

/// An observer of events. The observer is called in the thread that started the run.
pub type Watch<'w> = dyn FnMut(Event<'_>) + 'w;

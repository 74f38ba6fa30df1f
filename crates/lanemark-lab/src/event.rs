//! Events of runs, as values that an observer receives.

use lanemark_schema::result::{RunResult, Sample, SweepPoint};
use lanemark_sim::Progress;

/// The test and the repeat to which an event belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TestPosition {
    /// The number of the run among simultaneous runs, such as the systems of a study or the sides of a what-if; 0 for a
    /// single run.
    pub run: usize,
    /// The number of the test in its workload.
    pub test: usize,
    /// The number of the repeat.
    pub repeat: u32,
}

/// An event of a run. The events of one repeat arrive in order: begun, advanced, sampled. Repeats run in parallel, so
/// the events of different repeats are interleaved.
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
        /// The test, and the repeat that ended last.
        at: TestPosition,
        /// Returns the partial result of the test's run, with the tests that have ended by now.
        so_far: &'e dyn Fn() -> RunResult,
    },
    /// A run with one change, which the sensitivity of a test requires, has ended.
    SensitivityRun {
        /// The number of these runs that have ended.
        ended: usize,
        /// The total number of these runs.
        total: usize,
    },
    /// A short test with drawn values, which the interval of a prediction requires, has ended. The event is also sent
    /// once before the first of these tests.
    Drawn {
        /// The number of these tests that have ended.
        ended: usize,
        /// The total number of these tests.
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
pub type EventObserver<'w> = dyn FnMut(Event<'_>) + 'w;

//! Parallel tests on one simulated system, such as a copy within one drive, or a log and data on the same drive.
//!
//! The tests begin together, each after its own delay. Each test ends after its own volume or duration and is counted
//! separately. While a test counts, the work of drives and hops includes the work of all tests, as in a measurement on
//! a real machine. The load from which a hop's ceiling is computed includes all tests, too. Energy is not reported,
//! because it cannot be divided among the tests.
//!
//! Not modelled: tests with rounds and transactions in parallel with other tests.

use super::lane::{LanePosition, LaneTag, TestLane};
use super::{RunLength, WATCH_EVENTS, check_area, run_length_watched};
use crate::fault::RequestStatus;
use crate::run::progress::Progress;
use crate::simulator::{Completion, SimError};
use crate::spec::{CheckedSystem, PriorContent};
use crate::storage::Storage;
use lanemark_schema::result::Sample;
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::Instant;
use lanemark_schema::workload::{CheckedTest, SyntheticRequests};

/// Runs one repeat of `tests` in parallel, each with the random streams of its key, and returns their samples in the
/// same order. A single test runs like [`run_length_watched`]; parallel tests are simulated completely. The test with
/// the highest end address determines the content of the drives, and the first key determines random events in the
/// drives.
///
/// # Errors
/// Returns the errors of [`run_length_watched`], and [`SimError::NotSimulated`] if a test cannot run in parallel with
/// others.
pub fn run_beside_watched(
    spec: &CheckedSystem,
    tests: &[(CheckedTest, StreamKey)],
    length: RunLength,
    watch: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Vec<Sample>, SimError> {
    let [(first, key), others @ ..] = tests else { return Ok(Vec::new()) };
    if others.is_empty() {
        return Ok(vec![run_length_watched(spec, first, *key, length, watch)?]);
    }
    for (test, _) in tests {
        check_area(spec, test)?;
    }
    let mut run = ConcurrentTests::new(spec, tests)?;
    for lane in run.lanes.iter_mut().flatten() {
        lane.fill_queues(&mut run.storage)?;
    }
    let mut watched = 0;
    while run.lanes.iter().any(Option::is_some) {
        let Some(mut completion) = run.storage.advance() else { break };
        let events = run.storage.simulator().events();
        if events >= watched {
            watched = events + WATCH_EVENTS;
            run.storage.check_memory()?;
            if !watch(&run.progress(completion.completed)) {
                return Err(SimError::Cancelled);
            }
        }
        run.end_those_past(&completion);
        let number = LaneTag::decode(completion.tag).lane as usize;
        let Some(lane) = &mut run.lanes[number] else { continue };
        completion.check_end()?;
        lane.count(&mut completion, run.storage.simulator(), run.moved);
        if completion.status == RequestStatus::Good && completion.access.operation.moves_data() {
            run.moved += completion.access.length.get();
        }
        lane.submit_next(&mut run.storage, &completion)?;
        if lane.is_done_after_one() {
            run.end(number, None);
        }
    }
    for number in 0..tests.len() {
        run.end(number, None);
    }
    Ok(run.samples.into_iter().flatten().collect())
}

/// Tests that run in parallel.
struct ConcurrentTests<'t> {
    spec: &'t CheckedSystem,
    tests: &'t [(CheckedTest, StreamKey)],
    storage: Storage,
    /// The tests that have not ended.
    lanes: Vec<Option<TestLane>>,
    /// The samples of the tests that have ended.
    samples: Vec<Option<Sample>>,
    /// Number of bytes that all tests have moved.
    moved: u64,
}

impl<'t> ConcurrentTests<'t> {
    fn new(
        spec: &'t CheckedSystem,
        tests: &'t [(CheckedTest, StreamKey)],
    ) -> Result<Self, SimError> {
        let mut threads_before = 0;
        let lanes = tests.iter().enumerate().map(|(number, (test, key))| {
            let requests = requests(test)?;
            let place =
                LanePosition { number: number as u32, threads_before, from: test.start.delay };
            threads_before += test.threads * spec.targets().len() as u32;
            Ok(Some(TestLane::new(spec, test, requests, *key, place)))
        });
        let content = PriorContent::of_all(tests.iter().map(|(test, _)| &**test));
        Ok(Self {
            spec,
            lanes: lanes.collect::<Result<_, SimError>>()?,
            storage: Storage::new(spec, content, tests[0].1),
            samples: vec![None; tests.len()],
            moved: 0,
            tests,
        })
    }

    /// Returns the progress of the test that will end last.
    fn progress(&self, now: Instant) -> Progress {
        let mut total = Progress { requests: 0, now, share: None };
        for (lane, (test, _)) in self.lanes.iter().zip(self.tests) {
            let Some(lane) = lane else { continue };
            let lane_progress = lane.progress(now, test);
            total.requests += lane_progress.requests;
            total.share = total.share.into_iter().chain(lane_progress.share).reduce(f64::min);
        }
        total
    }

    /// Ends the tests whose duration ends before `completion`.
    fn end_those_past(&mut self, completion: &Completion) {
        for number in 0..self.lanes.len() {
            let lane = self.lanes[number].as_ref();
            if lane.is_some_and(|lane| lane.is_past(completion.completed)) {
                self.end(number, Some(completion));
            }
        }
    }

    /// Ends a test, if it has not ended. `past` is a completion after its end. The test's requests in flight continue
    /// and are not counted.
    fn end(&mut self, number: usize, past: Option<&Completion>) {
        let Some(lane) = self.lanes[number].take() else { return };
        let test = &self.tests[number].0;
        let moved = Some(self.moved);
        self.samples[number] = Some(lane.end(self.spec, test, &self.storage, past, moved, None));
    }
}

/// Returns the requests of a test, if the test can run in parallel with others.
fn requests(test: &CheckedTest) -> Result<&SyntheticRequests, SimError> {
    if test.rounds.is_some() {
        return Err(SimError::NotSimulated {
            what: "rounds until steady state in parallel with another test",
        });
    }
    let what = "a test without its own requests in parallel with another test";
    test.requests().ok_or(SimError::NotSimulated { what })
}

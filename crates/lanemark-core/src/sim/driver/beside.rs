//! Tests beside each other on one simulated system: a drive copied onto itself, a log beside data.
//!
//! The tests begin together, each after its delay, and each ends by its own volume or duration and is counted apart. The
//! work of drives and hops while a test counted is that of all tests, as where a machine is measured, and so is the load
//! that a hop's ceiling follows from. Energy is not told: it cannot be parted.
//!
//! Not modelled: rounds until a figure is steady, and transactions, beside other tests.

use super::super::Progress;
use super::super::fault::Status;
use super::super::simulator::SimError;
use super::super::spec::{CheckedSystem, Content};
use super::super::storage::Storage;
use super::lane::{Lane, Place};
use super::{WATCH_EVENTS, run_test_watched};
use crate::result::Sample;
use crate::rng::StreamKey;
use crate::units::Instant;
use crate::workload::{CheckedTest, Requests};

/// Runs one repeat of `tests` beside each other, each with the random streams of its key, and gives their samples in
/// the same order; one test alone runs as [`run_test_watched`] does. The content of the drives is what reaches furthest,
/// and what happens by chance inside them follows from the first key.
///
/// # Errors
/// As [`run_test_watched`], and [`SimError::NotSimulated`] where a test cannot have others beside it.
pub fn run_beside_watched(
    spec: &CheckedSystem,
    tests: &[(CheckedTest, StreamKey)],
    watch: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Vec<Sample>, SimError> {
    let [(first, key), others @ ..] = tests else { return Ok(Vec::new()) };
    if others.is_empty() {
        return Ok(vec![run_test_watched(spec, first, *key, watch)?]);
    }
    let mut run = Beside::new(spec, tests)?;
    for lane in run.lanes.iter_mut().flatten() {
        lane.fill_queues(&mut run.storage)?;
    }
    let mut watched = 0;
    while run.lanes.iter().any(Option::is_some) {
        let Some(mut completion) = run.storage.advance() else { break };
        let events = run.storage.simulator().events();
        if events >= watched {
            watched = events + WATCH_EVENTS;
            if !watch(&run.progress(completion.completed)) {
                return Err(SimError::Cancelled);
            }
        }
        run.end_those_past(completion.completed);
        let number = (completion.tag >> 32) as usize;
        let Some(lane) = &mut run.lanes[number] else { continue };
        completion.check_end()?;
        lane.count(&mut completion, run.storage.simulator(), run.moved);
        if completion.status == Status::Good && completion.access.operation.moves_data() {
            run.moved += completion.access.length.get();
        }
        lane.submit_next(&mut run.storage, &completion)?;
        if lane.is_done_after_one() {
            run.end(number);
        }
    }
    for number in 0..tests.len() {
        run.end(number);
    }
    Ok(run.samples.into_iter().flatten().collect())
}

/// Tests under way beside each other.
struct Beside<'t> {
    spec: &'t CheckedSystem,
    tests: &'t [(CheckedTest, StreamKey)],
    storage: Storage,
    /// The tests that are not over.
    lanes: Vec<Option<Lane>>,
    /// The samples of those that are.
    samples: Vec<Option<Sample>>,
    /// Bytes that all have moved.
    moved: u64,
}

impl<'t> Beside<'t> {
    fn new(
        spec: &'t CheckedSystem,
        tests: &'t [(CheckedTest, StreamKey)],
    ) -> Result<Self, SimError> {
        let mut threads_before = 0;
        let lanes = tests.iter().enumerate().map(|(number, (test, key))| {
            let requests = requests(test)?;
            let place = Place { number: number as u32, threads_before, from: test.start.delay };
            threads_before += test.threads * spec.targets().len() as u32;
            Ok(Some(Lane::new(spec, test, requests, *key, place)))
        });
        let content = Content::of_all(tests.iter().map(|(test, _)| &**test));
        Ok(Self {
            spec,
            lanes: lanes.collect::<Result<_, SimError>>()?,
            storage: Storage::new(spec, content, tests[0].1),
            samples: vec![None; tests.len()],
            moved: 0,
            tests,
        })
    }

    /// The progress of the one that has furthest to go.
    fn progress(&self, now: Instant) -> Progress {
        let mut all = Progress { requests: 0, now, share: None };
        for (lane, (test, _)) in self.lanes.iter().zip(self.tests) {
            let Some(lane) = lane else { continue };
            let own = lane.progress(now, test);
            all.requests += own.requests;
            all.share = all.share.into_iter().chain(own.share).reduce(f64::min);
        }
        all
    }

    /// Ends the tests whose time is over before `at`.
    fn end_those_past(&mut self, at: Instant) {
        for number in 0..self.lanes.len() {
            if self.lanes[number].as_ref().is_some_and(|lane| lane.is_past(at)) {
                self.end(number);
            }
        }
    }

    /// Ends a test, where it has not ended. What it has outstanding goes on and is counted nowhere.
    fn end(&mut self, number: usize) {
        let Some(lane) = self.lanes[number].take() else { return };
        let simulator = self.storage.simulator();
        let (test, moved) = (&self.tests[number].0, Some(self.moved));
        self.samples[number] = Some(lane.end(self.spec, test, simulator, moved, None));
    }
}

/// The requests of a test that others may be beside.
fn requests(test: &CheckedTest) -> Result<&Requests, SimError> {
    if test.rounds.is_some() {
        return Err(SimError::NotSimulated { what: "rounds until steady beside another test" });
    }
    let what = "a test that asks for no requests by itself beside another one";
    test.requests().ok_or(SimError::NotSimulated { what })
}

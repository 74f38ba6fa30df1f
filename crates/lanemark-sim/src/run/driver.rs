//! A test in a closed or an open loop on a simulated system.
//!
//! In a closed loop each thread keeps its queue depth outstanding; in an open loop its requests have predetermined
//! times (`open`); the users of a database request transactions, which consist of several requests (`transactions`). A
//! lane (`lane`) submits and counts the requests of one test; parallel tests have one lane each (`concurrent`).
//! Counting begins after the ramp and ends with the volume or the duration, whichever is reached first. Requests in
//! flight at the end of the duration are not counted, because their latencies are unknown; the sample contains their
//! number and ages ([`RequestsInFlight`](lanemark_schema::result::RequestsInFlight)). A test with rounds continues
//! without a gap from one round to the next, ends when its figures are steady, and reports the last five rounds.

mod concurrent;
mod convergence;
mod lane;
mod open;
mod similar;
mod tally;
mod transactions;
mod unflushed;

use crate::run::memory::memory_needed;
use crate::run::progress::Progress;
use crate::simulator::SimError;
use crate::spec::{CheckedSystem, PriorContent};
use crate::storage::Storage;
pub use concurrent::run_beside_watched;
pub use convergence::may_converge;
use convergence::{EarlyEnd, RequiredFigures};
use lane::{LanePosition, TestLane};
use lanemark_schema::result::{ConvergedTest, Sample};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::{CheckedTest, LoadKind, SyntheticRequests, Test};
use similar::ScaledTest;
pub use similar::is_shortened;

/// Interval at which [`run_test_watched`] reports its progress, in simulator events; this many events take a few
/// milliseconds.
const WATCH_EVENTS: u64 = 4096;

/// Runs one repeat of `test` on the volume of `spec`, or on all drives in parallel. `key` determines the random
/// streams; its thread is ignored. When the test begins, each fresh drive contains data in the test's span; the rest of
/// the drive is erased.
///
/// # Errors
/// Returns a [`SimError`] if the test does not fit the drive.
pub fn run_test(
    spec: &CheckedSystem,
    test: &CheckedTest,
    key: StreamKey,
) -> Result<Sample, SimError> {
    run_test_watched(spec, test, key, &mut |_| true)
}

/// The simulated part of a test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunLength {
    /// The whole test.
    Whole,
    /// The test until its figures have converged, or a shorter test on a smaller drive if [`is_shortened`] returns
    /// true, or otherwise the whole test.
    #[default]
    Converged,
    /// The part of the test that [`Self::Converged`] simulates, or a shorter part whose percentiles of latency may not
    /// have converged.
    ConvergedRate,
}

impl RunLength {
    /// Returns [`Self::Whole`] if `full`, and otherwise [`Self::Converged`].
    pub fn from_full(full: bool) -> Self {
        if full { Self::Whole } else { Self::Converged }
    }

    /// Returns the same length for a run whose percentiles of latency are not used.
    pub fn without_percentiles(self) -> Self {
        match self {
            Self::Whole => Self::Whole,
            Self::Converged | Self::ConvergedRate => Self::ConvergedRate,
        }
    }

    /// Returns the figures that must have converged before a run may end early, or `None` for a whole test.
    fn required_figures(self) -> Option<RequiredFigures> {
        match self {
            Self::Whole => None,
            Self::Converged => Some(RequiredFigures::RateAndPercentiles),
            Self::ConvergedRate => Some(RequiredFigures::Rate),
        }
    }
}

/// Runs one repeat of `test` like [`run_test`], and reports its progress to `watch` every few thousand events. `watch`
/// can end the run by returning false.
///
/// # Errors
/// Returns the errors of [`run_test`], and [`SimError::Cancelled`] if `watch` ended the run.
pub fn run_test_watched(
    spec: &CheckedSystem,
    test: &CheckedTest,
    key: StreamKey,
    watch: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Sample, SimError> {
    run_length_watched(spec, test, key, RunLength::Whole, watch)
}

/// Runs the part `length` of one repeat of `test` like [`run_test_watched`].
///
/// # Errors
/// Returns the errors of [`run_test_watched`].
pub fn run_length_watched(
    spec: &CheckedSystem,
    test: &CheckedTest,
    key: StreamKey,
    length: RunLength,
    watch: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Sample, SimError> {
    check_area(spec, test)?;
    let spec = &*spec.for_threads(test.threads);
    let requests = match &test.asks {
        LoadKind::Requests(requests) => requests,
        LoadKind::Transactions(load) => {
            return transactions::run(spec, test, load, key, length, watch);
        }
        // `Test::check` rejects all other loads.
        LoadKind::Database(_) => return Err(SimError::NotSimulated { what: "a real database" }),
        LoadKind::PartlyStated(_) => {
            return Err(SimError::NotSimulated { what: "a test with missing values" });
        }
        LoadKind::Trace(_) => {
            return Err(SimError::NotSimulated { what: "a trace without its file" });
        }
    };
    let Some(figures) = length.required_figures() else {
        return run_requests(spec, test, requests, key, EarlyEnd::Whole, watch);
    };
    let Some(similar) = ScaledTest::shorten(spec, test) else {
        return match run_in_ramp(spec, test, requests, key, figures, watch)? {
            Some(sample) => Ok(sample),
            None => run_requests(spec, test, requests, key, EarlyEnd::Converged(figures), watch),
        };
    };
    let end = similar.end(figures);
    let requests = similar.test.requests().unwrap_or(requests);
    let sample = run_requests(&similar.spec, &similar.test, requests, key, end, watch)?;
    Ok(similar.enlarged(sample, test))
}

/// Returns an error if the last block of the test's area is outside a drive or the volume. The run would find this
/// error only when a request reached that block.
fn check_area(spec: &CheckedSystem, test: &CheckedTest) -> Result<(), SimError> {
    let Some(capacity) = spec.capacities().into_iter().min() else { return Ok(()) };
    let end = test.offset.get().saturating_add(test.span.get());
    if end <= capacity.get() {
        return Ok(());
    }
    let length = test.block;
    let offset = Bytes(end.saturating_sub(length.get()));
    Err(match spec.volume {
        Some(_) => SimError::OutOfVolume { offset, length, capacity },
        None => SimError::OutOfRange { offset, length, capacity },
    })
}

/// Runs a test with a ramp from the start of its ramp, and counts only the part that is steady. The purpose of a ramp
/// is to let the load become steady, so the rest of the ramp is not needed if the load is steady earlier. Returns
/// `None` if the figures do not converge in the first half of the ramp.
fn run_in_ramp(
    spec: &CheckedSystem,
    test: &CheckedTest,
    requests: &SyntheticRequests,
    key: StreamKey,
    figures: RequiredFigures,
    watch: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Option<Sample>, SimError> {
    let Some(duration) = test.duration else { return Ok(None) };
    if test.ramp == Duration::ZERO || test.volume.is_some() {
        return Ok(None);
    }
    let all =
        Test { ramp: Duration::ZERO, duration: Some(test.ramp + duration), ..Test::clone(test) };
    let Ok(all) = all.checked() else { return Ok(None) };
    if !may_converge(spec, &all) {
        return Ok(None);
    }
    let until = Instant::ZERO + test.ramp.times(0.5).min(duration.times(0.5));
    let end = EarlyEnd::ConvergedBefore(figures, until);
    let run = run_until(spec, &all, requests, key, end, watch)?;
    Ok(run.map(|sample| Sample {
        converged: sample.converged.map(|converged| ConvergedTest {
            requests: converged.simulated.max((sample.iops() * duration.as_seconds()) as u64),
            elapsed: duration,
            steady_from: Duration::ZERO,
            ..converged
        }),
        phases: Vec::new(),
        ..sample
    }))
}

/// Runs the requests of `test` until `end`.
fn run_requests(
    spec: &CheckedSystem,
    test: &CheckedTest,
    requests: &SyntheticRequests,
    key: StreamKey,
    end: EarlyEnd,
    watch: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Sample, SimError> {
    Ok(run_until(spec, test, requests, key, end, watch)?.unwrap_or_else(Sample::empty))
}

/// Runs the requests of `test` until `end`. Returns `None` if the figures had to converge before an instant and did
/// not.
fn run_until(
    spec: &CheckedSystem,
    test: &CheckedTest,
    requests: &SyntheticRequests,
    key: StreamKey,
    end: EarlyEnd,
    watch: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Option<Sample>, SimError> {
    let mut lane = TestLane::new(spec, test, requests, key, LanePosition::default());
    let mut storage = Storage::new(spec, PriorContent::for_test(test), key);
    let mut metering = lane.metering(spec, test);
    let mut convergence = lane.convergence(spec, test, end);
    if convergence.is_none() {
        storage.check_needed(memory_needed(spec, test))?;
    }
    lane.fill_queues(&mut storage)?;
    let mut watched = 0;
    let mut past = None;
    while let Some(mut completion) = metering.advance(&mut storage) {
        let events = storage.simulator().events();
        if events >= watched {
            watched = events + WATCH_EVENTS;
            storage.check_memory()?;
            if !watch(&lane.progress(completion.completed, test)) {
                return Err(SimError::Cancelled);
            }
        }
        if lane.is_over(completion.completed, storage.simulator(), &mut metering) {
            past = Some(completion);
            break;
        }
        if end.gives_up(completion.completed) {
            return Ok(None);
        }
        completion.check_end()?;
        lane.count(&mut completion, storage.simulator(), 0);
        if let Some(rule) = &mut convergence
            && let Some(steady) = lane.converges(rule, &completion, storage.simulator(), &metering)
        {
            let energy = test.rounds.and_then(|_| {
                metering.end(storage.simulator(), completion.completed);
                metering.energy(spec)
            });
            return Ok(Some(lane.end_converged(spec, &storage, steady, energy)));
        }
        lane.submit_next(&mut storage, &completion)?;
        if storage.simulator().outstanding() == 0 {
            metering.end(storage.simulator(), completion.completed);
            // Data that a cache has not written yet, and work in the background, are not part of the test.
            if lane.asks_no_more() {
                break;
            }
        }
    }
    if let Some(rule) = convergence {
        lane.is_whole(rule, storage.simulator());
    }
    let energy = metering.energy(spec);
    Ok(Some(lane.end(spec, test, &storage, past.as_ref(), None, energy)))
}

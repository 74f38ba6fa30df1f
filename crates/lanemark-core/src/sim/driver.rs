//! A test in closed or open loop on a simulated system.
//!
//! In a closed loop each thread keeps its queue depth outstanding; in an open one its requests have times of their own
//! (`open`); a database's users ask for transactions, which need several (`transactions`). What one test submits and counts
//! is its lane (`lane`); tests beside each other have one each (`beside`). Counting begins after the ramp and ends with the
//! volume or the duration, whichever comes first; requests that are under way at the end of the
//! duration are not counted, as in a real run. A test of rounds goes on without a gap from one to the next, ends
//! when their figures are steady, and reports the last five.

mod beside;
mod lane;
mod open;
mod tally;
mod transactions;

use super::Progress;
use super::budget::{BudgetSum, HOPS};
use super::hops;
use super::simulator::{SimError, Simulator};
use super::spec::{CheckedSystem, Content, SystemSpec};
use super::storage::Storage;
use crate::result::{HopUse, PathUse, Sample};
use crate::rng::StreamKey;
use crate::units::{Bytes, BytesPerSecond, Duration, Instant};
use crate::workload::{Asks, CheckedTest};
pub use beside::run_beside_watched;
use lane::{Lane, Place};

/// Interval at which [`run_test_watched`] tells how far it is, in events of the simulator: every few milliseconds.
const WATCH_EVENTS: u64 = 4096;

/// Runs one repeat of `test` in the volume of `spec`, or in each namespace of each drive at once, with the random
/// streams of `key` (whose thread is ignored). The span of the test lies written in each namespace of a fresh drive
/// when it begins, with whatever is before the last one's; the rest of the drive is erased.
///
/// # Errors
/// [`SimError`] where the test does not fit the drive.
pub fn run_test(
    spec: &CheckedSystem,
    test: &CheckedTest,
    key: StreamKey,
) -> Result<Sample, SimError> {
    run_test_watched(spec, test, key, &mut |_| true)
}

/// Runs one repeat of `test` as [`run_test`] does, and tells `watch` every few thousand events how far it is. `watch`
/// ends the run by returning false.
///
/// # Errors
/// As [`run_test`], and [`SimError::Cancelled`] where `watch` ended it.
pub fn run_test_watched(
    spec: &CheckedSystem,
    test: &CheckedTest,
    key: StreamKey,
    watch: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Sample, SimError> {
    let requests = match &test.asks {
        Asks::Requests(requests) => requests,
        Asks::Transactions(load) => return transactions::run(spec, test, load, key, watch),
        // A checked test is neither.
        Asks::Database(_) => return Err(SimError::NotSimulated { what: "a real database" }),
        Asks::Trace(_) => return Err(SimError::NotSimulated { what: "a trace without its file" }),
    };
    let mut lane = Lane::new(spec, test, requests, key, Place::default());
    let mut storage = Storage::new(spec, Content::of(test), key);
    let mut metering = lane.metering(spec, test);
    lane.fill_queues(&mut storage)?;
    let mut watched = 0;
    while let Some(mut completion) = metering.advance(&mut storage) {
        let events = storage.simulator().events();
        if events >= watched {
            watched = events + WATCH_EVENTS;
            if !watch(&lane.progress(completion.completed, test)) {
                return Err(SimError::Cancelled);
            }
        }
        if lane.is_over(completion.completed, storage.simulator(), &mut metering) {
            break;
        }
        completion.check_end()?;
        lane.count(&mut completion, storage.simulator(), 0);
        lane.submit_next(&mut storage, &completion)?;
        if storage.simulator().outstanding() == 0 {
            metering.end(storage.simulator(), completion.completed);
            // What the cache of an adapter has yet to write is no part of the test.
            if lane.asks_no_more() && storage.simulator().adapter_cached() > Bytes::ZERO {
                break;
            }
        }
    }
    let energy = metering.energy(spec);
    Ok(lane.end(spec, test, storage.simulator(), None, energy))
}

/// Returns the share of `all` that is over at `now`.
fn share_of_time(now: Instant, all: Duration) -> f64 {
    let passed = now.since(Instant::ZERO).picoseconds() as f64;
    (passed / all.picoseconds().max(1) as f64).min(1.0)
}

/// Returns the use of each hop in `elapsed`, in which `requests` moved so many bytes and spent `budget`. `before` holds
/// the busy times of the hops at its beginning.
pub(super) fn path_use(
    spec: &SystemSpec,
    simulator: &Simulator,
    before: &[Vec<Duration>; HOPS],
    budget: &BudgetSum,
    (requests, bytes, elapsed): (u64, Bytes, Duration),
) -> PathUse {
    let throughput = bytes / elapsed;
    let busy = simulator.busy();
    let per_request = |total_ns: f64| total_ns / requests.max(1) as f64;
    let hops: Vec<HopUse> = hops::order(spec)
        .into_iter()
        .map(|id| {
            let hop = hops::place(id);
            let utilisation = utilisation(&busy[hop], &before[hop], elapsed);
            HopUse {
                id,
                name: hops::name(spec, id),
                utilisation,
                ceiling: ceiling(throughput, utilisation),
                wait_ns: per_request(budget.wait_ns(hop)),
                service_ns: per_request(budget.service_ns(hop)),
            }
        })
        .filter(|hop| hop.utilisation > 0.0 || hop.wait_ns > 0.0 || hop.service_ns > 0.0)
        .collect();
    PathUse::new(hops, simulator.events())
}

/// The mean busy share over those parts of a hop that did anything.
fn utilisation(busy: &[Duration], before: &[Duration], elapsed: Duration) -> f64 {
    let shares: Vec<f64> = busy
        .iter()
        .enumerate()
        .map(|(part, total)| {
            let earlier = before.get(part).copied().unwrap_or_default();
            total.saturating_sub(earlier).as_seconds()
        })
        .filter(|&seconds| seconds > 0.0)
        .collect();
    if shares.is_empty() || elapsed == Duration::ZERO {
        return 0.0;
    }
    // A service that was booked but not over at the end may push the share past one.
    (shares.iter().sum::<f64>() / shares.len() as f64 / elapsed.as_seconds()).min(1.0)
}

/// The utilisation law, X = U / D: what the hop would carry if it alone were busy all the time.
fn ceiling(throughput: BytesPerSecond, utilisation: f64) -> Option<BytesPerSecond> {
    (utilisation > 0.0).then(|| BytesPerSecond((throughput.0 as f64 / utilisation) as u64))
}

//! The use of each hop in a run, and the progress of a run over time.

use super::hops;
use crate::engine::budget::{BudgetSum, HOPS};
use crate::simulator::Simulator;
use crate::spec::SystemSpec;
use lanemark_schema::result::{HopId, HopUse, PathUse};
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, Instant};

/// Returns the share of the time `all` that has passed at `now`.
pub(crate) fn share_of_time(now: Instant, all: Duration) -> f64 {
    let passed = now.since(Instant::ZERO).picoseconds() as f64;
    (passed / all.picoseconds().max(1) as f64).min(1.0)
}

/// The busy time of each part of each hop.
pub(crate) type HopBusyTimes = [Vec<Duration>; HOPS];

pub(crate) fn busy_since(simulator: &Simulator, before: &HopBusyTimes) -> HopBusyTimes {
    let mut busy = simulator.busy();
    for (parts, before) in busy.iter_mut().zip(before) {
        for (part, earlier) in parts.iter_mut().zip(before) {
            *part = part.saturating_sub(*earlier);
        }
    }
    busy
}

/// Returns the use of each hop over `elapsed`. In this time, `requests` requests moved `bytes` and spent `budget`, and
/// the parts of the hops were busy for `busy`.
pub(crate) fn path_use(
    spec: &SystemSpec,
    simulator: &Simulator,
    busy: &HopBusyTimes,
    budget: &BudgetSum,
    requests: u64,
    bytes: Bytes,
    elapsed: Duration,
) -> PathUse {
    let throughput = bytes / elapsed;
    let per_request = |total_ns: f64| total_ns / requests.max(1) as f64;
    let hops: Vec<HopUse> = hops::order(spec)
        .into_iter()
        .map(|id| {
            let hop = hops::place(id);
            let utilisation = if id == HopId::Cpu {
                // The busier of the cores and of the I/O threads is the limit.
                let (cores, threads) = busy[hop].split_at(spec.cpu.cores as usize);
                utilisation(cores, elapsed).max(utilisation(threads, elapsed))
            } else {
                utilisation(&busy[hop], elapsed)
            };
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

/// Returns the mean utilisation of the parts of a hop that were used.
fn utilisation(busy: &[Duration], elapsed: Duration) -> f64 {
    let shares: Vec<f64> =
        busy.iter().map(|time| time.as_seconds()).filter(|&seconds| seconds > 0.0).collect();
    if shares.is_empty() || elapsed == Duration::ZERO {
        return 0.0;
    }
    // A service that was booked but had not ended at the end may raise the share above 1.
    (shares.iter().sum::<f64>() / shares.len() as f64 / elapsed.as_seconds()).min(1.0)
}

/// Returns the ceiling of a hop by the utilisation law, X = U / D: the throughput at a utilisation of 1.
fn ceiling(throughput: BytesPerSecond, utilisation: f64) -> Option<BytesPerSecond> {
    (utilisation > 0.0).then(|| BytesPerSecond((throughput.0 as f64 / utilisation) as u64))
}

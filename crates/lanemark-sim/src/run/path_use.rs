//! The use of each hop in a run, and the progress of a run over time.

use super::hops;
use crate::engine::budget::{BudgetSum, HOPS};
use crate::simulator::Simulator;
use crate::spec::SystemSpec;
use lanemark_schema::result::{HopUse, PathUse};
use lanemark_schema::units::{Bytes, BytesPerSecond, Duration, Instant};

/// Returns the share of `all` that is over at `now`.
pub(crate) fn share_of_time(now: Instant, all: Duration) -> f64 {
    let passed = now.since(Instant::ZERO).picoseconds() as f64;
    (passed / all.picoseconds().max(1) as f64).min(1.0)
}

/// Returns the use of each hop in `elapsed`, in which `requests` moved `bytes` and spent `budget`. `before` contains
/// the busy times of the hops at its beginning.
pub(crate) fn path_use(
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

/// Returns the mean busy share over the parts of a hop that were used.
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

/// Utilisation law, X = U / D: the throughput of the hop if only it were busy all the time.
fn ceiling(throughput: BytesPerSecond, utilisation: f64) -> Option<BytesPerSecond> {
    (utilisation > 0.0).then(|| BytesPerSecond((throughput.0 as f64 / utilisation) as u64))
}

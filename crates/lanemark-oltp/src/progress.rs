//! The progress of a run: the users' transactions so far.
//!
//! Each user writes its own counters, on its own cache lines, without waiting. A reader adds up the counters of all
//! users.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::device::DeviceWork;
use crate::profile::TransactionKind;

/// Counters of one user's transactions since the run began, including the ramp. They occupy two cache lines, because
/// processors fetch cache lines in pairs.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct TransactionCounters {
    transactions: AtomicU64,
    new_orders: AtomicU64,
    latency_ns: AtomicU64,
}

impl TransactionCounters {
    /// Adds a transaction. Only one thread may write a tally.
    pub(crate) fn add(&self, kind: TransactionKind, rolled_back: bool, latency: Duration) {
        let grow = |counter: &AtomicU64, by: u64| {
            counter.store(counter.load(Ordering::Relaxed) + by, Ordering::Relaxed);
        };
        grow(&self.transactions, 1);
        grow(&self.new_orders, u64::from(kind == TransactionKind::NewOrder && !rolled_back));
        grow(&self.latency_ns, latency.as_nanos() as u64);
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct CounterSums {
    transactions: u64,
    new_orders: u64,
    latency_ns: u64,
}

impl CounterSums {
    /// Returns the current sums of `tallies`.
    pub(crate) fn from_tallies(tallies: &[TransactionCounters]) -> Self {
        tallies.iter().fold(Self::default(), |sums, tally| Self {
            transactions: sums.transactions + tally.transactions.load(Ordering::Relaxed),
            new_orders: sums.new_orders + tally.new_orders.load(Ordering::Relaxed),
            latency_ns: sums.latency_ns + tally.latency_ns.load(Ordering::Relaxed),
        })
    }
}

/// The state of a run at one instant, during counting or during the ramp.
#[derive(Clone, Debug, PartialEq)]
pub struct ProgressSnapshot {
    /// Whether transactions are counted; false during the ramp.
    pub counts: bool,
    /// Time since counting or the ramp began.
    pub elapsed: Duration,
    /// Total duration of counting or of the ramp.
    pub of: Duration,
    /// Number of transactions that ended in that time.
    pub transactions: u64,
    /// Number of new orders among these transactions.
    pub new_orders: u64,
    /// Mean response time of the transactions.
    pub latency: Option<Duration>,
    /// Work of the device that stores the data since the previous report.
    pub device: Option<DeviceWork>,
}

impl ProgressSnapshot {
    pub(crate) fn new(
        counts: bool,
        elapsed: Duration,
        of: Duration,
        before: CounterSums,
        now: CounterSums,
        device: Option<DeviceWork>,
    ) -> Self {
        let transactions = now.transactions - before.transactions;
        let latency_ns = now.latency_ns.saturating_sub(before.latency_ns);
        Self {
            counts,
            elapsed,
            of,
            transactions,
            new_orders: now.new_orders - before.new_orders,
            latency: latency_ns.checked_div(transactions).map(Duration::from_nanos),
            device,
        }
    }

    fn a_minute(&self, count: u64) -> f64 {
        count as f64 * 60.0 / self.elapsed.as_secs_f64().max(1e-9)
    }

    /// Returns the device's time per transaction, divided by the mean response time. The quotient can exceed 1 if
    /// requests overlap.
    pub fn device_share(&self) -> Option<f64> {
        let response_ms = self.latency?.as_secs_f64() * 1e3 * self.transactions as f64;
        let device_ms = self.device.as_ref()?.time_ms() as f64;
        (response_ms > 0.0).then(|| device_ms / response_ms)
    }

    /// Returns the transactions of all types a minute so far.
    pub fn tpm(&self) -> f64 {
        self.a_minute(self.transactions)
    }

    /// Returns the new orders a minute so far.
    pub fn nopm(&self) -> f64 {
        self.a_minute(self.new_orders)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_covers_the_time_since_counting_began() {
        let tallies = [TransactionCounters::default(), TransactionCounters::default()];
        let ms = Duration::from_millis;
        tallies[0].add(TransactionKind::NewOrder, false, ms(9));
        let before = CounterSums::from_tallies(&tallies);
        tallies[0].add(TransactionKind::NewOrder, true, ms(1));
        tallies[1].add(TransactionKind::NewOrder, false, ms(3));
        tallies[1].add(TransactionKind::Payment, false, ms(5));
        let until = |now| ProgressSnapshot::new(true, ms(500), ms(2_000), before, now, None);
        let moment = until(CounterSums::from_tallies(&tallies));
        assert_eq!((moment.transactions, moment.new_orders), (3, 1));
        assert_eq!((moment.tpm(), moment.nopm(), moment.latency), (360.0, 120.0, Some(ms(3))));
        assert_eq!((until(before).latency, moment.device_share()), (None, None));
        let device = DeviceWork { write_ms: 3, ..DeviceWork::default() };
        let moment = ProgressSnapshot { device: Some(device), ..moment };
        assert!((moment.device_share().unwrap() - 3.0 / 9.0).abs() < 1e-12);
    }
}

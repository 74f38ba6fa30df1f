//! The figures of a database's transactions, of a real database and of a simulated one in the same fields.
//!
//! A simulated database does not tell kinds of transactions apart and knows no driver beside the server; a real one has no
//! path of hops. What one of them cannot know is absent. The requests of a simulated database are the sample's reads and
//! writes, one by one; those of a real one are what the block layer counted (`evidence.device`), of which only sums are
//! known. [`Sample::device_rates`] and [`Sample::mean_latency_ns`] give either.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counters::Counters;
use super::waits::SessionWaits;
use super::{DeviceUse, DirectionResult, LatencyHistogram, Sample, Statistic, TestResult};
use crate::units::Duration;
use crate::workload::{Average, Operation, TransactionKind};

/// A real database that a workload ran on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatabaseTarget {
    /// The program: SQLite, PostgreSQL.
    pub product: String,
    /// The version of the program, where it tells one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The database's name as given, without a password.
    pub name: String,
    /// The folder or file with its data, where that lies on the machine of the driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The settings that decide what a commit means, and how the buffer compares to what is loaded.
    pub settings: BTreeMap<String, String>,
}

/// The transactions of a sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransactionsUse {
    /// Number of transactions that ended, with those that were rolled back as they should.
    pub count: u64,
    /// Transactions that ended in a minute.
    pub per_minute: f64,
    /// New orders that were entered in a minute, where kinds are told apart; the specification's tpmC is this under
    /// rules that are not kept here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_orders_per_minute: Option<f64>,
    /// The share of the server's processors that was busy, from 0 to 1.
    pub processor_busy: Option<f64>,
    /// The share of the processors that neither driver nor server had, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor_others: Option<f64>,
    /// Processor time of the database, by kind of process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor_time: Option<ServerTime>,
    /// The share of visits to pages that the buffer answered, where it follows from them.
    pub buffer_hit_ratio: Option<f64>,
    /// Reads of the device for each transaction. Of a real database they may be of several pages.
    pub page_reads: Option<f64>,
    /// Writes of the device for each transaction that are not the log's.
    pub page_writes: Option<f64>,
    /// Writes of the log for each transaction.
    pub log_writes: Option<f64>,
    /// Transactions that a write of the log committed.
    pub commits_per_log_write: Option<f64>,
    /// Bytes of the log for each transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<f64>,
    /// Flushes of the log for each transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_flushes: Option<f64>,
    /// Response time of a transaction: in the database where it is simulated, for the user where it is real.
    pub response: LatencyHistogram,
    /// Each kind of transaction, where they are told apart.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<TransactionKind, KindUse>,
    /// Waits of the sessions, where the database reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<SessionWaits>,
    /// Counters of the database, with all other load on it.
    #[serde(default, skip_serializing_if = "Counters::is_empty")]
    pub counters: Counters,
    /// Transactions a minute by the database's own count, where it keeps one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_per_minute: Option<f64>,
    /// Transactions in those counters that only observed the database; the database's own count leaves them out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub looked_on: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The figures of one kind of transaction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct KindUse {
    /// Number of transactions that ended, with those that were rolled back as the specification wants.
    pub count: u64,
    /// New orders with an invalid item.
    pub rolled_back: u64,
    /// Times that one was done again because another was in the way.
    pub retries: u64,
    /// Latency from the first statement of the first try to the end of the last.
    pub latency: LatencyHistogram,
}

impl KindUse {
    /// Adds what `other` counted.
    pub fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.rolled_back = self.rolled_back.saturating_add(other.rolled_back);
        self.retries = self.retries.saturating_add(other.retries);
        self.latency.merge(&other.latency);
    }
}

/// Processor time while counting, in seconds of one processor; what cannot be known is absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerTime {
    /// The server's processes without the one that looks on; of a database inside the driver nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_s: Option<f64>,
    /// The driver, and whatever database is inside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_s: Option<f64>,
    /// Processor time of the sessions' processes, or of the users' own threads where the database runs in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionTime>,
}

/// The time of what works for the users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionTime {
    /// Time on a processor.
    pub running_s: f64,
    /// Time ready for a processor while none was free.
    pub ready_s: f64,
}

/// Requests of the drives in a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceRates {
    /// Reads a second.
    pub reads: f64,
    /// Writes, with those of the log.
    pub writes: f64,
    /// Flushes a second.
    pub flushes: f64,
}

impl TransactionsUse {
    /// Returns a sum over the sample divided by its number of transactions.
    pub fn each(&self, sum: f64) -> Option<f64> {
        (self.count > 0).then(|| sum / self.count as f64)
    }

    /// Returns the difference of the database's count from ours, as a share of ours.
    pub fn count_differs(&self) -> Option<f64> {
        let counted = self.counted_per_minute?;
        (self.per_minute > 0.0).then(|| counted / self.per_minute - 1.0)
    }

    /// The mean response time in ms, where any transaction ended.
    pub fn response_ms(&self) -> Option<f64> {
        (self.response.count() > 0).then(|| self.response.mean_ns() / 1e6)
    }

    /// The processor time of server and driver for each transaction, in us.
    pub fn processor_us(&self) -> Option<f64> {
        let time = self.processor_time.as_ref()?;
        let known = time.server_s.is_some() || time.driver_s.is_some();
        known.then_some(())?;
        self.each(1e6 * (time.server_s.unwrap_or(0.0) + time.driver_s.unwrap_or(0.0)))
    }
}

impl Sample {
    /// Returns whether a database made the requests and only the device's own counts of them are known.
    pub fn is_counted_by_device(&self) -> bool {
        self.transactions.is_some() && self.reads.is_none() && self.writes.is_none()
    }

    /// Returns the requests to the drives in a second, where they are known.
    pub fn device_rates(&self) -> Option<DeviceRates> {
        let seconds = Some(self.elapsed.as_seconds()).filter(|&seconds| seconds > 0.0)?;
        let rates = |reads: u64, writes: u64, flushes: u64| {
            let [reads, writes, flushes] =
                [reads, writes, flushes].map(|count| count as f64 / seconds);
            DeviceRates { reads, writes, flushes }
        };
        if self.is_counted_by_device() {
            let device = self.counted_device()?;
            return Some(rates(device.reads, device.writes, device.flushes));
        }
        let count =
            |one: &Option<DirectionResult>| one.as_ref().map_or(0, |one| one.latency.count());
        Some(rates(count(&self.reads), count(&self.writes), count(&self.flushes)))
    }

    /// Returns the mean latency of reads or writes, in ns, by the requests or by the device's own count.
    pub fn mean_latency_ns(&self, operation: Operation) -> Option<f64> {
        let device = self.counted_device();
        let (direction, counted) = match operation {
            Operation::Read => (&self.reads, device.and_then(DeviceUse::mean_read_ns)),
            Operation::Write => (&self.writes, device.and_then(DeviceUse::mean_write_ns)),
            Operation::Flush | Operation::Trim => return None,
        };
        direction.as_ref().map(|one| one.latency.mean_ns()).or(counted)
    }

    /// The time of all requests of the drives over that of all transactions; above 1 where requests overlap.
    pub fn device_share(&self) -> Option<f64> {
        let response = &self.transactions.as_ref()?.response;
        let responses_ns = response.mean_ns() * response.count() as f64;
        let device_ns = match self.is_counted_by_device() {
            true => self.counted_device()?.request_time_ns(),
            false => [&self.reads, &self.writes, &self.flushes]
                .into_iter()
                .flatten()
                .map(|one| one.latency.mean_ns() * one.latency.count() as f64)
                .sum(),
        };
        (responses_ns > 0.0).then(|| device_ns / responses_ns)
    }

    /// The device's own count, where it stands for the requests.
    pub(super) fn counted_device(&self) -> Option<&DeviceUse> {
        self.evidence.as_ref()?.device.as_ref().filter(|_| self.is_counted_by_device())
    }
}

impl DeviceUse {
    /// The mean latency of a read in ns as the block layer sees it.
    pub fn mean_read_ns(&self) -> Option<f64> {
        (self.reads > 0).then(|| nanoseconds(self.read_time) / self.reads as f64)
    }

    /// The mean latency of a write in ns.
    pub fn mean_write_ns(&self) -> Option<f64> {
        (self.writes > 0).then(|| nanoseconds(self.write_time) / self.writes as f64)
    }

    /// The mean latency of reads and writes together in ns.
    pub fn mean_ns(&self) -> Option<f64> {
        let count = self.reads as f64 + self.writes as f64;
        let sum = nanoseconds(self.read_time) + nanoseconds(self.write_time);
        (count > 0.0).then(|| sum / count)
    }

    /// The time of all requests added up in ns, which is more than went by where several were outstanding.
    pub fn request_time_ns(&self) -> f64 {
        [self.read_time, self.write_time, self.flush_time].map(nanoseconds).iter().sum()
    }
}

fn nanoseconds(time: Duration) -> f64 {
    time.picoseconds() as f64 / 1e3
}

impl TestResult {
    /// A figure of the transactions over the repeats; nothing where there were none or none of them knows it.
    pub fn of_transactions(
        &self,
        figure: impl Fn(&TransactionsUse) -> Option<f64>,
    ) -> Option<Statistic> {
        self.over_samples(|sample| sample.transactions.as_ref().and_then(&figure))
    }

    /// Transactions a minute over the repeats; nothing where there were none.
    pub fn transactions_per_minute(&self) -> Option<Statistic> {
        self.of_transactions(|all| Some(all.per_minute))
    }

    /// Whether a database asked for the requests of the test.
    pub fn has_transactions(&self) -> bool {
        self.samples.iter().any(|sample| sample.transactions.is_some())
    }

    /// Returns the figures of one kind of transaction over all repeats.
    pub fn kind(&self, kind: TransactionKind) -> KindUse {
        let mut all = KindUse::default();
        let uses = self.samples.iter().filter_map(|sample| sample.transactions.as_ref());
        uses.filter_map(|one| one.kinds.get(&kind)).for_each(|one| all.merge(one));
        all
    }

    /// Mean latency of reads in ns over the repeats.
    pub fn read_latency_ns(&self) -> Option<Statistic> {
        self.over_samples(|sample| sample.mean_latency_ns(Operation::Read))
    }

    /// Mean latency of writes in ns over the repeats.
    pub fn write_latency_ns(&self) -> Option<Statistic> {
        self.over_samples(|sample| sample.mean_latency_ns(Operation::Write))
    }

    /// A figure over those repeats that know it; nothing where none does.
    pub fn over_samples(&self, figure: impl Fn(&Sample) -> Option<f64>) -> Option<Statistic> {
        let values: Vec<f64> = self.samples.iter().filter_map(figure).collect();
        (!values.is_empty()).then(|| Statistic::of(&values, Average::Mean))
    }
}

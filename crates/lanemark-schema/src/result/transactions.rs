//! The figures of a database's transactions; real and simulated databases use the same fields.
//!
//! A simulated database has neither kinds of transactions nor a driver program; a real database lacks a path of hops.
//! Unknown values are absent. For a simulated database, the sample's reads and writes are its individual requests. For
//! a real database, only the sums of the block layer's counters are known (`evidence.device`).
//! [`Sample::device_rates`](super::Sample::device_rates) and
//! [`Sample::mean_latency_ns`](super::Sample::mean_latency_ns) return the values in both cases.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::counters::DatabaseCounters;
use super::latency::LatencyHistogram;
use super::live::ServedTarget;
use super::waits::SessionWaits;
use crate::workload::TransactionKind;

/// A real database on which a workload ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatabaseTarget {
    /// The program, such as SQLite or PostgreSQL.
    pub product: String,
    /// The version of the program, if it reports one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// The database's name as the user wrote it, without a password.
    pub name: String,
    /// The folder or file that contains the data, if it is on the driver's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The settings that determine the durability of a commit, and the size of the buffer relative to the loaded data.
    pub settings: BTreeMap<String, String>,
    /// The modelled system that another process served as the drive of the data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub served: Option<ServedTarget>,
}

/// The transactions of a sample.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransactionFigures {
    /// Number of transactions that ended, including intended rollbacks.
    pub count: u64,
    /// Transactions that ended, per minute.
    pub per_minute: f64,
    /// New orders per minute, if kinds are distinguished. The specification's tpmC is this figure under rules that are
    /// not applied here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new_orders_per_minute: Option<f64>,
    /// The share of the server's processors that was busy, from 0 to 1.
    pub processor_busy: Option<f64>,
    /// The share of the processors that programs other than the driver and the server used, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor_others: Option<f64>,
    /// Processor time of the database, by kind of process.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor_time: Option<ServerProcessorTime>,
    /// The share of page visits that the buffer answered, if the model determines it.
    pub buffer_hit_ratio: Option<f64>,
    /// Reads from the device per transaction. In a real database, one read may contain several pages.
    pub page_reads: Option<f64>,
    /// Writes to the device per transaction, without log writes.
    pub page_writes: Option<f64>,
    /// Log writes per transaction.
    pub log_writes: Option<f64>,
    /// Number of transactions that one log write committed.
    pub commits_per_log_write: Option<f64>,
    /// Log bytes per transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_bytes: Option<f64>,
    /// Log flushes per transaction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_flushes: Option<f64>,
    /// Response time of a transaction, measured at the database if it is simulated, and at the user if it is real.
    pub response: LatencyHistogram,
    /// Figures of each kind of transaction, if kinds are distinguished.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub kinds: BTreeMap<TransactionKind, TransactionKindFigures>,
    /// Waits of the sessions, if the database reports them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waits: Option<SessionWaits>,
    /// Counters of the database, which include its work for other programs.
    #[serde(default, skip_serializing_if = "DatabaseCounters::is_empty")]
    pub counters: DatabaseCounters,
    /// Transactions a minute according to the database's own counter, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_per_minute: Option<f64>,
    /// Number of counted transactions that only observed the database; the database's own count does not include them.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub looked_on: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The figures of one kind of transaction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransactionKindFigures {
    /// Number of transactions that ended, including the rollbacks that the specification requires.
    pub count: u64,
    /// New orders with an invalid item.
    pub rolled_back: u64,
    /// Number of retries after a conflict with another transaction.
    pub retries: u64,
    /// Latency from the first statement of the first attempt to the end of the last attempt.
    pub latency: LatencyHistogram,
}

impl TransactionKindFigures {
    /// Adds the figures of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.rolled_back = self.rolled_back.saturating_add(other.rolled_back);
        self.retries = self.retries.saturating_add(other.retries);
        self.latency.merge(&other.latency);
    }
}

/// Processor time during the counted part of the run, in processor-seconds; unknown values are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerProcessorTime {
    /// The server's processes except for the observing process; absent for a database inside the driver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_s: Option<f64>,
    /// The driver, including a database that runs inside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_s: Option<f64>,
    /// Processor time of the sessions' processes, or of the users' threads if the database runs in them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<SessionProcessorTime>,
}

/// The time of the processes or threads that work for the users.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SessionProcessorTime {
    /// Time on a processor.
    pub running_s: f64,
    /// Time during which a session was ready to run while every processor was busy.
    pub ready_s: f64,
}

/// Rates of requests to the drives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeviceRates {
    /// Reads a second.
    pub reads: f64,
    /// Writes a second, including log writes.
    pub writes: f64,
    /// Flushes a second.
    pub flushes: f64,
}

impl TransactionFigures {
    /// Returns a sum over the sample divided by the number of transactions.
    pub fn per_transaction(&self, sum: f64) -> Option<f64> {
        (self.count > 0).then(|| sum / self.count as f64)
    }

    /// Returns the difference between the database's count and the driver's count, as a share of the driver's count.
    pub fn count_differs(&self) -> Option<f64> {
        let counted = self.counted_per_minute?;
        (self.per_minute > 0.0).then(|| counted / self.per_minute - 1.0)
    }

    /// Returns the mean response time in ms, if any transaction ended.
    pub fn response_ms(&self) -> Option<f64> {
        (self.response.count() > 0).then(|| self.response.mean_ns() / 1e6)
    }

    /// Returns the processor time of the server and the driver per transaction, in µs.
    pub fn processor_us(&self) -> Option<f64> {
        let time = self.processor_time.as_ref()?;
        let known = time.server_s.is_some() || time.driver_s.is_some();
        known.then_some(())?;
        self.per_transaction(1e6 * (time.server_s.unwrap_or(0.0) + time.driver_s.unwrap_or(0.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_time_of_a_transaction_is_the_known_time_of_server_and_driver() {
        let of = |server_s, driver_s, count| {
            let processor_time = Some(ServerProcessorTime { server_s, driver_s, sessions: None });
            let all = TransactionFigures { count, processor_time, ..TransactionFigures::default() };
            all.processor_us()
        };
        for (server_s, driver_s, count, wanted) in [
            (Some(3.0), Some(1.0), 2_000, Some(2_000.0)),
            (Some(3.0), None, 2_000, Some(1_500.0)),
            (None, Some(1.0), 2_000, Some(500.0)),
            // Either nothing is known, or there was no transaction.
            (None, None, 2_000, None),
            (Some(3.0), Some(1.0), 0, None),
        ] {
            assert_eq!(of(server_s, driver_s, count), wanted);
        }
        assert_eq!(
            TransactionFigures { count: 1, ..TransactionFigures::default() }.processor_us(),
            None
        );
    }

    #[test]
    fn figures_of_each_transaction_are_absent_without_transactions() {
        let none = TransactionFigures::default();
        assert_eq!(
            (none.per_transaction(5.0), none.response_ms(), none.count_differs()),
            (None, None, None)
        );
        let counted = TransactionFigures {
            count: 4,
            per_minute: 100.0,
            counted_per_minute: Some(103.0),
            ..TransactionFigures::default()
        };
        assert_eq!(counted.per_transaction(6.0), Some(1.5));
        assert!(counted.count_differs().is_some_and(|share| (share - 0.03).abs() < 1e-12));
    }
}

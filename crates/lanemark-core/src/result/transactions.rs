//! What a database's transactions came to.

use serde::{Deserialize, Serialize};

use super::{LatencyHistogram, Sample, Statistic, TestResult};
use crate::workload::Average;

/// The transactions of a sample.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransactionsUse {
    /// How many ended.
    pub count: u64,
    /// The same a minute.
    pub per_minute: f64,
    /// The share of the server's processors that was busy, from 0 to 1.
    pub processor_busy: f64,
    /// The share of visits to pages that the buffer answered, where it follows from them.
    pub buffer_hit_ratio: Option<f64>,
    /// Pages read for each.
    pub page_reads: f64,
    /// Pages written for each.
    pub page_writes: f64,
    /// Writes of the log for each.
    pub log_writes: f64,
    /// Transactions that a write of the log committed.
    pub commits_per_log_write: f64,
    /// From a transaction's beginning to its end in the database.
    pub response: LatencyHistogram,
}

impl TestResult {
    /// A figure of the transactions over the repeats; nothing where there were none.
    pub fn of_transactions(&self, figure: fn(&TransactionsUse) -> f64) -> Option<Statistic> {
        self.over_samples(|sample| sample.transactions.as_ref().map(figure))
    }

    /// The share of visits to pages that the buffer answered, over the repeats.
    pub fn buffer_hit_ratio(&self) -> Option<Statistic> {
        self.over_samples(|sample| sample.transactions.as_ref()?.buffer_hit_ratio)
    }

    /// Mean latency of reads in ns over the repeats.
    pub fn read_latency_ns(&self) -> Option<Statistic> {
        self.over_samples(|sample| sample.reads.as_ref().map(|reads| reads.latency.mean_ns()))
    }

    /// Mean latency of writes in ns over the repeats.
    pub fn write_latency_ns(&self) -> Option<Statistic> {
        self.over_samples(|sample| sample.writes.as_ref().map(|writes| writes.latency.mean_ns()))
    }

    fn over_samples(&self, figure: impl Fn(&Sample) -> Option<f64>) -> Option<Statistic> {
        let values: Vec<f64> = self.samples.iter().filter_map(figure).collect();
        (!values.is_empty()).then(|| Statistic::of(&values, Average::Mean))
    }
}

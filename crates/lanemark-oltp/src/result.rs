//! What a run came to, as it is saved.

use std::collections::BTreeMap;

use lanemark_core::result::{LatencyHistogram, Provenance, Statistic};
use lanemark_core::workload::Average;
use serde::{Deserialize, Serialize};

use crate::budget::TimeBudget;
use crate::counters::Counters;
pub use crate::device::DeviceWork;
use crate::processor::ProcessorUse;
use crate::profile::{Profile, TransactionKind};
use crate::schema::Scale;

/// The version of the schema of results; a reader refuses what is newer than it knows. With 2 came the counters of
/// messages and statements.
pub const OLTP_SCHEMA_VERSION: u32 = 2;

/// A run of the workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OltpResult {
    /// [`OLTP_SCHEMA_VERSION`] of the program that wrote it.
    pub schema_version: u32,
    /// What this is; always the same, and what a reader tells it by.
    pub workload: OltpWorkload,
    /// Who made it, when, with what.
    pub provenance: Provenance,
    /// What it ran on.
    pub database: DatabaseInfo,
    /// How much was loaded.
    pub scale: Scale,
    /// The mix.
    pub profile: Profile,
    /// Users at once.
    pub users: u32,
    /// Whether they keyed and thought.
    pub think_times: bool,
    /// Time before counting began.
    pub ramp_s: f64,
    /// Time that was counted, of each repeat.
    pub duration_s: f64,
    /// The repeats that ended.
    pub repeats: Vec<OltpRepeat>,
    /// False where the run was cut short.
    pub complete: bool,
}

/// The mark of these results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OltpWorkload {
    /// Derived from TPC-C, and no TPC result.
    #[serde(rename = "tpc-c-derived")]
    TpccDerived,
}

/// The database that a run ran on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DatabaseInfo {
    /// SQLite or PostgreSQL.
    pub kind: String,
    /// Its name, without a password.
    pub name: String,
    /// Its version, and the settings that decide what a commit means.
    pub settings: BTreeMap<String, String>,
}

/// One repeat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OltpRepeat {
    /// Time that was counted.
    pub seconds: f64,
    /// All transactions that ended, a minute.
    pub tpm: f64,
    /// New orders that were entered, a minute; the specification's tpmC is this under rules not kept here.
    pub nopm: f64,
    /// Each transaction.
    pub transactions: BTreeMap<TransactionKind, TransactionUse>,
    /// Transactions a minute by the database's own count, where it keeps one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database_tpm: Option<f64>,
    /// What the device below the data did, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<DeviceWork>,
    /// The share of the machine's processors that was busy, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor_busy: Option<f64>,
    /// The share of the machine's processors that neither the driver nor the server had, from 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor_others: Option<f64>,
    /// Who took processor time, and how much.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processor: Option<ProcessorUse>,
    /// What the database counted of itself, with what else ran there.
    #[serde(default, skip_serializing_if = "Counters::is_empty")]
    pub counters: Counters,
    /// Of the transactions in those counters the ones that only looked on, and are taken out of `database_tpm`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub looked_on: u64,
    /// What sessions waited for, where the database tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<TimeBudget>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// One kind of transaction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TransactionUse {
    /// How many ended, with those that were rolled back as the specification wants.
    pub count: u64,
    /// New orders with an invalid item.
    pub rolled_back: u64,
    /// Times that one was done again because another was in the way.
    pub retries: u64,
    /// From the first statement of the first try to the end of the last.
    pub latency: LatencyHistogram,
}

impl TransactionUse {
    /// Adds what `other` counted.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.rolled_back += other.rolled_back;
        self.retries += other.retries;
        self.latency.merge(&other.latency);
    }
}

impl OltpRepeat {
    /// A repeat of `seconds` in which `transactions` ended.
    pub(crate) fn new(
        seconds: f64,
        transactions: BTreeMap<TransactionKind, TransactionUse>,
    ) -> Self {
        let all: u64 = transactions.values().map(|one| one.count).sum();
        let entered = transactions
            .get(&TransactionKind::NewOrder)
            .map_or(0, |orders| orders.count - orders.rolled_back);
        let minute = |count: u64| if seconds > 0.0 { count as f64 * 60.0 / seconds } else { 0.0 };
        let (tpm, nopm) = (minute(all), minute(entered));
        Self {
            seconds,
            tpm,
            nopm,
            transactions,
            database_tpm: None,
            device: None,
            processor_busy: None,
            processor_others: None,
            processor: None,
            counters: Counters::default(),
            looked_on: 0,
            budget: None,
        }
    }

    /// Transactions that ended while it counted.
    pub fn count(&self) -> u64 {
        self.transactions.values().map(|one| one.count).sum()
    }

    /// A sum over the repeat for each transaction of it.
    pub fn each(&self, sum: f64) -> Option<f64> {
        (self.count() > 0).then(|| sum / self.count() as f64)
    }

    /// The device's time for a transaction over its mean response time; above 1 where requests overlap.
    pub fn device_share(&self) -> Option<f64> {
        let device_ms = self.each(self.device.as_ref()?.time_ms() as f64)?;
        let response_ms = self.latency_ms().filter(|&ms| ms > 0.0)?;
        Some(device_ms / response_ms)
    }

    /// How far the database's count is from ours, as a share of ours.
    pub fn count_differs(&self) -> Option<f64> {
        let counted = self.database_tpm?;
        (self.tpm > 0.0).then(|| counted / self.tpm - 1.0)
    }

    /// The mean latency of all transactions in milliseconds, where there were any.
    pub fn latency_ms(&self) -> Option<f64> {
        let sums = self.transactions.values().fold((0.0, 0), |(sum, count), one| {
            (sum + one.latency.mean_ns() * one.latency.count() as f64, count + one.latency.count())
        });
        (sums.1 > 0).then(|| sums.0 / sums.1 as f64 / 1e6)
    }
}

impl OltpResult {
    /// A figure of each repeat, averaged; nothing where a repeat lacks it.
    pub fn statistic(&self, figure: impl Fn(&OltpRepeat) -> Option<f64>) -> Option<Statistic> {
        let figures: Option<Vec<f64>> = self.repeats.iter().map(figure).collect();
        let figures = figures.filter(|figures| !figures.is_empty())?;
        Some(Statistic::of(&figures, Average::Mean))
    }

    /// One kind of transaction over all repeats.
    pub fn transactions(&self, kind: TransactionKind) -> TransactionUse {
        let mut all = TransactionUse::default();
        let found = self.repeats.iter().filter_map(|repeat| repeat.transactions.get(&kind));
        found.for_each(|one| all.merge(one));
        all
    }
}

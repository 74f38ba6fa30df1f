//! The requests or transactions of a test.

use super::database::DatabaseUsers;
use super::pattern::Pattern;
use super::requests::SyntheticRequests;
use super::transactions::TransactionLoad;
use crate::units::{Bytes, Ratio};

/// The kind of load of a [`Test`](super::Test), with the values that exist only for tests of this kind.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadKind {
    /// Requests with drawn offsets, as a benchmark program sends them.
    Requests(SyntheticRequests),
    /// Simulated transactions of a database; each thread is a user. A real database is measured with
    /// [`LoadKind::Database`].
    Transactions(Box<TransactionLoad>),
    /// The users of a real database; each thread is a user, the block is a page, and the span is the loaded data. Such
    /// a test describes a result and cannot be run on a drive or a model.
    Database(DatabaseUsers),
    /// The requests of a recorded trace. Such a test describes a replay and cannot be run by itself: its block is the
    /// mean size of the requests, and its span ends with the last byte that the requests accessed.
    Trace(TraceSummary),
    /// The requests of a test that another program ran and did not describe completely. Such a test describes a result
    /// and cannot be run or simulated until the missing values are supplied.
    PartlyStated(PartialRequests),
}

/// Requests that the source describes only partly. Values that it does not state are absent.
#[derive(Clone, Debug, PartialEq)]
pub struct PartialRequests {
    /// Order of the requests' positions.
    pub pattern: Option<Pattern>,
    /// The share of reads among the requests, computed from their counts.
    pub read_share: Ratio,
    /// Requests outstanding per thread.
    pub queue_depth: Option<u32>,
    /// The offset of every request is a multiple of this size.
    pub alignment: Bytes,
}

impl PartialRequests {
    /// Returns the settings that are not stated, each with the option of `lanemark report` that supplies it.
    pub fn missing(&self) -> Vec<(&'static str, &'static str)> {
        let pattern = ("the access pattern", "--pattern sequential|random");
        let depth = ("the queue depth", "--queue-depth N");
        let missing = [
            self.pattern.is_none().then_some(pattern),
            self.queue_depth.is_none().then_some(depth),
        ];
        missing.into_iter().flatten().collect()
    }
}

/// Mean values of the requests of a recorded trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceSummary {
    /// The share of reads among the requests.
    pub read_share: Ratio,
    /// Maximum number of requests that were outstanding, or that the replay could keep outstanding.
    pub queue_depth: u32,
    /// The offset of every request is a multiple of this size.
    pub alignment: Bytes,
}

impl From<SyntheticRequests> for LoadKind {
    fn from(requests: SyntheticRequests) -> Self {
        Self::Requests(requests)
    }
}

impl From<TransactionLoad> for LoadKind {
    fn from(transactions: TransactionLoad) -> Self {
        Self::Transactions(Box::new(transactions))
    }
}

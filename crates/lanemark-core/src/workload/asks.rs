//! Requests and transactions that a test asks its target for.

use super::database::DatabaseUsers;
use super::requests::Requests;
use super::transactions::Transactions;
use crate::units::{Bytes, Ratio};

/// The kind of load of a [`Test`](super::Test), with the values that only this kind has.
#[derive(Clone, Debug, PartialEq)]
pub enum Asks {
    /// Requests at places of their own, as a benchmark program makes them.
    Requests(Requests),
    /// Simulated transactions of a database; each thread is a user. A real database is measured by what asks it for
    /// real transactions.
    Transactions(Box<Transactions>),
    /// The users of a real database; each thread is a user, a page is the block, and the loaded data is the span. Such a
    /// test tells what was run and cannot be asked of a drive or a model.
    Database(DatabaseUsers),
    /// The requests of a recorded trace. Such a test tells what was replayed and cannot be run again by itself: its
    /// block is the mean of the requests, its span ends with the last byte that they touched.
    Trace(TraceSummary),
}

/// Mean of the requests of a recorded trace.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TraceSummary {
    /// The share of requests that read.
    pub read_share: Ratio,
    /// The most requests that were outstanding, or that the replay was allowed.
    pub queue_depth: u32,
    /// Every request starts at a multiple of this.
    pub alignment: Bytes,
}

impl From<Requests> for Asks {
    fn from(requests: Requests) -> Self {
        Self::Requests(requests)
    }
}

impl From<Transactions> for Asks {
    fn from(transactions: Transactions) -> Self {
        Self::Transactions(Box::new(transactions))
    }
}

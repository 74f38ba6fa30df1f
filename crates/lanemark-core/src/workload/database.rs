//! The load of users on a real database: a mix of five transactions, derived from TPC-C 5.11.
//!
//! This module says what was asked for. The transactions themselves, in SQL and against a seed, are the driver's; a simulated
//! database is asked for what [`Transactions`](super::Transactions) says instead.

use serde::{Deserialize, Serialize};

use crate::units::Duration;

/// Greatest number of users of a database.
pub(crate) const USERS_MAX: u32 = 1_000_000;
/// Greatest number of warehouses.
pub(crate) const WAREHOUSES_MAX: i64 = 10_000_000;

/// The users of a database, and the data loaded for them. How many there are is the test's number of threads; what was
/// loaded is its span.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseUsers {
    /// Mix of transactions.
    pub profile: Profile,
    /// Warehouses that were loaded.
    pub warehouses: i64,
    /// Items and customers are the specification's over this; anything but 1 is for tests.
    pub divisor: i64,
    /// The seed of the contents.
    pub contents_seed: u64,
    /// Whether users keyed and thought.
    pub think_times: bool,
    /// Whether transactions were procedures of the server.
    pub procedures: bool,
    /// Time that each user spent outside the database after each transaction, whatever its kind.
    #[serde(rename = "pause_ns", default, skip_serializing_if = "is_none")]
    pub pause: Duration,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_none(pause: &Duration) -> bool {
    *pause == Duration::ZERO
}

/// The five transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransactionKind {
    /// Enter an order.
    NewOrder,
    /// Take a payment.
    Payment,
    /// Look for a customer's last order.
    OrderStatus,
    /// Deliver the oldest orders.
    Delivery,
    /// Look for items that run low.
    StockLevel,
}

impl TransactionKind {
    /// All five kinds of transaction.
    pub const ALL: [Self; 5] =
        [Self::NewOrder, Self::Payment, Self::OrderStatus, Self::Delivery, Self::StockLevel];

    /// The kind's name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "New-Order",
            Self::Payment => "Payment",
            Self::OrderStatus => "Order-Status",
            Self::Delivery => "Delivery",
            Self::StockLevel => "Stock-Level",
        }
    }

    /// Whether transactions of the kind change nothing.
    pub fn only_reads(self) -> bool {
        matches!(self, Self::OrderStatus | Self::StockLevel)
    }
}

/// A named mix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// The mix of the TPC-C specification.
    #[default]
    Tpcc,
    /// The mix of HammerDB.
    Hammerdb,
}

impl Profile {
    /// Cards of each transaction, in the order of [`TransactionKind::ALL`].
    pub fn cards(self) -> [u64; 5] {
        match self {
            Self::Tpcc => [45, 43, 4, 4, 4],
            Self::Hammerdb => [10, 10, 1, 1, 1],
        }
    }

    /// Whether customers and items are drawn uniformly.
    pub fn is_uniform(self) -> bool {
        self == Self::Hammerdb
    }

    /// The profile's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tpcc => "tpcc",
            Self::Hammerdb => "hammerdb",
        }
    }
}

impl std::str::FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "tpcc" => Ok(Self::Tpcc),
            "hammerdb" => Ok(Self::Hammerdb),
            _ => Err(format!("{text:?} is no profile; there are tpcc and hammerdb")),
        }
    }
}

//! The load of users on a real database: a mix of five kinds of transactions, derived from TPC-C 5.11.
//!
//! This module describes the load. The driver contains the transactions themselves, as SQL with values drawn from a
//! seed. [`Transactions`](super::Transactions) describes the load of a simulated database.

use serde::{Deserialize, Serialize};

use crate::named_enum;
use crate::text::saved_as_text;
use crate::units::Duration;

/// The users of a database, and the data that was loaded for them. The test's number of threads is the number of users,
/// and its span is the loaded data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseUsers {
    /// Mix of transactions.
    pub profile: TransactionProfile,
    /// Number of warehouses that were loaded.
    pub warehouses: i64,
    /// Divisor of the specification's numbers of items and customers; values other than 1 are for tests.
    pub divisor: i64,
    /// The seed of the contents.
    pub contents_seed: u64,
    /// Whether users had keying and think times.
    pub think_times: bool,
    /// Time that each user spent outside the database after each transaction of any kind.
    #[serde(rename = "pause_ns", default, skip_serializing_if = "is_none")]
    pub pause: Duration,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_none(pause: &Duration) -> bool {
    *pause == Duration::ZERO
}

/// The five kinds of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TransactionKind {
    /// Enters an order.
    NewOrder,
    /// Takes a payment.
    Payment,
    /// Queries a customer's last order.
    OrderStatus,
    /// Delivers the oldest orders.
    Delivery,
    /// Queries the items whose stock is low.
    StockLevel,
}

impl TransactionKind {
    /// All five kinds of transaction.
    pub const ALL: [Self; 5] =
        [Self::NewOrder, Self::Payment, Self::OrderStatus, Self::Delivery, Self::StockLevel];

    /// Returns the display name of the kind.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "New-Order",
            Self::Payment => "Payment",
            Self::OrderStatus => "Order-Status",
            Self::Delivery => "Delivery",
            Self::StockLevel => "Stock-Level",
        }
    }

    /// Returns whether transactions of the kind only read.
    pub fn only_reads(self) -> bool {
        matches!(self, Self::OrderStatus | Self::StockLevel)
    }
}

named_enum! {
    /// A named mix of transactions.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(try_from = "String", into = "String")]
    pub enum TransactionProfile {
        /// The mix of the TPC-C specification.
        #[default]
        Tpcc = "tpcc",
        /// The mix of HammerDB.
        Hammerdb = "hammerdb",
    }
}
saved_as_text!(TransactionProfile);

impl TransactionProfile {
    /// Returns the number of cards for each kind of transaction, in the order of [`TransactionKind::ALL`].
    pub fn cards(self) -> [u64; 5] {
        match self {
            Self::Tpcc => [45, 43, 4, 4, 4],
            Self::Hammerdb => [10, 10, 1, 1, 1],
        }
    }

    /// Returns whether customers and items are drawn uniformly.
    pub fn is_uniform(self) -> bool {
        self == Self::Hammerdb
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn profiles_are_read_by_their_names_and_deal_their_cards() {
        let profiles = [
            ("tpcc", TransactionProfile::Tpcc, 100, false),
            ("hammerdb", TransactionProfile::Hammerdb, 23, true),
        ];
        for (name, profile, cards, is_uniform) in profiles {
            assert_eq!((name.parse(), profile.name()), (Ok(profile), name));
            assert_eq!(serde_json::to_value(profile).unwrap(), name);
            assert_eq!(profile.cards().iter().sum::<u64>(), cards);
            assert_eq!(profile.is_uniform(), is_uniform);
        }
        assert!("TPCC".parse::<TransactionProfile>().is_err());
    }
}

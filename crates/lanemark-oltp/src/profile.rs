//! The mix of transactions, and how it is drawn.
//!
//! | profile | mix | drawn | customers and items |
//! |---|---|---|---|
//! | `tpcc` | 45/43/4/4/4, the least that clause 5.2.3 allows of all but New-Order | a deck of 100 cards, shuffled anew for each user (clause 5.2.4.2) | NURand |
//! | `hammerdb` | 10/10/1/1/1 of 23 | each by itself | uniform, last names by NURand |
//!
//! Order: New-Order, Payment, Order-Status, Delivery, Stock-Level. HammerDB's workload is said to be derived
//! from TPC-C too; its figures are not comparable with those of the other profile.

use lanemark_core::rng::Rng;
use serde::{Deserialize, Serialize};

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
    /// All five.
    pub const ALL: [Self; 5] =
        [Self::NewOrder, Self::Payment, Self::OrderStatus, Self::Delivery, Self::StockLevel];

    /// Its name for people.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewOrder => "New-Order",
            Self::Payment => "Payment",
            Self::OrderStatus => "Order-Status",
            Self::Delivery => "Delivery",
            Self::StockLevel => "Stock-Level",
        }
    }

    /// Keying time and mean think time in seconds (clause 5.2.5.7).
    pub(crate) fn times_s(self) -> (f64, f64) {
        match self {
            Self::NewOrder => (18.0, 12.0),
            Self::Payment => (3.0, 12.0),
            Self::OrderStatus => (2.0, 10.0),
            Self::Delivery | Self::StockLevel => (2.0, 5.0),
        }
    }
}

/// A named mix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Profile {
    /// As the specification has it.
    #[default]
    Tpcc,
    /// As HammerDB has it.
    Hammerdb,
}

impl Profile {
    /// Cards of each transaction.
    pub fn cards(self) -> [u64; 5] {
        match self {
            Self::Tpcc => [45, 43, 4, 4, 4],
            Self::Hammerdb => [10, 10, 1, 1, 1],
        }
    }

    /// Whether customers and items are drawn uniformly.
    pub(crate) fn uniform(self) -> bool {
        self == Self::Hammerdb
    }

    /// Its name.
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

/// Draws one transaction after another.
#[derive(Clone, Debug)]
pub struct Mix {
    profile: Profile,
    deck: Vec<TransactionKind>,
    drawn: usize,
}

impl Mix {
    /// A full deck of `profile`.
    pub fn new(profile: Profile) -> Self {
        let cards = TransactionKind::ALL.into_iter().zip(profile.cards());
        let deck: Vec<TransactionKind> =
            cards.flat_map(|(kind, count)| std::iter::repeat_n(kind, count as usize)).collect();
        Self { profile, drawn: deck.len(), deck }
    }

    /// The next transaction.
    pub fn next(&mut self, rng: &mut Rng) -> TransactionKind {
        if self.profile == Profile::Hammerdb {
            return self.deck[rng.below(self.deck.len() as u64) as usize];
        }
        if self.drawn == self.deck.len() {
            for at in (1..self.deck.len()).rev() {
                self.deck.swap(at, rng.below(at as u64 + 1) as usize);
            }
            self.drawn = 0;
        }
        self.drawn += 1;
        self.deck[self.drawn - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_core::rng::StreamKey;

    #[test]
    fn the_mix_is_within_a_tenth_of_a_point() {
        for profile in [Profile::Tpcc, Profile::Hammerdb] {
            let mut rng = Rng::new(StreamKey::from_seed(1));
            let mut mix = Mix::new(profile);
            let mut counts = [0u32; 5];
            for _ in 0..1_000_000 {
                counts[mix.next(&mut rng) as usize] += 1;
            }
            let all: u64 = profile.cards().iter().sum();
            for (count, cards) in counts.into_iter().zip(profile.cards()) {
                let wanted = 100.0 * cards as f64 / all as f64;
                let seen = f64::from(count) / 10_000.0;
                assert!((seen - wanted).abs() < 0.1, "{}: {seen} for {wanted}", profile.name());
            }
        }
    }

    #[test]
    fn every_deck_holds_every_card() {
        let mut rng = Rng::new(StreamKey::from_seed(2));
        let mut mix = Mix::new(Profile::Tpcc);
        for _ in 0..10 {
            let mut counts = [0u64; 5];
            (0..100).for_each(|_| counts[mix.next(&mut rng) as usize] += 1);
            assert_eq!(counts, Profile::Tpcc.cards());
        }
    }
}

//! The mix of transactions, and the method of drawing them.
//!
//! | profile | mix | drawn | customers and items |
//! |---|---|---|---|
//! | `tpcc` | 45/43/4/4/4 | from a deck of 100 cards, shuffled separately for each user | NURand |
//! | `hammerdb` | 10/10/1/1/1 of 23 | independently | uniform, last names by NURand |
//!
//! A mix lists the shares of New-Order, Payment, Order-Status, Delivery and Stock-Level. The shares of `tpcc` are the
//! minimum shares of clause 5.2.3, except for New-Order; clause 5.2.4.2 describes the deck. HammerDB also describes its
//! workload as derived from TPC-C; figures of the two profiles cannot be compared.

use lanemark_schema::rng::Rng;
pub use lanemark_schema::workload::{TransactionKind, TransactionProfile};

/// Returns the keying time and the mean think time of a transaction in seconds (clause 5.2.5.7).
pub(crate) fn times_s(kind: TransactionKind) -> (f64, f64) {
    match kind {
        TransactionKind::NewOrder => (18.0, 12.0),
        TransactionKind::Payment => (3.0, 12.0),
        TransactionKind::OrderStatus => (2.0, 10.0),
        TransactionKind::Delivery | TransactionKind::StockLevel => (2.0, 5.0),
    }
}

/// The sequence of transaction types of one user.
#[derive(Clone, Debug)]
pub struct TransactionMix {
    profile: TransactionProfile,
    deck: Vec<TransactionKind>,
    drawn: usize,
}

impl TransactionMix {
    /// Returns a full deck of `profile`.
    pub fn new(profile: TransactionProfile) -> Self {
        let cards = TransactionKind::ALL.into_iter().zip(profile.cards());
        let deck: Vec<TransactionKind> =
            cards.flat_map(|(kind, count)| std::iter::repeat_n(kind, count as usize)).collect();
        Self { profile, drawn: deck.len(), deck }
    }

    pub fn next(&mut self, rng: &mut Rng) -> TransactionKind {
        if self.profile == TransactionProfile::Hammerdb {
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
    use lanemark_schema::rng::StreamKey;

    #[test]
    fn the_mix_is_within_a_tenth_of_a_point() {
        for profile in [TransactionProfile::Tpcc, TransactionProfile::Hammerdb] {
            let mut rng = Rng::new(StreamKey::from_seed(1));
            let mut mix = TransactionMix::new(profile);
            let mut counts = [0u32; 5];
            for _ in 0..1_000_000 {
                counts[mix.next(&mut rng) as usize] += 1;
            }
            let all: u64 = profile.cards().iter().sum();
            for (count, cards) in counts.into_iter().zip(profile.cards()) {
                let wanted = 100.0 * cards as f64 / all as f64;
                let percent = f64::from(count) / 10_000.0;
                assert!(
                    (percent - wanted).abs() < 0.1,
                    "{}: {percent} for {wanted}",
                    profile.name()
                );
            }
        }
    }

    #[test]
    fn every_deck_holds_every_card() {
        let mut rng = Rng::new(StreamKey::from_seed(2));
        let mut mix = TransactionMix::new(TransactionProfile::Tpcc);
        for _ in 0..10 {
            let mut counts = [0u64; 5];
            (0..100).for_each(|_| counts[mix.next(&mut rng) as usize] += 1);
            assert_eq!(counts, TransactionProfile::Tpcc.cards());
        }
    }
}

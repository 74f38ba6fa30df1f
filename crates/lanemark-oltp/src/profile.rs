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
pub use lanemark_core::workload::{Profile, TransactionKind};

/// Keying time and mean think time of a transaction in seconds (clause 5.2.5.7).
pub(crate) fn times_s(kind: TransactionKind) -> (f64, f64) {
    match kind {
        TransactionKind::NewOrder => (18.0, 12.0),
        TransactionKind::Payment => (3.0, 12.0),
        TransactionKind::OrderStatus => (2.0, 10.0),
        TransactionKind::Delivery | TransactionKind::StockLevel => (2.0, 5.0),
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

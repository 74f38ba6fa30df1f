//! Bit errors of a link and their effect on the traffic.
//!
//! Model: each bit is wrong with the same small probability, independently of the bits before it, so the number of bits
//! between two errors follows an exponential distribution. The probability is the bit error ratio of the link's
//! specification, up to 1e-12 for PCI Express, SATA and SAS. Checksums detect every error. PCI Express repeats a
//! corrupted packet itself ([`Pcie::replay_time`](super::Pcie::replay_time)), and the repeated packet may be corrupted
//! too. On SATA, the receiver answers a Data frame that has a wrong CRC with R_ERR, and the command ends with ICRC
//! (Serial ATA 3.2, link layer). On SAS, the receiver answers with NAK, and the command also ends if the drive does not
//! retry in the transport layer (SPL-4, link layer). The host then sends the command again.
//!
//! Not modelled: frames that are not data, which the link itself repeats; several errors in one packet (they are rare
//! at any error ratio at which a link works); links that train again because of errors; bursts of errors.

use lanemark_schema::rng::Rng;

#[derive(Clone, Debug)]
pub(super) struct BitErrors {
    rate: f64,
    rng: Rng,
    /// Number of good bits before the next wrong bit.
    good: u64,
    spoilt: bool,
}

impl BitErrors {
    pub(super) fn new(rate: f64, rng: Rng) -> Self {
        let mut errors = Self { rate, rng, good: 0, spoilt: false };
        errors.good = errors.draw();
        errors
    }

    fn draw(&mut self) -> u64 {
        (-libm::log1p(-self.rng.unit()) / self.rate) as u64
    }

    /// Returns the number of wrong bits among the next `bits`.
    pub(super) fn count_wrong_bits(&mut self, mut bits: u64) -> u64 {
        let mut count = 0;
        while bits > self.good {
            bits -= self.good + 1;
            self.good = self.draw();
            count += 1;
        }
        self.good -= bits;
        count
    }

    /// Carries `bits` bits of a command's data, and records whether any of them is wrong.
    pub(super) fn spoil(&mut self, bits: u64) {
        self.spoilt |= self.count_wrong_bits(bits) > 0;
    }

    pub(super) fn take_spoilt(&mut self) -> bool {
        std::mem::take(&mut self.spoilt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_schema::rng::StreamKey;

    #[test]
    fn as_many_bits_are_wrong_as_the_ratio_says_however_they_are_grouped() {
        for rate in [1e-5, 3e-7] {
            let errors = |burst: u64| {
                let mut errors = BitErrors::new(rate, Rng::new(StreamKey::from_seed(5)));
                (0..(1u64 << 34) / burst).map(|_| errors.count_wrong_bits(burst)).sum::<u64>()
            };
            let seen = errors(1 << 15);
            let expected = rate * (1u64 << 34) as f64;
            // The bound is four standard deviations of a Poisson distribution.
            let bound = 4.0 * libm::sqrt(expected);
            assert!((seen as f64 - expected).abs() < bound, "{seen} for {expected}");
            assert_eq!(seen, errors(1 << 20));
        }
    }

    /// Compares the errors with a list of the wrong bits. The drawn number of good bits precedes each wrong bit, and
    /// each group contains the wrong bits between its first and last bit, inclusive.
    #[test]
    fn a_group_of_bits_has_the_wrong_ones_that_lie_in_it() {
        let rate = 0.05;
        let count = 20_000;
        let mut draws = BitErrors::new(rate, Rng::new(StreamKey::from_seed(9)));
        let mut wrong = Vec::new();
        let mut next = draws.good;
        while next < count {
            wrong.push(next);
            next += 1 + draws.draw();
        }
        assert!(wrong.len() > 800 && wrong.len() < 1_200, "{}", wrong.len());
        for size in [1, 2, 3, 7, 64, 20_000] {
            let mut errors = BitErrors::new(rate, Rng::new(StreamKey::from_seed(9)));
            let mut from = 0;
            while from < count {
                let to = (from + size).min(count);
                let within = wrong.iter().filter(|bit| (from..to).contains(*bit)).count() as u64;
                assert_eq!(errors.count_wrong_bits(to - from), within, "bits {from} to {to}");
                from = to;
            }
        }
        // One wrong bit corrupts a command, and the mark remains until it is read.
        let mut errors = BitErrors::new(rate, Rng::new(StreamKey::from_seed(9)));
        errors.spoil(wrong[0]);
        assert!(!errors.take_spoilt());
        errors.spoil(1);
        errors.spoil(0);
        assert!(errors.take_spoilt() && !errors.take_spoilt());
    }
}

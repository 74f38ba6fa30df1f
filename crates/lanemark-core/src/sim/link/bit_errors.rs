//! Bits that a link spoils, and what that does to what it carries.
//!
//! Law: each bit is wrong with the same small probability, whatever those before it were (the bit error ratio of the
//! link's specification, at most 1e-12 for PCI Express, SATA and SAS), so the bits between two errors follow an
//! exponential distribution. Checksums find each error, and what was spoilt is sent again: over PCI Express by
//! the link itself ([`Pcie::replay_time`](super::Pcie::replay_time)), and with the errors that the second try may have. Over
//! SATA a Data frame with a wrong CRC is answered with R_ERR and ends its command with ICRC (Serial ATA 3.2, link layer);
//! over SAS it is answered with NAK and ends its command too, where drives do not retry in the transport layer (SPL-4,
//! link layer). The host sends the command again.
//!
//! Not modelled: frames that are not data, which the link repeats by itself; several errors of one packet (they are rare
//! at any ratio that a link works with); links that train anew because of errors; errors in bursts.

use crate::rng::Rng;

/// The errors of one link.
#[derive(Clone, Debug)]
pub(super) struct BitErrors {
    rate: f64,
    rng: Rng,
    /// Good bits up to the next one that is wrong.
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

    /// Returns the number of wrong bits among so many.
    pub(super) fn hits(&mut self, mut bits: u64) -> u64 {
        let mut count = 0;
        while bits > self.good {
            bits -= self.good + 1;
            self.good = self.draw();
            count += 1;
        }
        self.good -= bits;
        count
    }

    /// Carries so many bits of a command's data.
    pub(super) fn spoil(&mut self, bits: u64) {
        self.spoilt |= self.hits(bits) > 0;
    }

    pub(super) fn take_spoilt(&mut self) -> bool {
        std::mem::take(&mut self.spoilt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::StreamKey;

    #[test]
    fn as_many_bits_are_wrong_as_the_ratio_says_however_they_are_grouped() {
        for rate in [1e-5, 3e-7] {
            let errors = |burst: u64| {
                let mut errors = BitErrors::new(rate, Rng::new(StreamKey::from_seed(5)));
                (0..(1u64 << 34) / burst).map(|_| errors.hits(burst)).sum::<u64>()
            };
            let (seen, expected) = (errors(1 << 15), rate * (1u64 << 34) as f64);
            // Four standard deviations of a Poisson number.
            assert!(
                (seen as f64 - expected).abs() < 4.0 * libm::sqrt(expected),
                "{seen} for {expected}"
            );
            assert_eq!(seen, errors(1 << 20));
        }
    }
}

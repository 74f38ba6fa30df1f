//! The bytes that are written: random, with a share of zeros, and different in every 4 KiB unit.
//!
//! Filling a buffer again for every write would cost the thread more than the write. If the same buffer were written
//! repeatedly, a drive or file system with deduplication would not need to write to the media. Therefore `fill_random`
//! fills a buffer once, and before every write a new random number replaces the first 8 bytes of each 4 KiB unit. A
//! unit of zeros is not changed.

use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::Ratio;
use lanemark_schema::workload::fill_random;

/// Size of the units whose contents are unique; compressibility also applies per unit.
const UNIT: usize = 4096;
/// Length of the random number that makes a unit unique.
const STAMP: usize = 8;
/// Separates the stream of written bytes from the stream of offsets with the same key.
const DATA_STREAM: u64 = 0x5c7d_a11a_0b5e_55ed;

/// A source of bytes to write.
#[derive(Debug)]
pub(crate) struct PayloadGenerator {
    rng: Rng,
    compressibility: Ratio,
}

impl PayloadGenerator {
    /// Creates the source for the thread with the stream key `key`.
    pub(crate) fn new(key: StreamKey, compressibility: Ratio) -> Self {
        let rng = Rng::new(StreamKey { seed: key.seed ^ DATA_STREAM, ..key });
        Self { rng, compressibility }
    }

    /// Fills a buffer before its first use.
    pub(crate) fn fill(&mut self, buffer: &mut [u8]) {
        fill_random(buffer, self.compressibility, &mut self.rng);
    }

    /// Makes each 4 KiB unit of a filled buffer different from all units that were written before.
    pub(crate) fn stamp(&mut self, buffer: &mut [u8]) {
        let share = 1.0 - self.compressibility.get();
        for unit in buffer.chunks_mut(UNIT) {
            let random = (unit.len() as f64 * share).round() as usize;
            let stamp = self.rng.next_u64().to_le_bytes();
            let length = random.min(STAMP);
            unit[..length].copy_from_slice(&stamp[..length]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn payload(share: f64) -> PayloadGenerator {
        PayloadGenerator::new(StreamKey::from_seed(9), Ratio::new(share).unwrap())
    }

    #[test]
    fn a_stamp_changes_the_start_of_each_unit_and_nothing_else() {
        let mut payload = payload(0.5);
        let mut buffer = vec![0u8; 3 * UNIT + 512];
        payload.fill(&mut buffer);
        let filled = buffer.clone();
        payload.stamp(&mut buffer);
        for (new, old) in buffer.chunks(UNIT).zip(filled.chunks(UNIT)) {
            assert_ne!(new[..STAMP], old[..STAMP]);
            assert_eq!(new[STAMP..], old[STAMP..]);
        }
    }

    #[test]
    fn zeros_stay_zeros() {
        let mut payload = payload(1.0);
        let mut buffer = vec![0u8; 2 * UNIT];
        payload.fill(&mut buffer);
        payload.stamp(&mut buffer);
        assert!(buffer.iter().all(|&byte| byte == 0));
    }
}

//! The content of written data: random bytes, with a share of zeros that a drive could compress.

use crate::rng::Rng;
use crate::units::Ratio;

/// The unit of compressibility, the mapping unit of most drives.
const UNIT: usize = 4096;

/// Fills `buffer` with random bytes, except that the last part of every 4 KiB, a share of `compressibility`, is zeros.
pub fn fill_random(buffer: &mut [u8], compressibility: Ratio, rng: &mut Rng) {
    for unit in buffer.chunks_mut(UNIT) {
        let zeros = (unit.len() as f64 * compressibility.get()).round() as usize;
        let random = unit.len() - zeros;
        for word in unit[..random].chunks_mut(8) {
            let bits = rng.next_u64().to_le_bytes();
            word.copy_from_slice(&bits[..word.len()]);
        }
        unit[random..].fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::StreamKey;

    #[test]
    fn the_share_of_zeros_is_kept_in_every_unit() {
        let mut buffer = vec![0xaa; 3 * UNIT];
        let mut rng = Rng::new(StreamKey::from_seed(5));
        fill_random(&mut buffer, Ratio::new(0.25).unwrap(), &mut rng);
        for unit in buffer.chunks(UNIT) {
            let zeros = unit.iter().filter(|&&byte| byte == 0).count();
            assert!((1024..1060).contains(&zeros), "{zeros} zeros in 4096 bytes");
        }
    }
}

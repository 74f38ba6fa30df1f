//! Wrong data in requests that succeed: the destination of a misdirected write, and the flipped bits of a read.
//!
//! The simulator decides which requests a silent fault affects. The details are derived from the simulator's random
//! number for the request, so that a seed always produces the same damage.

use lanemark_schema::rng::{Rng, StreamKey};

/// Flips `bits` different bits of `data`, or all bits if `data` contains fewer.
pub fn flip_bits(data: &mut [u8], bits: u32, draw: u64) {
    let mut random = Rng::new(StreamKey::from_seed(draw));
    let count = data.len() as u64 * 8;
    let mut flipped = Vec::new();
    while (flipped.len() as u64) < u64::from(bits).min(count) {
        let bit = random.below(count);
        if !flipped.contains(&bit) {
            data[(bit / 8) as usize] ^= 1 << (bit % 8);
            flipped.push(bit);
        }
    }
}

/// Returns the offset to which a misdirected write of `length` at `offset` is written. The offset is a multiple of the
/// length, so that the write replaces whole blocks of other writes, and is outside the write's own range. Returns
/// `None` if a drive of `size` bytes is too small for that.
pub fn misdirected_offset(offset: u64, length: u64, size: u64, draw: u64) -> Option<u64> {
    let slots = size.checked_div(length)?;
    if slots == 0 {
        return None;
    }
    let first = Rng::new(StreamKey::from_seed(draw)).below(slots);
    // The write overlaps one or two slots.
    let mut others = (0..slots.min(3)).map(|step| (first + step) % slots * length);
    others.find(|other| other + length <= offset || offset + length <= *other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_given_number_of_bits_is_flipped_and_a_draw_flips_the_same() {
        for bits in [1, 3, 64] {
            for draw in 0..50 {
                let mut data = [0xa5; 512];
                flip_bits(&mut data, bits, draw);
                let flipped: u32 = data.iter().map(|byte| (byte ^ 0xa5).count_ones()).sum();
                assert_eq!(flipped, bits);
                flip_bits(&mut data, bits, draw);
                assert_eq!(data, [0xa5; 512]);
            }
        }
        let mut short = [0; 2];
        flip_bits(&mut short, 64, 1);
        assert_eq!(short, [0xff; 2]);
        flip_bits(&mut [], 1, 1);
    }

    #[test]
    fn a_misdirected_write_lands_inside_the_export_and_outside_its_own_range() {
        let mut seen = std::collections::BTreeSet::new();
        for draw in 0..400 {
            for (offset, length, size) in
                [(4096, 4096, 65_536), (512, 4096, 65_536), (0, 512, 1024)]
            {
                let other = misdirected_offset(offset, length, size, draw).unwrap();
                assert!(other.is_multiple_of(length) && other + length <= size);
                assert!(other + length <= offset || offset + length <= other, "{offset} {other}");
                if offset == 4096 {
                    seen.insert(other);
                }
            }
        }
        assert_eq!(seen.len(), 15, "all other blocks: {seen:?}");
        for (offset, length, size) in
            [(0, 1024, 1024), (0, 1000, 1024), (512, 1024, 2048), (0, 0, 1024)]
        {
            assert_eq!(misdirected_offset(offset, length, size, 1), None, "{length} of {size}");
        }
    }
}

//! A unit: the smallest piece that is judged. A unit states its own offset and the write to which it belongs.
//!
//! The first 48 bytes are the stamp, little-endian: a mark, the run, the offset on the target, the generation of the
//! write, the unit's position in that write, the write's length, a checksum (CRC-32 of IEEE 802.3, over all of the unit
//! with these four bytes zero) and the unit's size. The rest is drawn from run, offset and generation, so the stamp
//! determines every byte. Reading checks both: the checksum proves the stamp, and the comparison with the drawn bytes
//! covers every remaining bit.
//!
//! The random rest gives a drive no data to compress or deduplicate; the compressibility of a workload is ignored.

/// The part of a unit that a drive writes as a whole or not at all.
pub(super) const SECTOR: usize = 512;
/// The largest unit: the largest sector of drives in common use.
pub(super) const UNIT_MAX: usize = 4096;
const HEADER: usize = 48;
const MARK: [u8; 8] = *b"LNMKUNI1";
const CHECKSUM: std::ops::Range<usize> = 40..44;
/// The step and the multiplier of SplitMix64 (Steele, Lea and Flood, 2014).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
const MULTIPLIER: u64 = 0xbf58_476d_1ce4_e5b9;

/// The stamp that a unit carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Number of the run that wrote the unit.
    pub(super) run: u64,
    /// Offset of the unit on the target.
    pub(super) offset: u64,
    /// Number of the write in the run.
    pub(super) generation: u64,
    /// Distance of the unit from the start of the write.
    pub(super) place: u32,
    /// Length of the write.
    pub(super) length: u32,
}

impl Stamp {
    /// Fills `unit`, a multiple of 512 B, with the content for this stamp.
    pub(super) fn write(&self, unit: &mut [u8]) {
        unit[..8].copy_from_slice(&MARK);
        unit[8..16].copy_from_slice(&self.run.to_le_bytes());
        unit[16..24].copy_from_slice(&self.offset.to_le_bytes());
        unit[24..32].copy_from_slice(&self.generation.to_le_bytes());
        unit[32..36].copy_from_slice(&self.place.to_le_bytes());
        unit[36..40].copy_from_slice(&self.length.to_le_bytes());
        unit[CHECKSUM].fill(0);
        let size = unit.len() as u32;
        unit[44..HEADER].copy_from_slice(&size.to_le_bytes());
        for (word, drawn) in unit[HEADER..].chunks_exact_mut(8).zip(self.body()) {
            word.copy_from_slice(&drawn);
        }
        let checksum = crc32fast::hash(unit);
        unit[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Reads the stamp of `unit` if every bit of the unit matches it.
    pub(super) fn read(unit: &[u8]) -> Option<Self> {
        let stamp = Self::claimed(unit)?;
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&unit[..CHECKSUM.start]);
        hasher.update(&[0; 4]);
        hasher.update(&unit[CHECKSUM.end..]);
        let whole = hasher.finalize().to_le_bytes() == unit[CHECKSUM]
            && unit[44..HEADER] == (unit.len() as u32).to_le_bytes()
            && unit[HEADER..].chunks_exact(8).zip(stamp.body()).all(|(word, drawn)| word == drawn);
        whole.then_some(stamp)
    }

    /// Reads the stamp of `unit`, whether true or not.
    pub(super) fn claimed(unit: &[u8]) -> Option<Self> {
        if unit.len() < SECTOR || !unit.len().is_multiple_of(8) || unit[..8] != MARK {
            return None;
        }
        let wide = |at: usize| unit[at..at + 8].try_into().map(u64::from_le_bytes);
        let narrow = |at: usize| unit[at..at + 4].try_into().map(u32::from_le_bytes);
        Some(Self {
            run: wide(8).ok()?,
            offset: wide(16).ok()?,
            generation: wide(24).ok()?,
            place: narrow(32).ok()?,
            length: narrow(36).ok()?,
        })
    }

    /// Generates the endless sequence of words after the stamp.
    fn body(&self) -> impl Iterator<Item = [u8; 8]> {
        let base = mix(self.run ^ mix(self.offset ^ mix(self.generation)));
        (1u64..).map(move |number| mix(base.wrapping_add(number.wrapping_mul(STEP))).to_le_bytes())
    }
}

/// Fills `buffer` with the units of the write `generation` to `offset`.
pub(super) fn stamp_write(buffer: &mut [u8], unit: usize, run: u64, offset: u64, generation: u64) {
    let length = buffer.len() as u32;
    for (number, bytes) in buffer.chunks_mut(unit).enumerate() {
        let place = (number * unit) as u32;
        let offset = offset + u64::from(place);
        Stamp { run, offset, generation, place, length }.write(bytes);
    }
}

/// Mixes a word in one step that maps different words to different words.
fn mix(word: u64) -> u64 {
    let word = (word ^ (word >> 32)).wrapping_mul(MULTIPLIER);
    word ^ (word >> 29)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STAMP: Stamp = Stamp { run: 7, offset: 1 << 40, generation: 3, place: 512, length: 4096 };

    #[test]
    fn any_single_flipped_bit_is_found() {
        for size in [512, 1024] {
            let mut unit = vec![0; size];
            STAMP.write(&mut unit);
            assert_eq!(Stamp::read(&unit), Some(STAMP));
            for bit in 0..size * 8 {
                unit[bit / 8] ^= 1 << (bit % 8);
                assert_eq!(Stamp::read(&unit), None, "bit {bit}");
                unit[bit / 8] ^= 1 << (bit % 8);
            }
        }
    }

    #[test]
    fn units_of_other_generations_and_places_differ_in_every_sector() {
        let mut units = Vec::new();
        for (offset, generation) in [(0, 1), (0, 2), (4096, 1), (4096, 2)] {
            let mut unit = vec![0; UNIT_MAX];
            Stamp { run: 1, offset, generation, place: 0, length: 4096 }.write(&mut unit);
            units.push(unit);
        }
        for sector in 0..UNIT_MAX / SECTOR {
            for (number, one) in units.iter().enumerate() {
                for other in &units[..number] {
                    let range = sector * SECTOR..(sector + 1) * SECTOR;
                    assert_ne!(one[range.clone()], other[range]);
                }
            }
        }
    }

    #[test]
    fn the_format_stays_as_it_is() {
        let mut unit = [0; 512];
        STAMP.write(&mut unit);
        assert_eq!(
            crc32fast::hash(&unit),
            FORMAT,
            "units of older runs would be reported as damaged"
        );
    }

    const FORMAT: u32 = 2_524_265_550;

    proptest! {
        #[test]
        fn arbitrary_bytes_are_no_unit(mut bytes in prop::collection::vec(any::<u8>(), 0..2048), marked: bool) {
            if marked && bytes.len() > 8 {
                bytes[..8].copy_from_slice(&MARK);
            }
            prop_assert_eq!(Stamp::read(&bytes), None);
        }
    }
}

//! Several drives as one volume: striped (RAID 0), or mirrored (RAID 1).
//!
//! Model (Patterson, Gibson and Katz, "A case for redundant arrays of inexpensive disks", SIGMOD 1988). Chunk c of a
//! stripe over n drives is chunk `c / n` of drive `c mod n`. The data of a request on one drive is contiguous there and
//! is requested in one piece, because the block layer merges adjacent pieces after the split at chunk boundaries. A
//! mirror writes to all drives, and reads from the drive with the fewest outstanding requests; drives with equal
//! numbers take turns. As a result, slower drives and drives downstream of a busy link automatically receive fewer
//! requests. Each drive contributes the capacity of the smallest drive.
//!
//! The host implements the volume, like software RAID: each part costs the driver the time of a command. The times of
//! the application and of the system call are counted only once, with the first part.
//!
//! Not modelled: parity, drives that fail, rebuilding, zones that allow unequal drives to be striped in full, assigning
//! a sequential reader of a mirror to one drive, write-intent bitmaps.

use crate::spec::{PriorContent, RewrittenSpan, VolumeSpec};
use lanemark_schema::units::{Bytes, Ratio};

/// The part of a request on one drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VolumePart {
    /// The drive.
    pub drive: u16,
    /// Offset of the part on the drive.
    pub offset: Bytes,
    /// Length of the part.
    pub length: Bytes,
}

/// A position in a stripe: the row, which consists of one chunk on each drive, and the offset in the row.
#[derive(Clone, Copy, Default)]
struct StripePosition {
    row: u64,
    into: u64,
}

impl StripePosition {
    fn locate(chunk: Bytes, drives: u16, place: Bytes) -> Self {
        let row = chunk.get() * u64::from(drives);
        let rows = place.get() / row;
        Self { row: rows, into: place.get() - rows * row }
    }

    /// Returns the number of bytes on `drive` before the position.
    #[inline]
    fn before(self, chunk: Bytes, drive: u16) -> u64 {
        let chunk = chunk.get();
        self.row * chunk + self.into.saturating_sub(u64::from(drive) * chunk).min(chunk)
    }
}

impl VolumeSpec {
    /// Returns, for each drive of a stripe over `drives` in order, the drive's part of the `length` bytes from
    /// `offset`. On a mirror, every drive has all bytes.
    pub(crate) fn parts(
        self,
        drives: u16,
        offset: Bytes,
        length: Bytes,
    ) -> impl Iterator<Item = VolumePart> + Clone {
        let (first, end) = match self {
            Self::Mirror => (StripePosition::default(), StripePosition::default()),
            Self::Stripe { chunk } => (
                StripePosition::locate(chunk, drives, offset),
                StripePosition::locate(chunk, drives, offset + length),
            ),
        };
        (0..drives).filter_map(move |drive| {
            let Self::Stripe { chunk } = self else {
                return Some(VolumePart { drive, offset, length });
            };
            let start = first.before(chunk, drive);
            let end = end.before(chunk, drive);
            let part = VolumePart { drive, offset: Bytes(start), length: Bytes(end - start) };
            (end > start).then_some(part)
        })
    }

    /// Returns the part of the `length` bytes from `offset` if they are within one chunk of a stripe over `drives`.
    #[inline]
    pub(crate) fn within_chunk(
        self,
        drives: u16,
        offset: Bytes,
        length: Bytes,
    ) -> Option<VolumePart> {
        let Self::Stripe { chunk } = self else { return None };
        let number = offset.get() / chunk.get();
        let into = offset.get() % chunk.get();
        if length == Bytes::ZERO || into + length.get() > chunk.get() {
            return None;
        }
        let row = number / u64::from(drives);
        let drive = number % u64::from(drives);
        Some(VolumePart { drive: drive as u16, offset: Bytes(row * chunk.get() + into), length })
    }

    /// Returns the content of each drive if the volume contains `content`, accurate to one chunk.
    pub(crate) fn content(self, drives: u16, content: PriorContent) -> PriorContent {
        let Self::Stripe { chunk } = self else { return content };
        // The first drive has the largest share of any prefix.
        let before = |place| Bytes(StripePosition::locate(chunk, drives, place).before(chunk, 0));
        let rewritten = content
            .rewritten
            .map(|span| RewrittenSpan { start: before(span.start), end: before(span.end) });
        PriorContent { written: before(content.written), rewritten, ..content }
    }

    /// Returns the numbers of bytes that one byte of the volume moves on a hop of one drive and on a link that all
    /// drives share. `reads` is the share of reads.
    pub(crate) fn demand(self, drives: usize, reads: Ratio) -> (f64, f64) {
        let drives = drives as f64;
        let reads = reads.get();
        match self {
            Self::Stripe { .. } => (1.0 / drives, 1.0),
            Self::Mirror => (reads / drives + 1.0 - reads, reads + (1.0 - reads) * drives),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const STRIPE: VolumeSpec = VolumeSpec::Stripe { chunk: Bytes::kibi(64) };

    fn parts(offset: u64, length: u64) -> Vec<(u16, u64, u64)> {
        let all = STRIPE.parts(2, Bytes::kibi(offset), Bytes::kibi(length));
        all.map(|part| (part.drive, part.offset.get() / 1024, part.length.get() / 1024)).collect()
    }

    #[test]
    fn a_stripe_splits_at_chunk_bounds_and_asks_each_drive_once() {
        assert_eq!(parts(4, 60), [(0, 4, 60)]);
        assert_eq!(parts(60, 8), [(0, 60, 4), (1, 0, 4)]);
        assert_eq!(parts(64, 4), [(1, 0, 4)]);
        assert_eq!(parts(0, 256), [(0, 0, 128), (1, 0, 128)]);
        assert_eq!(parts(100, 64), [(0, 64, 36), (1, 36, 28)]);
    }

    #[test]
    fn unequal_drives_give_as_much_as_the_smallest() {
        let drives = [Bytes::kibi(1000), Bytes::kibi(900)];
        assert_eq!(VolumeSpec::Mirror.capacity(&drives), Bytes::kibi(900));
        assert_eq!(STRIPE.capacity(&drives), Bytes::kibi(14 * 64 * 2));
        assert_eq!(VolumeSpec::Stripe { chunk: Bytes::ZERO }.capacity(&drives), Bytes::ZERO);
    }

    proptest! {
        /// Each drive of a stripe contains its part of the content, which is not larger than the part of the first
        /// drive; each drive of a mirror contains all of the content.
        #[test]
        fn a_drive_of_a_stripe_holds_the_largest_part_of_the_content(
            chunks in 1u64..40, drives in 2u16..9, written in 0u64..20_000,
        ) {
            let chunk = Bytes(chunks * 4096);
            let content = PriorContent::from(Bytes(written * 512));
            let stripe = VolumeSpec::Stripe { chunk };
            let held = stripe.content(drives, content).written;
            let parts: Vec<VolumePart> = stripe.parts(drives, Bytes::ZERO, content.written).collect();
            let largest = parts.iter().map(|part| part.length).max().unwrap_or_default();
            prop_assert_eq!(held, largest);
            for part in &parts {
                prop_assert_eq!(part.offset, Bytes::ZERO);
                prop_assert!(held - part.length <= chunk, "they differ by one chunk or less");
            }
            prop_assert_eq!(VolumeSpec::Mirror.content(drives, content), content);
        }

        /// Every byte of a request is in exactly one part, at the position that the formula states, and all parts are
        /// within the drives.
        #[test]
        fn parts_are_the_chunks_of_the_request(
            chunks in 1u64..40, drives in 2u16..9, offset in 0u64..5000, length in 1u64..3000,
        ) {
            let slot = 4096;
            let chunk = chunks * 4096;
            let spec = VolumeSpec::Stripe { chunk: Bytes(chunk) };
            let mut expected: Vec<(u16, u64)> = (offset..offset + length)
                .map(|index| {
                    let number = index * slot / chunk;
                    let within = index * slot % chunk;
                    let drive = number % u64::from(drives);
                    (drive as u16, number / u64::from(drives) * chunk + within)
                })
                .collect();
            expected.sort_unstable();
            let mut seen = Vec::new();
            for part in spec.parts(drives, Bytes(offset * slot), Bytes(length * slot)) {
                let places = part.offset.get()..(part.offset + part.length).get();
                seen.extend(places.step_by(4096).map(|place| (part.drive, place)));
            }
            prop_assert_eq!(seen, expected);
            let offset = Bytes(offset * slot);
            let length = Bytes(length * slot);
            let parts: Vec<VolumePart> = spec.parts(drives, offset, length).collect();
            let within = spec.within_chunk(drives, offset, length);
            let one_chunk = offset.get() / chunk == (offset + length).get().saturating_sub(1) / chunk;
            prop_assert_eq!(within, one_chunk.then(|| parts[0]));
        }
    }
}

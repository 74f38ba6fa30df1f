//! Several drives as one volume: striped (RAID 0), or mirrored (RAID 1).
//!
//! Law (Patterson, Gibson and Katz, "A case for redundant arrays of inexpensive disks", SIGMOD 1988). Chunk c of a
//! stripe over n drives is chunk `c / n` of drive `c mod n`. What a request covers of a drive lies there in one
//! piece, and is asked for in one: the block layer merges the neighbours that splitting at chunk bounds leaves.
//! A mirror writes to all drives, and reads from the one with the fewest requests outstanding, in turn where several
//! have as few: drives that are slower or behind a busy link get less, with nothing to set. Each drive gives as
//! much as the smallest.
//!
//! The volume is the host's, as software RAID is: each part costs the driver what a command costs. The application
//! and the system call are paid once, with the first part.
//!
//! Not modelled: parity, drives that fail, rebuilding, the zones by which unequal drives can be striped in full,
//! keeping a sequential reader of a mirror on one drive, write-intent bitmaps.

use super::spec::{Content, VolumeSpec};
use crate::units::{Bytes, Ratio};

/// The part of a request on one drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    /// The drive.
    pub drive: u16,
    /// Offset of the part on the drive.
    pub offset: Bytes,
    /// Length of the part.
    pub length: Bytes,
}

/// A place of a stripe: in which row of chunks, one of each drive, and how far into it.
#[derive(Clone, Copy, Default)]
struct RowPlace {
    row: u64,
    into: u64,
}

impl RowPlace {
    fn of(chunk: Bytes, drives: u16, place: Bytes) -> Self {
        let row = chunk.get() * u64::from(drives);
        let rows = place.get() / row;
        Self { row: rows, into: place.get() - rows * row }
    }

    /// Returns the bytes before the place that lie on `drive`.
    #[inline]
    fn before(self, chunk: Bytes, drive: u16) -> u64 {
        let chunk = chunk.get();
        self.row * chunk + self.into.saturating_sub(u64::from(drive) * chunk).min(chunk)
    }
}

impl VolumeSpec {
    /// Returns the parts of the `length` bytes from `offset` on that lie on each drive of a stripe over `drives`, in
    /// the order of the drives; on a mirror, every drive has all of them.
    pub(super) fn parts(
        self,
        drives: u16,
        offset: Bytes,
        length: Bytes,
    ) -> impl Iterator<Item = Part> + Clone {
        let (first, end) = match self {
            Self::Mirror => (RowPlace::default(), RowPlace::default()),
            Self::Stripe { chunk } => {
                (RowPlace::of(chunk, drives, offset), RowPlace::of(chunk, drives, offset + length))
            }
        };
        (0..drives).filter_map(move |drive| {
            let Self::Stripe { chunk } = self else { return Some(Part { drive, offset, length }) };
            let (start, end) = (first.before(chunk, drive), end.before(chunk, drive));
            let part = Part { drive, offset: Bytes(start), length: Bytes(end - start) };
            (end > start).then_some(part)
        })
    }

    /// Returns the part of the `length` bytes from `offset` on where they lie within one chunk of a stripe over `drives`.
    #[inline]
    pub(super) fn within_chunk(self, drives: u16, offset: Bytes, length: Bytes) -> Option<Part> {
        let Self::Stripe { chunk } = self else { return None };
        let (number, into) = (offset.get() / chunk.get(), offset.get() % chunk.get());
        if length == Bytes::ZERO || into + length.get() > chunk.get() {
            return None;
        }
        let (row, drive) = (number / u64::from(drives), number % u64::from(drives));
        Some(Part { drive: drive as u16, offset: Bytes(row * chunk.get() + into), length })
    }

    /// Returns the content of each drive where the volume holds `content`, up to a chunk.
    pub(super) fn content(self, drives: u16, content: Content) -> Content {
        let Self::Stripe { chunk } = self else { return content };
        // The first drive has the most of any beginning.
        let written = RowPlace::of(chunk, drives, content.written).before(chunk, 0);
        Content { written: Bytes(written), ..content }
    }

    /// How much of a hop of every drive's own, and of a link that all share, one byte of the volume takes where
    /// `reads` is the share of reads.
    pub(super) fn demand(self, drives: usize, reads: Ratio) -> (f64, f64) {
        let (drives, reads) = (drives as f64, reads.get());
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
        /// Every byte of a request lies in one part, where the law says, and all within the drives.
        #[test]
        fn parts_are_the_chunks_of_the_request(
            chunks in 1u64..40, drives in 2u16..9, offset in 0u64..5000, length in 1u64..3000,
        ) {
            let (slot, chunk) = (4096, chunks * 4096);
            let spec = VolumeSpec::Stripe { chunk: Bytes(chunk) };
            let mut expected: Vec<(u16, u64)> = (offset..offset + length)
                .map(|index| {
                    let (number, within) = (index * slot / chunk, index * slot % chunk);
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
            let (offset, length) = (Bytes(offset * slot), Bytes(length * slot));
            let parts: Vec<Part> = spec.parts(drives, offset, length).collect();
            let within = spec.within_chunk(drives, offset, length);
            let one_chunk = offset.get() / chunk == (offset + length).get().saturating_sub(1) / chunk;
            prop_assert_eq!(within, one_chunk.then(|| parts[0]));
        }
    }
}

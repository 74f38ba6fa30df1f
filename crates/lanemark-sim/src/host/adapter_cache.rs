//! The write-back cache of a RAID adapter. It contains data that the adapter has acknowledged to the host and not yet
//! written to the drives.
//!
//! A write takes room in the cache and is complete when its data is in the cache. The cache then writes to each drive
//! in the order of addresses, up to the drive's limit on outstanding writes, and continues at the lowest address after
//! the highest. Adjacent pieces are combined into one write, up to a maximum length and not across multiples of this
//! length, because adapters store data in lines. Data that is overwritten before its turn is written to the drive only
//! once. When there is no room, writes wait in the order of arrival until the next write to a drive ends. A read is
//! served from the cache if one piece contains all its data.
//!
//! Not modelled: data that stays in the cache after it has been written, read-ahead, and the delay of a few seconds
//! before the cache begins to write.

use std::collections::BTreeMap;

use crate::engine::number::DriveNumber;
use crate::engine::slab::{Commands, SlabQueue};
use crate::spec::AdapterCacheSpec;
use lanemark_schema::units::Bytes;

#[derive(Clone, Debug)]
pub(crate) struct AdapterCache {
    spec: AdapterCacheSpec,
    room: Bytes,
    drives: Vec<UnwrittenData>,
    /// Commands that wait for room.
    pub waiting: SlabQueue<Commands>,
}

/// A piece of a drive's address space: its offset and its length.
pub(crate) type CachedPiece = (Bytes, Bytes);

/// The cached data that a drive has not received.
#[derive(Clone, Debug, Default)]
struct UnwrittenData {
    /// The end of each piece, by its start; pieces are neither adjacent nor overlapping.
    pieces: BTreeMap<u64, u64>,
    /// Maximum length of a write to the drive.
    gather: u64,
    /// The pieces in transit to the drive.
    under_way: Vec<(u64, u64)>,
    /// The end of the last piece that was sent.
    place: u64,
}

impl AdapterCache {
    /// Creates an empty cache. `largest` contains the maximum command size of each drive.
    pub(crate) fn new(spec: AdapterCacheSpec, largest: impl Iterator<Item = Bytes>) -> Self {
        let gather = |largest: Bytes| spec.gather.min(largest).get();
        let drives =
            largest.map(|one| UnwrittenData { gather: gather(one), ..UnwrittenData::default() });
        let drives = drives.collect();
        Self { spec, room: spec.size, drives, waiting: SlabQueue::EMPTY }
    }

    /// Returns the number of bytes in the cache, including data in transit to the cache.
    pub(crate) fn occupied(&self) -> Bytes {
        self.spec.size - self.room
    }

    pub(crate) fn free(&self) -> Bytes {
        self.room
    }

    /// Reserves room for `length` bytes, and returns whether it was available.
    pub(crate) fn reserve(&mut self, length: Bytes) -> bool {
        let takes = length <= self.room;
        if takes {
            self.room = self.room - length;
        }
        takes
    }

    /// Stores data for a drive in its reserved room, and releases the room of older data at the same addresses.
    pub(crate) fn put(&mut self, drive: DriveNumber, piece: CachedPiece) {
        let (offset, length) = piece;
        let overwritten =
            self.drives[usize::from(drive)].put(offset.get(), (offset + length).get());
        self.room += Bytes(overwritten);
    }

    /// Returns the next piece to write to a drive, if there is one and the drive accepts another write.
    pub(crate) fn next(&mut self, drive: DriveNumber) -> Option<CachedPiece> {
        let unwritten = &mut self.drives[usize::from(drive)];
        if unwritten.under_way.len() >= self.spec.depth as usize {
            return None;
        }
        let (start, end) = unwritten.next()?;
        Some((Bytes(start), Bytes(end - start)))
    }

    /// Releases the room of a piece that the drive has received.
    pub(crate) fn release_piece(&mut self, drive: DriveNumber, piece: CachedPiece) {
        let (offset, length) = piece;
        let under_way = &mut self.drives[usize::from(drive)].under_way;
        let ends = (offset.get(), (offset + length).get());
        if let Some(at) = under_way.iter().position(|one| *one == ends) {
            under_way.swap_remove(at);
            self.room += length;
        }
    }

    /// Returns whether one piece in the cache contains the whole of `piece`.
    pub(crate) fn holds(&self, drive: DriveNumber, piece: CachedPiece) -> bool {
        let (offset, length) = piece;
        let start = offset.get();
        let end = (offset + length).get();
        let UnwrittenData { pieces, under_way, .. } = &self.drives[usize::from(drive)];
        let behind = pieces.range(..=start).next_back();
        behind.is_some_and(|(_, held_to)| end <= *held_to)
            || under_way.iter().any(|(from, to)| *from <= start && end <= *to)
    }
}

impl UnwrittenData {
    /// Adds a piece, and returns the number of its bytes that the cache already contained.
    fn put(&mut self, start: u64, end: u64) -> u64 {
        let mut from = start;
        let mut to = end;
        let mut overwritten = 0;
        // The search runs backwards from the last piece that begins no later than the end, as long as the pieces are
        // adjacent.
        while let Some((&own_start, &own_end)) = self.pieces.range(..=to).next_back() {
            if own_end < from {
                break;
            }
            self.pieces.remove(&own_start);
            overwritten += own_end.min(end).saturating_sub(own_start.max(start));
            (from, to) = (from.min(own_start), to.max(own_end));
        }
        self.pieces.insert(from, to);
        overwritten
    }

    /// Removes and returns the next piece in the order of addresses, up to the next multiple of the maximum length.
    fn next(&mut self) -> Option<(u64, u64)> {
        let ahead = self.pieces.range(self.place..).next();
        let (&start, &whole) = ahead.or_else(|| self.pieces.iter().next())?;
        let end = whole.min((start / self.gather + 1) * self.gather);
        self.pieces.remove(&start);
        if end < whole {
            self.pieces.insert(end, whole);
        }
        self.place = end;
        self.under_way.push((start, end));
        Some((start, end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_schema::rng::{Rng, StreamKey};

    const DRIVE: DriveNumber = DriveNumber(0);

    fn cache(size: u64, gather: u64, depth: u32) -> AdapterCache {
        let spec = AdapterCacheSpec { size: Bytes(size), gather: Bytes(gather), depth };
        AdapterCache::new(spec, std::iter::once(Bytes::mebi(1)))
    }

    fn put(cache: &mut AdapterCache, offset: u64, length: u64) {
        assert!(cache.reserve(Bytes(length)), "{offset} {length}");
        cache.put(DRIVE, (Bytes(offset), Bytes(length)));
    }

    #[test]
    fn neighbours_go_together_up_to_the_end_of_a_line() {
        for (written, sent) in [
            (&[(48, 16), (16, 16), (32, 16), (144, 16)][..], [(16, 48), (144, 16)]),
            (&[(48, 32)], [(48, 16), (64, 16)]),
        ] {
            let mut cache = cache(1 << 20, 64, 8);
            written.iter().for_each(|&(at, length)| put(&mut cache, at, length));
            let pieces: Vec<_> = std::iter::from_fn(|| cache.next(DRIVE)).collect();
            assert_eq!(pieces, sent.map(|(at, length)| (Bytes(at), Bytes(length))), "{written:?}");
        }
    }

    #[test]
    fn places_come_in_order_and_from_the_lowest_again() {
        let mut cache = cache(1 << 20, 64, 8);
        put(&mut cache, 640, 16);
        assert_eq!(cache.next(DRIVE), Some((Bytes(640), Bytes(16))));
        put(&mut cache, 64, 16);
        put(&mut cache, 1280, 16);
        assert_eq!(cache.next(DRIVE), Some((Bytes(1280), Bytes(16))));
        assert_eq!(cache.next(DRIVE), Some((Bytes(64), Bytes(16))));
    }

    #[test]
    fn a_cache_accepts_writes_up_to_its_room() {
        let mut cache = cache(64, 64, 8);
        assert!(!cache.reserve(Bytes(65)));
        assert!(cache.reserve(Bytes(64)) && !cache.reserve(Bytes(1)));
        cache.put(DRIVE, (Bytes(0), Bytes(64)));
        assert_eq!((cache.occupied(), cache.room), (Bytes(64), Bytes::ZERO));
        let piece = cache.next(DRIVE).unwrap();
        // A piece that the cache did not send does not release room.
        cache.release_piece(DRIVE, (Bytes(0), Bytes(32)));
        assert!(!cache.reserve(Bytes(1)));
        cache.release_piece(DRIVE, piece);
        assert!(cache.reserve(Bytes(63)) && !cache.reserve(Bytes(2)) && cache.reserve(Bytes(1)));
    }

    #[test]
    fn a_drive_gets_no_more_at_once_than_its_depth() {
        let mut cache = cache(1 << 20, 64, 2);
        (0..3).for_each(|line| put(&mut cache, line * 128, 16));
        let first = cache.next(DRIVE).unwrap();
        assert!(cache.next(DRIVE).is_some());
        assert_eq!(cache.next(DRIVE), None);
        cache.release_piece(DRIVE, first);
        assert!(cache.next(DRIVE).is_some());
    }

    #[test]
    fn a_read_is_answered_from_a_single_cached_piece() {
        let mut cache = cache(1 << 20, 64, 8);
        put(&mut cache, 64, 32);
        let holds =
            |cache: &AdapterCache, at, length| cache.holds(DRIVE, (Bytes(at), Bytes(length)));
        assert!(holds(&cache, 64, 32) && holds(&cache, 80, 16));
        assert!(!holds(&cache, 80, 32) && !holds(&cache, 48, 32) && !holds(&cache, 0, 16));
        let piece = cache.next(DRIVE).unwrap();
        assert!(holds(&cache, 64, 32), "a piece in transit is still in the cache");
        cache.release_piece(DRIVE, piece);
        assert!(!holds(&cache, 64, 32));
    }

    /// Compares the cache with a set of blocks: the cache neither loses data nor writes data that was not stored in it,
    /// and the used room equals the amount of cached data.
    #[test]
    fn room_and_pieces_agree_with_a_set_of_blocks() {
        const BLOCK: u64 = 4096;
        let mut rng = Rng::new(StreamKey::from_seed(5));
        let mut cache = cache(64 * BLOCK, 8 * BLOCK, 4);
        let mut unwritten = [false; 128];
        let mut under_way: Vec<CachedPiece> = Vec::new();
        for _ in 0..20_000 {
            let held = unwritten.iter().filter(|one| **one).count() as u64
                + under_way.iter().map(|one| one.1.get()).sum::<u64>() / BLOCK;
            assert_eq!(cache.room, Bytes((64 - held) * BLOCK));
            if rng.below(2) == 0 {
                let at = rng.below(100);
                let count = 1 + rng.below(9);
                if cache.reserve(Bytes(count * BLOCK)) {
                    cache.put(DRIVE, (Bytes(at * BLOCK), Bytes(count * BLOCK)));
                    (at..at + count).for_each(|block| unwritten[block as usize] = true);
                }
            } else if let Some(piece) = cache.next(DRIVE) {
                let first = piece.0.get() / BLOCK;
                let count = piece.1.get() / BLOCK;
                let mut blocks = first as usize..(first + count) as usize;
                assert!(blocks.all(|block| std::mem::take(&mut unwritten[block])));
                assert!(first / 8 == (first + count - 1) / 8, "within a line");
                under_way.push(piece);
            } else if !under_way.is_empty() {
                let at = rng.below(under_way.len() as u64) as usize;
                cache.release_piece(DRIVE, under_way.swap_remove(at));
            }
        }
    }
}

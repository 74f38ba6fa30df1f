//! The write-back cache of a RAID adapter: data of writes that the host takes for stored, and drives have not got yet.
//!
//! A write takes room in the cache and is complete when its data is there. Behind that the cache writes to each drive
//! in the order of places, as far as the drive has writes outstanding, and begins anew at the lowest when it has passed the
//! highest. Neighbours go in one write, up to a length and not over its multiples, since adapters keep data in lines. Data
//! that is overwritten before its turn has come reaches a drive once. When there is no room a write waits for the next of
//! these to end, in the order of arrival. What the cache holds in one piece is read from it.
//!
//! Not modelled: data that is kept after it has been written, reading ahead, and the wait of a few seconds before
//! the cache begins to write.

use std::collections::BTreeMap;

use super::slab::{Chain, Commands};
use super::spec::AdapterCacheSpec;
use crate::sim::number::DriveNumber;
use crate::units::Bytes;

/// A cache at work.
#[derive(Clone, Debug)]
pub(super) struct Cache {
    spec: AdapterCacheSpec,
    room: Bytes,
    drives: Vec<Unwritten>,
    /// Writes that wait for room.
    pub waiting: Chain<Commands>,
}

/// A piece of a drive: its offset and its length.
pub(super) type Piece = (Bytes, Bytes);

/// The data of a drive that the drive has not got.
#[derive(Clone, Debug, Default)]
struct Unwritten {
    /// The end of each piece by its start; pieces neither meet nor overlap.
    pieces: BTreeMap<u64, u64>,
    /// Length of the largest piece that is sent.
    gather: u64,
    /// The pieces on their way to the drive.
    under_way: Vec<(u64, u64)>,
    /// The place behind the last piece that was sent.
    place: u64,
}

impl Cache {
    /// An empty cache in front of drives whose largest commands are `largest`.
    pub(super) fn new(spec: AdapterCacheSpec, largest: impl Iterator<Item = Bytes>) -> Self {
        let gather = |largest: Bytes| spec.gather.min(largest).get();
        let drives = largest.map(|one| Unwritten { gather: gather(one), ..Unwritten::default() });
        let drives = drives.collect();
        Self { spec, room: spec.size, drives, waiting: Chain::EMPTY }
    }

    /// Returns the data that the cache holds, with what is on its way into it.
    pub(super) fn held(&self) -> Bytes {
        self.spec.size - self.room
    }

    /// Takes room for `length` bytes, where there is as much.
    pub(super) fn reserve(&mut self, length: Bytes) -> bool {
        let takes = length <= self.room;
        if takes {
            self.room = self.room - length;
        }
        takes
    }

    /// Puts data for a drive into the room that it has reserved, and gives back what was there of the same places.
    pub(super) fn put(&mut self, drive: DriveNumber, (offset, length): Piece) {
        let overwritten =
            self.drives[usize::from(drive)].put(offset.get(), (offset + length).get());
        self.room += Bytes(overwritten);
    }

    /// Returns the next piece to write to a drive, where the drive has room for a write and there is one.
    pub(super) fn next(&mut self, drive: DriveNumber) -> Option<Piece> {
        let unwritten = &mut self.drives[usize::from(drive)];
        if unwritten.under_way.len() >= self.spec.depth as usize {
            return None;
        }
        let (start, end) = unwritten.next()?;
        Some((Bytes(start), Bytes(end - start)))
    }

    /// Gives back the room of a piece that the drive has.
    pub(super) fn drained(&mut self, drive: DriveNumber, (offset, length): Piece) {
        let under_way = &mut self.drives[usize::from(drive)].under_way;
        let piece = (offset.get(), (offset + length).get());
        if let Some(at) = under_way.iter().position(|one| *one == piece) {
            under_way.swap_remove(at);
            self.room += length;
        }
    }

    /// Whether the cache holds all of a piece, in one.
    pub(super) fn holds(&self, drive: DriveNumber, (offset, length): Piece) -> bool {
        let (start, end) = (offset.get(), (offset + length).get());
        let Unwritten { pieces, under_way, .. } = &self.drives[usize::from(drive)];
        let behind = pieces.range(..=start).next_back();
        behind.is_some_and(|(_, held_to)| end <= *held_to)
            || under_way.iter().any(|(from, to)| *from <= start && end <= *to)
    }
}

impl Unwritten {
    /// Adds a piece, and returns how many of its bytes were there.
    fn put(&mut self, start: u64, end: u64) -> u64 {
        let (mut from, mut to, mut overwritten) = (start, end, 0);
        // From the last piece that begins no later than the end, backwards, as far as they meet.
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

    /// Sends the next piece in the order of places, at most up to the next multiple of the largest length.
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
    use crate::rng::{Rng, StreamKey};

    const DRIVE: DriveNumber = DriveNumber(0);

    fn cache(size: u64, gather: u64, depth: u32) -> Cache {
        let spec = AdapterCacheSpec { size: Bytes(size), gather: Bytes(gather), depth };
        Cache::new(spec, std::iter::once(Bytes::mebi(1)))
    }

    fn put(cache: &mut Cache, offset: u64, length: u64) {
        assert!(cache.reserve(Bytes(length)), "{offset} {length}");
        cache.put(DRIVE, (Bytes(offset), Bytes(length)));
    }

    #[test]
    fn neighbours_go_together_up_to_a_line() {
        let mut cache = cache(1 << 20, 64, 8);
        for block in [3, 1, 2, 9] {
            put(&mut cache, block * 16, 16);
        }
        let pieces: Vec<_> = std::iter::from_fn(|| cache.next(DRIVE)).collect();
        let places = [(16, 48), (144, 16)].map(|(at, length)| (Bytes(at), Bytes(length)));
        assert_eq!(pieces, places, "one write of three neighbours, and one of the last");
    }

    #[test]
    fn a_piece_over_a_lines_end_goes_in_two() {
        let mut cache = cache(1 << 20, 64, 8);
        put(&mut cache, 48, 32);
        assert_eq!(cache.next(DRIVE), Some((Bytes(48), Bytes(16))));
        assert_eq!(cache.next(DRIVE), Some((Bytes(64), Bytes(16))));
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
    fn a_drive_gets_no_more_at_once_than_its_depth() {
        let mut cache = cache(1 << 20, 64, 2);
        (0..3).for_each(|line| put(&mut cache, line * 128, 16));
        let first = cache.next(DRIVE).unwrap();
        assert!(cache.next(DRIVE).is_some());
        assert_eq!(cache.next(DRIVE), None);
        cache.drained(DRIVE, first);
        assert!(cache.next(DRIVE).is_some());
    }

    #[test]
    fn a_read_is_answered_of_what_is_held_in_one_piece() {
        let mut cache = cache(1 << 20, 64, 8);
        put(&mut cache, 64, 32);
        let holds = |cache: &Cache, at, length| cache.holds(DRIVE, (Bytes(at), Bytes(length)));
        assert!(holds(&cache, 64, 32) && holds(&cache, 80, 16));
        assert!(!holds(&cache, 80, 32) && !holds(&cache, 48, 32) && !holds(&cache, 0, 16));
        let piece = cache.next(DRIVE).unwrap();
        assert!(holds(&cache, 64, 32), "on its way it is still there");
        cache.drained(DRIVE, piece);
        assert!(!holds(&cache, 64, 32));
    }

    /// Against a set of blocks: nothing is lost or written that was not put, and room is what is held.
    #[test]
    fn room_and_pieces_agree_with_a_set_of_blocks() {
        const BLOCK: u64 = 4096;
        let mut rng = Rng::new(StreamKey::from_seed(5));
        let mut cache = cache(64 * BLOCK, 8 * BLOCK, 4);
        let mut unwritten = [false; 128];
        let mut under_way: Vec<Piece> = Vec::new();
        for _ in 0..20_000 {
            let held = unwritten.iter().filter(|one| **one).count() as u64
                + under_way.iter().map(|one| one.1.get()).sum::<u64>() / BLOCK;
            assert_eq!(cache.room, Bytes((64 - held) * BLOCK));
            if rng.below(2) == 0 {
                let (at, count) = (rng.below(100), 1 + rng.below(9));
                if cache.reserve(Bytes(count * BLOCK)) {
                    cache.put(DRIVE, (Bytes(at * BLOCK), Bytes(count * BLOCK)));
                    (at..at + count).for_each(|block| unwritten[block as usize] = true);
                }
            } else if let Some(piece) = cache.next(DRIVE) {
                let (first, count) = (piece.0.get() / BLOCK, piece.1.get() / BLOCK);
                let mut blocks = first as usize..(first + count) as usize;
                assert!(blocks.all(|block| std::mem::take(&mut unwritten[block])));
                assert!(first / 8 == (first + count - 1) / 8, "within a line");
                under_way.push(piece);
            } else if !under_way.is_empty() {
                let at = rng.below(under_way.len() as u64) as usize;
                cache.drained(DRIVE, under_way.swap_remove(at));
            }
        }
    }
}

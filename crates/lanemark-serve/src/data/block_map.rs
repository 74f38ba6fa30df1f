//! The map of an export over an image: which blocks are in the export's own file, and which are in the image.
//!
//! ```text
//! 0         head: the mark, the length of the export and a line end, padded with spaces
//! 64        one bit per block, set if the block is *stored*: a completed fdatasync(2) covers its data
//! aligned   two halves of a log of *pending* blocks: blocks in the export's own file that are not stored yet
//! ```
//!
//! The kernel writes the pages of two files to the disk in any order. A bit that reached the disk before the data of
//! its block would turn the block, which may contain only one written sector, into zeroes. A bit is therefore set after
//! the data is stored. Until then, the log records the block with the checksum of each content that it has had, before
//! the data is written. When the map is opened, a logged block whose content has a logged checksum is in the export's
//! own file; any other block that is not stored is in the image.
//!
//! This rule does not depend on how the last server ended. After a kill, the page cache contains the last content and
//! its record, so no acknowledged write is lost. After a crash of the machine, or of the disk below the files, each
//! block that was not stored has either a content that a client wrote or the content of the image.
//!
//! While the blocks of one half are being stored, new records are appended to the other half. A half is reused when all
//! its blocks are stored. Old records remain after the new ones; they do no harm, because a stored block never becomes
//! pending again. Half a log has room for [`LOG_RECORDS`] records; if it is full, a write first stores all blocks.
//!
//! Not detected: content with the checksum of another content of the same block (CRC-32).

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::holes::stretch_of;

pub(super) const BLOCK: u64 = 4096;
/// The first bytes of a map file, which precede the length of the export.
pub(super) const MAP_MARK: &str = "lanemark-serve-map 1 ";
/// Number of records in half a log: writes of 2 GiB between two flushes.
pub(super) const LOG_RECORDS: u64 = 1 << 19;
/// Number of bits that are written at once.
const BITS_IN_PIECE: u64 = 8 * 4096;
/// Length of the head of a map file.
const HEAD: u64 = 64;
/// Length of a record of the log.
const RECORD: u64 = 24;

/// A map, with the file that stores it if the export's data is stored.
#[derive(Debug)]
pub(super) struct BlockMap {
    /// One bit per block, set if the block is in the export's own file.
    own: Vec<u8>,
    stored: Option<StoredMap>,
}

#[derive(Debug)]
struct StoredMap {
    file: File,
    /// One bit per block, set if the block is stored; equal to the bits in `file`.
    bits: Vec<u8>,
    /// The blocks with records in the current half of the log: the first block of each range, and its end.
    pending: Vec<(u64, u64)>,
    log: Log,
}

/// The log of pending blocks.
#[derive(Clone, Copy, Debug)]
struct Log {
    /// Offset of the first half in the file.
    at: u64,
    /// Number of records in a half.
    capacity: u64,
    is_second_half: bool,
    /// Number of records in the current half.
    used: u64,
}

/// A record of the log: the blocks from `first` on have, or will have, content with this checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockRecord {
    pub(super) first: u64,
    pub(super) count: u64,
    pub(super) checksum: u32,
}

/// Pending blocks whose data is being stored.
#[must_use]
pub(super) struct StoringBlocks(Vec<(u64, u64)>);

impl BlockRecord {
    fn to_bytes(self) -> [u8; RECORD as usize] {
        let mut bytes = [0; RECORD as usize];
        bytes[..8].copy_from_slice(&self.first.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.count.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.checksum.to_le_bytes());
        let check = crc32fast::hash(&bytes[..20]);
        bytes[20..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// Reads a record; returns `None` if the crash of a machine has left only a part of it, or if there is no record.
    fn read(bytes: &[u8]) -> Option<Self> {
        let (fields, check) = bytes.split_at_checked(20)?;
        let number = |at: usize| Some(u64::from_le_bytes(fields[at..at + 8].try_into().ok()?));
        let record = Self {
            first: number(0)?,
            count: number(8)?,
            checksum: u32::from_le_bytes(fields[16..20].try_into().ok()?),
        };
        let is_whole = crc32fast::hash(fields).to_le_bytes() == check;
        (is_whole && record.count > 0).then_some(record)
    }
}

/// Returns the checksum of a block; the last block of an export may be shorter, and counts as if zeroes followed.
pub(super) fn checksum_of(block: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(block);
    hasher.update(&[0; BLOCK as usize][block.len()..]);
    hasher.finalize()
}

impl BlockMap {
    /// Creates the map of an export of `size` bytes whose data is not kept.
    pub(super) fn of_memory(size: u64) -> Self {
        Self { own: vec![0; length_of_bits(size) as usize], stored: None }
    }

    /// Writes a map without blocks to an empty file.
    pub(super) fn create(file: &File, size: u64, log_records: u64) -> io::Result<()> {
        file.write_all_at(&head(size), 0)?;
        file.set_len(length_of_map(size, log_records))
    }

    /// Opens the map in `file`, and finds the pending blocks that are in the export's own file `data`. They are stored
    /// before this function returns.
    pub(super) fn open(file: File, data: &File, size: u64, log_records: u64) -> io::Result<Self> {
        let length = file.metadata()?.len();
        let bits_end = HEAD + length_of_bits(size);
        let whole = length_of_map(size, log_records);
        let mut begins = vec![0; HEAD as usize];
        if ![bits_end, whole].contains(&length)
            || file.read_exact_at(&mut begins, 0).is_err()
            || begins != head(size)
        {
            return Err(io::Error::other(
                "it is the map of an export with a different length, or it was truncated",
            ));
        }
        if length == bits_end {
            // A map without a log: its server set the bits of blocks that were not stored.
            file.set_len(whole)?;
        }
        let mut bits = vec![0; length_of_bits(size) as usize];
        file.read_exact_at(&mut bits, HEAD)?;
        let log =
            Log { at: log_offset(size), capacity: log_records, is_second_half: false, used: 0 };
        let stored = StoredMap { file, bits, pending: Vec::new(), log };
        let mut map = Self { own: stored.bits.clone(), stored: Some(stored) };
        let found = map.pending_blocks(data, size)?;
        if !found.is_empty() {
            data.sync_data()?;
            map.record_stored(StoringBlocks(found))?.sync_data()?;
        }
        Ok(map)
    }

    /// Returns the logged blocks whose content has a logged checksum.
    fn pending_blocks(&mut self, data: &File, size: u64) -> io::Result<Vec<(u64, u64)>> {
        let Some(stored) = &self.stored else { return Ok(Vec::new()) };
        let mut found = Vec::new();
        let blocks = size.div_ceil(BLOCK);
        for record in stored.log.records(&stored.file)? {
            let end = record.first.saturating_add(record.count).min(blocks);
            let mut at = record.first;
            while at < end {
                if is_set(&self.own, at) {
                    at += 1;
                    continue;
                }
                let (next, is_match) = match_content(data, size, at, end, record.checksum);
                if is_match {
                    set(&mut self.own, at, next);
                    found.push((at, next));
                }
                at = next;
            }
        }
        Ok(found)
    }

    /// Returns whether a block is in the export's own file.
    pub(super) fn is_own(&self, block: u64) -> bool {
        is_set(&self.own, block)
    }

    /// Returns whether a block needs no record before its data changes.
    pub(super) fn is_settled(&self, block: u64) -> bool {
        is_set(self.stored.as_ref().map_or(&self.own, |stored| &stored.bits), block)
    }

    /// Returns whether changes must be recorded.
    pub(super) fn is_kept(&self) -> bool {
        self.stored.is_some()
    }

    /// Records changes before the data is changed. Returns false, and records nothing, if the log is full.
    pub(super) fn record(&mut self, records: &[BlockRecord]) -> io::Result<bool> {
        let Some(stored) = &mut self.stored else { return Ok(true) };
        let log = &mut stored.log;
        if log.used + records.len() as u64 > log.capacity {
            if log.capacity < records.len() as u64 {
                return Err(io::Error::other("a request is longer than the log of the map"));
            }
            return Ok(false);
        }
        let bytes: Vec<u8> = records.iter().flat_map(|record| record.to_bytes()).collect();
        stored.file.write_all_at(&bytes, log.half_at(log.is_second_half) + log.used * RECORD)?;
        log.used += records.len() as u64;
        Ok(true)
    }

    /// Records that the blocks from `first` to before `end` are in the export's own file, after their data was written.
    pub(super) fn add(&mut self, first: u64, end: u64) {
        set(&mut self.own, first, end);
        if let Some(stored) = &mut self.stored {
            match stored.pending.last_mut() {
                Some((from, to)) if *from <= first && first <= *to => *to = end.max(*to),
                _ => stored.pending.push((first, end)),
            }
        }
    }

    /// Returns the pending blocks, whose data the caller then stores. Until [`Self::record_stored`], the caller does
    /// not call this function again: it would reuse the half of the log that contains the records of these blocks.
    pub(super) fn begin_storing(&mut self) -> StoringBlocks {
        let Some(stored) = &mut self.stored else { return StoringBlocks(Vec::new()) };
        let pending = std::mem::take(&mut stored.pending);
        stored.log.is_second_half ^= !pending.is_empty();
        stored.log.used = 0;
        StoringBlocks(pending)
    }

    /// Sets the bits of blocks whose data is stored, and returns the file that the caller then stores.
    pub(super) fn record_stored(&mut self, blocks: StoringBlocks) -> io::Result<File> {
        let Some(StoredMap { file, bits, .. }) = &mut self.stored else {
            return Err(io::Error::other("the map is not stored"));
        };
        let mut changed = BTreeSet::new();
        for (first, end) in blocks.0 {
            set(bits, first, end);
            changed.extend(first / BITS_IN_PIECE..end.div_ceil(BITS_IN_PIECE));
        }
        // Each piece is written once, because writes of the export wait meanwhile.
        for piece in changed {
            let from = piece * BITS_IN_PIECE / 8;
            let to = (from + BITS_IN_PIECE / 8).min(bits.len() as u64);
            file.write_all_at(&bits[from as usize..to as usize], HEAD + from)?;
        }
        file.try_clone()
    }

    /// Returns the length of the run of equal blocks from `at`, up to `most`, and whether they are in the export's own
    /// file.
    pub(super) fn run(&self, at: u64, most: u64) -> (u64, bool) {
        let is_written = self.is_own(at / BLOCK);
        let mut end = (at / BLOCK + 1) * BLOCK;
        while end < at + most && self.is_own(end / BLOCK) == is_written {
            end += BLOCK;
        }
        (most.min(end - at), is_written)
    }
}

impl StoringBlocks {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Log {
    /// Returns the offset of a half in the file.
    fn half_at(self, is_second: bool) -> u64 {
        self.at + if is_second { self.capacity * RECORD } else { 0 }
    }

    /// Reads all whole records of both halves.
    fn records(self, file: &File) -> io::Result<Vec<BlockRecord>> {
        let mut records = Vec::new();
        let length = self.capacity * RECORD;
        for half in [self.half_at(false), self.half_at(true)] {
            let mut at = 0;
            // The unused part of a half is a hole, which need not be read.
            while at < length {
                let (part, is_hole) = stretch_of(file, half + at, half + length);
                if !is_hole {
                    let from = at / RECORD * RECORD;
                    let to = (at + part).next_multiple_of(RECORD).min(length);
                    let mut bytes = vec![0; (to - from) as usize];
                    file.read_exact_at(&mut bytes, half + from)?;
                    records.extend(bytes.chunks(RECORD as usize).filter_map(BlockRecord::read));
                }
                at += part;
            }
        }
        Ok(records)
    }
}

/// Compares the content of the block `at` with a checksum. Returns the end of the compared blocks, which is after more
/// than one block in a hole of the file, and whether they match.
fn match_content(data: &File, size: u64, at: u64, end: u64, checksum: u32) -> (u64, bool) {
    let from = at * BLOCK;
    let to = (end * BLOCK).min(size);
    let (length, is_hole) = stretch_of(data, from, to);
    let hole_end = if from + length == to { end } else { (from + length) / BLOCK };
    if is_hole && hole_end > at {
        return (hole_end, checksum == checksum_of(&[]));
    }
    let mut block = vec![0; BLOCK.min(size - from) as usize];
    let is_read = data.read_exact_at(&mut block, from).is_ok();
    (at + 1, is_read && checksum_of(&block) == checksum)
}

fn head(size: u64) -> Vec<u8> {
    let mut head = format!("{MAP_MARK}{size}").into_bytes();
    head.resize(HEAD as usize - 1, b' ');
    head.push(b'\n');
    head
}

fn length_of_bits(size: u64) -> u64 {
    size.div_ceil(BLOCK).div_ceil(8)
}

fn log_offset(size: u64) -> u64 {
    (HEAD + length_of_bits(size)).next_multiple_of(BLOCK)
}

fn length_of_map(size: u64, log_records: u64) -> u64 {
    log_offset(size) + 2 * log_records * RECORD
}

fn is_set(bits: &[u8], block: u64) -> bool {
    bits[(block / 8) as usize] >> (block % 8) & 1 == 1
}

/// Sets the bits from `first` to before `end`.
fn set(bits: &mut [u8], first: u64, end: u64) {
    let whole = first.next_multiple_of(8).min(end)..(end / 8 * 8).max(first);
    if whole.start < whole.end {
        bits[(whole.start / 8) as usize..(whole.end / 8) as usize].fill(0xff);
    }
    let edges = (first..whole.start).chain(whole.end..end);
    edges.for_each(|block| bits[(block / 8) as usize] |= 1 << (block % 8));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_bits_of_a_range_are_set() {
        for first in 0..40 {
            for end in first..40 {
                let mut bits = [0; 5];
                set(&mut bits, first, end);
                let expected = |block| (first..end).contains(&block);
                assert!(
                    (0..40).all(|block| is_set(&bits, block) == expected(block)),
                    "{first} {end}"
                );
            }
        }
    }
}

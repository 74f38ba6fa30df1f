//! The bytes of an export: memory, a sparse file, or a file over a read-only image.
//!
//! Memory is an anonymous file of the kernel (`memfd_create(2)`). All three kinds therefore behave alike: they are
//! sparse, a trim punches holes, and holes read as zeroes. Over an image, written blocks are in the export's own file
//! and all other blocks are in the image. A [map](super::block_map), in a companion of the export's own file, records
//! which blocks are written.
//!
//! If another program truncates the file, data is lost, and after a later write past the new end, the lost data would
//! read as zeroes without an error. Each write, trim and flush therefore first compares the length of the file with the
//! length of the export. Once they have differed, all writes, trims and flushes fail. The check does not detect a file
//! that is truncated and extended again between two operations.
//!
//! After an error, fdatasync(2) reports success although the kernel may have discarded the data. Once it has failed,
//! all flushes therefore fail.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockWriteGuard};

use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, memfd_create};
use rustix::io::Errno;

use super::block_map::{BLOCK, BlockMap, BlockRecord, checksum_of};
use super::holes::stretch_of;
use super::journal::ModifiedTime;

/// Maximum number of bytes that are written or copied at once.
const PIECE: u64 = 1 << 20;

#[derive(Debug)]
pub(crate) struct ExportBytes {
    own: File,
    size: u64,
    /// Whether the data survives the process.
    is_kept: bool,
    /// Whether the file's length has differed from the length of the export.
    is_cut: AtomicBool,
    /// Whether data could not be stored.
    is_unstored: AtomicBool,
    over: Option<MappedImage>,
}

/// An image under the export's own file.
#[derive(Debug)]
struct MappedImage {
    image: File,
    image_size: u64,
    map: RwLock<BlockMap>,
    /// Held while pending blocks are being stored.
    storing: Mutex<()>,
}

#[derive(Clone, Copy, Debug)]
enum RangeChange<'b> {
    /// The range receives these bytes.
    Bytes(&'b [u8]),
    /// The range reads as zeroes, as a hole or with allocated space.
    Zeroes { hole: bool },
}

/// The first or last block of a changed range, with its whole content after the change.
struct MergedBlock {
    start: u64,
    content: Vec<u8>,
}

/// A range of an export that either contains data or is a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExportRange {
    /// Length in bytes.
    pub length: u64,
    /// Whether the range is a hole, which reads as zeroes.
    pub hole: bool,
}

impl ExportBytes {
    /// Creates memory of `size` without allocating it.
    pub(crate) fn memory(size: u64) -> io::Result<Self> {
        let file = File::from(memfd_create("lanemark-serve", MemfdFlags::CLOEXEC)?);
        file.set_len(size)?;
        Ok(Self { is_kept: false, ..Self::file(file, size) })
    }

    /// Uses a file. [`Self::sized`] sets its length.
    pub(crate) fn file(file: File, size: u64) -> Self {
        Self {
            own: file,
            size,
            is_kept: true,
            is_cut: AtomicBool::new(false),
            is_unstored: AtomicBool::new(false),
            over: None,
        }
    }

    /// Sets the length of the file.
    pub(crate) fn sized(self) -> io::Result<Self> {
        if self.own.metadata()?.len() != self.size {
            self.own.set_len(self.size)?;
            // The journal records this length.
            self.own.sync_all()?;
        }
        Ok(self)
    }

    /// Places this export's data over `image`; `kept` is the file of the map, if the data is kept.
    pub(crate) fn over(
        mut self,
        image: File,
        kept: Option<File>,
        log_records: u64,
    ) -> io::Result<Self> {
        let map = match kept {
            Some(kept) => BlockMap::open(kept, &self.own, self.size, log_records)?,
            None => BlockMap::of_memory(self.size),
        };
        let image_size = image.metadata()?.len();
        let storing = Mutex::new(());
        self.over = Some(MappedImage { image, image_size, map: RwLock::new(map), storing });
        Ok(self)
    }

    /// Returns the export's own file.
    pub(super) fn own(&self) -> &File {
        &self.own
    }

    /// Stores the data with its attributes, and returns when it was last modified.
    pub(super) fn modified_time(&self) -> io::Result<ModifiedTime> {
        self.own.sync_all()?;
        Ok(ModifiedTime::from_metadata(&self.own.metadata()?))
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Returns whether the data survives the process.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Returns the single file that contains all data at the same offsets; `None` over an image.
    pub(crate) fn one_file(&self) -> Option<&File> {
        self.over.is_none().then_some(&self.own)
    }

    /// Reads the bytes at `offset`, which must be inside the export.
    pub(crate) fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let Some(over) = &self.over else {
            return self.own.read_exact_at(bytes, offset);
        };
        let map = over.map.read().unwrap_or_else(PoisonError::into_inner);
        let mut at = offset;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (length, is_written) = map.run(at, rest.len() as u64);
            let (piece, after) = rest.split_at_mut(length as usize);
            if is_written {
                self.own.read_exact_at(piece, at)?;
            } else {
                over.read_image(at, piece)?;
            }
            (at, rest) = (at + length, after);
        }
        Ok(())
    }

    /// Fails if the length of the file differs from the length of the export, now or at an earlier check.
    fn check_length(&self) -> io::Result<()> {
        if !self.is_kept {
            return Ok(());
        }
        if !self.is_cut.load(Ordering::Relaxed) && self.own.metadata()?.len() != self.size {
            self.is_cut.store(true, Ordering::Relaxed);
        }
        if self.is_cut.load(Ordering::Relaxed) {
            Err(io::Error::other("another program has changed the length of the data file"))
        } else {
            Ok(())
        }
    }

    /// Writes bytes at `offset`.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.change(offset, bytes.len() as u64, RangeChange::Bytes(bytes))
    }

    /// Makes the `length` bytes at `offset` read as zeroes, as a hole or with allocated space.
    pub(crate) fn zero(&self, offset: u64, length: u64, hole: bool) -> io::Result<()> {
        self.change(offset, length, RangeChange::Zeroes { hole })
    }

    fn change(&self, offset: u64, length: u64, change: RangeChange<'_>) -> io::Result<()> {
        self.check_length()?;
        match &self.over {
            _ if length == 0 => Ok(()),
            None => self.change_own(offset, length, change),
            Some(over) => self.change_blocks(over, offset, length, change),
        }
    }

    /// Changes the export's own file.
    fn change_own(&self, offset: u64, length: u64, change: RangeChange<'_>) -> io::Result<()> {
        match change {
            RangeChange::Bytes(bytes) => self.own.write_all_at(bytes, offset),
            RangeChange::Zeroes { hole } => self.zero_own(offset, length, hole),
        }
    }

    fn zero_own(&self, offset: u64, length: u64, hole: bool) -> io::Result<()> {
        let mode = if hole { FallocateFlags::PUNCH_HOLE } else { FallocateFlags::ZERO_RANGE };
        match fallocate(&self.own, mode | FallocateFlags::KEEP_SIZE, offset, length) {
            Ok(()) => Ok(()),
            // Memory and some file systems do not support all of these operations.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                let zeroes = vec![0; PIECE.min(length) as usize];
                let mut at = offset;
                let end = offset + length;
                while at < end {
                    let piece = PIECE.min(end - at);
                    self.own.write_all_at(&zeroes[..piece as usize], at)?;
                    at += piece;
                }
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Changes a range over an image. Blocks that are not stored receive their whole content, after the map has
    /// recorded its checksum.
    fn change_blocks(
        &self,
        over: &MappedImage,
        offset: u64,
        length: u64,
        change: RangeChange<'_>,
    ) -> io::Result<()> {
        let first = offset / BLOCK;
        let end = (offset + length).div_ceil(BLOCK);
        let map = over.map.read().unwrap_or_else(PoisonError::into_inner);
        if (first..end).all(|block| map.is_settled(block)) {
            return self.change_own(offset, length, change);
        }
        drop(map);
        loop {
            let mut map = over.change_map();
            let merged = self.merged_blocks(over, &map, offset, length, change)?;
            if map.is_kept() && !map.record(&records_of(&merged, offset, length, change))? {
                drop(map);
                self.sync()?;
                continue;
            }
            for MergedBlock { start, content } in &merged {
                self.own.write_all_at(content, *start)?;
            }
            let inner = inner_range(&merged, offset, length);
            if !inner.is_empty() {
                let change = change.part(inner.start - offset, inner.end - offset);
                self.change_own(inner.start, inner.end - inner.start, change)?;
            }
            map.add(first, end);
            return Ok(());
        }
    }

    /// Returns the first and the last block of a range with their content after the change, unless the change replaces
    /// the whole block, or the block is stored and keeps its other bytes.
    fn merged_blocks(
        &self,
        over: &MappedImage,
        map: &BlockMap,
        offset: u64,
        length: u64,
        change: RangeChange<'_>,
    ) -> io::Result<Vec<MergedBlock>> {
        let end = offset + length;
        let mut merged: Vec<MergedBlock> = Vec::new();
        for block in [offset / BLOCK, (end - 1) / BLOCK] {
            let start = block * BLOCK;
            let block_end = (start + BLOCK).min(self.size);
            let is_whole = start >= offset && block_end <= end;
            if is_whole || map.is_settled(block) || merged.iter().any(|one| one.start == start) {
                continue;
            }
            let mut content = vec![0; (block_end - start) as usize];
            if map.is_own(block) {
                self.own.read_exact_at(&mut content, start)?;
            } else {
                over.read_image(start, &mut content)?;
            }
            let from = offset.max(start);
            let to = end.min(block_end);
            let changed = &mut content[(from - start) as usize..(to - start) as usize];
            match change.part(from - offset, to - offset) {
                RangeChange::Bytes(bytes) => changed.copy_from_slice(bytes),
                RangeChange::Zeroes { .. } => changed.fill(0),
            }
            merged.push(MergedBlock { start, content });
        }
        Ok(merged)
    }

    /// Stores all written data, so that it survives a crash of the machine.
    pub(crate) fn sync(&self) -> io::Result<()> {
        if !self.is_kept {
            return Ok(());
        }
        self.check_length()?;
        let storing = self.over.as_ref().map(|over| &over.storing);
        let _storing = storing.map(|one| one.lock().unwrap_or_else(PoisonError::into_inner));
        if self.is_unstored.load(Ordering::SeqCst) {
            return Err(io::Error::other("data could not be stored earlier, and may be lost"));
        }
        let stored = self.store();
        self.is_unstored.fetch_or(stored.is_err(), Ordering::SeqCst);
        stored
    }

    fn store(&self) -> io::Result<()> {
        let Some(over) = &self.over else { return self.own.sync_data() };
        let pending = over.change_map().begin_storing();
        self.own.sync_data()?;
        if pending.is_empty() {
            return Ok(());
        }
        let map = over.change_map().record_stored(pending)?;
        map.sync_data()
    }

    /// Returns one to `most` ranges, from `offset` onward, that cover up to `length` bytes.
    pub(crate) fn stretches(&self, offset: u64, length: u64, most: usize) -> Vec<ExportRange> {
        let mut at = offset;
        let end = offset + length;
        let mut found: Vec<ExportRange> = Vec::new();
        while at < end {
            let (length, hole) = self.stretch(at, end);
            let is_full = found.len() == most;
            match found.last_mut() {
                Some(last) if last.hole == hole => last.length += length,
                _ if is_full => break,
                _ => found.push(ExportRange { length, hole }),
            }
            at += length;
        }
        found
    }

    fn stretch(&self, at: u64, end: u64) -> (u64, bool) {
        let Some(over) = &self.over else { return stretch_of(&self.own, at, end) };
        let map = over.map.read().unwrap_or_else(PoisonError::into_inner);
        let (length, is_written) = map.run(at, end - at);
        if is_written {
            stretch_of(&self.own, at, at + length)
        } else if at >= over.image_size {
            (length, true)
        } else {
            stretch_of(&over.image, at, (at + length).min(over.image_size))
        }
    }
}

impl<'b> RangeChange<'b> {
    /// Returns the part of the change from one position in its range to another.
    fn part(self, from: u64, to: u64) -> Self {
        match self {
            Self::Bytes(bytes) => Self::Bytes(&bytes[from as usize..to as usize]),
            Self::Zeroes { .. } => self,
        }
    }
}

/// Returns the part of a range outside its merged blocks.
fn inner_range(merged: &[MergedBlock], offset: u64, length: u64) -> Range<u64> {
    let mut inner = offset..offset + length;
    for MergedBlock { start, content } in merged {
        let end = start + content.len() as u64;
        if *start <= inner.start {
            inner.start = end.min(inner.end);
        } else {
            inner.end = *start;
        }
    }
    inner
}

/// Returns the records of a change for the map's log.
fn records_of(
    merged: &[MergedBlock],
    offset: u64,
    length: u64,
    change: RangeChange<'_>,
) -> Vec<BlockRecord> {
    let record = |start: u64, count, content: &[u8]| BlockRecord {
        first: start / BLOCK,
        count,
        checksum: checksum_of(content),
    };
    let mut records: Vec<BlockRecord> =
        merged.iter().map(|one| record(one.start, 1, &one.content)).collect();
    // Outside the merged blocks, only stored blocks are changed in part, and they need no record.
    let inner = inner_range(merged, offset, length);
    let whole_start = inner.start.next_multiple_of(BLOCK);
    match change {
        _ if whole_start >= inner.end => {}
        RangeChange::Zeroes { .. } => {
            records.push(record(whole_start, (inner.end - whole_start).div_ceil(BLOCK), &[]));
        }
        RangeChange::Bytes(bytes) => {
            let blocks = bytes[(whole_start - offset) as usize..(inner.end - offset) as usize]
                .chunks(BLOCK as usize);
            let starts = (0..).map(|number| whole_start + number * BLOCK);
            records.extend(blocks.zip(starts).map(|(block, start)| record(start, 1, block)));
        }
    }
    records
}

impl MappedImage {
    fn change_map(&self) -> RwLockWriteGuard<'_, BlockMap> {
        self.map.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the image; bytes after its end read as zeroes.
    fn read_image(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let there = self.image_size.saturating_sub(offset).min(bytes.len() as u64);
        let (inside, behind) = bytes.split_at_mut(there as usize);
        behind.fill(0);
        self.image.read_exact_at(inside, offset)
    }
}

#[cfg(test)]
#[path = "backing_tests.rs"]
mod tests;

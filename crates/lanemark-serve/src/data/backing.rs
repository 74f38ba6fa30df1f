//! The bytes of an export: memory, a sparse file, or a file over a read-only image.
//!
//! Memory is an anonymous file of the kernel (`memfd_create(2)`). All three kinds therefore behave alike: they are
//! sparse, a trim punches holes, and holes read as zeroes. Over an image, written blocks are in the export's own file
//! and all other blocks are in the image. A map with one bit per block records which blocks are written. The map is in
//! a companion of the export's own file, after a header that states the format and the length of the export. A block's
//! bit is set once its data is in the export's own file.
//!
//! If another program truncates the file, data is lost, and after a later write past the new end, the lost data would
//! read as zeroes without an error. Each write, trim and flush therefore first compares the length of the file with the
//! length of the export. Once they have differed, all writes, trims and flushes fail. The check does not detect a file
//! that is truncated and extended again between two operations.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{PoisonError, RwLock};

use rustix::fs::{FallocateFlags, MemfdFlags, SeekFrom, fallocate, memfd_create, seek};
use rustix::io::Errno;

/// Block size of the map of an export's own file over an image.
const MAPPED: u64 = 4096;
/// The first bytes of a map file, which precede the length of the export.
pub(super) const MAP_MARK: &str = "lanemark-serve-map 1 ";
/// Length of the head of a map file: the mark, the length of the export and a line end, padded with spaces.
const MAP_HEAD: u64 = 64;
/// Maximum number of bytes that are written or copied at once.
const PIECE: u64 = 1 << 20;

/// The bytes of an export.
#[derive(Debug)]
pub(crate) struct ExportBytes {
    own: File,
    size: u64,
    /// Whether the data survives the process.
    is_kept: bool,
    /// Whether the file's length has differed from the length of the export.
    is_cut: AtomicBool,
    over: Option<MappedImage>,
}

/// An image under the export's own file.
#[derive(Debug)]
struct MappedImage {
    image: File,
    image_size: u64,
    /// One bit per block, set if the block is in the export's own file.
    map: RwLock<Vec<u8>>,
    /// The file that stores the map.
    kept: Option<File>,
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
        Ok(Self { own: file, size, is_kept: false, is_cut: AtomicBool::new(false), over: None })
    }

    /// Uses a file. [`Self::sized`] sets its length.
    pub(crate) fn file(file: File, size: u64) -> Self {
        Self { own: file, size, is_kept: true, is_cut: AtomicBool::new(false), over: None }
    }

    /// Sets the length of the file.
    pub(crate) fn sized(self) -> io::Result<Self> {
        self.own.set_len(self.size)?;
        Ok(self)
    }

    /// Places this export's data over `image`; `kept` stores the map of a file. An empty `kept` becomes a map without
    /// written blocks.
    pub(crate) fn over(mut self, image: File, kept: Option<File>) -> io::Result<Self> {
        let length = usize::try_from(self.size.div_ceil(MAPPED).div_ceil(8)).map_err(io_error)?;
        let mut map = vec![0; length];
        if let Some(kept) = &kept {
            let (there, whole) = (kept.metadata()?.len(), MAP_HEAD + length as u64);
            let mut head = format!("{MAP_MARK}{}", self.size).into_bytes();
            head.resize(MAP_HEAD as usize - 1, b' ');
            head.push(b'\n');
            if there == 0 {
                kept.write_all_at(&head, 0)?;
                kept.set_len(whole)?;
            }
            let mut begins = vec![0; head.len()];
            if there != 0 && there != whole
                || kept.read_exact_at(&mut begins, 0).is_err()
                || begins != head
            {
                return Err(io::Error::other(
                    "it is the map of an export with a different length, or it was truncated",
                ));
            }
            kept.read_exact_at(&mut map, MAP_HEAD)?;
        }
        let image_size = image.metadata()?.len();
        self.over = Some(MappedImage { image, image_size, map: RwLock::new(map), kept });
        Ok(self)
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
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let (length, is_written) = run(&map, at, rest.len() as u64);
            let (piece, after) = rest.split_at_mut(length as usize);
            match is_written {
                true => self.own.read_exact_at(piece, at)?,
                false => over.read_image(at, piece)?,
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
        match self.is_cut.load(Ordering::Relaxed) {
            true => {
                Err(io::Error::other("another program has changed the length of the data file"))
            }
            false => Ok(()),
        }
    }

    /// Writes bytes at `offset`.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.check_length()?;
        match &self.over {
            None => self.own.write_all_at(bytes, offset),
            Some(over) => self.own_blocks(over, offset, bytes.len() as u64, &|| {
                self.own.write_all_at(bytes, offset)
            }),
        }
    }

    /// Makes the `length` bytes at `offset` read as zeroes, as a hole or with allocated space.
    pub(crate) fn zero(&self, offset: u64, length: u64, hole: bool) -> io::Result<()> {
        self.check_length()?;
        match &self.over {
            None => self.zero_own(offset, length, hole),
            Some(over) => {
                self.own_blocks(over, offset, length, &|| self.zero_own(offset, length, hole))
            }
        }
    }

    fn zero_own(&self, offset: u64, length: u64, hole: bool) -> io::Result<()> {
        let mode = match hole {
            true => FallocateFlags::PUNCH_HOLE,
            false => FallocateFlags::ZERO_RANGE,
        };
        match fallocate(&self.own, mode | FallocateFlags::KEEP_SIZE, offset, length) {
            Ok(()) => Ok(()),
            // Memory and some file systems do not support all of these operations.
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                let zeroes = vec![0; PIECE.min(length) as usize];
                let (mut at, end) = (offset, offset + length);
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

    /// Writes over an image: copies the remainder of the first and the last block, calls `write` for the written part,
    /// and marks the blocks as blocks of the export's own file.
    fn own_blocks(
        &self,
        over: &MappedImage,
        offset: u64,
        length: u64,
        write: &dyn Fn() -> io::Result<()>,
    ) -> io::Result<()> {
        if length == 0 {
            return Ok(());
        }
        let mut map = over.map.write().unwrap_or_else(PoisonError::into_inner);
        let (first, last) = (offset / MAPPED, (offset + length - 1) / MAPPED);
        let is_whole_block = |block: u64| {
            block * MAPPED >= offset && ((block + 1) * MAPPED).min(self.size) <= offset + length
        };
        for block in [first, last] {
            if !is_own(&map, block) && !is_whole_block(block) {
                let start = block * MAPPED;
                let mut copy = vec![0; MAPPED.min(self.size - start) as usize];
                over.read_image(start, &mut copy)?;
                self.own.write_all_at(&copy, start)?;
            }
        }
        write()?;
        let mut changed = false;
        for block in first..=last {
            let byte = &mut map[(block / 8) as usize];
            changed |= *byte >> (block % 8) & 1 == 0;
            *byte |= 1 << (block % 8);
        }
        if let (true, Some(kept)) = (changed, &over.kept) {
            let (from, to) = (first / 8, last / 8);
            kept.write_all_at(&map[from as usize..=to as usize], MAP_HEAD + from)?;
        }
        Ok(())
    }

    /// Stores all written data, so that it survives a crash of the machine.
    pub(crate) fn sync(&self) -> io::Result<()> {
        if !self.is_kept {
            return Ok(());
        }
        self.check_length()?;
        self.own.sync_data()?;
        match self.over.as_ref().and_then(|over| over.kept.as_ref()) {
            Some(kept) => kept.sync_data(),
            None => Ok(()),
        }
    }

    /// Returns one to `most` ranges, from `offset` onward, that cover up to `length` bytes.
    pub(crate) fn stretches(&self, offset: u64, length: u64, most: usize) -> Vec<ExportRange> {
        let (mut at, end) = (offset, offset + length);
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
        let (length, is_written) = run(&map, at, end - at);
        match is_written {
            true => stretch_of(&self.own, at, at + length),
            false if at >= over.image_size => (length, true),
            false => stretch_of(&over.image, at, (at + length).min(over.image_size)),
        }
    }
}

impl MappedImage {
    /// Reads the image; bytes after its end read as zeroes.
    fn read_image(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let there = self.image_size.saturating_sub(offset).min(bytes.len() as u64);
        let (inside, behind) = bytes.split_at_mut(there as usize);
        behind.fill(0);
        self.image.read_exact_at(inside, offset)
    }
}

fn io_error(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::other(error)
}

fn is_own(map: &[u8], block: u64) -> bool {
    map[(block / 8) as usize] >> (block % 8) & 1 == 1
}

/// Returns the length of the run of equal blocks from `at`, up to `most`, and whether they are in the export's own
/// file.
fn run(map: &[u8], at: u64, most: u64) -> (u64, bool) {
    let is_written = is_own(map, at / MAPPED);
    let mut end = (at / MAPPED + 1) * MAPPED;
    while end < at + most && is_own(map, end / MAPPED) == is_written {
        end += MAPPED;
    }
    (most.min(end - at), is_written)
}

/// Returns the length of the range that begins at `at` and ends by `end`, and whether it is a hole. The whole file
/// counts as data on a file system that does not report holes.
fn stretch_of(file: &File, at: u64, end: u64) -> (u64, bool) {
    match seek(file, SeekFrom::Data(at)) {
        Ok(data) if data > at => (data.min(end) - at, true),
        Ok(_) => {
            let hole = seek(file, SeekFrom::Hole(at)).unwrap_or(end);
            (hole.clamp(at + 1, end) - at, false)
        }
        // The rest of the file contains no data.
        Err(Errno::NXIO) => (end - at, true),
        Err(_) => (end - at, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_schema::rng::{Rng, StreamKey};
    use std::io::Write;

    const SIZE: u64 = 300 * 1024 + 512;

    /// Compares random reads, writes and zeroes with bytes in memory.
    fn holds_as_a_model_does(backing: &ExportBytes, model: &mut [u8], seed: u64) {
        let mut random = Rng::new(StreamKey::from_seed(seed));
        for step in 0..4_000 {
            let offset = random.below(SIZE);
            let most = if random.chance(0.2) { 40_000 } else { 5_000 };
            let length = 1 + random.below(most.min(SIZE - offset));
            let range = offset as usize..(offset + length) as usize;
            match random.below(4) {
                0 => {
                    let bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
                    backing.write(offset, &bytes).unwrap();
                    model[range].copy_from_slice(&bytes);
                }
                1 => {
                    backing.zero(offset, length, random.chance(0.5)).unwrap();
                    model[range].fill(0);
                }
                2 => {
                    let mut at = offset;
                    for stretch in backing.stretches(offset, length, 5) {
                        let within = at as usize..(at + stretch.length) as usize;
                        assert!(!stretch.hole || model[within].iter().all(|byte| *byte == 0));
                        at += stretch.length;
                    }
                    assert!(at > offset && at <= offset + length);
                }
                _ => {
                    let mut bytes = vec![1; length as usize];
                    backing.read(offset, &mut bytes).unwrap();
                    assert_eq!(bytes, model[range], "step {step}");
                }
            }
        }
    }

    fn image() -> (File, Vec<u8>) {
        let mut file = tempfile::tempfile().unwrap();
        // The image is shorter than the export, and its length is not a multiple of a block.
        let mut random = Rng::new(StreamKey::from_seed(9));
        let bytes: Vec<u8> = (0..SIZE - 70_001).map(|_| random.below(256) as u8).collect();
        file.write_all(&bytes).unwrap();
        let mut model = bytes;
        model.resize(SIZE as usize, 0);
        (file, model)
    }

    #[test]
    fn ranges_of_a_sparse_file_begin_and_end_at_its_data() {
        let file = tempfile::tempfile().unwrap();
        let block = 1 << 16;
        file.set_len(5 * block).unwrap();
        file.write_all_at(&[1; 1 << 16], 2 * block).unwrap();
        for (at, end, wanted) in [
            (0, 5 * block, (2 * block, true)),
            (block, 2 * block, (block, true)),
            (block, 5 * block, (block, true)),
            (2 * block, 5 * block, (block, false)),
            (2 * block + 512, 2 * block + 1024, (512, false)),
            // No data follows.
            (3 * block, 5 * block, (2 * block, true)),
            (4 * block, 5 * block - 512, (block - 512, true)),
        ] {
            assert_eq!(stretch_of(&file, at, end), wanted, "{at} to {end}");
        }
    }

    #[test]
    fn memory_and_files_contain_the_written_data() {
        let mut model = vec![0; SIZE as usize];
        holds_as_a_model_does(&ExportBytes::memory(SIZE).unwrap(), &mut model, 1);
        let mut model = vec![0; SIZE as usize];
        let file = ExportBytes::file(tempfile::tempfile().unwrap(), SIZE).sized().unwrap();
        holds_as_a_model_does(&file, &mut model, 2);
    }

    #[test]
    fn an_image_shows_through_where_nothing_was_written_and_stays_as_it_is() {
        let (image, mut model) = image();
        let before = model.clone();
        let memory =
            ExportBytes::memory(SIZE).unwrap().over(image.try_clone().unwrap(), None).unwrap();
        holds_as_a_model_does(&memory, &mut model, 3);
        let mut now = vec![0; before.len() - 70_001];
        image.read_exact_at(&mut now, 0).unwrap();
        assert_eq!(now, before[..now.len()]);
    }

    #[test]
    fn a_file_over_an_image_is_the_same_when_it_is_opened_again() {
        let (image, mut model) = image();
        let (own, kept) = (tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap());
        let open = || {
            let backing = ExportBytes::file(own.try_clone().unwrap(), SIZE).sized().unwrap();
            backing.over(image.try_clone().unwrap(), kept.try_clone().ok()).unwrap()
        };
        holds_as_a_model_does(&open(), &mut model, 4);
        let mut bytes = vec![0; SIZE as usize];
        open().read(0, &mut bytes).unwrap();
        assert!(bytes == model);
    }

    #[test]
    fn a_file_that_was_cut_takes_no_writes_any_more() {
        let file = tempfile::tempfile().unwrap();
        let backing = ExportBytes::file(file.try_clone().unwrap(), SIZE).sized().unwrap();
        backing.write(SIZE - 512, &[7; 512]).unwrap();
        file.set_len(4096).unwrap();
        assert!(backing.read(8192, &mut [0; 512]).is_err());
        let refused = backing.write(16_384, &[1; 512]).unwrap_err().to_string();
        assert!(refused.contains("length of the data file"), "{refused}");
        assert_eq!(file.metadata().unwrap().len(), 4096);
        // The data is lost even after the file is extended to its former length.
        file.set_len(SIZE).unwrap();
        assert!(backing.write(0, &[1; 512]).is_err() && backing.sync().is_err());
        assert!(backing.zero(0, 512, true).is_err());
    }

    #[test]
    fn a_map_of_another_export_is_refused() {
        let (image, _) = image();
        let kept = tempfile::tempfile().unwrap();
        let over = |size, kept: &File| {
            let backing = ExportBytes::file(tempfile::tempfile().unwrap(), size).sized().unwrap();
            backing.over(image.try_clone().unwrap(), kept.try_clone().ok())
        };
        assert!(over(SIZE, &kept).is_ok() && over(SIZE, &kept).is_ok());
        // The maps have equal lengths, since both exports have the same number of blocks.
        assert!(over(SIZE - 512, &kept).is_err());
        kept.set_len(70).unwrap();
        assert!(over(SIZE, &kept).is_err());
    }

    #[test]
    fn trimmed_memory_is_given_back() {
        use std::os::unix::fs::MetadataExt;
        let memory = ExportBytes::memory(1 << 20).unwrap();
        memory.write(0, &vec![1; 1 << 20]).unwrap();
        let before = memory.own.metadata().unwrap().blocks();
        memory.zero(0, 1 << 20, true).unwrap();
        assert!(before >= 2048 && memory.own.metadata().unwrap().blocks() == 0);
        assert_eq!(memory.stretches(0, 1 << 20, 9), [ExportRange { length: 1 << 20, hole: true }]);
    }
}

//! The bytes behind an export: memory, a sparse file, or a file over a read-only image.
//!
//! Memory is an anonymous file of the kernel (`memfd_create(2)`), so that all three are one: sparse, with holes that are
//! punched where data is trimmed, and read as zeroes. Over an image, blocks that were written lie in the own file and all
//! others in the image. A map says which, a bit a block; it is kept in a file beside the own one, and a block's bit is
//! set when its data is there.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::{PoisonError, RwLock};

use rustix::fs::{FallocateFlags, MemfdFlags, SeekFrom, fallocate, memfd_create, seek};
use rustix::io::Errno;

/// The block of the map of an own file over an image.
const MAPPED: u64 = 4096;
/// The most that is written or copied at once.
const PIECE: u64 = 1 << 20;

/// The bytes of an export.
#[derive(Debug)]
pub(crate) struct Backing {
    own: File,
    size: u64,
    /// Whether data outlasts the process.
    is_kept: bool,
    over: Option<Over>,
}

/// An image below the own file.
#[derive(Debug)]
struct Over {
    image: File,
    image_size: u64,
    /// A bit for each block that is in the own file.
    map: RwLock<Vec<u8>>,
    /// The file that keeps the map.
    kept: Option<File>,
}

/// A stretch of an export with data or without.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch {
    /// Length in bytes.
    pub length: u64,
    /// Whether nothing is stored, and zeroes are read.
    pub hole: bool,
}

impl Backing {
    /// Memory of `size`, none of which is taken yet.
    pub(crate) fn memory(size: u64) -> io::Result<Self> {
        let own = File::from(memfd_create("lanemark-serve", MemfdFlags::CLOEXEC)?);
        own.set_len(size)?;
        Ok(Self { own, size, is_kept: false, over: None })
    }

    /// The file `own`, which is made as long as `size`.
    pub(crate) fn file(own: File, size: u64) -> io::Result<Self> {
        own.set_len(size)?;
        Ok(Self { own, size, is_kept: true, over: None })
    }

    /// Lays this over `image`; `kept` keeps the map of a file, and holds one where the file was there before.
    pub(crate) fn over(mut self, image: File, kept: Option<File>) -> io::Result<Self> {
        let length = usize::try_from(self.size.div_ceil(MAPPED).div_ceil(8)).map_err(other)?;
        let mut map = vec![0; length];
        if let Some(kept) = &kept {
            let there = kept.metadata()?.len();
            if there != 0 && there != length as u64 {
                return Err(io::Error::other("the map beside it is of another size"));
            }
            kept.set_len(length as u64)?;
            kept.read_exact_at(&mut map, 0)?;
        }
        let image_size = image.metadata()?.len();
        self.over = Some(Over { image, image_size, map: RwLock::new(map), kept });
        Ok(self)
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Whether data outlasts the process.
    pub(crate) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// The file that has all of it at the same offsets; none over an image.
    pub(crate) fn one_file(&self) -> Option<&File> {
        self.over.is_none().then_some(&self.own)
    }

    /// Reads the bytes at `offset`, all of which lie in the export.
    pub(crate) fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let Some(over) = &self.over else {
            return self.own.read_exact_at(bytes, offset);
        };
        let map = over.map.read().unwrap_or_else(PoisonError::into_inner);
        let (mut at, mut rest) = (offset, bytes);
        while !rest.is_empty() {
            let (length, own) = run(&map, at, rest.len() as u64);
            let (piece, after) = rest.split_at_mut(length as usize);
            match own {
                true => self.own.read_exact_at(piece, at)?,
                false => over.read_image(at, piece)?,
            }
            (at, rest) = (at + length, after);
        }
        Ok(())
    }

    /// Writes bytes at `offset`.
    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        match &self.over {
            None => self.own.write_all_at(bytes, offset),
            Some(over) => self.own_blocks(over, offset, bytes.len() as u64, &|| {
                self.own.write_all_at(bytes, offset)
            }),
        }
    }

    /// Lets `length` bytes from `offset` on read as zeroes: as a hole, or with room for data.
    pub(crate) fn zero(&self, offset: u64, length: u64, hole: bool) -> io::Result<()> {
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
            // Memory and some file systems do not know all of them.
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

    /// Writes over an image: copies the rest of the first and the last block, lets `write` do its part, and marks the
    /// blocks as own ones.
    fn own_blocks(
        &self,
        over: &Over,
        offset: u64,
        length: u64,
        write: &dyn Fn() -> io::Result<()>,
    ) -> io::Result<()> {
        if length == 0 {
            return Ok(());
        }
        let mut map = over.map.write().unwrap_or_else(PoisonError::into_inner);
        let (first, last) = (offset / MAPPED, (offset + length - 1) / MAPPED);
        let whole = |block: u64| {
            block * MAPPED >= offset && ((block + 1) * MAPPED).min(self.size) <= offset + length
        };
        for block in [first, last] {
            if !is_own(&map, block) && !whole(block) {
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
            kept.write_all_at(&map[from as usize..=to as usize], from)?;
        }
        Ok(())
    }

    /// Lets all that was written outlast the machine.
    pub(crate) fn sync(&self) -> io::Result<()> {
        if !self.is_kept {
            return Ok(());
        }
        self.own.sync_data()?;
        match self.over.as_ref().and_then(|over| over.kept.as_ref()) {
            Some(kept) => kept.sync_data(),
            None => Ok(()),
        }
    }

    /// The stretches from `offset` on, at most `most` of them and no further than `length`; at least one.
    pub(crate) fn stretches(&self, offset: u64, length: u64, most: usize) -> Vec<Stretch> {
        let (mut at, end) = (offset, offset + length);
        let mut found: Vec<Stretch> = Vec::new();
        while at < end {
            let (length, hole) = self.stretch(at, end);
            let is_full = found.len() == most;
            match found.last_mut() {
                Some(last) if last.hole == hole => last.length += length,
                _ if is_full => break,
                _ => found.push(Stretch { length, hole }),
            }
            at += length;
        }
        found
    }

    fn stretch(&self, at: u64, end: u64) -> (u64, bool) {
        let Some(over) = &self.over else { return stretch_of(&self.own, at, end) };
        let map = over.map.read().unwrap_or_else(PoisonError::into_inner);
        let (length, own) = run(&map, at, end - at);
        match own {
            true => stretch_of(&self.own, at, at + length),
            false if at >= over.image_size => (length, true),
            false => stretch_of(&over.image, at, (at + length).min(over.image_size)),
        }
    }
}

impl Over {
    /// Reads the image, behind whose end there are zeroes.
    fn read_image(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let there = self.image_size.saturating_sub(offset).min(bytes.len() as u64);
        let (inside, behind) = bytes.split_at_mut(there as usize);
        behind.fill(0);
        self.image.read_exact_at(inside, offset)
    }
}

fn other(error: impl std::error::Error + Send + Sync + 'static) -> io::Error {
    io::Error::other(error)
}

fn is_own(map: &[u8], block: u64) -> bool {
    map[(block / 8) as usize] >> (block % 8) & 1 == 1
}

/// The length up to `most` from `at` on over which blocks are all own ones or all not, and which.
fn run(map: &[u8], at: u64, most: u64) -> (u64, bool) {
    let own = is_own(map, at / MAPPED);
    let mut end = (at / MAPPED + 1) * MAPPED;
    while end < at + most && is_own(map, end / MAPPED) == own {
        end += MAPPED;
    }
    (most.min(end - at), own)
}

/// The stretch of a file from `at` on, no further than `end`. A file system that does not tell holes has none.
fn stretch_of(file: &File, at: u64, end: u64) -> (u64, bool) {
    match seek(file, SeekFrom::Data(at)) {
        Ok(data) if data > at => (data.min(end) - at, true),
        Ok(_) => {
            let hole = seek(file, SeekFrom::Hole(at)).unwrap_or(end);
            (hole.clamp(at + 1, end) - at, false)
        }
        // No data up to the end of the file.
        Err(Errno::NXIO) => (end - at, true),
        Err(_) => (end - at, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_core::rng::{Rng, StreamKey};
    use std::io::Write;

    const SIZE: u64 = 300 * 1024 + 512;

    /// Random reads, writes and zeroes against bytes in memory.
    fn holds_as_a_model_does(backing: &Backing, model: &mut [u8], seed: u64) {
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
        // Shorter than the export, and no multiple of a block.
        let mut random = Rng::new(StreamKey::from_seed(9));
        let bytes: Vec<u8> = (0..SIZE - 70_001).map(|_| random.below(256) as u8).collect();
        file.write_all(&bytes).unwrap();
        let mut model = bytes;
        model.resize(SIZE as usize, 0);
        (file, model)
    }

    #[test]
    fn memory_and_files_hold_what_was_written() {
        let mut model = vec![0; SIZE as usize];
        holds_as_a_model_does(&Backing::memory(SIZE).unwrap(), &mut model, 1);
        let mut model = vec![0; SIZE as usize];
        let file = Backing::file(tempfile::tempfile().unwrap(), SIZE).unwrap();
        holds_as_a_model_does(&file, &mut model, 2);
    }

    #[test]
    fn an_image_shows_through_where_nothing_was_written_and_stays_as_it_is() {
        let (image, mut model) = image();
        let before = model.clone();
        let memory = Backing::memory(SIZE).unwrap().over(image.try_clone().unwrap(), None).unwrap();
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
            let backing = Backing::file(own.try_clone().unwrap(), SIZE).unwrap();
            backing.over(image.try_clone().unwrap(), kept.try_clone().ok()).unwrap()
        };
        holds_as_a_model_does(&open(), &mut model, 4);
        let mut bytes = vec![0; SIZE as usize];
        open().read(0, &mut bytes).unwrap();
        assert!(bytes == model);
    }

    #[test]
    fn trimmed_memory_is_given_back() {
        use std::os::unix::fs::MetadataExt;
        let memory = Backing::memory(1 << 20).unwrap();
        memory.write(0, &vec![1; 1 << 20]).unwrap();
        let before = memory.own.metadata().unwrap().blocks();
        memory.zero(0, 1 << 20, true).unwrap();
        assert!(before >= 2048 && memory.own.metadata().unwrap().blocks() == 0);
        assert_eq!(memory.stretches(0, 1 << 20, 9), [Stretch { length: 1 << 20, hole: true }]);
    }
}

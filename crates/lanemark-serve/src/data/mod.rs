//! The data of an export, and what a flush, a kill and a power cut leave of it.
//!
//! A write is in the `backing` when it is acknowledged. A kill of the server loses nothing of that; a crash of the
//! machine may lose what no flush has followed, since a flush is `fdatasync(2)`. A power cut of the modelled drive loses
//! what its `volatile` cache may lose, and nothing where the cache is protected or off. Beside a file lies its
//! `journal`, by which the next server tells what happened.

mod backing;
mod journal;
mod opened;
mod volatile;

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lanemark_core::rng::{Rng, StreamKey};
use lanemark_core::sim::spec::WriteCache;

pub use backing::Stretch;
pub use opened::{DataError, DataPlan, Opened, Place};
pub use volatile::{Loss, SECTOR};

use backing::Backing;
use journal::Journal;
use volatile::{Fate, Volatile};

use crate::engine::Held;

/// A stream of random numbers that no thread of a run has.
const CUT_STREAM: u32 = 5 << 28;

/// The data of an export.
#[derive(Debug)]
pub struct Data {
    backing: Backing,
    /// Writes that a power cut may take, where the drive's cache is volatile.
    volatile: Option<Mutex<Volatile>>,
    random: Mutex<Rng>,
    journal: Option<Journal>,
    /// Whether anything was written since the last flush.
    unflushed: AtomicBool,
    /// Power cuts so far.
    cuts: AtomicU64,
}

/// The writes that a flush is about: all that were complete when it came.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    number: u64,
    cuts: u64,
}

/// The cache of the drive whose data it is.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    /// Fate of the cache's content in a loss of power.
    pub kind: WriteCache,
    /// Bytes that it holds.
    pub size: u64,
}

impl Data {
    fn new(backing: Backing, journal: Option<Journal>, cache: Cache, seed: u64) -> Self {
        let volatile = (cache.kind == WriteCache::Volatile).then(|| Volatile::new(cache.size));
        let key = StreamKey { thread: CUT_STREAM, ..StreamKey::from_seed(seed) };
        Self {
            backing,
            volatile: volatile.map(Mutex::new),
            random: Mutex::new(Rng::new(key)),
            journal,
            unflushed: AtomicBool::new(false),
            cuts: AtomicU64::new(0),
        }
    }

    /// Empty data in memory.
    ///
    /// # Errors
    /// Where the kernel gives none.
    pub fn memory(size: u64, cache: Cache, seed: u64) -> io::Result<Self> {
        Ok(Self::new(Backing::memory(size)?, None, cache, seed))
    }

    /// Lets no power cut come, so that nothing has to be kept for one: a long write takes a third of the time then.
    pub(crate) fn without_power_cuts(&mut self) {
        self.volatile = None;
    }

    /// Returns the length of the export.
    pub fn size(&self) -> u64 {
        self.backing.size()
    }

    /// Whether a flush has nothing to wait for.
    pub fn is_memory(&self) -> bool {
        !self.backing.is_kept()
    }

    /// The file to read all of it from; none where it lies in two.
    pub(crate) fn to_read(&self) -> Option<&File> {
        self.backing.one_file()
    }

    /// Reads the bytes at `offset`. All ranges must lie within the export.
    ///
    /// # Errors
    /// As the file's.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.backing.read(offset, bytes)
    }

    /// Writes bytes at `offset`.
    ///
    /// # Errors
    /// As the file's.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.note_unflushed()?;
        let Some(volatile) = &self.volatile else {
            return self.backing.write(offset, bytes);
        };
        // Held until the new data is there, so that no other write comes in between.
        let mut volatile = lock(volatile);
        let mut before = vec![0; bytes.len()];
        self.backing.read(offset, &mut before)?;
        volatile.wrote(offset, before);
        self.backing.write(offset, bytes)
    }

    /// Lets a range read as zeroes, as a hole or with room for data. It stays so whatever comes.
    ///
    /// # Errors
    /// As the file's.
    pub fn zero(&self, offset: u64, length: u64, hole: bool) -> io::Result<()> {
        if length == 0 {
            return Ok(());
        }
        self.note_unflushed()?;
        let mut volatile = self.volatile.as_ref().map(lock);
        if let Some(volatile) = &mut volatile {
            volatile.settled(offset, length);
        }
        self.backing.zero(offset, length, hole)
    }

    /// The stretches with data and without from `offset` on, at most `most` of them.
    pub fn stretches(&self, offset: u64, length: u64, most: usize) -> Vec<Stretch> {
        self.backing.stretches(offset, length, most)
    }

    /// The writes that a flush which comes now is about.
    pub fn mark(&self) -> Mark {
        let number = self.volatile.as_ref().map_or(0, |volatile| lock(volatile).mark());
        Mark { number, cuts: self.cuts.load(Ordering::Acquire) }
    }

    /// Stores what was written before `mark`. False where a power cut came in between: then the flush has failed.
    ///
    /// # Errors
    /// As the file's.
    pub fn flush(&self, mark: Mark) -> io::Result<bool> {
        self.unflushed.store(false, Ordering::SeqCst);
        if let Err(error) = self.backing.sync() {
            self.unflushed.store(true, Ordering::SeqCst);
            return Err(error);
        }
        if let Some(journal) = &self.journal {
            journal.flushed(&self.unflushed)?;
        }
        let Some(volatile) = &self.volatile else { return Ok(true) };
        let mut volatile = lock(volatile);
        let in_time = mark.cuts == self.cuts.load(Ordering::Acquire);
        if in_time {
            volatile.flushed(mark.number);
        }
        Ok(in_time)
    }

    /// Loses what a power cut of the drive takes.
    ///
    /// # Errors
    /// As the file's.
    pub fn lose(&self) -> io::Result<Loss> {
        let Some(volatile) = &self.volatile else { return Ok(Loss::default()) };
        let mut volatile = lock(volatile);
        self.cuts.fetch_add(1, Ordering::AcqRel);
        let mut random = lock(&self.random);
        volatile.power_cut(&mut random, |offset, before| self.backing.write(offset, before))
    }

    /// Stores some, all or none of the sectors of a write that a power cut came into.
    ///
    /// # Errors
    /// As the file's.
    pub fn tear(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.note_unflushed()?;
        let mut random = lock(&self.random);
        let fate = Fate::draw(&mut random);
        let mut rest = bytes;
        let mut at = offset;
        while !rest.is_empty() {
            let length = (SECTOR - at % SECTOR).min(rest.len() as u64);
            let (sector, after) = rest.split_at(length as usize);
            if fate.keeps(&mut random) {
                self.backing.write(at, sector)?;
            }
            (at, rest) = (at + length, after);
        }
        Ok(())
    }

    /// Ends in good order: everything is stored, and the journal says so.
    ///
    /// # Errors
    /// As the file's.
    pub fn close(&self) -> io::Result<()> {
        self.flush(self.mark())?;
        self.journal.as_ref().map_or(Ok(()), Journal::closed)
    }

    fn note_unflushed(&self) -> io::Result<()> {
        if self.unflushed.load(Ordering::SeqCst) || self.unflushed.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        self.journal.as_ref().map_or(Ok(()), Journal::unflushed)
    }
}

impl Held for std::sync::Arc<Data> {
    fn power_cut(&self) -> String {
        let line = match self.lose() {
            Ok(loss) => told(&loss),
            Err(error) => format!("power cut: what it takes could not be taken: {error}"),
        };
        if let Some(journal) = &self.journal {
            // The loss itself has happened; a journal that cannot be written is told at the end.
            let _ = journal.cut(&line);
        }
        line
    }
}

/// A loss in a line.
fn told(loss: &Loss) -> String {
    if loss.writes == 0 {
        return "power cut: nothing was unflushed, nothing is lost".to_owned();
    }
    let ranges = loss.ranges.iter().take(8).map(|(at, length)| format!("{at}+{length}"));
    let mut ranges = ranges.collect::<Vec<_>>().join(" ");
    if loss.ranges.len() > 8 {
        ranges.push_str(" …");
    }
    let bytes = loss.bytes();
    let Loss { writes, lost, torn, .. } = loss;
    format!(
        "power cut: of {writes} unflushed writes {lost} are lost and {torn} torn, {bytes} bytes: {ranges}"
    )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VOLATILE: Cache = Cache { kind: WriteCache::Volatile, size: 1 << 20 };

    fn read(data: &Data, offset: u64) -> u8 {
        let mut bytes = [0; 512];
        data.read(offset, &mut bytes).unwrap();
        assert!(bytes.iter().all(|byte| *byte == bytes[0]), "a sector is whole");
        bytes[0]
    }

    /// The number of sectors that still have what was written to them, after a cut.
    fn kept(cache: Cache, flush: bool) -> usize {
        let data = Data::memory(1 << 20, cache, 3).unwrap();
        (0..100).for_each(|at| data.write(at * 512, &[7; 512]).unwrap());
        if flush {
            assert!(data.flush(data.mark()).unwrap());
        }
        data.lose().unwrap();
        (0..100).filter(|at| read(&data, at * 512) == 7).count()
    }

    #[test]
    fn a_cut_takes_from_a_volatile_cache_what_was_not_flushed() {
        assert!((10..90).contains(&kept(VOLATILE, false)));
        assert_eq!(kept(VOLATILE, true), 100);
        for kind in [WriteCache::Protected, WriteCache::Off] {
            assert_eq!(kept(Cache { kind, ..VOLATILE }, false), 100);
        }
    }

    #[test]
    fn a_flush_that_a_cut_came_into_has_failed() {
        let data = Data::memory(1 << 20, VOLATILE, 1).unwrap();
        data.write(0, &[1; 512]).unwrap();
        let mark = data.mark();
        data.lose().unwrap();
        assert!(!data.flush(mark).unwrap());
        assert!(data.flush(data.mark()).unwrap());
    }

    #[test]
    fn a_write_that_a_cut_came_into_is_torn_at_sectors() {
        let mut seen = [0; 3];
        for seed in 0..60 {
            let data = Data::memory(1 << 20, VOLATILE, seed).unwrap();
            data.tear(512, &[9; 512 * 8]).unwrap();
            let stored = (1..9).filter(|at| read(&data, at * 512) == 9).count();
            assert_eq!((read(&data, 0), read(&data, 9 * 512)), (0, 0));
            seen[usize::from(stored > 0) + usize::from(stored == 8)] += 1;
        }
        assert!(seen.iter().all(|count| *count > 8), "{seen:?}");
    }
}

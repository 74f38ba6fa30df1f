//! The data of an export, and the effects of a flush, a kill and a power cut on the data.
//!
//! An acknowledged write is in the `backing`. If the server is killed, no acknowledged write is lost. If the machine
//! crashes, the writes after the last flush may be lost, because a flush calls `fdatasync(2)`. When the modelled drive
//! loses power, writes in its `volatile` cache may be lost; no write is lost if the cache is protected or off. Each
//! data file has a `journal` next to it, from which the next server reports these events.
//!
//! After a power cut that reverted writes, the first flush of each client fails, so that each client learns of the loss
//! even if it had no request in flight. A drive reports a loss of power in the same way, with a unit attention (SAM-5,
//! 5.14). A client that connects after the power cut receives no error.

mod backing;
mod block_map;
mod error;
mod files;
mod holes;
pub mod image;
mod journal;
mod opened;
mod renaming;

use std::fs::File;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use lanemark_schema::rng::Rng;
use lanemark_sim::spec::WriteCacheMode;
use lanemark_sim::virtual_drive::{RevertibleWrites, power_cut_random, tear};

pub use backing::ExportRange;
pub use error::DataError;
pub use lanemark_sim::virtual_drive::{PowerCutLoss, SECTOR};
pub use opened::{DataLocation, DataPlan, OpenedData};

use backing::ExportBytes;
use journal::Journal;

use crate::engine::DataOwner;

#[derive(Debug)]
pub struct ExportData {
    backing: ExportBytes,
    /// Writes that a power cut may revert, if the drive's cache is volatile.
    volatile: Option<Mutex<RevertibleWrites>>,
    random: Mutex<Rng>,
    journal: Option<Journal>,
    /// Number of power cuts so far.
    cuts: AtomicU64,
    /// Number of power cuts that may have reverted writes.
    lossy_cuts: AtomicU64,
}

/// A client's knowledge of lost writes: the number of power cuts with losses that its flushes have reported.
#[derive(Debug)]
pub struct LossReports(AtomicU64);

/// The outcome of a flush of the drive's cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushOutcome {
    /// The writes that the flush covers survive a power cut.
    Stored,
    /// A power cut occurred during the flush.
    Interrupted,
    /// A power cut before the flush reverted writes, and the client did not know it.
    WritesLost,
}

/// The writes that a flush covers: all writes that were complete when the flush arrived.
#[derive(Clone, Copy, Debug)]
pub struct FlushCoverage {
    number: u64,
    cuts: u64,
    /// Whether the flush reports lost writes.
    reports_loss: bool,
}

/// The cache of the drive that contains the data.
#[derive(Clone, Copy, Debug)]
pub struct DriveCache {
    /// Kind of cache, which determines the effect of a power cut on its content.
    pub kind: WriteCacheMode,
    /// Size of the cache in bytes.
    pub size: u64,
}

impl ExportData {
    fn new(backing: ExportBytes, journal: Option<Journal>, cache: DriveCache, seed: u64) -> Self {
        let volatile =
            (cache.kind == WriteCacheMode::Volatile).then(|| RevertibleWrites::new(cache.size));
        Self {
            backing,
            volatile: volatile.map(Mutex::new),
            random: Mutex::new(power_cut_random(seed)),
            journal,
            cuts: AtomicU64::new(0),
            lossy_cuts: AtomicU64::new(0),
        }
    }

    /// Creates empty data in memory.
    ///
    /// # Errors
    /// Returns an error if the kernel cannot provide memory.
    pub fn memory(size: u64, cache: DriveCache, seed: u64) -> io::Result<Self> {
        Ok(Self::new(ExportBytes::memory(size)?, None, cache, seed))
    }

    /// Declares that there are no power cuts, so that replaced data need not be kept. A long write then takes a third
    /// of the time.
    pub(crate) fn without_power_cuts(&mut self) {
        self.volatile = None;
    }

    /// Returns the length of the export.
    pub fn size(&self) -> u64 {
        self.backing.size()
    }

    /// Returns whether the data is in memory, so that a flush need not wait.
    pub fn is_memory(&self) -> bool {
        !self.backing.is_kept()
    }

    /// Returns the file that contains all data; `None` if the data is in two files.
    pub(crate) fn to_read(&self) -> Option<&File> {
        self.backing.one_file()
    }

    /// Reads the bytes at `offset`. All ranges must be inside the export.
    ///
    /// # Errors
    /// Returns the file's I/O error.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.backing.read(offset, bytes)
    }

    /// Writes bytes at `offset`.
    ///
    /// # Errors
    /// Returns the file's I/O error.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        let Some(volatile) = &self.volatile else {
            return self.backing.write(offset, bytes);
        };
        // The lock is held until the new data is stored, so that no other write can overtake this write.
        let mut volatile = lock(volatile);
        let mut before = vec![0; bytes.len()];
        self.backing.read(offset, &mut before)?;
        volatile.record_write(offset, before);
        self.backing.write(offset, bytes)
    }

    /// Makes a range read as zeroes, as a hole or with allocated space. A power cut does not revert this.
    ///
    /// # Errors
    /// Returns the file's I/O error.
    pub fn zero(&self, offset: u64, length: u64, hole: bool) -> io::Result<()> {
        if length == 0 {
            return Ok(());
        }
        let mut volatile = self.volatile.as_ref().map(lock);
        if let Some(volatile) = &mut volatile {
            volatile.record_settled_range(offset, length);
        }
        self.backing.zero(offset, length, hole)
    }

    /// Returns up to `most` ranges with and without data, from `offset` onward.
    pub fn stretches(&self, offset: u64, length: u64, most: usize) -> Vec<ExportRange> {
        self.backing.stretches(offset, length, most)
    }

    /// Returns the reports to a client that connects now.
    pub fn new_client(&self) -> LossReports {
        LossReports(AtomicU64::new(self.lossy_cuts.load(Ordering::SeqCst)))
    }

    /// Returns the writes that a flush covers if it arrives now, without a client that would learn of lost writes: the
    /// flush of a write with forced unit access, or of the server.
    pub fn mark(&self) -> FlushCoverage {
        let volatile = self.volatile.as_ref().map(lock);
        let number = volatile.as_ref().map_or(0, |volatile| volatile.mark());
        let cuts = self.cuts.load(Ordering::Acquire);
        FlushCoverage { number, cuts, reports_loss: false }
    }

    /// Returns the writes that a client's flush covers if it arrives now. The flush fails if writes were lost since the
    /// client's last flush.
    pub fn mark_for(&self, client: &LossReports) -> FlushCoverage {
        let mark = self.mark();
        let lossy_cuts = self.lossy_cuts.load(Ordering::SeqCst);
        let reports_loss = client.0.swap(lossy_cuts, Ordering::SeqCst) != lossy_cuts;
        FlushCoverage { reports_loss, ..mark }
    }

    /// Stores the writes before `mark`.
    ///
    /// # Errors
    /// Returns the file's I/O error.
    pub fn flush(&self, mark: FlushCoverage) -> io::Result<FlushOutcome> {
        self.sync()?;
        Ok(self.finish_flush(mark, true))
    }

    /// Stores all data on the host. The drive's cache does not change, so a power cut of the drive may still revert
    /// writes.
    ///
    /// # Errors
    /// Returns the file's I/O error.
    pub fn sync(&self) -> io::Result<()> {
        self.backing.sync()
    }

    /// Completes a flush of the drive's cache. If the drive lies and the flush does not store data (`stores` is false),
    /// a power cut may still revert the writes before `mark`.
    pub fn finish_flush(&self, mark: FlushCoverage, stores: bool) -> FlushOutcome {
        let Some(volatile) = &self.volatile else { return FlushOutcome::Stored };
        let mut volatile = lock(volatile);
        if mark.cuts != self.cuts.load(Ordering::Acquire) {
            return FlushOutcome::Interrupted;
        }
        if stores {
            volatile.remove_before(mark.number);
        }
        if mark.reports_loss { FlushOutcome::WritesLost } else { FlushOutcome::Stored }
    }

    /// Applies a power cut of the drive to the data, and returns the loss.
    ///
    /// # Errors
    /// Returns the file's I/O error.
    pub fn apply_power_cut(&self) -> io::Result<PowerCutLoss> {
        let Some(volatile) = &self.volatile else { return Ok(PowerCutLoss::default()) };
        let mut volatile = lock(volatile);
        self.cuts.fetch_add(1, Ordering::AcqRel);
        let mut random = lock(&self.random);
        let loss =
            volatile.power_cut(&mut random, |offset, before| self.backing.write(offset, before));
        // After an error, the loss is unknown.
        if !loss.as_ref().is_ok_and(|loss| loss.ranges.is_empty()) {
            self.lossy_cuts.fetch_add(1, Ordering::SeqCst);
        }
        loss
    }

    /// Stores a random part of the sectors of a write that a power cut interrupted; the part may be all sectors or no
    /// sector.
    ///
    /// # Errors
    /// Returns the file's I/O error.
    pub fn tear(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut random = lock(&self.random);
        tear(&mut random, offset, bytes, |offset, sector| self.backing.write(offset, sector))
    }

    /// Shuts down cleanly: stores all data, and records the end in the journal.
    ///
    /// # Errors
    /// Returns the file's I/O error.
    pub fn close(&self) -> io::Result<()> {
        self.flush(self.mark())?;
        let Some(journal) = &self.journal else { return Ok(()) };
        journal.record_clean_shutdown(self.backing.modified_time()?)
    }
}

impl DataOwner for std::sync::Arc<ExportData> {
    fn power_cut(&self) -> String {
        let line = match self.apply_power_cut() {
            Ok(loss) => loss_line(&loss),
            Err(error) => format!("power cut: unflushed data could not be removed: {error}"),
        };
        if let Some(journal) = &self.journal {
            // The loss has already happened; if the journal cannot be written, this is reported at the end.
            let _ = journal.record_power_cut(&line);
        }
        line
    }
}

/// Describes a loss in one line.
fn loss_line(loss: &PowerCutLoss) -> String {
    if loss.writes == 0 {
        return "power cut: no unflushed data, so no data is lost".to_owned();
    }
    let ranges = loss.ranges.iter().take(8).map(|(at, length)| format!("{at}+{length}"));
    let mut ranges = ranges.collect::<Vec<_>>().join(" ");
    if loss.ranges.len() > 8 {
        ranges.push_str(" …");
    }
    let bytes = loss.bytes();
    let PowerCutLoss { writes, lost, torn, .. } = loss;
    format!(
        "power cut: {lost} of {writes} unflushed writes are lost and {torn} are torn, {bytes} bytes: {ranges}"
    )
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const VOLATILE: DriveCache = DriveCache { kind: WriteCacheMode::Volatile, size: 1 << 20 };

    fn read(data: &ExportData, offset: u64) -> u8 {
        let mut bytes = [0; 512];
        data.read(offset, &mut bytes).unwrap();
        assert!(bytes.iter().all(|byte| *byte == bytes[0]), "a sector is whole");
        bytes[0]
    }

    /// Returns the number of sectors that still contain the written data after a power cut.
    fn kept_writes(cache: DriveCache, flush: bool) -> usize {
        let data = ExportData::memory(1 << 20, cache, 3).unwrap();
        (0..100).for_each(|at| data.write(at * 512, &[7; 512]).unwrap());
        if flush {
            assert_eq!(data.flush(data.mark()).unwrap(), FlushOutcome::Stored);
        }
        data.apply_power_cut().unwrap();
        (0..100).filter(|at| read(&data, at * 512) == 7).count()
    }

    #[test]
    fn a_cut_loses_unflushed_data_of_a_volatile_cache() {
        assert!((10..90).contains(&kept_writes(VOLATILE, false)));
        assert_eq!(kept_writes(VOLATILE, true), 100);
        for kind in [WriteCacheMode::Protected, WriteCacheMode::Off] {
            assert_eq!(kept_writes(DriveCache { kind, ..VOLATILE }, false), 100);
        }
    }

    #[test]
    fn a_lying_flush_succeeds_without_storing_data() {
        let data = ExportData::memory(1 << 20, VOLATILE, 3).unwrap();
        (0..100).for_each(|at| data.write(at * 512, &[7; 512]).unwrap());
        data.sync().unwrap();
        assert_eq!(data.finish_flush(data.mark(), false), FlushOutcome::Stored);
        let before = data.mark();
        let loss = data.apply_power_cut().unwrap();
        assert!(loss.writes == 100 && loss.lost > 10, "{loss:?}");
        assert_eq!(data.finish_flush(before, false), FlushOutcome::Interrupted);
    }

    #[test]
    fn a_cut_does_not_bring_back_data_that_was_trimmed() {
        for seed in 0..20 {
            let data = ExportData::memory(1 << 20, VOLATILE, seed).unwrap();
            data.write(0, &[7; 4096]).unwrap();
            assert_eq!(data.flush(data.mark()).unwrap(), FlushOutcome::Stored);
            data.write(0, &[8; 4096]).unwrap();
            data.zero(0, 4096, true).unwrap();
            data.apply_power_cut().unwrap();
            assert!((0..8).all(|at| read(&data, at * 512) == 0), "seed {seed}");
        }
    }

    #[test]
    fn a_torn_write_that_begins_within_a_sector_keeps_its_bytes_in_their_places() {
        for seed in 0..60 {
            let data = ExportData::memory(1 << 20, VOLATILE, seed).unwrap();
            let bytes: Vec<u8> = (0..2_048).map(|at| (at / 256 + 1) as u8).collect();
            data.tear(256, &bytes).unwrap();
            let mut stored = vec![0; 2_560];
            data.read(0, &mut stored).unwrap();
            for (at, byte) in stored.iter().enumerate() {
                let expected = at.checked_sub(256).and_then(|at| bytes.get(at)).unwrap_or(&0);
                assert!(*byte == 0 || byte == expected, "seed {seed}, byte {at}");
            }
        }
    }

    #[test]
    fn an_empty_write_is_no_write() {
        let data = ExportData::memory(1 << 20, VOLATILE, 3).unwrap();
        data.write(512, &[]).unwrap();
        assert_eq!(data.apply_power_cut().unwrap(), PowerCutLoss::default());
    }

    #[test]
    fn a_flush_that_a_cut_came_into_has_failed() {
        let data = ExportData::memory(1 << 20, VOLATILE, 1).unwrap();
        data.write(0, &[1; 512]).unwrap();
        let mark = data.mark();
        data.apply_power_cut().unwrap();
        assert_eq!(data.flush(mark).unwrap(), FlushOutcome::Interrupted);
        assert_eq!(data.flush(data.mark()).unwrap(), FlushOutcome::Stored);
    }

    #[test]
    fn the_first_flush_of_each_client_after_a_loss_fails() {
        let data = ExportData::memory(1 << 20, VOLATILE, 3).unwrap();
        let clients = [data.new_client(), data.new_client()];
        let flush = |client: &LossReports| data.flush(data.mark_for(client)).unwrap();
        let cut = |writes: u64| {
            (0..writes).for_each(|at| data.write(at * 512, &[writes as u8; 512]).unwrap());
            data.apply_power_cut().unwrap()
        };
        assert!(!cut(40).ranges.is_empty());
        // A client that connects now has lost no writes.
        let late = data.new_client();
        assert_eq!(flush(&late), FlushOutcome::Stored);
        for client in &clients {
            assert_eq!(flush(client), FlushOutcome::WritesLost);
            assert_eq!(flush(client), FlushOutcome::Stored);
        }
        // A cut without a loss is not reported, and two cuts are reported once.
        assert!(cut(0).ranges.is_empty());
        assert_eq!(flush(&late), FlushOutcome::Stored);
        assert!(!cut(41).ranges.is_empty() && !cut(42).ranges.is_empty());
        assert_eq!((flush(&late), flush(&late)), (FlushOutcome::WritesLost, FlushOutcome::Stored));
        // The server's own flush does not use up the report.
        assert_eq!(data.flush(data.mark()).unwrap(), FlushOutcome::Stored);
        assert_eq!(flush(&clients[0]), FlushOutcome::WritesLost);
    }

    #[test]
    fn a_write_that_a_cut_came_into_is_torn_at_sectors() {
        let mut counts = [0; 3];
        for seed in 0..60 {
            let data = ExportData::memory(1 << 20, VOLATILE, seed).unwrap();
            data.tear(512, &[9; 512 * 8]).unwrap();
            let stored = (1..9).filter(|at| read(&data, at * 512) == 9).count();
            assert_eq!((read(&data, 0), read(&data, 9 * 512)), (0, 0));
            counts[usize::from(stored > 0) + usize::from(stored == 8)] += 1;
        }
        assert!(counts.iter().all(|count| *count > 8), "{counts:?}");
    }
}

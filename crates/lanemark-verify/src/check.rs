//! Reads back every unit of the target, and judges it according to the journal.
//!
//! If a read fails, its units are read one by one, and units that fail again are unreadable.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use lanemark_schema::result::{InterveningEvent, VerificationResult, VerifyWarning};
use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{AverageMethod, Operation, Pattern, Test, TestOrder, Workload};

use super::account::VerdictCounts;
use super::error::VerifyError;
use super::history::{History, HistoryReader};
use super::journal::{boot, read_header, read_records};
use super::judge::Judge;
use super::verification::{FILL_DEPTH, FILL_UNITS, VerifyProgress};
use lanemark_measure::MeasureError;
use lanemark_measure::parts::Arena;
use lanemark_measure::parts::POLL_NS;
use lanemark_measure::parts::PROGRESS_INTERVAL;
use lanemark_measure::parts::{
    Engine, EngineKind, EngineRequest, NullEngine, Ring, RingOptions, SynchronousEngine, open_uring,
};
use lanemark_measure::parts::{OverwritePermission, Target};

/// A target that is checked against a journal.
#[derive(Clone, Copy, Debug)]
pub struct Check<'a> {
    /// The written target. The target is opened for reading only.
    pub path: &'a Path,
    pub journal: &'a Path,
    /// Event since the run. If it is not stated, a restart of the machine counts as a power cut.
    pub since: Option<InterveningEvent>,
    /// Engine that submits requests to the kernel.
    pub engine: EngineKind,
    /// Stops the check early when set to true.
    pub stop: &'a AtomicBool,
}

impl Check<'_> {
    /// Reads and judges the target. Returns `None` if the check was stopped. Calls `on` with the progress a few times a
    /// second.
    ///
    /// # Errors
    /// Returns the errors that [`VerifyError`] lists. Damage is not an error.
    pub fn run(
        &self,
        on: &mut dyn FnMut(VerifyProgress),
    ) -> Result<Option<VerificationResult>, VerifyError> {
        let mut file = self.open_journal()?;
        let header = read_header(&mut file, self.journal)?;
        let rebooted = header.boot != boot();
        let since = self.since.unwrap_or(if rebooted {
            InterveningEvent::PowerCut
        } else {
            InterveningEvent::Kill
        });
        let cut = since == InterveningEvent::PowerCut;
        let mut reading = HistoryReader::new(header, self.journal);
        let end = read_records(&file, self.journal, &header, cut, &mut |position, record| {
            reading.take(position, record)
        })?;
        let history = reading.finish(cut && !header.sync);
        let mut warnings = Vec::new();
        if history.tail_missing {
            warnings.push(VerifyWarning::JournalNotSynced);
        }
        if end.tail > 0 {
            warnings.push(VerifyWarning::JournalTail { bytes: Bytes(end.tail) });
        }
        if !history.ended {
            warnings.push(VerifyWarning::NotEnded);
        }
        let volatile_cache = cut && !header.write_through;
        let judge = Judge { history: &history, volatile: volatile_cache };
        let mut account = VerdictCounts::new(&history);
        // If the target ends before the written range does, the units after its end are lost.
        let held = self.held_units(&history)?;
        if held < history.header.units() {
            let unit = u64::from(history.header.unit);
            warnings.push(VerifyWarning::TargetShort {
                held: Bytes(held * unit),
                written: Bytes(history.header.units() * unit),
            });
        }
        let whole = self.read(&history, held, on, &mut |number, bytes| {
            let verdict = match bytes {
                Some(bytes) if u64::from(number) < held => judge.judge(number, bytes),
                Some(zeros) => judge.gone(number, zeros),
                None => judge.unreadable(number),
            };
            account.take(number, verdict);
        })?;
        if !whole {
            return Ok(None);
        }
        let sum = account.finish();
        Ok(Some(VerificationResult {
            path: self.path.display().to_string(),
            journal: self.journal.display().to_string(),
            run: header.run,
            begun_unix_s: header.begun_unix_ns / 1_000_000_000,
            unit_bytes: Bytes(header.unit.into()),
            since,
            volatile_cache,
            units: sum.units,
            requests: sum.requests,
            damage: sum.damage,
            damage_more: sum.damage_more,
            unflushed: sum.unflushed,
            warnings,
        }))
    }

    fn open_journal(&self) -> Result<File, VerifyError> {
        let to_error = |source| VerifyError::journal(self.journal, "opened", source);
        if !std::fs::metadata(self.journal).map_err(to_error)?.is_file() {
            return Err(VerifyError::NoJournal { path: self.journal.to_owned() });
        }
        // Without this flag, opening a pipe would wait for a writer.
        let mut options = File::options();
        let file = options.read(true).custom_flags(libc::O_NONBLOCK).open(self.journal);
        let file = file.map_err(to_error)?;
        if file.metadata().map_err(to_error)?.is_file() {
            Ok(file)
        } else {
            Err(VerifyError::NoJournal { path: self.journal.to_owned() })
        }
    }

    /// Returns the number of whole written units before the end of the target.
    fn held_units(&self, history: &History) -> Result<u64, VerifyError> {
        let header = &history.header;
        // A target that cannot be opened, or whose size is not known, is reported when it is opened for reading.
        let size = || {
            let kind = std::fs::metadata(self.path).ok()?.file_type();
            (kind.is_file() || kind.is_block_device()).then_some(())?;
            let mut options = File::options();
            let file = options.read(true).custom_flags(libc::O_NONBLOCK).open(self.path);
            file.ok()?.seek(SeekFrom::End(0)).ok()
        };
        let size = size();
        let size = size.map_or(header.to, |size| size.min(header.to));
        Ok(size.saturating_sub(header.from) / u64::from(header.unit))
    }

    /// Reads all `held` units of the target, in order. Returns false if the check was stopped.
    fn read(
        &self,
        history: &History,
        held: u64,
        on: &mut dyn FnMut(VerifyProgress),
        take: &mut dyn FnMut(u32, Option<&[u8]>),
    ) -> Result<bool, VerifyError> {
        // If the path is missing, opening the target would create a file.
        if !self.path.exists() || self.path.is_dir() {
            return Err(VerifyError::NoTarget { path: self.path.to_owned() });
        }
        let unit = history.header.unit;
        let read_zeros = |take: &mut dyn FnMut(u32, Option<&[u8]>)| {
            let nothing = vec![0; unit as usize];
            (held..history.header.units()).for_each(|number| take(number as u32, Some(&nothing)));
        };
        if held == 0 {
            read_zeros(take);
            return Ok(true);
        }
        let workload = reading_workload(history, held);
        let target = Target::open(self.path, &workload, OverwritePermission::default(), false)?;
        let depth = if self.engine == EngineKind::Synchronous { 1 } else { FILL_DEPTH };
        let block = u64::from(unit) * FILL_UNITS;
        let arena = Arena::new(depth, block as usize)
            .map_err(|source| self.error("map buffers to read", source))?;
        let whole = match self.engine {
            EngineKind::IoUring => {
                let uring = open_uring(depth, RingOptions::default());
                let mut uring = uring.map_err(|source| MeasureError::Ring { source })?;
                let ring = Ring::new(&mut uring, target.as_fd(), arena, true);
                self.read_with_engine(ring, depth, history, held, on, take)
            }
            EngineKind::Synchronous => {
                let engine = SynchronousEngine::new(target.as_fd(), arena, false);
                self.read_with_engine(engine, depth, history, held, on, take)
            }
            EngineKind::Null => {
                self.read_with_engine(NullEngine::new(arena), depth, history, held, on, take)
            }
        }?;
        target.finish()?;
        if whole {
            read_zeros(take);
        }
        Ok(whole)
    }

    /// Keeps `depth` reads in flight, and passes on their data in the order of the target.
    fn read_with_engine(
        &self,
        mut engine: impl Engine,
        depth: u32,
        history: &History,
        held: u64,
        on: &mut dyn FnMut(VerifyProgress),
        take: &mut dyn FnMut(u32, Option<&[u8]>),
    ) -> Result<bool, VerifyError> {
        let header = &history.header;
        let unit = header.unit as usize;
        let pieces = held.div_ceil(FILL_UNITS);
        let slot_of = |piece: u64| (piece % u64::from(depth)) as u32;
        let mut slots = vec![UnitRead::default(); depth as usize];
        let mut submitted = 0;
        let mut taken = 0;
        let mut reported_at = Instant::now();
        while taken < pieces {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(false);
            }
            while submitted < pieces && submitted - taken < u64::from(depth) {
                let first = submitted * FILL_UNITS;
                let units = FILL_UNITS.min(held - first);
                let offset = header.from + first * unit as u64;
                let piece =
                    UnitRead { offset, length: units as u32 * header.unit, done: 0, failed: false };
                slots[slot_of(submitted) as usize] = piece;
                engine.push(slot_of(submitted), piece.left());
                submitted += 1;
            }
            let waited = engine.submit_and_wait(Some(POLL_NS));
            waited.map_err(|source| self.error("read", source))?;
            self.reap(&mut engine, &mut slots)?;
            while taken < submitted && slots[slot_of(taken) as usize].is_over() {
                let slot = slot_of(taken);
                let whole = slots[slot as usize];
                let first = (taken * FILL_UNITS) as u32;
                if whole.failed {
                    for (number, start) in (first..).zip((0..whole.length).step_by(unit)) {
                        slots[slot as usize] = UnitRead {
                            done: start,
                            length: start + unit as u32,
                            failed: false,
                            ..whole
                        };
                        engine.push(slot, slots[slot as usize].left());
                        while !slots[slot as usize].is_over() {
                            let waited = engine.submit_and_wait(Some(POLL_NS));
                            waited.map_err(|source| self.error("read", source))?;
                            self.reap(&mut engine, &mut slots)?;
                        }
                        let bytes = &engine.buffer_mut(slot)[start as usize..][..unit];
                        take(number, (!slots[slot as usize].failed).then_some(bytes));
                    }
                } else {
                    let bytes = &engine.buffer_mut(slot)[..whole.length as usize];
                    let units = (first..).zip(bytes.chunks(unit));
                    units.for_each(|(number, unit)| take(number, Some(unit)));
                }
                taken += 1;
            }
            if reported_at.elapsed() >= PROGRESS_INTERVAL {
                reported_at = Instant::now();
                let done = Bytes((taken * FILL_UNITS).min(held) * unit as u64);
                let total = Some(Bytes(held * unit as u64));
                on(VerifyProgress { filling: false, done, total });
            }
        }
        Ok(true)
    }

    /// Takes the available completions.
    fn reap(&self, engine: &mut impl Engine, slots: &mut [UnitRead]) -> Result<(), MeasureError> {
        while let Some((slot, result)) = engine.next_completion() {
            let piece = &mut slots[slot as usize];
            if result == -libc::EIO || result == -libc::ENODATA || result == -libc::EILSEQ {
                piece.failed = true;
                continue;
            }
            piece.done += self.moved(piece, result)?;
            if piece.done < piece.length {
                engine.push(slot, piece.left());
            }
        }
        Ok(())
    }

    /// Returns the number of bytes that a completion reports as read.
    fn moved(&self, piece: &UnitRead, result: i32) -> Result<u32, MeasureError> {
        let path = self.path.to_owned();
        let operation = Operation::Read;
        let offset = Bytes(piece.offset);
        match u32::try_from(result) {
            Ok(0) => Err(MeasureError::Ended { path, operation, offset }),
            Ok(moved) => Ok(moved),
            Err(_) if matches!(-result, libc::EINTR | libc::EAGAIN) => Ok(0),
            Err(_) => {
                let source = io::Error::from_raw_os_error(-result);
                let length = Bytes(piece.length.into());
                Err(MeasureError::Request { path, operation, offset, length, source })
            }
        }
    }

    fn error(&self, action: &'static str, source: io::Error) -> MeasureError {
        MeasureError::System { path: self.path.to_owned(), action, source }
    }
}

/// A read of several units.
#[derive(Clone, Copy, Default)]
struct UnitRead {
    offset: u64,
    length: u32,
    done: u32,
    /// Whether the device returned an error.
    failed: bool,
}

impl UnitRead {
    fn is_over(&self) -> bool {
        self.length > 0 && (self.failed || self.done >= self.length)
    }

    fn left(&self) -> EngineRequest {
        EngineRequest {
            operation: Operation::Read,
            offset: self.offset + u64::from(self.done),
            skip: self.done,
            length: self.length - self.done,
        }
    }
}

/// Returns a workload that reads `held` units; the target is opened for this workload.
fn reading_workload(history: &History, held: u64) -> Workload {
    let header = &history.header;
    let unit = Bytes(header.unit.into());
    let test = Test {
        name: "reading back".to_owned(),
        span: unit * held,
        offset: Bytes(header.from),
        ..Test::of_blocks(unit)
    }
    .with(|requests| {
        requests.pattern = Pattern::Sequential;
        requests.queue_depth = FILL_DEPTH;
    });
    Workload {
        faults: Vec::new(),
        id: "check".to_owned(),
        name: "Check".to_owned(),
        repeats: 1,
        average: AverageMethod::Mean,
        order: TestOrder::Listed,
        precondition: None,
        tests: vec![test],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::journal::Header;

    /// An engine in which some reads fail, and completions arrive in a different order.
    struct FailingEngine {
        bad: Vec<u64>,
        unit: u32,
        buffers: Vec<Vec<u8>>,
        pushed: Vec<(u32, i32)>,
        ready: Vec<(u32, i32)>,
    }

    impl Engine for FailingEngine {
        fn refusal(&self) -> Option<&str> {
            None
        }

        fn outstanding(&self) -> u32 {
            (self.pushed.len() + self.ready.len()) as u32
        }

        fn buffer_mut(&mut self, slot: u32) -> &mut [u8] {
            &mut self.buffers[slot as usize]
        }

        fn push(&mut self, slot: u32, transfer: EngineRequest) {
            let EngineRequest { offset, skip, length, .. } = transfer;
            let end = offset + u64::from(length);
            let bad = self.bad.iter().any(|bad| (offset..end).contains(bad));
            let bytes = &mut self.buffers[slot as usize][skip as usize..][..length as usize];
            for (number, bytes) in (0..).zip(bytes.chunks_mut(self.unit as usize)) {
                bytes.fill((offset / u64::from(self.unit) + number) as u8);
            }
            // Long reads complete in two parts.
            let moved = if length > 1024 { length / 2 / 512 * 512 } else { length };
            self.pushed.push((slot, if bad { -libc::EIO } else { moved as i32 }));
        }

        fn submit(&mut self) -> io::Result<()> {
            Ok(())
        }

        fn submit_and_wait(&mut self, _: Option<u64>) -> io::Result<()> {
            self.ready.append(&mut self.pushed);
            Ok(())
        }

        fn next_completion(&mut self) -> Option<(u32, i32)> {
            self.ready.pop()
        }
    }

    #[test]
    fn unreadable_units_are_distinguished_from_their_neighbours() {
        let unit = 512;
        let units = 3 * FILL_UNITS + 7;
        let header = Header {
            run: 1,
            unit,
            from: 0,
            to: units * u64::from(unit),
            begun_unix_ns: 0,
            boot: 0,
            sync: false,
            write_through: false,
        };
        let history = HistoryReader::new(header, Path::new("journal")).finish(false);
        let bad: Vec<u64> = vec![0, 5, 300, 301, units - 1];
        let engine = FailingEngine {
            bad: bad.iter().map(|number| number * u64::from(unit) + 100).collect(),
            unit,
            buffers: vec![vec![0; unit as usize * FILL_UNITS as usize]; FILL_DEPTH as usize],
            pushed: Vec::new(),
            ready: Vec::new(),
        };
        let stop = AtomicBool::new(false);
        let kind = EngineKind::Null;
        let check = Check {
            path: Path::new("t"),
            journal: Path::new("j"),
            since: None,
            engine: kind,
            stop: &stop,
        };
        let mut next = 0;
        let mut failed = Vec::new();
        let whole = check.read_with_engine(
            engine,
            FILL_DEPTH,
            &history,
            units,
            &mut |_| (),
            &mut |number, bytes| {
                assert_eq!(number, next, "not in order");
                next += 1;
                match bytes {
                    Some(bytes) => assert!(bytes.iter().all(|&byte| byte == number as u8)),
                    None => failed.push(u64::from(number)),
                }
            },
        );
        assert!(whole.unwrap());
        assert_eq!((u64::from(next), failed), (units, bad));
    }
}

//! Writes the changes of a workload to a target, which is kept for a later check.

use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use lanemark_schema::result::{VerificationWrites, VerifyWarning};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration};
use lanemark_schema::workload::{Access, Accesses, Operation, Test, Workload};

use super::error::VerifyError;
use super::journal::{Header, Journal, boot};
use super::load::{LoadCounts, LoadState, LoadThread};
use super::record::{Record, RecordKind};
use super::unit::UNIT_MAX;
use lanemark_measure::MeasureError;
use lanemark_measure::parts::Arena;
use lanemark_measure::parts::PROGRESS_INTERVAL;
use lanemark_measure::parts::SamplePlan;
use lanemark_measure::parts::TargetLocation;
use lanemark_measure::parts::quota;
use lanemark_measure::parts::{
    EngineKind, NullEngine, Ring, RingOptions, SynchronousEngine, open_uring,
};
use lanemark_measure::parts::{OverwritePermission, Target};

/// Number of units per write of the initial fill.
pub(super) const FILL_UNITS: u64 = 256;
/// Number of writes in flight during the initial fill.
pub(super) const FILL_DEPTH: u32 = 8;

/// The write phase of a verification: executes the changes of a workload on one target, and records them in a journal.
#[derive(Clone, Copy, Debug)]
pub struct Verification<'a> {
    /// A file or block device, or a path at which a file is created. The target is kept.
    pub path: &'a Path,
    /// Path at which the journal is created.
    pub journal: &'a Path,
    /// Workload of the verification. Each test must have passed [`Test::check`].
    pub workload: &'a Workload,
    /// Seed of the random offsets.
    pub seed: u64,
    /// An existing file whose content may be lost; it must be the target.
    pub overwrite: Option<&'a Path>,
    /// A block device whose data may all be lost; it must be the target.
    pub offered: Option<&'a Path>,
    /// Engine that submits requests to the kernel.
    pub engine: EngineKind,
    /// Whether to use the page cache intentionally.
    pub buffered: bool,
    /// Whether requests wait until the journal is on its media, so that it survives a power cut.
    pub sync: bool,
    /// Whether the whole span is written and flushed first, so that each unit has known content.
    pub fill: bool,
    /// Stops the run early when set to true.
    pub stop: &'a AtomicBool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyProgress {
    /// Whether the target is still being filled before the writes of the workload.
    pub filling: bool,
    /// Number of bytes written or read so far.
    pub done: Bytes,
    /// Total number of bytes, if known.
    pub total: Option<Bytes>,
}

impl Verification<'_> {
    /// Writes the workload's changes and their journal. Calls `on` with the progress a few times a second, on this
    /// thread.
    ///
    /// A stop is not an error. After the journal is created, the target is always kept.
    ///
    /// # Errors
    /// Returns the errors that [`VerifyError`] lists.
    pub fn run(
        &self,
        on: &mut dyn FnMut(VerifyProgress),
    ) -> Result<VerificationWrites, VerifyError> {
        let (workload, left_out) = self.changing()?;
        if self.path.is_dir() {
            return Err(
                MeasureError::WrongKind { path: self.path.to_owned(), kind: "folder" }.into()
            );
        }
        let allowed = OverwritePermission { overwrite: self.overwrite, offered: self.offered };
        let mut target = Target::open(self.path, &workload, allowed, self.buffered)?;
        let header = self.header(&workload, &target);
        let journal = Journal::create(self.journal, &header)?;
        target.keep();
        // Without this call, a power cut could remove the directory entry of the file, which could then not be checked.
        rustix::fs::fsync(&target).map_err(|error| self.error("sync", error.into()))?;
        let shared = LoadState {
            path: self.path,
            journal: &journal,
            run: header.run,
            unit: header.unit as usize,
            generation: AtomicU64::new(1),
            begun: Instant::now(),
            abort: AtomicBool::new(false),
            counts: LoadCounts::default(),
        };
        let filled = !self.fill || self.fill(&target, &shared, &header, on)?;
        let written_before = shared.counts.written.load(Ordering::Relaxed);
        let begun = Instant::now();
        let mut complete = filled;
        if filled {
            for turn in SamplePlan::for_workload(&workload, self.seed).turns {
                let tests = &workload.tests[turn.tests()];
                let first = turn.first as u32;
                complete &= self.tests(&target, &shared, tests, first, turn.repeat, on)?;
            }
        }
        let elapsed = Duration::from_nanoseconds(begun.elapsed().as_nanos() as u64);
        self.flush(&target, &shared)?;
        let at_ns = shared.begun.elapsed().as_nanos() as u64;
        journal.append(&[Record {
            kind: RecordKind::End,
            generation: 0,
            offset: 0,
            length: 0,
            thread: 0,
            at_ns,
        }])?;
        journal.finish()?;
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let counts = &shared.counts;
        let written = VerificationWrites {
            path: self.path.display().to_string(),
            journal: self.journal.display().to_string(),
            workload: workload.id.clone(),
            run: header.run,
            unit_bytes: Bytes(header.unit.into()),
            from_bytes: Bytes(header.from),
            to_bytes: Bytes(header.to),
            writes: count(&counts.writes),
            written_bytes: Bytes(count(&counts.written)),
            flushes: count(&counts.flushes),
            trims: count(&counts.trims),
            reads: count(&counts.reads),
            elapsed,
            load_bytes: Bytes(count(&counts.written) - written_before),
            complete,
            warnings: self.warnings(&target, &journal, left_out),
        };
        target.finish()?;
        Ok(written)
    }

    /// Returns the workload without the tests that do not change data, and the names of those tests.
    fn changing(&self) -> Result<(Workload, Vec<String>), VerifyError> {
        let mut workload = self.workload.clone();
        workload.tests.retain(Test::destroys);
        if workload.tests.is_empty() || workload.repeats == 0 {
            return Err(VerifyError::NothingWritten { workload: workload.id });
        }
        if let Some(test) = workload.tests.iter().find(|test| test.requests().is_none()) {
            return Err(MeasureError::unasked(test).into());
        }
        let left_out = self.workload.tests.iter().filter(|test| !test.destroys());
        let left_out = left_out.map(|test| test.name.clone()).collect();
        Ok((workload, left_out))
    }

    fn header(&self, workload: &Workload, target: &Target) -> Header {
        let unit = unit_of(&workload.tests);
        let (from, to) = range_of(&workload.tests, unit);
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let begun_unix_ns = since.as_nanos() as u64;
        // A run must not mistake units of another run with the same seed for its own.
        let run = self.seed.rotate_left(40) ^ begun_unix_ns ^ u64::from(std::process::id()) << 48;
        Header {
            run,
            unit,
            from,
            to,
            begun_unix_ns,
            boot: boot(),
            sync: self.sync,
            write_through: target.device && target.page_cache.is_none() && is_write_through(target),
        }
    }

    /// Writes the whole span, and flushes it. Returns false if the run was stopped.
    fn fill(
        &self,
        target: &Target,
        shared: &LoadState<'_>,
        header: &Header,
        on: &mut dyn FnMut(VerifyProgress),
    ) -> Result<bool, VerifyError> {
        let step = u64::from(header.unit) * FILL_UNITS;
        let depth = self.depth(FILL_DEPTH);
        let mut at = header.from;
        on(VerifyProgress { filling: true, done: Bytes::ZERO, total: None });
        let mut reported_at = Instant::now();
        self.on_engine(target.as_fd(), shared, 0, depth, step, &mut || {
            if at == header.to || self.stop.load(Ordering::Relaxed) {
                return None;
            }
            if reported_at.elapsed() >= PROGRESS_INTERVAL {
                reported_at = Instant::now();
                let total = Some(Bytes(header.to - header.from));
                on(VerifyProgress { filling: true, done: Bytes(at - header.from), total });
            }
            let length = step.min(header.to - at);
            let operation = Operation::Write;
            let offset = Bytes(at);
            at += length;
            Some(Access { operation, offset, length: Bytes(length) })
        })?;
        self.flush(target, shared)?;
        Ok(at == header.to)
    }

    /// Flushes the acknowledged changes.
    fn flush(&self, target: &Target, shared: &LoadState<'_>) -> Result<(), VerifyError> {
        let mut flush =
            Some(Access { operation: Operation::Flush, offset: Bytes::ZERO, length: Bytes::ZERO });
        let unit = shared.unit as u64;
        self.on_engine(target.as_fd(), shared, 0, 1, unit, &mut || flush.take())
    }

    /// Runs tests concurrently, with all their threads. Returns false if the run was stopped.
    fn tests(
        &self,
        target: &Target,
        shared: &LoadState<'_>,
        tests: &[Test],
        first: u32,
        repeat: u32,
        on: &mut dyn FnMut(VerifyProgress),
    ) -> Result<bool, VerifyError> {
        let file = target.as_fd();
        let number = (first..).zip(tests);
        let threads = number.flat_map(|(number, test)| {
            (0..test.threads).map(move |thread| {
                (test, StreamKey { seed: self.seed, test: number, repeat, thread })
            })
        });
        let mut failed = None;
        thread::scope(|scope| {
            let (sender, receiver) = mpsc::channel();
            let mut running = 0;
            for (number, (test, key)) in (0u32..).zip(threads) {
                let sender = sender.clone();
                running += 1;
                scope.spawn(move || {
                    let ended = self.thread(file, shared, test, key, number);
                    if ended.is_err() {
                        shared.abort.store(true, Ordering::Relaxed);
                    }
                    // The receiver is gone only if the starting thread panicked.
                    let _ = sender.send(ended);
                });
            }
            drop(sender);
            while running > 0 {
                match receiver.recv_timeout(PROGRESS_INTERVAL) {
                    Ok(ended) => {
                        running -= 1;
                        if let Err(error) = ended {
                            failed.get_or_insert(error);
                        }
                    }
                    Err(mpsc::RecvTimeoutError::Timeout) => {
                        let done = Bytes(shared.counts.written.load(Ordering::Relaxed));
                        on(VerifyProgress { filling: false, done, total: None });
                    }
                    // A thread panicked; the scope propagates the panic.
                    Err(mpsc::RecvTimeoutError::Disconnected) => break,
                }
            }
        });
        failed.map_or_else(|| Ok(!self.stop.load(Ordering::Relaxed)), Err)
    }

    /// Runs one thread of a test until its volume or time is used up.
    fn thread(
        &self,
        file: BorrowedFd<'_>,
        shared: &LoadState<'_>,
        test: &Test,
        key: StreamKey,
        number: u32,
    ) -> Result<(), VerifyError> {
        let mut accesses = Accesses::new(test, key).ok_or_else(|| MeasureError::unasked(test))?;
        let mut left = quota(test, key.thread);
        let length = test.duration.or(test.rounds.map(|rounds| rounds.length));
        let length = length.map(|length| std::time::Duration::from_nanos(length.nanoseconds()));
        let begun = Instant::now();
        let depth = self.depth(test.issue_depth());
        self.on_engine(file, shared, number, depth, test.block.get(), &mut || {
            let over = left == 0 || length.is_some_and(|length| begun.elapsed() >= length);
            if over || self.stop.load(Ordering::Relaxed) {
                return None;
            }
            let access = accesses.next_access();
            // A test must not write outside its range.
            assert!(access.offset + access.length <= test.end());
            left = left.saturating_sub(access.length.get());
            Some(access)
        })
    }

    fn depth(&self, requested: u32) -> u32 {
        if self.engine == EngineKind::Synchronous { 1 } else { requested }
    }

    /// Submits the requests of `source` through the run's engine, as thread `number` with `depth` buffers of `block`.
    fn on_engine(
        &self,
        file: BorrowedFd<'_>,
        shared: &LoadState<'_>,
        number: u32,
        depth: u32,
        block: u64,
        source: &mut dyn FnMut() -> Option<Access>,
    ) -> Result<(), VerifyError> {
        let arena = Arena::new(depth, block as usize)
            .map_err(|source| self.error("map buffers to write", source))?;
        match self.engine {
            EngineKind::IoUring => {
                let uring = open_uring(depth, RingOptions::default());
                let mut uring = uring.map_err(|source| MeasureError::Ring { source })?;
                let ring = Ring::new(&mut uring, file, arena, true);
                LoadThread::new(shared, ring, number, depth).run(source)
            }
            EngineKind::Synchronous => {
                let engine = SynchronousEngine::new(file, arena, false);
                LoadThread::new(shared, engine, number, depth).run(source)
            }
            EngineKind::Null => {
                LoadThread::new(shared, NullEngine::new(arena), number, depth).run(source)
            }
        }
    }

    fn warnings(
        &self,
        target: &Target,
        journal: &Journal,
        left_out: Vec<String>,
    ) -> Vec<VerifyWarning> {
        let device = TargetLocation::find(journal.file()).block_device;
        let same = device.filter(|device| target.block_device.as_ref() == Some(device));
        let same = same.map(|device| VerifyWarning::JournalOnTarget { device });
        let cached = target.page_cache.clone().map(|reason| VerifyWarning::PageCache { reason });
        let tests = Some(left_out).filter(|tests| !tests.is_empty());
        let left_out = tests.map(|tests| VerifyWarning::TestsLeftOut { tests });
        same.into_iter().chain(cached).chain(left_out).collect()
    }

    fn error(&self, action: &'static str, source: std::io::Error) -> MeasureError {
        MeasureError::System { path: self.path.to_owned(), action, source }
    }
}

/// Returns the largest power of two, up to [`UNIT_MAX`], that divides all offsets and sizes of `tests`.
fn unit_of(tests: &[Test]) -> u32 {
    let sizes = |test: &Test| test.mix().sizes.iter().map(|size| size.block.get()).collect();
    let all = tests.iter().flat_map(|test| {
        let mut all: Vec<u64> = sizes(test);
        all.extend([test.block.get(), test.alignment().get(), test.offset.get()]);
        all
    });
    let shift = all.fold(UNIT_MAX as u64, |bits, value| bits | value).trailing_zeros();
    1 << shift
}

/// Returns whether the device claims to keep acknowledged data (`queue/write_cache` of sysfs).
fn is_write_through(target: &Target) -> bool {
    let Some(device) = &target.block_device else { return false };
    let folder = Path::new("/sys/class/block").join(device);
    // A partition uses the attribute of its disk.
    let setting = ["queue/write_cache", "../queue/write_cache"]
        .iter()
        .find_map(|file| fs::read_to_string(folder.join(file)).ok());
    setting.is_some_and(|setting| setting.trim() == "write through")
}

/// Returns the range from the first offset of `tests` to their last whole unit.
fn range_of(tests: &[Test], unit: u32) -> (u64, u64) {
    let from = tests.iter().map(|test| test.offset.get()).min().unwrap_or(0);
    let to = tests.iter().map(|test| test.end().get()).max().unwrap_or(0);
    (from, from + (to - from) / u64::from(unit) * u64::from(unit))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lanemark_schema::units::Ratio;
    use lanemark_schema::workload::{RequestMix, SizeShare};

    fn test(block: u64, alignment: u64, offset: u64, sizes: &[u64]) -> Test {
        let share = |&block: &u64| SizeShare { block: Bytes(block), share: 0.5 };
        Test {
            name: "units".to_owned(),
            span: Bytes::mebi(1),
            offset: Bytes(offset),
            volume: Some(Bytes::mebi(1)),
            ..Test::of_blocks(Bytes(block))
        }
        .with(|requests| {
            requests.read_share = Ratio::ZERO;
            requests.alignment = Bytes(alignment);
            requests.mix =
                RequestMix { sizes: sizes.iter().map(share).collect(), ..RequestMix::default() };
        })
    }

    #[test]
    fn a_workload_without_changes_is_refused_and_others_keep_their_changes() {
        let stop = AtomicBool::new(false);
        let nowhere = Path::new("/nowhere");
        let changing = |tests: Vec<Test>, repeats: u32| {
            let workload = Workload {
                faults: Vec::new(),
                id: "changes".to_owned(),
                name: String::new(),
                repeats,
                average: lanemark_schema::workload::AverageMethod::Mean,
                order: lanemark_schema::workload::TestOrder::Listed,
                precondition: None,
                tests,
            };
            let verification = Verification {
                path: nowhere,
                journal: nowhere,
                workload: &workload,
                seed: 1,
                overwrite: None,
                offered: None,
                engine: EngineKind::Synchronous,
                buffered: false,
                sync: false,
                fill: false,
                stop: &stop,
            };
            let count = |(kept, skipped): (Workload, Vec<String>)| (kept.tests.len(), skipped);
            verification.changing().map(count)
        };
        let write = test(4096, 4096, 0, &[]);
        let mut read = write.clone().with(|requests| requests.read_share = Ratio::ONE);
        read.name = "only reads".to_owned();
        let skipped = vec!["only reads".to_owned()];
        assert_eq!(changing(vec![read.clone(), write.clone()], 1).unwrap(), (1, skipped));
        for (tests, repeats) in
            [(vec![], 0), (vec![], 3), (vec![read.clone()], 3), (vec![write.clone(), read], 0)]
        {
            let refused = changing(tests, repeats);
            assert!(matches!(refused, Err(VerifyError::NothingWritten { .. })), "{repeats}");
        }
        assert_eq!(changing(vec![write], 1).unwrap(), (1, Vec::new()));
    }

    #[test]
    fn units_divide_every_place_and_size_and_are_a_sector_at_most() {
        let plain = test(4096, 4096, 0, &[]);
        assert_eq!(unit_of(std::slice::from_ref(&plain)), 4096);
        assert_eq!(unit_of(&[test(1 << 20, 1 << 20, 0, &[])]), 4096);
        assert_eq!(unit_of(&[test(6144, 4096, 0, &[6144, 4096])]), 2048);
        assert_eq!(unit_of(&[plain.clone(), test(4096, 4096, 512, &[])]), 512);
        assert_eq!(unit_of(&[plain, test(12_288, 1024, 0, &[])]), 1024);
    }

    #[test]
    fn the_range_contains_every_test_in_whole_units() {
        let at = |offset: u64| test(4096, 4096, offset, &[]);
        let mebi = 1 << 20;
        assert_eq!(range_of(&[at(8192)], 4096), (8192, 8192 + mebi));
        assert_eq!(range_of(&[at(3 * mebi), at(mebi)], 4096), (mebi, 4 * mebi));
        // The last unit would extend past the end of the test.
        assert_eq!(range_of(&[at(4096)], 3 << 18), (4096, 4096 + (3 << 18)));
        assert_eq!(range_of(&[], 4096), (0, 0));
    }
}

//! The loop of one thread that writes data for a later check. A request is recorded in the journal before it is
//! submitted, and an answer is recorded before any request that depends on it.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use lanemark_schema::units::Bytes;
use lanemark_schema::workload::{Access, Operation};

use super::error::VerifyError;
use super::journal::Journal;
use super::record::{Record, RecordKind};
use super::unit::stamp_write;
use lanemark_measure::MeasureError;
use lanemark_measure::parts::POLL_NS;
use lanemark_measure::parts::{Engine, EngineRequest};

/// Maximum number of requests that one append records. One system call writes all their records, and the drive has
/// other requests in flight during the call.
const BATCH: usize = 32;

/// The state that all threads of a run share.
pub(super) struct LoadState<'a> {
    pub(super) path: &'a Path,
    pub(super) journal: &'a Journal,
    pub(super) run: u64,
    pub(super) unit: usize,
    /// The generation of the next request.
    pub(super) generation: AtomicU64,
    pub(super) begun: Instant,
    /// Set when a thread failed.
    pub(super) abort: AtomicBool,
    pub(super) counts: LoadCounts,
}

/// The number of successful requests.
#[derive(Default)]
pub(super) struct LoadCounts {
    pub(super) writes: AtomicU64,
    pub(super) written: AtomicU64,
    pub(super) flushes: AtomicU64,
    pub(super) trims: AtomicU64,
    pub(super) reads: AtomicU64,
}

/// A thread of the load with its engine.
pub(super) struct LoadThread<'a, E> {
    shared: &'a LoadState<'a>,
    engine: E,
    thread: u32,
    slots: Box<[RequestSlot]>,
    free: Vec<u32>,
    /// Slots that are submitted after the next append.
    prepared: Vec<u32>,
    records: Vec<Record>,
}

#[derive(Clone, Copy)]
struct RequestSlot {
    access: Access,
    generation: u64,
    done: u32,
}

impl<'a, E: Engine> LoadThread<'a, E> {
    /// Creates a loop with `depth` slots, which must be the number of the engine's slots.
    pub(super) fn new(shared: &'a LoadState<'a>, engine: E, thread: u32, depth: u32) -> Self {
        let access =
            Access { operation: Operation::Flush, offset: Bytes::ZERO, length: Bytes::ZERO };
        Self {
            shared,
            engine,
            thread,
            slots: vec![RequestSlot { access, generation: 0, done: 0 }; depth as usize].into(),
            free: (0..depth).rev().collect(),
            prepared: Vec::with_capacity(BATCH),
            records: Vec::with_capacity(2 * BATCH),
        }
    }

    /// Submits the requests of `source` until it ends or another thread has failed, and waits for all of them.
    pub(super) fn run(
        mut self,
        source: &mut dyn FnMut() -> Option<Access>,
    ) -> Result<(), VerifyError> {
        let mut more = true;
        let mut failed = None;
        loop {
            more &= failed.is_none() && !self.shared.abort.load(Ordering::Relaxed);
            while more && self.prepared.len() < BATCH {
                let Some(slot) = self.free.pop() else { break };
                match source() {
                    Some(access) => self.prepare(slot, access),
                    None => {
                        more = false;
                        self.free.push(slot);
                    }
                }
            }
            if let Err(error) = self.shared.journal.append(&self.records) {
                // Prepared requests are not in the journal, so they must not be submitted.
                self.prepared.clear();
                more = false;
                failed.get_or_insert(error);
            }
            self.records.clear();
            for number in 0..self.prepared.len() {
                self.push(self.prepared[number]);
            }
            self.prepared.clear();
            if self.engine.outstanding() == 0 {
                match (more, failed) {
                    (_, Some(error)) => return Err(error),
                    (false, None) => return Ok(()),
                    (true, None) => {}
                }
                failed = None;
                continue;
            }
            let submitted = if more && !self.free.is_empty() {
                self.engine.submit()
            } else {
                self.engine.submit_and_wait(Some(POLL_NS))
            };
            submitted.map_err(|source| self.engine_error(source))?;
            if let Err(error) = self.reap() {
                failed.get_or_insert(error.into());
            }
        }
    }

    /// Sets the generation and the data of a request, and records the request.
    fn prepare(&mut self, slot: u32, access: Access) {
        let kind = match access.operation {
            Operation::Read => None,
            Operation::Write => Some(RecordKind::Write),
            Operation::Flush => Some(RecordKind::Flush),
            Operation::Trim => Some(RecordKind::Trim),
        };
        let generation = kind.map_or(0, |_| self.shared.generation.fetch_add(1, Ordering::Relaxed));
        if access.operation == Operation::Write {
            let buffer = &mut self.engine.buffer_mut(slot)[..access.length.get() as usize];
            stamp_write(buffer, self.shared.unit, self.shared.run, access.offset.get(), generation);
        }
        self.slots[slot as usize] = RequestSlot { access, generation, done: 0 };
        if let Some(kind) = kind {
            self.note(kind, slot);
        }
        self.prepared.push(slot);
    }

    /// Adds a record about the request of a slot.
    fn note(&mut self, kind: RecordKind, slot: u32) {
        let RequestSlot { access, generation, .. } = self.slots[slot as usize];
        self.records.push(Record {
            kind,
            generation,
            offset: access.offset.get(),
            length: access.length.get() as u32,
            thread: self.thread,
            at_ns: self.shared.begun.elapsed().as_nanos() as u64,
        });
    }

    /// Queues the rest of a slot's request.
    fn push(&mut self, slot: u32) {
        let RequestSlot { access, done, .. } = self.slots[slot as usize];
        let offset = access.offset.get() + u64::from(done);
        let length = access.length.get() as u32 - done;
        let transfer = EngineRequest { operation: access.operation, offset, skip: done, length };
        self.engine.push(slot, transfer);
    }

    /// Takes the available answers.
    fn reap(&mut self) -> Result<(), MeasureError> {
        let mut failed = None;
        while let Some((slot, result)) = self.engine.next_completion() {
            match self.is_whole(slot, result) {
                Ok(false) => self.push(slot),
                Ok(true) => {
                    self.count(slot);
                    self.on_answer(RecordKind::Acknowledged, slot);
                }
                Err(error) => {
                    self.on_answer(RecordKind::Failed, slot);
                    failed.get_or_insert(error);
                }
            }
        }
        failed.map_or(Ok(()), Err)
    }

    fn on_answer(&mut self, kind: RecordKind, slot: u32) {
        if self.slots[slot as usize].access.operation != Operation::Read {
            self.note(kind, slot);
        }
        self.free.push(slot);
    }

    fn count(&self, slot: u32) {
        let counts = &self.shared.counts;
        let access = self.slots[slot as usize].access;
        let counter = match access.operation {
            Operation::Read => &counts.reads,
            Operation::Write => &counts.writes,
            Operation::Flush => &counts.flushes,
            Operation::Trim => &counts.trims,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        if access.operation == Operation::Write {
            counts.written.fetch_add(access.length.get(), Ordering::Relaxed);
        }
    }

    /// Returns whether a slot's request is complete; if not, its rest must be requested again.
    fn is_whole(&mut self, slot: u32, result: i32) -> Result<bool, MeasureError> {
        let path = || self.shared.path.to_owned();
        let RequestSlot { access, done, .. } = &mut self.slots[slot as usize];
        let Access { operation, offset, length } = *access;
        match u32::try_from(result) {
            Ok(_) if !operation.moves_data() => Ok(true),
            Ok(0) => Err(MeasureError::Ended { path: path(), operation, offset }),
            Ok(moved) => {
                *done += moved;
                Ok(u64::from(*done) >= length.get())
            }
            Err(_) if matches!(-result, libc::EINTR | libc::EAGAIN) => Ok(false),
            Err(_) => {
                let source = io::Error::from_raw_os_error(-result);
                Err(MeasureError::Request { path: path(), operation, offset, length, source })
            }
        }
    }

    fn engine_error(&self, source: io::Error) -> MeasureError {
        let path = self.shared.path.to_owned();
        MeasureError::System { path, action: "submit requests to", source }
    }
}

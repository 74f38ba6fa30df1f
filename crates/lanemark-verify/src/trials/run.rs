//! A run on the device in memory, with its journal and the true times of its changes.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use lanemark_schema::rng::{Rng, StreamKey};

use crate::device::VersionedDevice;
use crate::journal::Header;
use crate::record::{Record, RecordKind};
use crate::unit::stamp_write;

/// Whether a run ended completely, by a kill, or by a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RunEnd {
    Whole,
    Kill,
    PowerCut,
}

/// A change and its true times, which are counts of appends to the journal.
#[derive(Clone, Debug)]
pub(super) struct GroundTruthWrite {
    pub(super) offset: u64,
    pub(super) length: u32,
    pub(super) trim: bool,
    pub(super) durable: bool,
    pub(super) submitted: u64,
    /// Time when the journal contained the acknowledgement of the change.
    pub(super) acknowledged: Option<u64>,
}

pub(super) struct TrialRun {
    pub(super) header: Header,
    pub(super) device: VersionedDevice,
    pub(super) journal: Vec<u8>,
    pub(super) changes: BTreeMap<u64, GroundTruthWrite>,
    /// Submission times of the flushes whose acknowledgement is in the journal.
    pub(super) flushes: Vec<u64>,
    pub(super) seed: u64,
    pub(super) rng: Rng,
    records: u64,
    generation: u64,
    threads: Vec<TrialThread>,
    /// Changes that the device has answered.
    answered: BTreeSet<u64>,
    flushes_submitted: BTreeMap<u64, u64>,
}

#[derive(Default)]
struct TrialThread {
    /// Answers that are not in the journal yet.
    answers: Vec<(RecordKind, u64)>,
    outstanding: BTreeSet<u64>,
    /// Flushes in flight, with the changes that they cover.
    flushes: Vec<(u64, BTreeSet<u64>)>,
}

/// The fill before the random requests: writes to all offsets, and then a flush without another request in flight.
enum FillPhase {
    Write(u64, u32),
    Flush,
}

impl TrialRun {
    pub(super) fn new(seed: u64, end: RunEnd) -> Self {
        let mut rng = Rng::new(StreamKey::from_seed(seed));
        let unit = 512 << rng.below(4);
        let units = 8 + rng.below(32);
        let from = 4096 * rng.below(1000);
        let header = Header {
            run: rng.next_u64(),
            unit,
            from,
            to: from + units * u64::from(unit),
            begun_unix_ns: 0,
            boot: 1,
            sync: end == RunEnd::PowerCut,
            write_through: false,
        };
        let device = VersionedDevice::new(units as usize * unit as usize, &mut rng);
        let threads = (0..1 + rng.below(4)).map(|_| TrialThread::default()).collect();
        let journal = header.encode().to_vec();
        let mut run = Self {
            header,
            device,
            journal,
            changes: BTreeMap::new(),
            flushes: Vec::new(),
            seed,
            rng,
            records: 0,
            generation: 1,
            threads,
            answered: BTreeSet::new(),
            flushes_submitted: BTreeMap::new(),
        };
        run.run_to_end(units, end);
        run
    }

    fn run_to_end(&mut self, units: u64, end: RunEnd) {
        let mut fill: VecDeque<FillPhase> = (0..units)
            .step_by(8)
            .map(|first| FillPhase::Write(first, (units - first).min(8) as u32))
            .chain([FillPhase::Flush])
            .collect();
        let depth = 1 + self.rng.below(6) as usize;
        let steps = 10 + self.rng.below(400);
        let mut step = 0;
        while step < steps || (end == RunEnd::Whole && !fill.is_empty()) {
            step += 1;
            let thread = self.rng.below(self.threads.len() as u64) as usize;
            let busy = self.threads[thread].outstanding.len() + self.threads[thread].flushes.len();
            match self.rng.below(10) {
                0..=3 if busy < depth => match fill.front() {
                    Some(FillPhase::Write(first, count)) => {
                        let first = *first;
                        let count = *count;
                        fill.pop_front();
                        self.ask(thread, vec![(RecordKind::Write, first, count)]);
                    }
                    Some(FillPhase::Flush) if self.is_idle() => {
                        fill.pop_front();
                        self.ask(thread, vec![(RecordKind::Flush, 0, 0)]);
                    }
                    Some(FillPhase::Flush) => self.answer(thread),
                    None => {
                        let batch = 1 + self.rng.below((depth - busy) as u64) as usize;
                        let batch = (0..batch).map(|_| self.any_change(units)).collect();
                        self.ask(thread, batch);
                    }
                },
                4..=5 => {
                    let Self { device, rng, .. } = self;
                    device.execute_some(rng);
                }
                6 => self.record_answers(thread),
                _ => self.answer(thread),
            }
        }
        match end {
            RunEnd::Whole => {
                while !self.is_idle() {
                    (0..self.threads.len()).for_each(|thread| self.answer(thread));
                }
                self.append(RecordKind::End, 0, 0, 0);
            }
            RunEnd::Kill => self.torn_end(units),
            RunEnd::PowerCut => {
                self.torn_end(units);
                let Self { device, rng, .. } = self;
                device.cut_power(rng);
            }
        }
    }

    /// Returns whether all requests are answered and recorded.
    fn is_idle(&mut self) -> bool {
        let idle = self
            .threads
            .iter()
            .all(|thread| thread.outstanding.is_empty() && thread.flushes.is_empty());
        if idle {
            (0..self.threads.len()).for_each(|thread| self.record_answers(thread));
        }
        idle
    }

    fn any_change(&mut self, units: u64) -> (RecordKind, u64, u32) {
        let kind = match self.rng.below(20) {
            0 => RecordKind::Flush,
            1 => RecordKind::Trim,
            2 => RecordKind::DurableWrite,
            _ => RecordKind::Write,
        };
        let count = 1 + self.rng.below(units.min(8));
        (kind, self.rng.below(units - count + 1), count as u32)
    }

    /// Records the answers that the thread has received and then its requests, and submits the requests to the device.
    fn ask(&mut self, thread: usize, batch: Vec<(RecordKind, u64, u32)>) {
        self.record_answers(thread);
        let unit = u64::from(self.header.unit);
        let first = self.generation;
        for (kind, position, count) in &batch {
            let offset = self.header.from + position * unit;
            let length = count * self.header.unit;
            let submitted = self.records;
            let generation = self.generation;
            self.generation += 1;
            self.append(*kind, generation, offset, length);
            if *kind == RecordKind::Flush {
                self.flushes_submitted.insert(generation, submitted);
                continue;
            }
            let truth = GroundTruthWrite {
                offset,
                length,
                trim: *kind == RecordKind::Trim,
                durable: *kind == RecordKind::DurableWrite,
                submitted,
                acknowledged: None,
            };
            self.changes.insert(generation, truth);
        }
        for (generation, (kind, position, count)) in (first..).zip(batch) {
            if kind == RecordKind::Flush {
                self.threads[thread].flushes.push((generation, self.answered.clone()));
                continue;
            }
            let mut data = vec![0; (count * self.header.unit) as usize];
            if kind != RecordKind::Trim {
                let offset = self.header.from + position * unit;
                let unit = self.header.unit as usize;
                stamp_write(&mut data, unit, self.header.run, offset, generation);
            }
            self.device.ask(generation, position * unit, data);
            self.threads[thread].outstanding.insert(generation);
        }
    }

    /// Lets the device answer a random request of a thread.
    fn answer(&mut self, thread: usize) {
        let Self { device, threads, rng, answered, changes, .. } = self;
        let state = &mut threads[thread];
        if !state.flushes.is_empty() && (state.outstanding.is_empty() || rng.chance(0.5)) {
            let (generation, covered) = state.flushes.swap_remove(0);
            device.keep(&|generation| covered.contains(&generation));
            state.answers.push((RecordKind::Acknowledged, generation));
            return;
        }
        if state.outstanding.is_empty() {
            return;
        }
        let chosen = rng.below(state.outstanding.len() as u64) as usize;
        let Some(&generation) = state.outstanding.iter().nth(chosen) else { return };
        state.outstanding.remove(&generation);
        let index =
            device.under_way.iter().position(|change| change.generation == generation).unwrap();
        if rng.chance(0.01) {
            device.give_up(index);
            state.answers.push((RecordKind::Failed, generation));
            return;
        }
        device.complete(index, rng);
        answered.insert(generation);
        if changes[&generation].durable {
            device.keep(&|change| change == generation);
        }
        state.answers.push((RecordKind::Acknowledged, generation));
    }

    /// Records the answers that a thread received.
    fn record_answers(&mut self, thread: usize) {
        for (kind, generation) in std::mem::take(&mut self.threads[thread].answers) {
            if kind == RecordKind::Acknowledged {
                match self.changes.get_mut(&generation) {
                    Some(change) => change.acknowledged = Some(self.records),
                    None => self.flushes.extend(self.flushes_submitted.get(&generation)),
                }
            }
            self.append(kind, generation, 0, 0);
        }
    }

    fn append(&mut self, kind: RecordKind, generation: u64, offset: u64, length: u32) {
        let record = Record { kind, generation, offset, length, thread: 0, at_ns: self.records };
        let synced = if self.header.sync { self.records } else { 0 };
        self.journal.extend(record.encode(self.header.run, self.records, synced));
        self.records += 1;
    }

    /// Ends the journal in the middle of an append, with requests that were never submitted and a part of a record.
    fn torn_end(&mut self, units: u64) {
        for _ in 0..self.rng.below(3) {
            let (kind, position, count) = self.any_change(units);
            let generation = self.generation;
            self.generation += 1;
            let offset = self.header.from + position * u64::from(self.header.unit);
            self.append(kind, generation, offset, count * self.header.unit);
            if kind != RecordKind::Flush {
                let length = count * self.header.unit;
                let truth = GroundTruthWrite {
                    offset,
                    length,
                    trim: kind == RecordKind::Trim,
                    durable: false,
                    submitted: self.records,
                    acknowledged: None,
                };
                self.changes.insert(generation, truth);
            }
        }
        let tail = self.rng.below(48);
        self.journal.extend((0..tail).map(|byte| byte as u8));
    }
}

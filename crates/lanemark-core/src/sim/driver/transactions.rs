//! A database under transactions on a simulated system ([`Transactions`] says what each of them does).
//!
//! A closed network: users are elsewhere, at the processor, or wait for the drives. Each is at one of them at a time.
//! Processors are the platform's cores behind one queue. What submitting and completing requests costs them is the
//! simulator's, on cores by user, and counts towards their use; that the two kinds of work wait for each other is
//! left out, which matters only near saturation.
//!
//! Changed pages are owed as transactions end, at the rate that the buffer's law gives for the present rate of
//! transactions, and written as far as the writers go. Where more than 4096 are owed, users that miss a
//! page wait until there is room, as they do where a database finds no clean page.
//!
//! Locks are waited for at the end of a transaction, for a multiple of the time that it took: on a slower drive a lock is
//! held for longer. Who holds which is not modelled.
//!
//! Not modelled: latches (part of the time elsewhere), reading ahead, pages of a transaction that lie
//! together, splits of pages, and a working set that drifts.

use std::collections::VecDeque;

use super::super::Progress;
use super::super::budget::Hop;
use super::super::energy::Metering;
use super::super::fault::Status;
use super::super::kernel::EventQueue;
use super::super::simulator::{Completion, SimError};
use super::super::spec::{CheckedSystem, Content, SystemSpec};
use super::super::station::Servers;
use super::super::storage::Storage;
use super::super::target::Target;
use super::tally::Tally;
use super::{path_use, share_of_time};
use crate::result::series::Recorder;
use crate::result::{
    DirectionResult, LatencyHistogram, RequestErrors, Sample, ServerTime, TransactionsUse,
};
use crate::rng::{Rng, StreamKey};
use crate::units::{Bytes, Duration, Instant};
use crate::workload::{Access, BufferLaw, BufferUse, Operation, Test, Transactions};

/// Changed pages that may be owed before users wait for them to be written.
const OWED_MAX: f64 = 4096.0;
/// Events between two looks at whether to go on; one in the drives may be several of theirs.
const WATCH_STEPS: u64 = 1024;
/// Transactions between two looks at how many there are a second.
const RATE_EVERY: u64 = 1024;
/// The tag of a page's write; those of reads are their users.
const PAGE_WRITE: u64 = u64::MAX;
/// Tags of log writes, and of the flushes after them, with the place in their order.
const LOG_WRITE: u64 = 1 << 62;
const LOG_FLUSH: u64 = 1 << 61;
/// The tag of a page's write that a user waits for, with the user.
const AWAITED_WRITE: u64 = 1 << 60;

/// An instant after all others.
const NEVER: Instant = Instant::from_picoseconds(u64::MAX);

/// An event outside the drives.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A user comes back.
    Asks(u32),
    /// A part of a user's transaction leaves the processor.
    Computed(u32),
}

/// A user's transaction.
#[derive(Clone, Copy, Debug, Default)]
struct User {
    begun: Instant,
    reads: u32,
    /// Pages to write before pages can be read in their place, and whether that has just been done for the next read.
    writes: u32,
    has_room: bool,
    /// The time of each part at the processor, in the mean.
    part: Duration,
}

/// A write of the log, with the users that it commits.
#[derive(Default)]
struct LogWrite {
    users: Vec<u32>,
    ended: bool,
}

/// The writer of the log.
#[derive(Default)]
struct LogWriter {
    /// Users that no write has taken yet.
    waiting: Vec<u32>,
    /// Writes under way, in order; the number of the first.
    writes: VecDeque<LogWrite>,
    first: u64,
    /// Lists of users of writes that are over, for those of others.
    spare: Vec<Vec<u32>>,
    /// Place of the next log write in the log's area.
    place: Bytes,
}

/// Runs one repeat of `test`, a database of [`Transactions`], on the volume or the first drive of `spec`.
///
/// # Errors
/// [`SimError`] where the test does not fit the drive.
pub(super) fn run(
    spec: &CheckedSystem,
    test: &Test,
    transactions: &Transactions,
    key: StreamKey,
    watch: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Sample, SimError> {
    if test.rounds.is_some() || test.volume.is_some() {
        return Err(SimError::NotSimulated { what: "transactions until a volume or steady" });
    }
    let mut run = Run::new(spec, test, transactions, key);
    for user in 0..test.threads {
        run.leave(Instant::ZERO, user);
    }
    let mut steps = 0u64;
    while run.step()? {
        if steps.is_multiple_of(WATCH_STEPS) && !watch(&run.progress()) {
            return Err(SimError::Cancelled);
        }
        steps += 1;
    }
    Ok(run.end(spec))
}

struct Run<'t> {
    test: &'t Test,
    load: &'t Transactions,
    storage: Storage,
    metering: Metering,
    events: EventQueue<Event>,
    /// Instant of the first of them, or the end of all time.
    next: Instant,
    processors: Servers,
    cores: u32,
    users: Vec<User>,
    rng: Rng,
    /// Pages that lie before the log.
    pages: u64,
    law: BufferLaw<'t>,
    buffer: BufferUse,
    log: LogWriter,
    owed: f64,
    page_writes: u32,
    /// Users that wait for a clean page.
    held: VecDeque<u32>,
    ended: u64,
    /// Instant of the last event.
    now: Instant,
    rate_since: Instant,
    counting_from: Instant,
    deadline: Instant,
    /// Busy time of the processors when counting began.
    busy_before: Duration,
    tally: Option<Tally>,
    response: LatencyHistogram,
    log_writes: u64,
    committed: u64,
    series: Option<Recorder>,
    errors: RequestErrors,
}

impl<'t> Run<'t> {
    fn new(spec: &CheckedSystem, test: &'t Test, load: &'t Transactions, key: StreamKey) -> Self {
        let counting_from = Instant::ZERO + test.ramp;
        let deadline = counting_from + test.duration.unwrap_or_default();
        // Until it is known: as if nothing had to be waited for.
        let alone = (load.elsewhere + load.processor).as_seconds();
        let rate = f64::from(test.threads) / alone;
        let law = load.buffer_law(test.block);
        let buffer = law.at(rate);
        Self {
            test,
            load,
            storage: Storage::new(spec, Content::of(test), key),
            metering: Metering::new(spec, counting_from, Some(deadline)),
            events: EventQueue::with_capacity(test.threads as usize),
            next: NEVER,
            processors: Servers::new(spec.cpu.cores as usize),
            cores: spec.cpu.cores,
            users: vec![User::default(); test.threads as usize],
            rng: Rng::new(key),
            pages: (test.span - load.log.area).get() / test.block.get(),
            law,
            buffer,
            log: LogWriter::default(),
            owed: 0.0,
            page_writes: 0,
            held: VecDeque::new(),
            ended: 0,
            now: Instant::ZERO,
            rate_since: Instant::ZERO,
            counting_from,
            deadline,
            busy_before: Duration::ZERO,
            tally: None,
            response: LatencyHistogram::new(),
            log_writes: 0,
            committed: 0,
            series: Recorder::of(test),
            errors: RequestErrors::default(),
        }
    }

    /// Goes on to the next event, here or in the drives; whether there is more before the end.
    fn step(&mut self) -> Result<bool, SimError> {
        let limit = self.next.min(self.deadline);
        if let Some(mut completion) = self.metering.advance_until(&mut self.storage, limit) {
            completion.check_end()?;
            self.now = completion.completed;
            self.count(&mut completion);
            self.completed(&completion)?;
            return Ok(true);
        }
        if self.next >= self.deadline {
            self.begin_counting(self.deadline);
            return Ok(false);
        }
        let Some((now, event)) = self.events.pop() else { return Ok(false) };
        self.next = self.events.next_at().unwrap_or(NEVER);
        self.now = now;
        match event {
            Event::Asks(user) => self.begin(now, user),
            Event::Computed(user) => self.go_on(now, user)?,
        }
        Ok(true)
    }

    fn progress(&self) -> Progress {
        let share = share_of_time(self.now, self.deadline.since(Instant::ZERO));
        Progress { requests: self.ended, now: self.now, share: Some(share) }
    }

    fn exponential(&mut self, mean: Duration) -> Duration {
        let times = -libm::log(1.0 - self.rng.unit());
        Duration::from_picoseconds((mean.picoseconds() as f64 * times) as u64)
    }

    /// A number of independent events of that mean (Poisson), by counting until their times exceed one.
    fn number(&mut self, mean: f64) -> u32 {
        let (mut count, mut time) = (0, 0.0);
        loop {
            time -= libm::log(1.0 - self.rng.unit());
            if time > mean {
                return count;
            }
            count += 1;
        }
    }

    fn leave(&mut self, now: Instant, user: u32) {
        let away = self.exponential(self.load.elsewhere);
        self.schedule(now + away, Event::Asks(user));
    }

    fn schedule(&mut self, at: Instant, event: Event) {
        self.next = self.next.min(at);
        self.events.schedule(at, event);
    }

    fn begin(&mut self, now: Instant, user: u32) {
        let reads = self.number(self.buffer.reads);
        let writes = if self.buffer.awaited > 0.0 { self.number(self.buffer.awaited) } else { 0 };
        let part = self.load.processor / u64::from(reads + 1);
        self.users[user as usize] = User { begun: now, reads, writes, has_room: false, part };
        self.compute(now, user);
    }

    fn compute(&mut self, now: Instant, user: u32) {
        let time = self.exponential(self.users[user as usize].part);
        let span = self.processors.serve(now, time);
        self.schedule(span.end, Event::Computed(user));
    }

    /// Makes room for the next page or reads it, commits, or ends.
    fn go_on(&mut self, now: Instant, user: u32) -> Result<(), SimError> {
        let own = &mut self.users[user as usize];
        if own.writes > 0 && !own.has_room {
            let access = self.page(Operation::Write);
            let tag = AWAITED_WRITE | u64::from(user);
            return self.storage.submit(now, Target::default(), access, user, tag);
        }
        // The next one needs room of its own, and what is left when all is read is written too.
        own.has_room = false;
        if own.reads == 0 && own.writes > 0 {
            return self.go_on(now, user);
        }
        if own.reads > 0 {
            if self.owed > OWED_MAX {
                self.held.push_back(user);
                return Ok(());
            }
            return self.read(now, user);
        }
        if self.rng.chance(self.load.log.share.get()) {
            self.log.waiting.push(user);
            return self.write_log(now);
        }
        self.finish(now, user)
    }

    fn read(&mut self, now: Instant, user: u32) -> Result<(), SimError> {
        let access = self.page(Operation::Read);
        self.storage.submit(now, Target::default(), access, user, u64::from(user))
    }

    fn page(&mut self, operation: Operation) -> Access {
        let place = Bytes(self.rng.below(self.pages) * self.test.block.get());
        Access { operation, offset: self.test.offset + place, length: self.test.block }
    }

    /// Begins as many log writes as may be outstanding.
    fn write_log(&mut self, now: Instant) -> Result<(), SimError> {
        let log = &self.load.log;
        while !self.log.waiting.is_empty() && self.log.writes.len() < log.outstanding as usize {
            let most = (log.write_max.get() / log.record.get()).max(1) as usize;
            let mut later = self.log.spare.pop().unwrap_or_default();
            later.extend(self.log.waiting.drain(self.log.waiting.len().min(most)..));
            let users = std::mem::replace(&mut self.log.waiting, later);
            let length = Bytes((log.record.get() * users.len() as u64).next_multiple_of(512));
            if self.log.place + length > log.area {
                self.log.place = Bytes::ZERO;
            }
            let number = self.log.first + self.log.writes.len() as u64;
            let offset = self.test.end() - log.area + self.log.place;
            self.log.place += length;
            let thread = users[0];
            self.log.writes.push_back(LogWrite { users, ended: false });
            self.log_writes += u64::from(now >= self.counting_from);
            let access = Access { operation: Operation::Write, offset, length };
            self.storage.submit(now, Target::default(), access, thread, LOG_WRITE | number)?;
        }
        Ok(())
    }

    fn completed(&mut self, completion: &Completion) -> Result<(), SimError> {
        let now = completion.completed;
        match completion.tag {
            PAGE_WRITE => {
                self.page_writes -= 1;
                self.write_pages(now)?;
                while self.owed <= OWED_MAX
                    && let Some(user) = self.held.pop_front()
                {
                    self.read(now, user)?;
                }
                Ok(())
            }
            tag if tag & LOG_WRITE != 0 && self.load.log.flush => {
                let number = tag & !LOG_WRITE;
                let flush = Access {
                    operation: Operation::Flush,
                    offset: Bytes::ZERO,
                    length: Bytes::ZERO,
                };
                self.storage.submit(now, Target::default(), flush, 0, LOG_FLUSH | number)
            }
            tag if tag & (LOG_WRITE | LOG_FLUSH) != 0 => {
                self.stored(now, tag & !(LOG_WRITE | LOG_FLUSH))
            }
            tag if tag & AWAITED_WRITE != 0 => {
                let user = (tag & !AWAITED_WRITE) as u32;
                let own = &mut self.users[user as usize];
                own.writes -= 1;
                own.has_room = true;
                self.go_on(now, user)
            }
            user => {
                let user = user as u32;
                self.users[user as usize].reads -= 1;
                self.compute(now, user);
                Ok(())
            }
        }
    }

    /// A log write is stored: it and those behind it commit, as far as all before them are.
    fn stored(&mut self, now: Instant, number: u64) -> Result<(), SimError> {
        self.log.writes[(number - self.log.first) as usize].ended = true;
        while self.log.writes.front().is_some_and(|write| write.ended) {
            let write = self.log.writes.pop_front().unwrap_or_default();
            self.log.first += 1;
            if now >= self.counting_from {
                self.committed += write.users.len() as u64;
            }
            for &user in &write.users {
                self.finish(now, user)?;
            }
            let mut users = write.users;
            users.clear();
            self.log.spare.push(users);
        }
        self.write_log(now)
    }

    fn finish(&mut self, now: Instant, user: u32) -> Result<(), SimError> {
        let taken = now.since(self.users[user as usize].begun);
        let locked = (taken.picoseconds() as f64 * self.load.locks) as u64;
        let locked = Duration::from_picoseconds(locked);
        if now >= self.counting_from {
            self.begin_counting(now);
            self.response.record(taken + locked);
        }
        self.ended += 1;
        if self.ended.is_multiple_of(RATE_EVERY) {
            let seconds = now.since(self.rate_since).as_seconds();
            self.buffer = self.law.at(RATE_EVERY as f64 / seconds);
            self.rate_since = now;
        }
        self.leave(now + locked, user);
        self.owed += self.buffer.writes - self.buffer.awaited;
        self.write_pages(now)
    }

    fn write_pages(&mut self, now: Instant) -> Result<(), SimError> {
        while self.owed >= 1.0 && self.page_writes < self.load.page_writers {
            self.owed -= 1.0;
            self.page_writes += 1;
            let pages = u64::from(self.buffer.draw_pages(&mut self.rng)).min(self.pages);
            let page = self.test.block.get();
            let place = Bytes(self.rng.below(self.pages - pages + 1) * page);
            let access = Access {
                operation: Operation::Write,
                offset: self.test.offset + place,
                length: Bytes(pages * page),
            };
            self.storage.submit(now, Target::default(), access, 0, PAGE_WRITE)?;
        }
        Ok(())
    }

    fn begin_counting(&mut self, now: Instant) {
        if self.tally.is_some() {
            return;
        }
        let tally = Tally::since(self.storage.simulator());
        if let Some(series) = &mut self.series {
            series.begin(tally.drive_before);
        }
        self.busy_before = self.processors.busy();
        self.tally = Some(tally);
        debug_assert!(now >= self.counting_from);
    }

    fn count(&mut self, completion: &mut Completion) {
        if let Status::Failed(kind) = completion.status {
            self.errors.count(kind);
            return;
        }
        if completion.completed < self.counting_from {
            return;
        }
        self.begin_counting(completion.completed);
        let Some(tally) = &mut self.tally else { return };
        let latency = completion.completed.since(completion.submitted);
        tally.count(completion, latency);
        if let Some(series) = &mut self.series {
            let at = completion.completed.since(self.counting_from);
            if series.is_over(at) {
                series.close(at, Some(self.storage.simulator().drive_use()));
            }
            series.record(completion.access.operation, completion.access.length, latency);
        }
    }

    fn end(mut self, spec: &SystemSpec) -> Sample {
        let simulator = self.storage.simulator();
        self.metering.end(simulator, self.deadline);
        let tally = self.tally.take().unwrap_or_else(|| Tally::since(simulator));
        let elapsed = self.deadline.since(self.counting_from);
        let drive = simulator.drive_use();
        let counted = (tally.requests(), tally.bytes(), elapsed);
        let path = path_use(spec, simulator, &tally.busy_before, &tally.budget, counted);
        let core = simulator.busy()[Hop::Cpu as usize].iter().copied().sum::<Duration>();
        let core_before = tally.busy_before[Hop::Cpu as usize].iter().copied().sum::<Duration>();
        let own = (self.processors.busy() - self.busy_before) * u64::from(self.cores);
        let all = elapsed.as_seconds() * f64::from(self.cores);
        let busy_s = (own + (core - core_before)).as_seconds();
        let count = self.response.count();
        let each = |requests: u64| requests as f64 / count.max(1) as f64;
        let reads = tally.reads.latency.count();
        let page_writes = tally.writes.latency.count().saturating_sub(self.log_writes);
        let transactions = TransactionsUse {
            count,
            per_minute: count as f64 / elapsed.as_seconds() * 60.0,
            processor_busy: Some((busy_s / all).min(1.0)),
            processor_time: Some(ServerTime { server_s: Some(busy_s), ..ServerTime::default() }),
            buffer_hit_ratio: self.buffer.hit_ratio,
            page_reads: Some(each(reads)),
            page_writes: Some(each(page_writes)),
            log_writes: Some(each(self.log_writes)),
            commits_per_log_write: Some(self.committed as f64 / self.log_writes.max(1) as f64),
            log_bytes: Some(each(self.committed) * self.load.log.record.get() as f64),
            log_flushes: Some(each(tally.flushes.latency.count())),
            response: self.response,
            ..TransactionsUse::default()
        };
        let known =
            |direction: DirectionResult| (direction.latency.count() > 0).then_some(direction);
        Sample {
            elapsed,
            drive: Some(drive.since(&tally.drive_before)),
            reads: known(tally.reads),
            writes: known(tally.writes),
            flushes: known(tally.flushes),
            trims: None,
            cpu: None,
            evidence: None,
            punctuality: None,
            path: Some(path),
            energy: self.metering.energy(spec),
            errors: self.errors,
            faults: self.storage.simulator().fault_uses(),
            live: None,
            replay: None,
            series: self.series.map(|series| series.finish(elapsed, Some(drive))),
            steady: None,
            transactions: Some(transactions),
            complete: true,
        }
    }
}

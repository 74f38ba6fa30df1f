//! A database that executes transactions on a simulated system ([`TransactionLoad`] states the work of each
//! transaction).
//!
//! The model is a closed queueing network: at any time, a user is elsewhere, at the processor, or waiting for the
//! drives. The processors are the platform's cores with one queue. The simulator charges the submission and completion
//! of requests to cores by user, and this time counts toward their use. In the model, transactions and requests do not
//! wait for each other at the processors, which matters only near saturation.
//!
//! Changed pages become due as transactions end, at the rate that the buffer's formula yields for the current rate of
//! transactions, and are written as fast as the writers permit. If more than 4096 page writes are due, users that miss
//! a page wait until there is room, like the users of a real database that finds no clean page.
//!
//! Transactions wait for locks at their end, for a multiple of the time that they have taken, because a slower drive
//! makes transactions hold their locks for longer. The owners of individual locks are not modelled.
//!
//! Not modelled: latches (part of the time elsewhere), read-ahead, adjacent pages of a transaction, page splits, and a
//! working set that drifts.

mod log;
mod outcome;

use std::collections::VecDeque;

use super::super::energy::EnergyMetering;
use super::RunLength;
use super::convergence::{Convergence, may_converge};
use super::tally::Tally;
use crate::engine::kernel::EventQueue;
use crate::engine::slab::{Slab, WaitHandle, Waits};
use crate::engine::station::Servers;
use crate::fault::RequestStatus;
use crate::run::path_use::share_of_time;
use crate::run::progress::Progress;
use crate::simulator::{Completion, SimError};
use crate::spec::submission::Submission;
use crate::spec::{CheckedSystem, PriorContent};
use crate::storage::Storage;
use lanemark_schema::result::series::SeriesRecorder;
use lanemark_schema::result::{ConvergedTest, LatencyHistogram, RequestErrors, Sample};
use lanemark_schema::rng::{Rng, StreamKey};
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::{
    Access, BufferModel, BufferTraffic, Operation, Test, TransactionLoad,
};
use log::{LogWrite, LogWriter};

/// Number of due page writes above which users wait.
const OWED_MAX: f64 = 4096.0;
/// Number of events between two calls of `watch`; an event in the drives may consist of several simulator events.
const WATCH_STEPS: u64 = 1024;
/// Number of transactions between two updates of their rate.
const RATE_EVERY: u64 = 1024;
/// The share of the ramp that a run simulates first if it may end early, as a divisor.
const RAMP_PARTS: u64 = 8;
/// Minimum number of transactions for which a run may converge. The 99th percentile of the response times requires the
/// most.
const CONVERGING: f64 = 100_000.0;

/// An instant later than all others.
const NEVER: Instant = Instant::from_picoseconds(u64::MAX);

/// An event outside the drives.
#[derive(Clone, Copy, Debug)]
enum TransactionEvent {
    /// A user returns and requests a transaction.
    Asks(u32),
    /// A part of a user's transaction leaves the processor.
    Computed(u32),
}

/// A request to the drives, and the activity that continues when it completes.
#[derive(Clone, Copy, Debug)]
enum PendingIo {
    /// A user reads a page.
    Read(u32),
    /// A user writes a page before another page can be read into its buffer slot.
    AwaitedWrite(u32),
    /// A background writer writes pages.
    PageWrite,
    /// The log is written; the number is the sequence number of the write.
    LogWrite(u64),
    LogFlush(u64),
}

/// The current transaction of a user.
#[derive(Clone, Copy, Debug, Default)]
struct UserTransaction {
    begun: Instant,
    reads: u32,
    /// Number of pages to write before other pages can be read into their buffer slots.
    writes: u32,
    /// Whether there is room for the next read.
    has_room: bool,
    /// The mean processor time of each part.
    part: Duration,
}

/// Runs one repeat of `test`, a database with a [`TransactionLoad`], on the volume or the first drive of `spec`.
///
/// # Errors
/// Returns a [`SimError`] if the test does not fit the drive.
pub(super) fn run(
    spec: &CheckedSystem,
    test: &Test,
    transactions: &TransactionLoad,
    key: StreamKey,
    length: RunLength,
    watch: &mut dyn FnMut(&Progress) -> bool,
) -> Result<Sample, SimError> {
    if test.rounds.is_some() || test.volume.is_some() {
        return Err(SimError::NotSimulated { what: "transactions with a volume or with rounds" });
    }
    let whole_ramp = Instant::ZERO + test.ramp;
    let figures = length.required_figures().filter(|_| may_converge(spec, test));
    let begin = |counting_from: Instant| {
        let mut run = TransactionRun::new(spec, test, transactions, key, counting_from);
        run.convergence = figures
            .map(|figures| Convergence::new(test, test.threads.into(), counting_from, figures));
        run
    };
    // After this part, the rest of the test is too short to be skipped.
    let skippable_after = test.duration.unwrap_or_default().times(2.0 / 3.0);
    let transactions_max = rate_without_waiting(test, transactions) * skippable_after.as_seconds();
    if figures.is_some() && test.ramp > Duration::ZERO && transactions_max > CONVERGING {
        // The users are usually steady long before the ramp ends. If they are not, the run does not converge, and
        // begins again with the whole ramp.
        let mut run = begin(Instant::ZERO + test.ramp / RAMP_PARTS);
        run.advance(run.counting_from + skippable_after, watch)?;
        if run.converged.is_some() {
            return Ok(run.end(spec));
        }
    }
    let mut run = begin(whole_ramp);
    run.advance(NEVER, watch)?;
    Ok(run.end(spec))
}

/// Returns the transactions per second if no user waits for the drives or for another user.
fn rate_without_waiting(test: &Test, load: &TransactionLoad) -> f64 {
    f64::from(test.threads) / (load.elsewhere + load.processor).as_seconds()
}

struct TransactionRun<'t> {
    test: &'t Test,
    load: &'t TransactionLoad,
    storage: Storage,
    /// Requests in flight; the handle of a request is its tag.
    waits: Slab<PendingIo, Waits>,
    metering: EnergyMetering,
    events: EventQueue<TransactionEvent>,
    /// Instant of the first event, or [`NEVER`].
    next: Instant,
    processors: Servers,
    cores: u32,
    users: Vec<UserTransaction>,
    rng: Rng,
    /// Number of pages; the log follows them.
    pages: u64,
    model: BufferModel<'t>,
    buffer: BufferTraffic,
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
    /// The rule by which the run may end before the test does.
    convergence: Option<Convergence>,
    /// The result, once the run has ended by this rule.
    converged: Option<ConvergedTest>,
    response: LatencyHistogram,
    log_writes: u64,
    committed: u64,
    series: Option<SeriesRecorder>,
    errors: RequestErrors,
}

impl<'t> TransactionRun<'t> {
    fn new(
        spec: &CheckedSystem,
        test: &'t Test,
        load: &'t TransactionLoad,
        key: StreamKey,
        counting_from: Instant,
    ) -> Self {
        let deadline = counting_from + test.duration.unwrap_or_default();
        let model = load.buffer_model(test.block);
        let buffer = model.at(rate_without_waiting(test, load));
        Self {
            test,
            load,
            storage: Storage::new(spec, PriorContent::for_test(test), key),
            waits: Slab::new(),
            metering: EnergyMetering::new(spec, counting_from, Some(deadline)),
            events: EventQueue::with_capacity(test.threads as usize),
            next: NEVER,
            processors: Servers::new(spec.cpu.cores as usize),
            cores: spec.cpu.cores,
            users: vec![UserTransaction::default(); test.threads as usize],
            rng: Rng::new(key),
            pages: (test.span - load.log.area).get() / test.block.get(),
            model,
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
            convergence: None,
            converged: None,
            response: LatencyHistogram::new(),
            log_writes: 0,
            committed: 0,
            series: SeriesRecorder::for_test(test),
            errors: RequestErrors::default(),
        }
    }

    /// Lets all users begin, and advances to the end of the run, or to the first event after `until`.
    fn advance(
        &mut self,
        until: Instant,
        watch: &mut dyn FnMut(&Progress) -> bool,
    ) -> Result<(), SimError> {
        for user in 0..self.test.threads {
            self.leave(Instant::ZERO, user);
        }
        let mut steps = 0u64;
        while self.step()? && self.now <= until {
            if steps.is_multiple_of(WATCH_STEPS) {
                self.storage.check_memory()?;
                if !watch(&self.progress()) {
                    return Err(SimError::Cancelled);
                }
            }
            steps += 1;
        }
        Ok(())
    }

    /// Advances to the next event, here or in the drives; returns whether there was an event before the end.
    fn step(&mut self) -> Result<bool, SimError> {
        let limit = self.next.min(self.deadline);
        if let Some(mut completion) = self.metering.advance_until(&mut self.storage, limit) {
            completion.check_end()?;
            self.now = completion.completed;
            self.count(&mut completion);
            self.on_completion(&completion)?;
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
            TransactionEvent::Asks(user) => self.begin(now, user),
            TransactionEvent::Computed(user) => self.go_on(now, user)?,
        }
        Ok(true)
    }

    fn progress(&self) -> Progress {
        let share = share_of_time(self.now, self.deadline.since(Instant::ZERO));
        Progress { requests: self.ended, now: self.now, share: Some(share) }
    }

    fn exponential(&mut self, mean: Duration) -> Duration {
        let times = self.rng.exponential();
        Duration::from_picoseconds((mean.picoseconds() as f64 * times) as u64)
    }

    /// Returns a Poisson-distributed number with this mean: counts exponential times until their sum exceeds 1.
    fn number(&mut self, mean: f64) -> u32 {
        let mut count = 0;
        let mut time = 0.0;
        loop {
            time += self.rng.exponential();
            if time > mean {
                return count;
            }
            count += 1;
        }
    }

    fn leave(&mut self, now: Instant, user: u32) {
        let away = self.exponential(self.load.elsewhere);
        self.schedule(now + away, TransactionEvent::Asks(user));
    }

    fn schedule(&mut self, at: Instant, event: TransactionEvent) {
        self.next = self.next.min(at);
        self.events.schedule(at, event);
    }

    fn begin(&mut self, now: Instant, user: u32) {
        let reads = self.number(self.buffer.reads);
        let writes = if self.buffer.awaited > 0.0 { self.number(self.buffer.awaited) } else { 0 };
        let part = self.load.processor / u64::from(reads + 1);
        self.users[user as usize] =
            UserTransaction { begun: now, reads, writes, has_room: false, part };
        self.compute(now, user);
    }

    fn compute(&mut self, now: Instant, user: u32) {
        let time = self.exponential(self.users[user as usize].part);
        let span = self.processors.serve(now, time);
        self.schedule(span.end, TransactionEvent::Computed(user));
    }

    /// Continues a transaction: makes room for the next page, reads the page, commits, or ends.
    fn go_on(&mut self, now: Instant, user: u32) -> Result<(), SimError> {
        let user_state = &mut self.users[user as usize];
        if user_state.writes > 0 && !user_state.has_room {
            let access = self.page_access(Operation::Write);
            return self.submit(now, access, user, PendingIo::AwaitedWrite(user));
        }
        // The next read needs its own room, and pages that remain after the last read are also written.
        user_state.has_room = false;
        if user_state.reads == 0 && user_state.writes > 0 {
            return self.go_on(now, user);
        }
        if user_state.reads > 0 {
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
        let access = self.page_access(Operation::Read);
        self.submit(now, access, user, PendingIo::Read(user))
    }

    /// Submits a request of `user`; `wait` states the continuation after its completion.
    fn submit(
        &mut self,
        now: Instant,
        access: Access,
        user: u32,
        wait: PendingIo,
    ) -> Result<(), SimError> {
        let tag = self.waits.insert(wait).number().into();
        self.storage.submit(Submission::new(now, access).by(user).tagged(tag))
    }

    fn page_access(&mut self, operation: Operation) -> Access {
        let place = Bytes(self.rng.below(self.pages) * self.test.block.get());
        Access { operation, offset: self.test.offset + place, length: self.test.block }
    }

    /// Begins log writes, up to the limit on outstanding writes.
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
            self.submit(now, access, thread, PendingIo::LogWrite(number))?;
        }
        Ok(())
    }

    fn on_completion(&mut self, completion: &Completion) -> Result<(), SimError> {
        let now = completion.completed;
        let handle = WaitHandle::from_number(completion.tag as u32);
        let wait = self.waits[handle];
        self.waits.free(handle);
        match wait {
            PendingIo::PageWrite => {
                self.page_writes -= 1;
                self.write_pages(now)?;
                while self.owed <= OWED_MAX
                    && let Some(user) = self.held.pop_front()
                {
                    self.read(now, user)?;
                }
                Ok(())
            }
            PendingIo::LogWrite(number) if self.load.log.flush => {
                let flush = Access {
                    operation: Operation::Flush,
                    offset: Bytes::ZERO,
                    length: Bytes::ZERO,
                };
                self.submit(now, flush, 0, PendingIo::LogFlush(number))
            }
            PendingIo::LogWrite(number) | PendingIo::LogFlush(number) => {
                self.on_log_write_stored(now, number)
            }
            PendingIo::AwaitedWrite(user) => {
                let user_state = &mut self.users[user as usize];
                user_state.writes -= 1;
                user_state.has_room = true;
                self.go_on(now, user)
            }
            PendingIo::Read(user) => {
                self.users[user as usize].reads -= 1;
                self.compute(now, user);
                Ok(())
            }
        }
    }

    /// Records that a log write is stored. If all earlier writes are stored, the transactions of this write and of the
    /// stored writes that directly follow it commit.
    fn on_log_write_stored(&mut self, now: Instant, number: u64) -> Result<(), SimError> {
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
            self.check_convergence(now);
        }
        self.ended += 1;
        if self.ended.is_multiple_of(RATE_EVERY) {
            let seconds = now.since(self.rate_since).as_seconds();
            self.buffer = self.model.at(RATE_EVERY as f64 / seconds);
            self.rate_since = now;
        }
        self.leave(now + locked, user);
        self.owed += self.buffer.writes - self.buffer.awaited;
        self.write_pages(now)
    }

    /// Ends the run at `now` if its figures have converged.
    fn check_convergence(&mut self, now: Instant) {
        let Some(rule) = &mut self.convergence else { return };
        if rule.count_at(now, self.storage.simulator()) {
            let left = self.deadline.since(now);
            self.converged = rule.steady_run(now, &self.response, left);
            if self.converged.is_some() {
                (self.convergence, self.deadline) = (None, now);
            }
        }
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
            self.submit(now, access, 0, PendingIo::PageWrite)?;
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
        if let RequestStatus::Failed(kind) = completion.status {
            self.errors.record(kind);
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
}

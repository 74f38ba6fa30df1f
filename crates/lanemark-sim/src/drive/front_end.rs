//! The command engines of a drive: decoding and firmware.
//!
//! Engines serve commands in the order of arrival or, if the protocol has several queues, in the order of the
//! [`Arbiter`]. A command that arrives while all engines are busy waits in its queue. As long as all waiting commands
//! belong to one queue, there is no choice, and each command is booked on an engine in advance, as at any station,
//! without an event for the end of service. A command of another queue cancels these bookings; an event that was
//! already scheduled for a cancelled booking becomes void. From then on the arbiter chooses whenever an engine becomes
//! free, until no command waits. A cancelled booking is repeated for the same instant or later, because the commands
//! that precede it now only add to the work; void events therefore occur before valid events.
//!
//! The arbiter needs no separate event if its choice can be made later. The next command of a free engine is not
//! visible before it is decoded, and the engine's last command is decoded by then, unless the latencies after the
//! engines differ by more than a service time. All arrivals are known by then, in their order, so the arbiter makes the
//! same choice. If a read occupies an engine for longer than its decoding takes, all choices are events.

use crate::engine::number::{DriveNumber, QueueNumber};
use std::collections::VecDeque;

use crate::drive::arbitration::Arbiter;
use crate::engine::event::Event;
use crate::engine::schedule::EventSchedule;
use crate::engine::slab::{CommandHandle, Commands, Linked, Slab};
use crate::engine::station::{ServiceSpan, Station};
use crate::spec::{FrontEndSpec, SLOT};
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::Operation;

/// The command engines of a drive: decoding and firmware.
#[derive(Clone, Debug)]
pub(crate) struct FrontEnd {
    /// Number of the drive in the system, for the drive's events.
    drive: DriveNumber,
    spec: FrontEndSpec,
    engines: Vec<Station>,
    arbiter: Option<Arbiter>,
    /// Commands of one queue and the engines on which they are booked, in the order of service. The service of the
    /// first commands may have begun, because the arbiter is informed of several commands at a time.
    ahead: VecDeque<EngineBooking>,
    /// The queue of the commands in `ahead`.
    ahead_of: QueueNumber,
    /// Length of `ahead` at which the arbiter is informed.
    settle_at: usize,
    /// Number of commands in transit whose arrival is a separate event.
    expected: u32,
    /// Instant of the arbiter's next choice, if commands wait for this choice.
    look_at: Option<Instant>,
    /// Whether an event is scheduled for the choice.
    look_is_event: bool,
    /// Whether an engine's last command is always decoded before its next command, regardless of their times on the
    /// engine.
    in_order: bool,
    /// Commands that will arrive without an event while the arbiter chooses, in order.
    in_transit: VecDeque<(Instant, CommandHandle)>,
}

const SETTLE_MIN: usize = 64;

/// A command's time on an engine.
#[derive(Clone, Copy, Debug)]
struct EngineBooking {
    command: CommandHandle,
    engine: u32,
    span: ServiceSpan,
}

/// The properties of a command that the command engines need.
pub(crate) trait DecodableCommand: Linked<Kind = Commands> {
    /// Returns the queue to which the command was submitted.
    fn queue(&self) -> QueueNumber;
    fn operation(&self) -> Operation;
    /// Returns the bytes that the command moves.
    fn length(&self) -> Bytes;
    /// Marks the command's scheduled [`Event::Decoded`] as void.
    fn put_back(&mut self);
}

impl FrontEnd {
    /// Creates the idle command engines of drive `drive`.
    pub(crate) fn new(drive: DriveNumber, spec: FrontEndSpec) -> Self {
        // All values are named, so that adding a value is a compile error here: a value that lets commands overtake
        // each other must set `in_order` to false.
        let FrontEndSpec {
            engines,
            read_time,
            write_time,
            read_unit_time,
            read_latency,
            miss_latency: _,
            write_latency,
            flush_latency,
        } = spec;
        let soonest = (read_time + read_latency).min(write_time + write_latency);
        Self {
            drive,
            spec,
            look_is_event: false,
            in_order: read_latency.max(write_latency + flush_latency) <= soonest
                && read_unit_time == Duration::ZERO,
            engines: vec![Station::default(); (engines as usize).max(1)],
            arbiter: None,
            ahead: VecDeque::new(),
            ahead_of: QueueNumber(0),
            settle_at: SETTLE_MIN,
            expected: 0,
            look_at: None,
            in_transit: VecDeque::new(),
        }
    }

    /// Records at `now` a command in transit that will arrive at `arrival`, after the minimum transit time of all
    /// commands. Returns true if the arrival needs no event because no other arrival can change the order.
    #[inline]
    pub(crate) fn send<C: DecodableCommand>(
        &mut self,
        now: Instant,
        arrival: Instant,
        command: CommandHandle,
        commands: &mut Slab<C, Commands>,
        events: &mut EventSchedule,
    ) -> bool {
        if self.expected > 0 {
            return false;
        }
        self.catch_up(now, commands, events);
        if self.look_at.is_some() {
            self.in_transit.push_back((arrival, command));
            return true;
        }
        let queue = commands[command].queue();
        let alone = self.arbiter.is_none() || self.ahead.is_empty() || queue == self.ahead_of;
        if alone {
            self.arrive(arrival, command, commands, events);
        }
        alone
    }

    /// Returns the command engines in the state after a restart of their drive: without any command.
    #[must_use]
    pub(crate) fn restarted(&self, spec: FrontEndSpec, arbiter: Option<Arbiter>) -> Self {
        let engines = self.engines.clone();
        Self { engines, ..Self::new(self.drive, spec).arbitrated(arbiter) }
    }

    /// Records a command in transit whose arrival will be an event.
    pub(crate) fn expect<C: DecodableCommand>(
        &mut self,
        now: Instant,
        commands: &mut Slab<C, Commands>,
        events: &mut EventSchedule,
    ) {
        self.catch_up(now, commands, events);
        self.expected += 1;
        if let Some(at) = self.look_at.filter(|_| !self.look_is_event) {
            self.look_is_event = true;
            events.schedule(at, Event::EngineFree(self.drive));
        }
    }

    /// Records the arrival of an expected command.
    pub(crate) fn expected_is_here(&mut self) {
        self.expected -= 1;
    }

    /// Sets the arbiter that chooses the queue of the next command.
    #[must_use]
    pub(crate) fn arbitrated(self, arbiter: Option<Arbiter>) -> Self {
        Self { arbiter, ..self }
    }

    /// Accepts a command, which waits in its queue or starts on an engine.
    pub(crate) fn arrive<C: DecodableCommand>(
        &mut self,
        now: Instant,
        command: CommandHandle,
        commands: &mut Slab<C, Commands>,
        events: &mut EventSchedule,
    ) {
        let queue = commands[command].queue();
        if self.arbiter.is_none() {
            self.book(now, command, &commands[command], events);
            return;
        }
        self.catch_up(now, commands, events);
        if self.look_at.is_some() {
            self.let_in(now, commands);
            if let Some(arbiter) = &mut self.arbiter {
                arbiter.push(commands, queue, command);
            }
            self.look(self.free_at().max(now), events);
            return;
        }
        if queue != self.ahead_of || self.ahead.len() >= self.settle_at {
            self.settle(now);
            if queue != self.ahead_of && !self.ahead.is_empty() {
                self.take_back(commands);
                if let Some(arbiter) = &mut self.arbiter {
                    arbiter.push(commands, queue, command);
                }
                self.look(self.free_at(), events);
                return;
            }
            self.ahead_of = queue;
            self.settle_at = SETTLE_MIN.max(self.ahead.len() * 2);
        }
        let booking = self.book(now, command, &commands[command], events);
        self.ahead.push_back(booking);
    }

    /// Assigns the next waiting command to a free engine.
    pub(crate) fn engine_free<C: DecodableCommand>(
        &mut self,
        now: Instant,
        commands: &mut Slab<C, Commands>,
        events: &mut EventSchedule,
    ) {
        if self.look_at == Some(now) {
            self.ask(now, now, commands, events);
        }
    }

    /// Makes the arbiter's choices up to `now`. Callers must call this function when a command is decoded, and before
    /// they read the busy times of the engines.
    #[inline]
    pub(crate) fn catch_up<C: DecodableCommand>(
        &mut self,
        now: Instant,
        commands: &mut Slab<C, Commands>,
        events: &mut EventSchedule,
    ) {
        while !self.look_is_event
            && let Some(at) = self.look_at
            && at <= now
        {
            self.ask(at, now, commands, events);
        }
    }

    /// Makes the arbiter choose for the instant `at`, which may be before `now`.
    #[inline(never)]
    fn ask<C: DecodableCommand>(
        &mut self,
        at: Instant,
        now: Instant,
        commands: &mut Slab<C, Commands>,
        events: &mut EventSchedule,
    ) {
        self.look_at = None;
        self.let_in(at, commands);
        let Some(arbiter) = &mut self.arbiter else { return };
        if let Some(command) = arbiter.pop(commands) {
            self.book(at, command, &commands[command], events);
        }
        let waits = self.arbiter.as_ref().is_some_and(|arbiter| !arbiter.is_empty());
        let free_at = self.free_at();
        let next = match self.in_transit.front() {
            _ if waits => free_at.max(at),
            Some(&(arrival, _)) => free_at.max(arrival),
            None => return,
        };
        // If an engine is busy until `next`, the decoding of its command calls `catch_up`, so no event is necessary.
        let seen = next == free_at && next > now || at < now && next <= now;
        if self.in_order && self.expected == 0 && seen {
            self.look_at = Some(next);
            self.look_is_event = false;
        } else {
            self.look(next, events);
        }
    }

    /// Accepts the commands that were sent in advance and have arrived.
    fn let_in<C: DecodableCommand>(&mut self, now: Instant, commands: &mut Slab<C, Commands>) {
        let Some(arbiter) = &mut self.arbiter else { return };
        while let Some(&(arrival, command)) = self.in_transit.front()
            && arrival <= now
        {
            self.in_transit.pop_front();
            arbiter.push(commands, commands[command].queue(), command);
        }
    }

    /// Schedules the arbiter's choice at `at`, unless an earlier choice is scheduled. A later scheduled choice becomes
    /// void.
    fn look(&mut self, at: Instant, events: &mut EventSchedule) {
        if self.look_at.is_none_or(|already| at < already) {
            self.look_at = Some(at);
            self.look_is_event = true;
            events.schedule(at, Event::EngineFree(self.drive));
        }
    }

    /// Returns the span that a command spent in the command engines, which it leaves at `now`.
    #[inline]
    pub(crate) fn span(&self, now: Instant, operation: Operation) -> ServiceSpan {
        let (time, latency) = self.times(operation);
        let start = now.picoseconds() - (time + latency).picoseconds();
        ServiceSpan { start: Instant::from_picoseconds(start), end: now }
    }

    /// Returns the busy time of each engine so far.
    pub(crate) fn busy(&self) -> Vec<Duration> {
        self.engines.iter().map(Station::busy).collect()
    }

    /// Returns the additional time of a read whose data was not read ahead.
    #[inline]
    pub(crate) fn miss_latency(&self) -> Duration {
        self.spec.miss_latency
    }

    /// Returns the time for which a command occupies an engine, and its additional time.
    fn times(&self, operation: Operation) -> (Duration, Duration) {
        match operation {
            Operation::Read => (self.spec.read_time, self.spec.read_latency),
            Operation::Write | Operation::Trim => (self.spec.write_time, self.spec.write_latency),
            Operation::Flush => {
                (self.spec.write_time, self.spec.write_latency + self.spec.flush_latency)
            }
        }
    }

    /// Returns the time for which a command occupies its engine after it is decoded.
    fn time_behind(&self, command: &impl DecodableCommand) -> Duration {
        match command.operation() {
            Operation::Read => {
                self.spec.read_unit_time * (command.length().get().saturating_sub(1) / SLOT.get())
            }
            Operation::Write | Operation::Flush | Operation::Trim => Duration::ZERO,
        }
    }

    /// Books a command on the engine that becomes free first.
    #[inline]
    fn book(
        &mut self,
        now: Instant,
        command: CommandHandle,
        asked: &impl DecodableCommand,
        events: &mut EventSchedule,
    ) -> EngineBooking {
        let (time, latency) = self.times(asked.operation());
        let more = self.time_behind(asked);
        let first = (0..self.engines.len()).min_by_key(|&index| self.engines[index].free_at());
        let engine = first.unwrap_or(0);
        let span = self.engines[engine].serve(now, time + more);
        let engine = engine as u32;
        events.schedule(span.start + time + latency, Event::Decoded(command));
        EngineBooking { command, engine, span }
    }

    /// Informs the arbiter of bookings whose service has begun.
    fn settle(&mut self, now: Instant) {
        let Some(arbiter) = &mut self.arbiter else { return };
        while self.ahead.front().is_some_and(|booking| booking.span.start <= now) {
            self.ahead.pop_front();
            arbiter.account_command(self.ahead_of);
        }
    }

    /// Moves the commands that are booked in advance back to their queue.
    fn take_back<C: DecodableCommand>(&mut self, commands: &mut Slab<C, Commands>) {
        let Some(arbiter) = &mut self.arbiter else { return };
        for booking in self.ahead.iter().rev() {
            self.engines[booking.engine as usize].take_back(booking.span);
        }
        for booking in self.ahead.drain(..) {
            commands[booking.command].put_back();
            arbiter.push(commands, self.ahead_of, booking.command);
        }
    }

    fn free_at(&self) -> Instant {
        self.engines.iter().map(Station::free_at).min().unwrap_or_default()
    }
}

#[cfg(test)]
#[path = "front_end_tests.rs"]
mod tests;

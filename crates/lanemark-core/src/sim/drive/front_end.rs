//! Command decoding and firmware of a drive.
//!
//! Engines serve commands in the order of arrival or, where the protocol has several queues, in the order of
//! the [`Arbiter`]. What arrives while all engines are busy waits in its queue. As long as the commands that
//! wait are of one queue there is nothing to choose, and they are booked ahead as at any station, without an
//! event for the end of service. A command of another queue takes those bookings back (an event of theirs
//! that is already scheduled is void when it comes), and from then on the arbiter is asked whenever an engine
//! becomes free, until nothing waits. A booking that is taken back is made again for the same instant or
//! later, since what comes between only adds to the work: void events come before those that count.
//!
//! The arbiter needs no event of its own where its choice is made up for later. What an engine that is free serves
//! next is not seen before that is decoded, and what the engine served last is decoded until then, unless the
//! latencies behind the engines differ by more than a service takes. All that has arrived is known by then, in
//! order, so the choice is the same.

use crate::sim::number::{DriveNumber, QueueNumber};
use std::collections::VecDeque;

use crate::sim::Event;
use crate::sim::arbitration::Arbiter;
use crate::sim::schedule::Schedule;
use crate::sim::slab::{CommandHandle, Commands, Linked, Slab};
use crate::sim::spec::FrontEndSpec;
use crate::sim::station::{Span, Station};
use crate::units::{Duration, Instant};
use crate::workload::Operation;

/// Command decoding and firmware.
#[derive(Clone, Debug)]
pub(crate) struct FrontEnd {
    /// Number of the drive in the system, for its events.
    drive: DriveNumber,
    spec: FrontEndSpec,
    engines: Vec<Station>,
    arbiter: Option<Arbiter>,
    /// Commands of one queue and the engines that they are booked on, in the order of service. The first may
    /// have begun: the arbiter is told of those many at a time.
    ahead: VecDeque<Booking>,
    /// The queue of those commands.
    ahead_of: QueueNumber,
    /// Number of those commands that is enough to tell the arbiter.
    settle_at: usize,
    /// Commands whose arrival is an event of its own.
    expected: u32,
    /// Instant at which the arbiter is asked next, where commands wait for that, and whether there is an event for it.
    look_at: Option<Instant>,
    look_is_event: bool,
    /// Whether what an engine served last is decoded before what it serves next, however long that takes.
    in_order: bool,
    /// Commands that will arrive without an event while the arbiter is asked, in order.
    in_transit: VecDeque<(Instant, CommandHandle)>,
}

const SETTLE_MIN: usize = 64;

/// A command's time on an engine.
#[derive(Clone, Copy, Debug)]
struct Booking {
    command: CommandHandle,
    engine: u32,
    span: Span,
}

/// A command as the front end sees it.
pub(crate) trait Candidate: Linked<Kind = Commands> {
    /// The queue that the command was submitted to.
    fn queue(&self) -> QueueNumber;
    /// The command's operation.
    fn operation(&self) -> Operation;
    /// Marks the [`Event::Decoded`] that is scheduled for the command as void.
    fn put_back(&mut self);
}

impl FrontEnd {
    /// The idle front end of drive `drive`.
    pub(crate) fn new(drive: DriveNumber, spec: FrontEndSpec) -> Self {
        let FrontEndSpec { read_time, write_time, read_latency, write_latency, .. } = spec;
        let soonest = (read_time + read_latency).min(write_time + write_latency);
        Self {
            drive,
            spec,
            look_is_event: false,
            in_order: read_latency.max(write_latency) <= soonest,
            engines: vec![Station::default(); (spec.engines as usize).max(1)],
            arbiter: None,
            ahead: VecDeque::new(),
            ahead_of: QueueNumber(0),
            settle_at: SETTLE_MIN,
            expected: 0,
            look_at: None,
            in_transit: VecDeque::new(),
        }
    }

    /// A command is on its way `now` that will arrive at `arrival`, after a time which all commands take at least. Says
    /// whether that needs no event: nothing can come in between and change the order.
    #[inline]
    pub(crate) fn send<C: Candidate>(
        &mut self,
        now: Instant,
        arrival: Instant,
        command: CommandHandle,
        commands: &mut Slab<C, Commands>,
        events: &mut Schedule,
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

    /// The front end after its drive has started anew, without any command.
    #[must_use]
    pub(crate) fn restarted(&self, spec: FrontEndSpec, arbiter: Option<Arbiter>) -> Self {
        let engines = self.engines.clone();
        Self { engines, ..Self::new(self.drive, spec).arbitrated(arbiter) }
    }

    /// A command is on its way, and its arrival will be an event.
    pub(crate) fn expect<C: Candidate>(
        &mut self,
        now: Instant,
        commands: &mut Slab<C, Commands>,
        events: &mut Schedule,
    ) {
        self.catch_up(now, commands, events);
        self.expected += 1;
        if let Some(at) = self.look_at.filter(|_| !self.look_is_event) {
            self.look_is_event = true;
            events.schedule(at, Event::EngineFree(self.drive));
        }
    }

    /// A command that was expected is here.
    pub(crate) fn expected_is_here(&mut self) {
        self.expected -= 1;
    }

    /// Sets the arbiter that chooses the queue of the next command.
    #[must_use]
    pub(crate) fn arbitrated(self, arbiter: Option<Arbiter>) -> Self {
        Self { arbiter, ..self }
    }

    /// A command arrives, and waits in its queue or goes to an engine.
    pub(crate) fn arrive<C: Candidate>(
        &mut self,
        now: Instant,
        command: CommandHandle,
        commands: &mut Slab<C, Commands>,
        events: &mut Schedule,
    ) {
        let (queue, operation) = (commands[command].queue(), commands[command].operation());
        if self.arbiter.is_none() {
            self.book(now, command, operation, events);
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
        let booking = self.book(now, command, operation, events);
        self.ahead.push_back(booking);
    }

    /// An engine is free for the commands that wait.
    pub(crate) fn engine_free<C: Candidate>(
        &mut self,
        now: Instant,
        commands: &mut Slab<C, Commands>,
        events: &mut Schedule,
    ) {
        if self.look_at == Some(now) {
            self.ask(now, now, commands, events);
        }
    }

    /// Asks the arbiter what it would have been asked until `now`: to be called when a command is decoded, and before
    /// what engines have done is looked at.
    #[inline]
    pub(crate) fn catch_up<C: Candidate>(
        &mut self,
        now: Instant,
        commands: &mut Slab<C, Commands>,
        events: &mut Schedule,
    ) {
        while !self.look_is_event
            && let Some(at) = self.look_at
            && at <= now
        {
            self.ask(at, now, commands, events);
        }
    }

    /// Lets the arbiter choose as of `at`, which may be some time before `now`.
    #[inline(never)]
    fn ask<C: Candidate>(
        &mut self,
        at: Instant,
        now: Instant,
        commands: &mut Slab<C, Commands>,
        events: &mut Schedule,
    ) {
        self.look_at = None;
        self.let_in(at, commands);
        let Some(arbiter) = &mut self.arbiter else { return };
        if let Some(command) = arbiter.pop(commands) {
            self.book(at, command, commands[command].operation(), events);
        }
        let waits = self.arbiter.as_ref().is_some_and(|arbiter| !arbiter.is_empty());
        let free_at = self.free_at();
        let next = match self.in_transit.front() {
            _ if waits => free_at.max(at),
            Some(&(arrival, _)) => free_at.max(arrival),
            None => return,
        };
        // An engine that is busy until then decodes something behind it.
        let seen = next == free_at && next > now || at < now && next <= now;
        if self.in_order && self.expected == 0 && seen {
            self.look_at = Some(next);
            self.look_is_event = false;
        } else {
            self.look(next, events);
        }
    }

    /// Takes in what has arrived of the commands that were sent ahead.
    fn let_in<C: Candidate>(&mut self, now: Instant, commands: &mut Slab<C, Commands>) {
        let Some(arbiter) = &mut self.arbiter else { return };
        while let Some(&(arrival, command)) = self.in_transit.front()
            && arrival <= now
        {
            self.in_transit.pop_front();
            arbiter.push(commands, commands[command].queue(), command);
        }
    }

    /// Asks the arbiter at `at`, unless it will be asked before. A look that was meant for later is void.
    fn look(&mut self, at: Instant, events: &mut Schedule) {
        if self.look_at.is_none_or(|already| at < already) {
            self.look_at = Some(at);
            self.look_is_event = true;
            events.schedule(at, Event::EngineFree(self.drive));
        }
    }

    /// The time in the front end of a command that leaves it `now`.
    #[inline]
    pub(crate) fn span(&self, now: Instant, operation: Operation) -> Span {
        let (time, latency) = self.times(operation);
        let start = now.picoseconds() - (time + latency).picoseconds();
        Span { start: Instant::from_picoseconds(start), end: now }
    }

    /// Time busy until now of each engine.
    pub(crate) fn busy(&self) -> Vec<Duration> {
        self.engines.iter().map(Station::busy).collect()
    }

    /// Returns the time that a command keeps an engine, and the time that it takes besides.
    fn times(&self, operation: Operation) -> (Duration, Duration) {
        match operation {
            Operation::Read => (self.spec.read_time, self.spec.read_latency),
            Operation::Write | Operation::Flush | Operation::Trim => {
                (self.spec.write_time, self.spec.write_latency)
            }
        }
    }

    /// Gives a command to the engine that is free first.
    #[inline]
    fn book(
        &mut self,
        now: Instant,
        command: CommandHandle,
        operation: Operation,
        events: &mut Schedule,
    ) -> Booking {
        let (time, latency) = self.times(operation);
        let first = (0..self.engines.len()).min_by_key(|&index| self.engines[index].free_at());
        let engine = first.unwrap_or(0);
        let span = self.engines[engine].serve(now, time);
        let engine = engine as u32;
        events.schedule(span.end + latency, Event::Decoded(command));
        Booking { command, engine, span }
    }

    /// Tells the arbiter of bookings whose service has begun.
    fn settle(&mut self, now: Instant) {
        let Some(arbiter) = &mut self.arbiter else { return };
        while self.ahead.front().is_some_and(|booking| booking.span.start <= now) {
            self.ahead.pop_front();
            arbiter.took(self.ahead_of);
        }
    }

    /// Puts the commands that are booked ahead back into their queue.
    fn take_back<C: Candidate>(&mut self, commands: &mut Slab<C, Commands>) {
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
mod tests {
    use super::*;
    use crate::sim::slab::Handle;
    use crate::sim::spec::{ArbitrationSpec, ClassWeights, QueueClass};
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    struct Command {
        at: Instant,
        queue: QueueNumber,
        operation: Operation,
        put_back: bool,
        next: CommandHandle,
    }
    impl Linked for Command {
        type Kind = Commands;
        fn next(&mut self) -> &mut CommandHandle {
            &mut self.next
        }
    }
    impl Candidate for Command {
        fn queue(&self) -> QueueNumber {
            self.queue
        }
        fn operation(&self) -> Operation {
            self.operation
        }
        fn put_back(&mut self) {
            assert!(!self.put_back, "no command is put back twice");
            self.put_back = true;
        }
    }

    const SPEC: FrontEndSpec = FrontEndSpec {
        engines: 1,
        read_time: Duration::from_nanoseconds(10),
        write_time: Duration::from_nanoseconds(13),
        read_latency: Duration::from_nanoseconds(40),
        write_latency: Duration::from_nanoseconds(5),
    };

    /// Returns the decoding instant of each command, the number of times that an engine was free for others, and the
    /// time busy.
    fn run(mut front_end: FrontEnd, arrivals: &[Command]) -> (Vec<Instant>, u64, Duration) {
        let (mut commands, mut events) = (Slab::new(), Schedule::new());
        for &command in arrivals {
            let handle = commands.insert(command);
            events.schedule(command.at, Event::Arrived(handle));
        }
        let mut decoded = vec![None; arrivals.len()];
        let mut asked = 0;
        while let Some((now, event)) = events.pop() {
            match event {
                Event::Arrived(command) => {
                    front_end.arrive(now, command, &mut commands, &mut events);
                }
                Event::EngineFree(_) => {
                    asked += 1;
                    front_end.engine_free(now, &mut commands, &mut events);
                }
                Event::Decoded(command) => {
                    front_end.catch_up(now, &mut commands, &mut events);
                    if !std::mem::take(&mut commands[command].put_back) {
                        assert_eq!(decoded[command.number() as usize].replace(now), None);
                    }
                }
                other => unreachable!("{other:?}"),
            }
        }
        let decoded = decoded.into_iter().map(|at| at.expect("every command is decoded"));
        (decoded.collect(), asked, front_end.busy().into_iter().sum())
    }

    /// The decoding instants of commands that are sent some time before they arrive.
    fn run_sent(mut front_end: FrontEnd, arrivals: &[Command], way: Duration) -> Vec<Instant> {
        let (mut commands, mut events) = (Slab::new(), Schedule::new());
        for &command in arrivals {
            let handle = commands.insert(command);
            events.schedule(command.at, Event::Submitted(handle));
        }
        let mut decoded = vec![None; arrivals.len()];
        while let Some((now, event)) = events.pop() {
            match event {
                Event::Submitted(command) => {
                    let arrival = now + way;
                    if !front_end.send(now, arrival, command, &mut commands, &mut events) {
                        front_end.expect(now, &mut commands, &mut events);
                        events.schedule(arrival, Event::Arrived(command));
                    }
                }
                Event::Arrived(command) => {
                    front_end.expected_is_here();
                    front_end.arrive(now, command, &mut commands, &mut events);
                }
                Event::EngineFree(_) => front_end.engine_free(now, &mut commands, &mut events),
                Event::Decoded(command) => {
                    front_end.catch_up(now, &mut commands, &mut events);
                    if !std::mem::take(&mut commands[command].put_back) {
                        assert_eq!(decoded[command.number() as usize].replace(now), None);
                    }
                }
                other => unreachable!("{other:?}"),
            }
        }
        decoded.into_iter().map(|at| at.expect("every command is decoded")).collect()
    }

    /// The decoding instants with an arbiter that all commands go through one by one, and nothing booked ahead.
    fn one_by_one(
        spec: FrontEndSpec,
        arbitration: &ArbitrationSpec,
        arrivals: &[Command],
    ) -> Vec<Instant> {
        let (mut commands, mut arbiter) = (Slab::new(), Arbiter::new(arbitration));
        let mut engines = vec![Instant::ZERO; spec.engines as usize];
        let mut decoded = vec![Instant::ZERO; arrivals.len()];
        let mut coming = arrivals.iter().peekable();
        let front_end = FrontEnd::new(DriveNumber(0), spec);
        loop {
            let engine = (0..engines.len()).min_by_key(|&index| engines[index]).unwrap();
            while let Some(&command) =
                coming.next_if(|command| arbiter.is_empty() || command.at <= engines[engine])
            {
                let handle = commands.insert(command);
                arbiter.push(&mut commands, command.queue, handle);
                engines[engine] = engines[engine].max(command.at);
            }
            let Some(handle) = arbiter.pop(&mut commands) else { return decoded };
            let (time, latency) = front_end.times(commands[handle].operation);
            engines[engine] = engines[engine] + time;
            decoded[handle.number() as usize] = engines[engine] + latency;
        }
    }

    /// Arrivals in order, no two instants of which ever meet: each has picoseconds of its own.
    fn any_arrivals() -> impl Strategy<Value = Vec<Command>> {
        let arrival = (0u64..30, prop_oneof![3 => Just(0u32), 2 => 0u32..4], any::<bool>());
        proptest::collection::vec(arrival, 0..120).prop_map(|arrivals| {
            let mut at = 0;
            let arrivals = arrivals.into_iter().enumerate();
            arrivals
                .map(|(index, (gap, queue, read))| {
                    at += gap * 1_000;
                    let operation = if read { Operation::Read } else { Operation::Write };
                    let at = Instant::from_picoseconds(at + index as u64);
                    Command {
                        at,
                        queue: QueueNumber(queue),
                        operation,
                        put_back: false,
                        next: Handle::NONE,
                    }
                })
                .collect()
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Booking ahead, taking back and asking the arbiter late comes to the same as asking it for every command.
        #[test]
        fn booking_ahead_changes_no_order(
            arrivals in any_arrivals(), engines in 1u32..4, burst in proptest::option::of(1u32..4),
            weighted: bool, in_order: bool,
        ) {
            let read_latency = Duration::from_nanoseconds(if in_order { 12 } else { 40 });
            let spec = FrontEndSpec { engines, read_latency, ..SPEC };
            prop_assert_eq!(FrontEnd::new(DriveNumber(0), spec).in_order, in_order);
            let arbitration = ArbitrationSpec {
                weights: weighted.then_some(ClassWeights { high: 3, medium: 2, low: 1 }),
                burst,
                queue_classes: vec![QueueClass::Low, QueueClass::Urgent, QueueClass::High],
            };
            let front_end = FrontEnd::new(DriveNumber(0), spec).arbitrated(Some(Arbiter::new(&arbitration)));
            let (decoded, _, busy) = run(front_end, &arrivals);
            prop_assert_eq!(&decoded, &one_by_one(spec, &arbitration, &arrivals));
            let front_end = FrontEnd::new(DriveNumber(0), spec).arbitrated(Some(Arbiter::new(&arbitration)));
            let way = Duration::from_nanoseconds(27);
            let sent = run_sent(front_end, &arrivals, way);
            let later: Vec<Instant> = decoded.iter().map(|&at| at + way).collect();
            prop_assert_eq!(sent, later);
            let times = arrivals.iter().map(|command| FrontEnd::new(DriveNumber(0), spec).times(command.operation).0);
            prop_assert_eq!(busy, times.sum());
        }

        /// Commands of one queue are served as without an arbiter, and cost no more events.
        #[test]
        fn one_queue_needs_no_arbiter(arrivals in any_arrivals(), engines in 1u32..4) {
            let alone: Vec<Command> =
                arrivals.iter().map(|command| Command { queue: QueueNumber(2), ..*command }).collect();
            let spec = FrontEndSpec { engines, ..SPEC };
            let arbiter = Arbiter::new(&ArbitrationSpec::default());
            let with = run(FrontEnd::new(DriveNumber(0), spec).arbitrated(Some(arbiter)), &alone);
            prop_assert_eq!(with.1, 0);
            prop_assert_eq!(with, run(FrontEnd::new(DriveNumber(0), spec), &alone));
        }
    }
}

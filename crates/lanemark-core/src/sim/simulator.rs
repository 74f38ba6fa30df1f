//! One system at work: the life of each request from submission to completion.
//!
//! The simulator is open at the edge. Submit requests at simulated times, advance to the next
//! completion, and decide then what to submit next. Whoever does so (the closed-loop driver of
//! [`super::run_test`], a live server, a database model) is outside.
//!
//! A request longer than the largest command is split; its commands go their ways at once, and the last
//! to come back completes it. A read command brings its data in bursts, one for each flash unit.

use super::budget::{Budget, HOPS, Hop};
use super::drive::{Drive, FlashTask, OutOfErasedBlocks, buffered};
use super::kernel::EventQueue;
use super::link::Place;
use super::path::Path;
use super::protocol::Protocol;
use super::slab::{Handle, Linked, NONE, Slab};
use super::spec::SystemSpec;
use super::station::Station;
use super::trace::Trace;
use crate::units::{Bytes, Duration, Instant};
use crate::workload::{Access, Operation};

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The time of a request has come.
    Submit(Handle),
    /// A core has submitted a command.
    Submitted(Handle),
    /// The controller has a command, and the frames for the drive go out.
    Fetched(Handle),
    /// The drive has a command.
    Arrived(Handle),
    /// The firmware has done its part of a command.
    Decoded(Handle),
    /// A die has a page in its register.
    Sensed(Handle),
    /// A die's data is in the controller.
    PageOut(Handle),
    /// Data of a command, so many bytes, needs no flash.
    FromBuffer(Handle, u32),
    /// A die has programmed or erased.
    Stored(Handle),
    /// A burst of a write is in the buffer; whether it is the last of its command.
    DataIn(Handle, bool),
    /// The interrupt of a command has reached the host.
    Notified(Handle),
    /// A core has completed a command.
    Completed(Handle),
}

/// A request that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The number that its submitter gave it.
    pub tag: u64,
    /// What it did.
    pub access: Access,
    /// When it was submitted.
    pub submitted: Instant,
    /// When it was complete.
    pub completed: Instant,
    /// Where its time went; sums to `completed - submitted` exactly.
    pub budget: Budget,
}

/// What a simulation cannot go on with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SimError {
    /// A request that ends behind the end of the drive.
    #[error("a request at {offset} of {length} ends behind the drive's {capacity}")]
    OutOfRange {
        /// Where it begins.
        offset: Bytes,
        /// How long it is.
        length: Bytes,
        /// What the drive holds.
        capacity: Bytes,
    },
    /// The drive would have to collect garbage.
    #[error("{0}; moving valid data (garbage collection) is not modelled yet")]
    OutOfErasedBlocks(#[from] OutOfErasedBlocks),
}

struct Request {
    tag: u64,
    access: Access,
    thread: u32,
    submitted: Instant,
    /// Commands whose interrupt has not come, and commands that are not complete.
    unnotified: u32,
    incomplete: u32,
}

/// The most data that a drive asks for at once.
const WRITE_BURST: Bytes = Bytes::kibi(128);

/// Data of a write on its way into the buffer.
#[derive(Clone, Copy)]
struct WriteBurst {
    command: Handle,
    offset: Bytes,
    length: Bytes,
}

struct Command {
    request: Handle,
    operation: Operation,
    offset: Bytes,
    length: Bytes,
    thread: u32,
    queue: u32,
    /// Bursts that have not left the drive, reading, or have not entered its buffer, writing.
    bursts_left: u32,
    announced: bool,
    trace: Trace,
    next: Handle,
}

impl Linked for Command {
    fn next(&mut self) -> &mut Handle {
        &mut self.next
    }
}

/// One system at work.
pub struct Simulator {
    now: Instant,
    capacity: Bytes,
    request_submit: Duration,
    request_complete: Duration,
    wake: Duration,
    idle_after: Duration,
    transfer_max: Bytes,
    events: EventQueue<Event>,
    handled: u64,
    cores: Vec<Station>,
    protocol: Protocol,
    path: Path,
    drive: Drive,
    requests: Slab<Request>,
    commands: Slab<Command>,
    write_bursts: Slab<WriteBurst>,
}

impl Simulator {
    /// An idle system, whose drive holds data in its first `laid_out` bytes. `spec` must have passed
    /// [`SystemSpec::check`].
    pub fn new(spec: &SystemSpec, laid_out: Bytes) -> Self {
        Self {
            now: Instant::ZERO,
            capacity: spec.drive.capacity,
            request_submit: spec.cpu.request_submit,
            request_complete: spec.cpu.request_complete,
            wake: spec.cpu.wake,
            idle_after: spec.cpu.idle_after,
            transfer_max: spec.transfer_max(),
            events: EventQueue::with_capacity(256),
            handled: 0,
            cores: vec![Station::default(); spec.cpu.cores as usize],
            protocol: Protocol::new(spec.protocol),
            path: Path::new(spec),
            drive: Drive::new(&spec.drive, laid_out),
            requests: Slab::new(),
            commands: Slab::new(),
            write_bursts: Slab::new(),
        }
    }

    /// The simulated time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.handled
    }

    /// Requests that have not completed.
    pub fn outstanding(&self) -> usize {
        self.requests.live()
    }

    /// What the drive has written to flash.
    pub fn written(&self) -> Bytes {
        self.drive.written()
    }

    /// The instant of the next event, where anything is under way.
    pub fn next_at(&self) -> Option<Instant> {
        self.events.next_at()
    }

    /// Submits a request of `thread` at `at`, which must not lie in the past. `tag` comes back with its
    /// completion.
    ///
    /// # Errors
    /// [`SimError::OutOfRange`]
    pub fn submit(
        &mut self,
        at: Instant,
        access: Access,
        thread: u32,
        tag: u64,
    ) -> Result<(), SimError> {
        if access.offset.get().saturating_add(access.length.get()) > self.capacity.get() {
            let Access { offset, length, .. } = access;
            return Err(SimError::OutOfRange { offset, length, capacity: self.capacity });
        }
        let request = Request {
            tag,
            access,
            thread,
            submitted: at.max(self.now),
            unnotified: 0,
            incomplete: 0,
        };
        let handle = self.requests.insert(request);
        if at > self.now {
            self.events.schedule(at, Event::Submit(handle));
        } else {
            self.begin(handle);
        }
        Ok(())
    }

    /// Goes on to the next completion; `None` when nothing is under way any more.
    ///
    /// # Errors
    /// [`SimError::OutOfErasedBlocks`]
    pub fn advance(&mut self) -> Result<Option<Completion>, SimError> {
        self.advance_until(Instant::from_picoseconds(u64::MAX))
    }

    /// Goes on to the next completion that comes no later than `limit`; `None` where there is none.
    /// The time does not pass `limit`.
    ///
    /// # Errors
    /// [`SimError::OutOfErasedBlocks`]
    pub fn advance_until(&mut self, limit: Instant) -> Result<Option<Completion>, SimError> {
        while self.events.next_at().is_some_and(|at| at <= limit) {
            let Some((at, event)) = self.events.pop() else { break };
            self.now = at;
            self.handled += 1;
            let completion = self.handle(event)?;
            if completion.is_some() {
                return Ok(completion);
            }
        }
        Ok(None)
    }

    /// Time busy so far at each part of each hop.
    pub fn busy(&self) -> [Vec<Duration>; HOPS] {
        let mut busy: [Vec<Duration>; HOPS] = Default::default();
        let (channels, dies) = self.drive.flash.busy(self.now);
        busy[Hop::Cpu as usize] = self.cores.iter().map(Station::busy).collect();
        busy[Hop::FrontEnd as usize] = self.drive.front_end_busy();
        busy[Hop::Channel as usize] = channels;
        busy[Hop::Die as usize] = dies;
        self.path.add_busy(&mut busy);
        busy
    }

    fn handle(&mut self, event: Event) -> Result<Option<Completion>, SimError> {
        match event {
            Event::Submit(request) => self.begin(request),
            Event::Submitted(command) => self.fetch(command),
            Event::Fetched(command) => self.issue_frames(command),
            Event::Arrived(command) => self.decode(command),
            Event::Decoded(command) => self.start_media(command),
            Event::Sensed(operation) => self.sensed(operation),
            Event::PageOut(operation) => self.page_out(operation),
            Event::FromBuffer(command, bytes) => self.burst(command, Bytes(bytes.into())),
            Event::Stored(operation) => self.stored(operation),
            Event::DataIn(burst, last) => self.data_in(burst, last)?,
            Event::Notified(command) => self.notified(command),
            Event::Completed(command) => return Ok(self.completed(command)),
        }
        Ok(None)
    }

    /// Splits a request into commands and gives them to the protocol.
    fn begin(&mut self, handle: Handle) {
        let Request { access, thread, .. } = self.requests[handle];
        let count = access.length.get().div_ceil(self.transfer_max.get()).max(1);
        self.requests[handle].submitted = self.now;
        self.requests[handle].unnotified = count as u32;
        self.requests[handle].incomplete = count as u32;
        let queue = self.protocol.queue_of(thread);
        for index in 0..count {
            let done = self.transfer_max * index;
            let command = self.commands.insert(Command {
                request: handle,
                operation: access.operation,
                offset: access.offset + done,
                length: (access.length - done).min(self.transfer_max),
                thread,
                queue,
                bursts_left: 0,
                announced: false,
                trace: Trace::new(self.now),
                next: NONE,
            });
            let request_time = if index == 0 { self.request_submit } else { Duration::ZERO };
            self.use_core(command, thread, request_time);
        }
    }

    /// The application's part of a command, and the driver's where a slot is free.
    fn use_core(&mut self, command: Handle, thread: u32, request_time: Duration) {
        let Command { queue, operation, .. } = self.commands[command];
        let core = thread as usize % self.cores.len();
        if self.protocol.take_slot(&mut self.commands, queue, command) {
            let span = self.cores[core]
                .serve(self.now, request_time + self.protocol.submit_time(operation));
            self.commands[command].trace.spend(Hop::Cpu as usize, span);
            self.events.schedule(span.end, Event::Submitted(command));
        } else if request_time > Duration::ZERO {
            let span = self.cores[core].serve(self.now, request_time);
            self.commands[command].trace.spend(Hop::Cpu as usize, span);
        }
    }

    fn fetch(&mut self, handle: Handle) {
        let command = &mut self.commands[handle];
        let (operation, length) = (command.operation, command.length);
        let fetched =
            self.protocol.fetch(self.now, &mut self.path, operation, length, &mut command.trace);
        let event = match self.path.issues_by_frames() {
            true => Event::Fetched(handle),
            false => Event::Arrived(handle),
        };
        self.events.schedule(fetched, event);
    }

    fn issue_frames(&mut self, handle: Handle) {
        let arrival = self.path.issue_frames(self.now, &mut self.commands[handle].trace);
        self.events.schedule(arrival, Event::Arrived(handle));
    }

    fn decode(&mut self, handle: Handle) {
        let command = &mut self.commands[handle];
        let span = self.drive.decode(self.now, command.operation);
        command.trace.spend(Hop::FrontEnd as usize, span);
        self.events.schedule(span.end, Event::Decoded(handle));
    }

    fn start_media(&mut self, handle: Handle) {
        let Command { operation, offset, length, .. } = self.commands[handle];
        match operation {
            Operation::Read => {
                let events = &mut self.events;
                let bursts = self.drive.read(self.now, handle, offset, length, events);
                self.commands[handle].bursts_left = bursts;
            }
            Operation::Write => self.ask_for_data(handle, offset, length),
        }
    }

    /// Splits the data of a write into bursts, each of which is fetched when the buffer has room.
    fn ask_for_data(&mut self, command: Handle, offset: Bytes, length: Bytes) {
        let count = length.get().div_ceil(WRITE_BURST.get());
        self.commands[command].bursts_left = count as u32;
        for index in 0..count {
            let done = WRITE_BURST * index;
            let length = (length - done).min(WRITE_BURST);
            let burst = WriteBurst { command, offset: offset + done, length };
            let handle = self.write_bursts.insert(burst);
            if self.drive.buffer.admit(handle, buffered(burst.offset, length)) {
                self.fetch_data(handle);
            }
        }
    }

    /// The buffer has room: a burst of a write comes over the links.
    fn fetch_data(&mut self, handle: Handle) {
        let WriteBurst { command, length, .. } = self.write_bursts[handle];
        let command = &mut self.commands[command];
        command.bursts_left -= 1;
        let place = Place { first: !command.announced, last: command.bursts_left == 0 };
        command.announced = true;
        // Only the last burst is on the critical path: what came before it was waiting for room.
        let mut aside = Trace::new(self.now);
        let trace = if place.last { &mut command.trace } else { &mut aside };
        trace.waited(Hop::Buffer, self.now);
        let arrival = self.path.carry_write(self.now, length, place, trace);
        self.events.schedule(arrival, Event::DataIn(handle, place.last));
    }

    fn data_in(&mut self, handle: Handle, last: bool) -> Result<(), SimError> {
        let WriteBurst { command, offset, length } = self.write_bursts[handle];
        self.write_bursts.free(handle);
        self.drive.write(self.now, offset, length, &mut self.events)?;
        if last {
            let trace = &mut self.commands[command].trace;
            let notified = self.path.complete_write(self.now, trace);
            self.events.schedule(notified, Event::Notified(command));
        }
        Ok(())
    }

    fn sensed(&mut self, operation: Handle) {
        self.drive.flash.sensed(self.now, operation, &mut self.events);
    }

    fn page_out(&mut self, operation: Handle) {
        let operation = self.drive.flash.finish(self.now, operation, &mut self.events);
        if let FlashTask::Read { command } = operation.task {
            if self.commands[command].bursts_left == 1 {
                self.commands[command].trace.through_flash(&operation, self.now);
            }
            self.burst(command, operation.bytes);
        }
    }

    /// Data of a read leaves the drive; the completion goes behind the last burst.
    fn burst(&mut self, handle: Handle, bytes: Bytes) {
        let command = &mut self.commands[handle];
        command.bursts_left -= 1;
        let place = Place { first: !command.announced, last: command.bursts_left == 0 };
        command.announced = true;
        if place.last {
            let notified = self.path.carry_read(self.now, bytes, place, &mut command.trace);
            self.events.schedule(notified, Event::Notified(handle));
        } else {
            self.path.carry_read(self.now, bytes, place, &mut Trace::new(self.now));
        }
    }

    fn stored(&mut self, operation: Handle) {
        let operation = self.drive.flash.finish(self.now, operation, &mut self.events);
        if matches!(operation.task, FlashTask::Program { .. }) {
            self.drive.buffer.release(operation.bytes);
            while let Some(burst) = self.drive.buffer.next_admitted() {
                self.fetch_data(burst);
            }
        }
    }

    fn notified(&mut self, handle: Handle) {
        let command = &mut self.commands[handle];
        let request = &mut self.requests[command.request];
        request.unnotified -= 1;
        let last = request.unnotified == 0;
        let request_time = if last { self.request_complete } else { Duration::ZERO };
        let complete_time = self.protocol.complete_time(command.operation);
        let core = self.protocol.completion_core(command.thread) as usize % self.cores.len();
        // A sleeping core wakes first; what arrives meanwhile finds it awake.
        let sleeps = self.cores[core].free_at() + self.idle_after < self.now;
        let ready = if sleeps { self.now + self.wake } else { self.now };
        let span = self.cores[core].serve(ready, complete_time + request_time);
        command.trace.spend(Hop::Cpu as usize, span);
        self.events.schedule(span.end, Event::Completed(handle));
    }

    fn completed(&mut self, handle: Handle) -> Option<Completion> {
        let Command { request, thread, queue, trace, .. } = self.commands[handle];
        self.commands.free(handle);
        if let Some(waiting) = self.protocol.give_slot(&mut self.commands, queue) {
            self.resume(waiting, thread);
        }
        let pending = &mut self.requests[request];
        pending.incomplete -= 1;
        if pending.incomplete > 0 {
            return None;
        }
        let completion = Completion {
            tag: pending.tag,
            access: pending.access,
            submitted: pending.submitted,
            completed: self.now,
            budget: *trace.budget(),
        };
        self.requests.free(request);
        Some(completion)
    }

    /// A command that waited for a slot has one.
    fn resume(&mut self, handle: Handle, core_of: u32) {
        let core = core_of as usize % self.cores.len();
        let command = &mut self.commands[handle];
        command.trace.waited(Hop::Protocol, self.now);
        let submit_time = self.protocol.submit_time(command.operation);
        let span = self.cores[core].serve(self.now, submit_time);
        command.trace.spend(Hop::Cpu as usize, span);
        self.events.schedule(span.end, Event::Submitted(handle));
    }
}

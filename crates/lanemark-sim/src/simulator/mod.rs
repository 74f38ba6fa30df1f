//! A running system: the life of each request from submission to completion.
//!
//! Callers submit requests at simulated times, advance to the next completion, and then decide what to submit next. The
//! caller (the closed-loop driver of [`crate::run::driver::run_test`], a live server, a database model) is outside the
//! simulator.
//!
//! A request longer than the maximum command is split. Its commands start at once, and the last of them completes the
//! request. A read command delivers its data in bursts, one for each flash unit.

mod at_media;
mod cached;
mod command;
mod completion;
mod data;
mod data_work;
mod error;
mod faults;
pub(crate) mod power;
mod range;

use crate::engine::event::Event;
use crate::engine::number::DriveNumber;
use command::{Command, NEAR_MOST, NewCommand, Request, bring_near};
use data_work::DataWork;
pub use error::SimError;
pub(super) use power::PowerReading;

use crate::drive::arbitration::Arbiter;
use crate::drive::media::media;
use crate::drive::medium::{Medium, WriteBurst};
use crate::drive::outcome::OutcomeQueue;
use crate::drive::{Drive, PowerMeter};
use crate::engine::budget::{Budget, HOPS, Hop};
use crate::engine::schedule::{DataBurst, EventSchedule};
use crate::engine::slab::{
    CommandHandle, Commands, RequestHandle, Requests, Slab, Transfers, WriteBursts,
};
use crate::engine::station::Station;
use crate::engine::trace::BudgetTrace;
use crate::fault::{Faults, RequestStatus};
use crate::host::adapter::Adapter;
use crate::host::protocol::{COMPLETION, Protocol};
use crate::link::Link;
use crate::path::HostPath;
use crate::path::multipath::PathSelector;
use crate::path::shared::{SharedLink, SharedTransfer};
use crate::spec::submission::Submission;
use crate::spec::{AttachmentSpec, CheckedSystem, PriorContent, ProtocolKind, WriteCacheMode};
use lanemark_schema::result::DriveUse;
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::{Access, Operation};

/// A completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The number that the submitter has assigned to the request.
    pub tag: u64,
    /// The request's operation and range.
    pub access: Access,
    /// Instant at which the request was submitted.
    pub submitted: Instant,
    /// Instant at which the request was complete.
    pub completed: Instant,
    /// Outcome of the request.
    pub status: RequestStatus,
    /// Time budget of the request; its sum is exactly `completed - submitted`.
    pub budget: Budget,
}

/// A drive, and the path to it.
struct AttachedDrive {
    capacity: Bytes,
    transfer_max: Bytes,
    protocol: Protocol,
    port_paths: PathSelector,
    path: HostPath,
    drive: Drive,
    /// Meter of the drive's power states, if the drive's power is known.
    meter: Option<Box<PowerMeter>>,
    /// Whether the host's block layer omits flushes, because the drive reports no volatile cache.
    takes_no_flush: bool,
}

/// Maximum amount of data that a drive requests at once.
const WRITE_BURST: Bytes = Bytes::kibi(128);

/// A simulated system.
///
/// ```
/// use lanemark_schema::rng::StreamKey;
/// use lanemark_sim::{Simulator, Submission, SystemSpec};
/// use lanemark_schema::units::{Bytes, Instant};
/// use lanemark_schema::workload::{Access, Operation};
///
/// let system = SystemSpec::example().checked()?;
/// let mut simulator = Simulator::new(&system, Bytes::mebi(1).into(), StreamKey::from_seed(1));
/// let read = |page| Access {
///     operation: Operation::Read,
///     offset: Bytes::kibi(4) * page,
///     length: Bytes::kibi(4),
/// };
/// // Two reads are submitted at once; when the first completes, a third is submitted.
/// simulator.submit(Submission::new(Instant::ZERO, read(17)).tagged(100))?;
/// simulator.submit(Submission::new(Instant::ZERO, read(42)).tagged(101))?;
/// let first = simulator.advance().expect("two are under way");
/// simulator.submit(Submission::new(first.completed, read(first.tag)).tagged(102))?;
///
/// while let Some(done) = simulator.advance() {
///     assert!(done.completed >= first.completed);
///     assert_eq!(done.budget.total(), done.completed.since(done.submitted));
/// }
/// assert_eq!(simulator.outstanding(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Simulator {
    now: Instant,
    request_submit: Duration,
    write_submit: Duration,
    request_complete: Duration,
    /// Work on the data of requests; most hosts do not have such work.
    data_work: Option<Box<DataWork>>,
    wake: Duration,
    idle_after: Duration,
    events: EventSchedule,
    handled: u64,
    /// The request that completed last.
    ended: Completion,
    cores: Vec<Station>,
    /// The threads of a hypervisor that work on the data of commands.
    io_threads: Vec<Station>,
    shared: Vec<Link>,
    turns: Vec<SharedLink>,
    /// The host bus adapter of the drives, if its times are known.
    adapter: Option<Adapter>,
    attachments: Vec<AttachedDrive>,
    requests: Slab<Request, Requests>,
    commands: Slab<Command, Commands>,
    write_bursts: Slab<WriteBurst, WriteBursts>,
    transfers: Slab<SharedTransfer, Transfers>,
    /// Unprocessed outcomes of the drive whose event is being handled; empty between two events.
    outcomes: OutcomeQueue,
    /// A trace for time that is not on a command's critical path; this trace is not read.
    aside: BudgetTrace,
    /// The faults of the plan; `None` in most runs.
    faults: Option<Box<Faults>>,
    /// The run's key, which determines random events.
    key: StreamKey,
}

impl AttachedDrive {
    fn new(index: usize, spec: &AttachmentSpec, content: PriorContent, key: StreamKey) -> Self {
        let arbiter = Arbiter::for_protocol(&spec.protocol);
        let drive = Drive::new(DriveNumber(index as u16), &spec.drive, content, arbiter, key);
        Self {
            capacity: spec.drive.capacity,
            transfer_max: spec.transfer_max(),
            protocol: Protocol::new(spec.protocol.clone()),
            port_paths: PathSelector::new(spec.second.is_some()),
            path: HostPath::new(spec, COMPLETION),
            drive,
            meter: spec.drive.power.as_ref().map(|power| Box::new(PowerMeter::new(&power.states))),
            takes_no_flush: spec.protocol.kind == ProtocolKind::Nvme
                && spec.drive.write_cache == WriteCacheMode::Protected,
        }
    }
}

impl Simulator {
    /// Creates an idle system whose drives each contain `content`. `key` determines random events inside the
    /// drives; its thread is ignored.
    pub fn new(spec: &CheckedSystem, content: PriorContent, key: StreamKey) -> Self {
        let attachments = spec.attachments.iter().enumerate();
        let attachments =
            attachments.map(|(index, one)| AttachedDrive::new(index, one, content, key));
        let mut simulator = Self {
            now: Instant::ZERO,
            request_submit: spec.cpu.request_submit,
            write_submit: spec.cpu.write_submit,
            request_complete: spec.cpu.request_complete,
            data_work: DataWork::from_cpu(&spec.cpu),
            wake: spec.cpu.wake,
            idle_after: spec.cpu.idle_after,
            events: EventSchedule::new(),
            handled: 0,
            ended: Completion::NONE,
            cores: vec![Station::default(); spec.cpu.cores as usize],
            io_threads: vec![Station::default(); spec.cpu.io_threads as usize],
            shared: spec.trunk.iter().map(|link| Link::new(link, COMPLETION)).collect(),
            turns: vec![SharedLink::new(spec.drives() * 2); spec.trunk.len()],
            adapter: Adapter::for_system(spec),
            attachments: attachments.collect(),
            requests: Slab::new(),
            commands: Slab::new(),
            write_bursts: Slab::new(),
            transfers: Slab::new(),
            outcomes: OutcomeQueue::default(),
            aside: BudgetTrace::new(Instant::ZERO),
            faults: Faults::for_system(spec, key),
            key,
        };
        simulator.plan_faults(&spec.faults);
        simulator
    }

    /// Returns the simulated time.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Returns the number of events that have been handled.
    pub fn events(&self) -> u64 {
        self.handled
    }

    /// Returns the number of requests that have not completed.
    pub fn outstanding(&self) -> usize {
        self.requests.live()
    }

    /// Returns the tag of each request that has not completed, and the instant of its submission, which is in the
    /// future for a request that is not submitted yet.
    pub(super) fn in_flight(&self) -> impl Iterator<Item = (u64, Instant)> {
        let handles = self.requests.handles().into_iter();
        handles.map(|handle| (self.requests[handle].tag, self.requests[handle].submitted))
    }

    /// Returns the number of interrupts that the host has taken.
    pub fn interrupts(&self) -> u64 {
        self.attachments.iter().map(|attachment| attachment.protocol.interrupts()).sum()
    }

    /// Returns the amounts of data that all drives have written.
    pub fn drive_use(&self) -> DriveUse {
        let mut sum = DriveUse::default();
        self.attachments.iter().for_each(|attachment| sum.add(&attachment.drive.usage()));
        sum.adapter_cached = self.adapter_cached();
        sum
    }

    /// Returns the instant of the next event, if any work is in progress.
    pub fn next_at(&self) -> Option<Instant> {
        self.events.next_at()
    }

    /// Submits a request to a drive.
    ///
    /// # Errors
    /// Returns [`SimError::NoTarget`] or [`SimError::OutOfRange`] if the request does not fit the system.
    pub fn submit(&mut self, submission: Submission) -> Result<(), SimError> {
        self.submit_part(submission, true)
    }

    /// Submits a part of an application's request. Only the first part includes the application's processor time.
    ///
    /// # Errors
    /// Returns the errors of [`Simulator::submit`].
    pub(crate) fn submit_part(
        &mut self,
        submission: Submission,
        is_first: bool,
    ) -> Result<(), SimError> {
        let Submission { at, target, access, thread, tag } = submission;
        self.check_range(target, access)?;
        let request = Request {
            target,
            tag,
            access,
            thread,
            is_first,
            submitted: at.max(self.now),
            status: RequestStatus::Good,
            fault: 0,
            unnotified: 0,
            incomplete: 0,
        };
        let handle = self.requests.insert(request);
        self.faults.iter_mut().for_each(|faults| faults.note_submission(handle));
        if at > self.now {
            self.events.schedule(at, Event::Submit(handle));
        } else {
            self.begin(handle);
        }
        Ok(())
    }

    /// Advances to the next completion; returns `None` if no request is in flight.
    pub fn advance(&mut self) -> Option<Completion> {
        self.advance_until(Instant::from_picoseconds(u64::MAX))
    }

    /// Advances to the next completion no later than `limit`; returns `None` if there is no such completion. Simulated
    /// time does not pass `limit`.
    pub fn advance_until(&mut self, limit: Instant) -> Option<Completion> {
        self.goes_on_until(limit).then_some(self.ended)
    }

    /// Returns the request that completed last, to which [`Simulator::goes_on_until`] advanced.
    pub(super) fn last_completion(&self) -> &Completion {
        &self.ended
    }

    /// Advances like [`Simulator::advance_until`], and returns whether a request completed.
    pub(super) fn goes_on_until(&mut self, limit: Instant) -> bool {
        loop {
            let Self { events, commands, requests, .. } = self;
            let soon = |event| bring_near(event, commands, requests);
            let has_many_commands = commands.most() > NEAR_MOST;
            let Some((at, event)) = events.pop_until(limit, has_many_commands.then_some(soon))
            else {
                return false;
            };
            self.now = at;
            self.handled += 1;
            if self.handle(event) {
                return true;
            }
        }
    }

    /// Returns the busy time of each part of each hop so far.
    pub(super) fn busy(&self) -> [Vec<Duration>; HOPS] {
        let mut busy: [Vec<Duration>; HOPS] = Default::default();
        let processors = self.cores.iter().chain(&self.io_threads);
        busy[Hop::Cpu as usize] = processors.map(Station::busy).collect();
        busy[Hop::Protocol as usize].extend(self.adapter.as_ref().map(Adapter::busy));
        for (index, link) in self.shared.iter().enumerate() {
            busy[Hop::FirstLink as usize + index].push(link.busy());
        }
        for attachment in &self.attachments {
            attachment.drive.add_busy(self.now, &mut busy);
            attachment.path.add_busy(&mut busy);
        }
        busy
    }

    /// Handles an event; returns whether a request completed. This function is inlined into the only loop that calls
    /// it.
    #[inline(always)]
    fn handle(&mut self, event: Event) -> bool {
        match event {
            Event::Submit(request) => self.begin(request),
            Event::Submitted(command) => self.on_submitted(command),
            Event::Fetched(command) => self.admit(command),
            Event::Admitted(command) => self.on_adapter_done(command),
            Event::Cached(command) => self.on_write_cached(command),
            Event::Bridged(command) => self.issue_frames(command, true),
            Event::Arrived(command) => self.on_frames_arrived(command),
            Event::Awake(command) => self.on_awake(command),
            Event::EngineFree(drive) => self.engine_free(drive),
            Event::Decoded(command) => self.on_decoded(command),
            Event::MapHere(command) => self.map_here(command),
            Event::Missed(command) => self.read_media(command),
            Event::RangesIn(command) => self.ranges_in(command),
            Event::Media(drive, operation) => self.media_step(drive, operation),
            Event::OffMedia(burst) => self.off_media(burst),
            Event::AtShared(transfer) => self.at_shared(transfer),
            Event::SharedFree(link) => self.serve_shared(usize::from(link)),
            Event::FromBuffer(burst) => {
                let DataBurst { command, bytes } = self.events.take_burst(burst);
                self.send_read_burst(command, bytes);
            }
            Event::Idle(drive) => self.idle(drive),
            Event::DataIn(burst) => self.data_in(burst),
            Event::Notified(command) => self.on_notified(command),
            Event::TimedOut(command) => self.timed_out(command),
            Event::Held(command) => self.goes_on(command),
            Event::Fault(number, over) => self.fault(number, over),
            Event::Failed(request) => {
                self.ended = self.fail_request(request);
                return true;
            }
            Event::Completed(command) => return self.finish_on_core(command),
        }
        false
    }

    /// Splits a request into commands and passes them to the protocol.
    fn begin(&mut self, handle: RequestHandle) {
        if let Some(faults) = &self.faults
            && faults.host_up > self.now
        {
            self.events.schedule(faults.host_up, Event::Submit(handle));
            return;
        }
        let Request { target: drive, access, thread, is_first, .. } = self.requests[handle];
        let AttachedDrive { transfer_max, protocol, .. } = &self.attachments[usize::from(drive)];
        let transfer_max = *transfer_max;
        let queue = protocol.queue_of(thread);
        // A trim states its range, and a flush does not need a range, so each of them is one command.
        let transfer_max =
            if access.operation.moves_data() { transfer_max } else { access.length.max(Bytes(1)) };
        let count = access.length.get().div_ceil(transfer_max.get()).max(1);
        let request_submit = if access.operation == Operation::Write {
            self.request_submit + self.write_submit
        } else {
            self.request_submit
        };
        self.requests[handle].submitted = self.now;
        self.requests[handle].unnotified = count as u32;
        self.requests[handle].incomplete = count as u32;
        let media = &mut self.attachments[usize::from(drive)].drive.media;
        media!(media, media => media.note_commands(count as u32));
        for index in 0..count {
            let done = transfer_max * index;
            let command = self.commands.renew();
            let new = NewCommand {
                request: handle,
                alone: count == 1 && is_first,
                drive: DriveNumber(drive),
                operation: access.operation,
                offset: access.offset + done,
                length: (access.length - done).min(transfer_max),
                thread,
                queue,
            };
            self.commands[command].begin(self.now, &new);
            let pays = index == 0 && is_first;
            let request_time = if pays { request_submit } else { Duration::ZERO };
            let request_time = request_time + self.pin_time(thread, access.operation, new.length);
            self.use_core(command, thread, request_time);
        }
    }

    /// Charges a core for the application's time of a command, and also for the driver's time if a slot is free.
    fn use_core(&mut self, command: CommandHandle, thread: u32, request_time: Duration) {
        let Command { drive, queue, operation, .. } = self.commands[command];
        let core = thread as usize % self.cores.len();
        let AttachedDrive { protocol, takes_no_flush, .. } =
            &mut self.attachments[usize::from(drive)];
        if protocol.take_slot(&mut self.commands, queue, command) {
            let gone = self.faults.as_mut().and_then(|faults| faults.drive(drive).gone);
            if operation == Operation::Flush && *takes_no_flush && gone.is_none() {
                let span = self.cores[core].serve(self.now, request_time);
                self.commands[command].trace.account_service(Hop::Cpu as usize, span);
                self.events.schedule(span.end, Event::Completed(command));
                return;
            }
            let time = request_time + protocol.submit_time(operation);
            let span = self.cores[core].serve(self.now, time);
            self.commands[command].trace.account_service(Hop::Cpu as usize, span);
            let at = self.end_of_data_work(command, Operation::Write, span.end);
            self.events.schedule(at, Event::Submitted(command));
        } else if request_time > Duration::ZERO {
            let span = self.cores[core].serve(self.now, request_time);
            self.commands[command].trace.account_service(Hop::Cpu as usize, span);
        }
    }

    fn fetch(&mut self, handle: CommandHandle) {
        let command = &mut self.commands[handle];
        let AttachedDrive { protocol, port_paths, path, drive, .. } =
            &mut self.attachments[usize::from(command.drive)];
        command.port_path = port_paths.choose();
        command.sent = self.now;
        let operation = command.operation;
        let length = command.length;
        let port_path = path.port_path(command.port_path);
        let fetched = protocol.fetch(
            self.now,
            port_path,
            &mut self.shared,
            operation,
            length,
            &mut command.trace,
        );
        if port_path.issues_by_frames() {
            self.events.schedule(fetched, Event::Fetched(handle));
            return;
        }
        let at_once = !port_paths.are_several() && protocol.fetches(operation, length) <= 1;
        let front_end = &mut drive.front_end;
        let commands = &mut self.commands;
        let events = &mut self.events;
        if !(at_once && front_end.send(self.now, fetched, handle, commands, events)) {
            front_end.expect(self.now, commands, events);
            self.events.schedule(fetched, Event::Arrived(handle));
        }
    }

    /// Makes the host bus adapter process a command that it has fetched.
    fn admit(&mut self, handle: CommandHandle) {
        let drive = usize::from(self.commands[handle].drive);
        let Some(adapter) =
            self.adapter.as_mut().filter(|_| self.attachments[drive].protocol.has_adapter())
        else {
            return self.issue_frames(handle, false);
        };
        let behind = self.attachments.iter().map(|attachment| &attachment.protocol);
        let outstanding = behind.filter(|one| one.has_adapter()).map(Protocol::outstanding).sum();
        let span = adapter.serve(self.now, outstanding);
        self.commands[handle].trace.account_service(Hop::Protocol as usize, span);
        self.events.schedule(span.end, Event::Admitted(handle));
    }

    /// Sends a command's frames up to a bridge on the path or, if the command is `bridged`, from the bridge onward.
    fn issue_frames(&mut self, handle: CommandHandle, bridged: bool) {
        let command = &mut self.commands[handle];
        let path = &mut self.attachments[usize::from(command.drive)].path;
        let port_path = path.port_path(command.port_path);
        let arrival =
            port_path.issue_frames(self.now, command.operation, bridged, &mut command.trace);
        if !bridged && port_path.has_bridge() {
            self.events.schedule(arrival, Event::Bridged(handle));
            return;
        }
        let front_end = &mut self.attachments[usize::from(command.drive)].drive.front_end;
        front_end.expect(self.now, &mut self.commands, &mut self.events);
        self.events.schedule(arrival, Event::Arrived(handle));
    }

    fn decode(&mut self, handle: CommandHandle) {
        let front_end =
            &mut self.attachments[usize::from(self.commands[handle].drive)].drive.front_end;
        front_end.expected_is_here();
        front_end.arrive(self.now, handle, &mut self.commands, &mut self.events);
    }

    fn engine_free(&mut self, drive: DriveNumber) {
        let front_end = &mut self.attachments[usize::from(drive)].drive.front_end;
        front_end.engine_free(self.now, &mut self.commands, &mut self.events);
    }
}

//! Requests and commands in flight, laid out by cache lines.

use crate::engine::number::{DriveNumber, PathNumber, QueueNumber};
use std::hint::black_box;
use std::mem::offset_of;

use crate::drive::DecodableCommand;
use crate::engine::event::Event;
use crate::engine::slab::{CommandHandle, Commands, Handle, Linked, RequestHandle, Requests, Slab};
use crate::engine::trace::BudgetTrace;
use crate::fault::{FaultNumber, RequestStatus};
use lanemark_schema::units::{Bytes, Instant};
use lanemark_schema::workload::{Access, Operation};

/// A request in flight, in one cache line.
#[repr(align(64))]
pub(super) struct Request {
    pub(super) target: u16,
    pub(super) tag: u64,
    pub(super) access: Access,
    pub(super) thread: u32,
    /// Whether the request includes the application's processor time: true except for the second and later parts of a
    /// request on a volume.
    pub(super) is_first: bool,
    pub(super) submitted: Instant,
    /// Status with which the request ends.
    pub(super) status: RequestStatus,
    /// The fault that makes the request fail, if it fails.
    pub(super) fault: FaultNumber,
    /// Number of commands whose interrupt has not arrived.
    pub(super) unnotified: u32,
    /// Number of commands that are not complete.
    pub(super) incomplete: u32,
}

/// A command in flight: one cache line, plus two for the trace in most cases. With tens of thousands of commands in
/// flight, these lines must be fetched from memory again for every step of a command.
#[repr(C)]
pub(super) struct Command {
    pub(super) offset: Bytes,
    pub(super) length: Bytes,
    /// Instant at which the command was sent.
    pub(super) sent: Instant,
    pub(super) request: RequestHandle,
    pub(super) next: CommandHandle,
    pub(super) thread: u32,
    pub(super) queue: QueueNumber,
    /// Number of bursts that have not left the drive (for a read) or have not entered its buffer (for a write).
    pub(super) bursts_left: u32,
    /// Number of bursts that are not on the media, if a write waits for them.
    pub(super) unstored: u32,
    pub(super) drive: DriveNumber,
    pub(super) operation: Operation,
    pub(super) announced: bool,
    pub(super) port_path: PathNumber,
    /// Whether the next `Decoded` of this command is void.
    pub(super) put_back: bool,
    /// Whether the command is the only command of its request and includes the application's processor time.
    pub(super) alone: bool,
    /// Whether the command ends in the cache of an adapter without reaching the drive, or is a write by the cache.
    pub(super) in_cache: bool,
    /// The damage that a fault has done to the command.
    pub(super) harm: CommandDamage,
    pub(super) trace: BudgetTrace,
}

const _: () =
    assert!(offset_of!(Command, trace) == 64, "all fields except the trace fit in one cache line");
const _: () = assert!(size_of::<Request>() == 64, "a request fits in one cache line");

/// The damage that a fault has done to a command.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct CommandDamage {
    /// Status with which the command ends, unless the host repeats the command.
    pub(super) status: RequestStatus,
    /// The action of the host when the timeout of the command expires.
    pub(super) then: HostStep,
    /// Number of times that the command was repeated because a link had corrupted it.
    pub(super) tries: u8,
    /// Whether the command must be repeated because a link has corrupted it.
    pub(super) spoilt: bool,
    pub(super) fault: FaultNumber,
}

/// The action of the host after it has waited for a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum HostStep {
    /// The host sends the command again.
    #[default]
    Again,
    Fail,
    /// The host sends the command over another path, or fails it if there is no other path.
    OtherWay,
    /// The host aborts the command or resets the drive.
    Unstick,
}

impl Default for Command {
    fn default() -> Self {
        Self {
            offset: Bytes::ZERO,
            length: Bytes::ZERO,
            sent: Instant::ZERO,
            request: Handle::NONE,
            next: Handle::NONE,
            thread: 0,
            queue: QueueNumber(0),
            bursts_left: 0,
            unstored: 0,
            drive: DriveNumber(0),
            operation: Operation::Read,
            announced: false,
            port_path: PathNumber(0),
            put_back: false,
            alone: false,
            in_cache: false,
            harm: CommandDamage::default(),
            trace: BudgetTrace::new(Instant::ZERO),
        }
    }
}

/// The initial values of a command.
pub(super) struct NewCommand {
    pub(super) request: RequestHandle,
    /// Whether the command is the only command of its request.
    pub(super) alone: bool,
    pub(super) drive: DriveNumber,
    pub(super) operation: Operation,
    pub(super) offset: Bytes,
    pub(super) length: Bytes,
    pub(super) thread: u32,
    pub(super) queue: QueueNumber,
}

impl Command {
    /// Initialises a new command at `now`.
    #[inline]
    pub(super) fn begin(&mut self, now: Instant, new: &NewCommand) {
        let NewCommand { request, alone, drive, operation, offset, length, thread, queue } = *new;
        self.trace.begin(now);
        self.offset = offset;
        self.length = length;
        self.sent = now;
        self.request = request;
        self.next = Handle::NONE;
        self.thread = thread;
        self.queue = queue;
        self.bursts_left = 0;
        self.unstored = 0;
        self.drive = drive;
        self.operation = operation;
        self.announced = false;
        self.port_path = PathNumber(0);
        self.put_back = false;
        self.alone = alone;
        self.in_cache = false;
        self.harm = CommandDamage::default();
    }
}

impl Command {
    /// Returns whether the command is a write by an adapter's cache, without a request.
    #[inline]
    pub(super) fn is_of_cache(&self) -> bool {
        self.request == Handle::NONE
    }
}

impl Linked for Command {
    type Kind = Commands;
    fn next(&mut self) -> &mut CommandHandle {
        &mut self.next
    }
}

impl DecodableCommand for Command {
    fn queue(&self) -> QueueNumber {
        self.queue
    }

    fn operation(&self) -> Operation {
        self.operation
    }

    fn length(&self) -> Bytes {
        self.length
    }

    fn put_back(&mut self) {
        self.put_back = true;
    }
}

/// Maximum number of commands that fit into the processor's cache together, so that prefetching is not needed.
pub(super) const NEAR_MOST: usize = 1024;

/// Reads the memory that `event` will need. No branch depends on the content of this memory, so the processor
/// continues, and waits for the memory of several events together instead of one after another.
#[inline]
pub(super) fn bring_near(
    event: Event,
    commands: &Slab<Command, Commands>,
    requests: &Slab<Request, Requests>,
) {
    use Event::{Completed, Decoded, Notified, Submitted};
    if let Submitted(handle) | Decoded(handle) | Notified(handle) | Completed(handle) = event {
        let command = &commands[handle];
        black_box(command.trace.touch() ^ u64::from(command.request.number()));
    }
    if let Completed(handle) = event {
        black_box(requests[commands[handle].request].tag);
    }
}

//! Requests and commands in flight, laid out by lines of the processor's cache.

use crate::sim::number::{DriveNumber, QueueNumber, WayNumber};
use std::hint::black_box;
use std::mem::offset_of;

use super::{Event, Simulator};
use crate::sim::SimError;
use crate::sim::drive::Candidate;
use crate::sim::fault::{FaultNumber, Status};
use crate::sim::slab::{CommandHandle, Commands, Handle, Linked, RequestHandle, Requests, Slab};
use crate::sim::target::{Extent, Target};
use crate::sim::trace::Trace;
use crate::units::{Bytes, Instant};
use crate::workload::{Access, Operation};

/// A request in flight, in one line of the processor's cache.
#[repr(align(64))]
pub(super) struct Request {
    pub(super) target: Target,
    pub(super) tag: u64,
    pub(super) access: Access,
    pub(super) thread: u32,
    /// Whether the application's part is paid with it: always but for further parts on a volume.
    pub(super) is_first: bool,
    pub(super) submitted: Instant,
    /// Status that the request ends with, and the fault where it fails.
    pub(super) status: Status,
    pub(super) fault: FaultNumber,
    /// Commands whose interrupt has not come, and commands that are not complete.
    pub(super) unnotified: u32,
    pub(super) incomplete: u32,
}

/// A command in flight: one line of the processor's cache, and two of the trace in most cases. With tens of thousands
/// in flight, each is fetched anew for every step of a command.
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
    /// Bursts that have not left the drive, reading, or have not entered its buffer, writing.
    pub(super) bursts_left: u32,
    /// Bursts that are not on the media, where a write waits for that.
    pub(super) unstored: u32,
    pub(super) drive: DriveNumber,
    pub(super) operation: Operation,
    pub(super) announced: bool,
    /// The way that the command took.
    pub(super) way: WayNumber,
    /// Whether the next `Decoded` of this command is void.
    pub(super) put_back: bool,
    /// Whether the command is all of its request, and the application's part is paid with it.
    pub(super) alone: bool,
    /// Whether the command ends in the cache of an adapter and never comes to the drive, or is one of the cache.
    pub(super) in_cache: bool,
    /// The harm that a fault has done to the command.
    pub(super) harm: Harm,
    pub(super) trace: Trace,
}

const _: () = assert!(offset_of!(Command, trace) == 64, "all but the trace is one line");
const _: () = assert!(size_of::<Request>() == 64, "a request is one line");

/// The harm that a fault has done to a command.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Harm {
    /// Status that the command ends with, where nothing more is done about it.
    pub(super) status: Status,
    /// The host's step when its time for the command is over.
    pub(super) then: Then,
    /// Number of times that the command was sent again because a link had spoilt it, and whether it has to be once
    /// more.
    pub(super) tries: u8,
    pub(super) spoilt: bool,
    /// The fault that did the harm.
    pub(super) fault: FaultNumber,
}

/// The host's step after it has waited for a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Then {
    /// The host sends the command again.
    #[default]
    Again,
    /// The host lets the command fail.
    Fail,
    /// The host sends the command over another way, or lets it fail where there is none.
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
            way: WayNumber(0),
            put_back: false,
            alone: false,
            in_cache: false,
            harm: Harm::default(),
            trace: Trace::new(Instant::ZERO),
        }
    }
}

impl Command {
    /// Becomes another command: of a request, for a drive, over a range, from a thread in a queue.
    #[inline]
    pub(super) fn begin(
        &mut self,
        now: Instant,
        (request, alone): (RequestHandle, bool),
        (drive, operation): (DriveNumber, Operation),
        (offset, length): (Bytes, Bytes),
        (thread, queue): (u32, QueueNumber),
    ) {
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
        self.way = WayNumber(0);
        self.put_back = false;
        self.alone = alone;
        self.in_cache = false;
        self.harm = Harm::default();
    }
}

impl Command {
    /// Whether the command is one of an adapter's cache, and of no request.
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

impl Candidate for Command {
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

/// Number of commands up to which all are near without being asked for.
pub(super) const NEAR_MOST: usize = 1024;

/// Reads what `event` will need. No branch depends on what is there, so the processor goes on, and waits for what
/// several events need at once instead of for each in turn.
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

impl Simulator {
    /// Checks that a request lies within its namespace.
    pub(super) fn check_range(&self, target: Target, access: Access) -> Result<(), SimError> {
        let Target { drive, namespace } = target;
        let extents =
            self.attachments.get(usize::from(drive)).map(|attachment| &attachment.extents);
        let extents = extents.ok_or(SimError::NoTarget { target })?;
        let Extent { length: capacity, .. } =
            *extents.get(usize::from(namespace)).ok_or(SimError::NoTarget { target })?;
        let Access { offset, length, .. } = access;
        if offset.get().saturating_add(length.get()) <= capacity.get() {
            return Ok(());
        }
        Err(match extents.len() {
            1 => SimError::OutOfRange { offset, length, capacity },
            _ => SimError::OutOfNamespace { offset, length, namespace, capacity },
        })
    }
}

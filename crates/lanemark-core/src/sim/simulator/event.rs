//! The events of a system.

use crate::sim::number::{DriveNumber, QueueNumber};
use crate::sim::slab::{
    BurstHandle, CommandHandle, OperationHandle, RequestHandle, TransferHandle, WriteBurstHandle,
};

/// An event of a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Event {
    /// The time of a request has come.
    Submit(RequestHandle),
    /// A core has submitted a command.
    Submitted(CommandHandle),
    /// The controller has a command, and the frames for the drive go out.
    Fetched(CommandHandle),
    /// The host bus adapter has done its part of a command, and the frames for the drive go out.
    Admitted(CommandHandle),
    /// The data of a write is in the cache of the host bus adapter.
    Cached(CommandHandle),
    /// A bridge on the way has given a command on, and its frames for the drive go out.
    Bridged(CommandHandle),
    /// The drive has a command.
    Arrived(CommandHandle),
    /// A drive that a command has woken is awake.
    Awake(CommandHandle),
    /// A drive's front end has an engine free for the commands that wait.
    EngineFree(DriveNumber),
    /// The firmware has done its part of a command.
    Decoded(CommandHandle),
    /// A page of the map has come from the host's memory.
    MapHere(CommandHandle),
    /// The drive has looked for a read's data in its memory, and goes to the media.
    Missed(CommandHandle),
    /// The list of what a trim covers has come.
    RangesIn(CommandHandle),
    /// An operation of a drive's media has come to the end of a step.
    Media(DriveNumber, OperationHandle),
    /// A burst of a read has come off the media of its drive.
    OffMedia(BurstHandle),
    /// A burst has come to a link that several drives share.
    AtShared(TransferHandle),
    /// A link that several drives share has sent a burst.
    SharedFree(u16),
    /// A burst of a read needs no media.
    FromBuffer(BurstHandle),
    /// A drive may have been idle for long enough to work in the background.
    Idle(DriveNumber),
    /// A burst of a write is in the buffer.
    DataIn(WriteBurstHandle),
    /// The completion of a command has reached the host, with its interrupt where that is not held back.
    Notified(CommandHandle),
    /// The aggregation time of a drive's interrupt vector may be over.
    AggregationOver(DriveNumber, QueueNumber),
    /// The host has waited long enough for the answer to a command.
    TimedOut(CommandHandle),
    /// A fault begins, or one is over.
    Fault(u16, bool),
    /// A command that a fault has held up goes on.
    Held(CommandHandle),
    /// A request failed with its drive.
    Failed(RequestHandle),
    /// A core has completed a command.
    Completed(CommandHandle),
}

const _: () =
    assert!(size_of::<Event>() == 8, "an event and its time share a cache line with three others");

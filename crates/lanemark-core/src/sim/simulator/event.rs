//! What can happen in a system.

use crate::sim::slab::Handle;

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Event {
    /// The time of a request has come.
    Submit(Handle),
    /// A core has submitted a command.
    Submitted(Handle),
    /// The controller has a command, and the frames for the drive go out.
    Fetched(Handle),
    /// The drive has a command.
    Arrived(Handle),
    /// A drive that a command has woken is awake.
    Awake(Handle),
    /// A drive's front end has an engine free for the commands that wait.
    EngineFree(u16),
    /// The firmware has done its part of a command.
    Decoded(Handle),
    /// A page of the map has come from the host's memory.
    MapHere(Handle),
    /// The list of what a trim covers has come.
    RangesIn(Handle),
    /// A die of a drive has a page in its register.
    Sensed(u16, Handle),
    /// A die's data is in the drive's controller.
    PageOut(u16, Handle),
    /// A burst has come to a link that several drives share.
    AtShared(Handle),
    /// A link that several drives share has sent a burst.
    SharedFree(u16),
    /// A burst needs no flash.
    FromBuffer(Handle),
    /// A die of a drive has programmed or erased.
    Stored(u16, Handle),
    /// A drive may have been idle for long enough to work in the background.
    Idle(u16),
    /// The firmware of a hard disk has done its part of an operation.
    DiskReady(u16, Handle),
    /// The arm of a hard disk has done its operation.
    ArmFree(u16),
    /// A burst has come off a disk.
    OffMedia(Handle),
    /// A burst of a write is in the buffer; whether it is the last of its command.
    DataIn(bool, Handle),
    /// The completion of a command has reached the host, with its interrupt where that is not held back.
    Notified(Handle),
    /// The aggregation time of a drive's interrupt vector may be over.
    AggregationOver(u16, u32),
    /// The host has waited long enough for the answer to a command.
    TimedOut(Handle),
    /// A fault begins, or one is over.
    Fault(u16, bool),
    /// A command that a fault has held up goes on.
    Held(Handle),
    /// A request failed with its drive.
    Failed(Handle),
    /// A core has completed a command.
    Completed(Handle),
}

const _: () =
    assert!(size_of::<Event>() == 8, "an event and its time share a cache line with three others");

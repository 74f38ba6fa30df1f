//! The events of a system.

use crate::engine::number::DriveNumber;
use crate::engine::slab::{
    BurstHandle, CommandHandle, OperationHandle, RequestHandle, TransferHandle, WriteBurstHandle,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Event {
    /// A request is due for submission.
    Submit(RequestHandle),
    /// A core has submitted a command.
    Submitted(CommandHandle),
    /// The controller has fetched a command, and the frames for the drive leave.
    Fetched(CommandHandle),
    /// The host bus adapter has finished its work on a command, and the frames for the drive leave.
    Admitted(CommandHandle),
    /// The data of a write is in the cache of the host bus adapter.
    Cached(CommandHandle),
    /// A bridge on the path has forwarded a command, and the frames for the drive leave.
    Bridged(CommandHandle),
    /// The drive has received a command.
    Arrived(CommandHandle),
    /// A drive is awake after a command has woken it.
    Awake(CommandHandle),
    /// A command engine of a drive is free for waiting commands.
    EngineFree(DriveNumber),
    /// The firmware has decoded a command.
    Decoded(CommandHandle),
    /// A page of the map has arrived from the host's memory.
    MapHere(CommandHandle),
    /// The drive has not found the data of a read in its memory and reads the media.
    Missed(CommandHandle),
    /// The range list of a trim has arrived.
    RangesIn(CommandHandle),
    /// An operation of a drive's media has finished a step.
    Media(DriveNumber, OperationHandle),
    /// A burst of a read has left the media of its drive.
    OffMedia(BurstHandle),
    /// A burst has reached a link that several drives share.
    AtShared(TransferHandle),
    /// A link that several drives share has sent a burst.
    SharedFree(u16),
    /// A burst of a read is ready in the drive's memory, without access to the media.
    FromBuffer(BurstHandle),
    /// A drive may have been idle for long enough to work in the background.
    Idle(DriveNumber),
    /// A burst of a write is in the buffer.
    DataIn(WriteBurstHandle),
    /// The completion of a command has reached the host, together with its interrupt.
    Notified(CommandHandle),
    /// The host's timeout for a command has expired.
    TimedOut(CommandHandle),
    /// A fault begins or ends.
    Fault(u16, bool),
    /// A command that a fault has delayed continues.
    Held(CommandHandle),
    /// A request has failed because its drive is gone.
    Failed(RequestHandle),
    /// A core has completed a command.
    Completed(CommandHandle),
}

const _: () =
    assert!(size_of::<Event>() == 8, "an event and its time share a cache line with three others");

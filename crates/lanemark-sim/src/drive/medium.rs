//! The interface between a drive and its media.
//!
//! A medium accepts the four kinds of commands. The end of work that takes time is an event of the drive:
//! `Event::Media` when a step of an operation of the media ends, `Event::OffMedia` and `Event::FromBuffer` when data is
//! ready. The operation records which step has ended. The host's side continues with a [`DriveOutcome`].

use super::outcome::{DriveOutcome, OutcomeQueue};
use crate::engine::budget::HOPS;
use crate::engine::schedule::{DataBurst, EventSchedule};
use crate::engine::slab::{CommandHandle, OperationHandle};
use crate::engine::trace::MediaTimes;
use lanemark_schema::result::{CreditUse, DriveUse, Reserve};
use lanemark_schema::units::{Bytes, Duration, Instant};
use lanemark_schema::workload::fault::ReadRetries;

/// Data of a write in transit to the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteBurst {
    /// The command to which the data belongs.
    pub command: CommandHandle,
    /// First byte of the burst on the drive.
    pub offset: Bytes,
    /// Length of the burst.
    pub length: Bytes,
    /// Whether the burst is the last burst of its command to arrive.
    pub last: bool,
}

/// Numbers of map pages for which a command must wait before the location of its data is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MapMisses {
    /// Number of pages that come from the media.
    pub from_media: u32,
    /// Number of pages that come from the host's memory.
    pub from_host: u32,
}

/// Written data that a power cut affects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PowerCutData {
    /// Data that was acknowledged and is lost.
    pub lost: Bytes,
    /// Room that the data still in the buffer occupies.
    pub held: Bytes,
}

pub(crate) trait Medium {
    /// Looks up the map for a command that reads a range or `changes` it, and starts reading the map pages that are not
    /// in memory.
    fn look_up(
        &mut self,
        _now: Instant,
        _command: CommandHandle,
        _offset: Bytes,
        _length: Bytes,
        _changes: bool,
        _events: &mut EventSchedule,
    ) -> MapMisses {
        MapMisses::default()
    }

    /// Starts a read, and returns the number of bursts that will arrive.
    fn read(
        &mut self,
        now: Instant,
        command: CommandHandle,
        offset: Bytes,
        length: Bytes,
        events: &mut EventSchedule,
    ) -> u32;

    /// Returns whether the data at `offset` has been read ahead or is being read ahead.
    fn holds(&self, _offset: Bytes) -> bool {
        false
    }

    /// Announces a write of a range.
    fn expect_write(&mut self, _offset: Bytes, _length: Bytes) {}

    /// Accepts a burst of a write that has arrived in the buffer.
    fn write(
        &mut self,
        now: Instant,
        burst: WriteBurst,
        events: &mut EventSchedule,
        outcomes: &mut OutcomeQueue,
    );

    /// Accepts a flush, which completes when all data written before it is durable.
    fn flush(
        &mut self,
        now: Instant,
        command: CommandHandle,
        events: &mut EventSchedule,
        outcomes: &mut OutcomeQueue,
    );

    /// Discards the data in a range, if the medium benefits from this.
    fn trim(&mut self, _offset: Bytes, _length: Bytes, _outcomes: &mut OutcomeQueue) {}

    /// Ends a step of an operation and returns its outcome, or `None` if the operation continues in the media. If the
    /// step has several outcomes, the first is returned and the others are added to `outcomes`.
    fn step(
        &mut self,
        now: Instant,
        operation: OperationHandle,
        events: &mut EventSchedule,
        outcomes: &mut OutcomeQueue,
    ) -> Option<DriveOutcome>;

    /// Ends a burst of a read that leaves the media without an operation.
    fn off_media(
        &mut self,
        now: Instant,
        burst: DataBurst,
        _events: &mut EventSchedule,
        outcomes: &mut OutcomeQueue,
    ) {
        let DataBurst { command, bytes } = burst;
        outcomes.emit(DriveOutcome::Data { command, bytes, passage: MediaTimes::worked(now) });
    }

    /// Records that the drive has received commands.
    fn note_commands(&mut self, _commands: u32) {}

    /// Records that the drive has completed a command. Returns the instant at which to check whether the drive is still
    /// idle, if the medium needs this check.
    fn note_answered(&mut self, _now: Instant) -> Option<Instant> {
        None
    }

    /// Starts background work if the drive has been idle for long enough.
    fn idle(&mut self, _now: Instant, _events: &mut EventSchedule) {}

    /// Cuts the power: all work in progress is lost.
    fn power_cut(&mut self, now: Instant) -> PowerCutData;

    /// Restores the power.
    fn power_up(&mut self, _now: Instant, _events: &mut EventSchedule) {}

    /// Sets the rule for repeating reads from now on; without a rule, reads are not repeated.
    fn set_retries(&mut self, _retries: Option<ReadRetries>) {}

    /// Returns the amounts of data that the media have written so far.
    fn usage(&self) -> DriveUse;

    /// Appends the remaining amount of each reserve that the media use up under load, such as erased flash. The media
    /// behave differently once a reserve is used up. The number and the order of the reserves never change.
    fn reserves(&self, _left: &mut Vec<(Reserve, u64)>) {}

    /// Returns the use of the burst credits of the media, if they have any.
    fn credits(&self) -> Vec<CreditUse> {
        Vec::new()
    }

    /// Returns the number of slots that simulated collection has moved. While collection moves data, the state of the
    /// media drifts.
    fn collected(&self) -> u64 {
        0
    }

    /// Returns the memory that grows with the written data, in bytes, with the growth that may follow soon.
    fn bytes(&self) -> u64 {
        0
    }

    /// Returns whether the media have any work.
    fn is_working(&self, now: Instant) -> bool;

    /// Returns the busy time of each part of the media until `at`, which must not be earlier than in a previous call.
    /// The parts and their order are the same as in the drive's [`MediaPower`](crate::spec::MediaPower).
    fn worked(&self, at: Instant) -> Vec<Duration>;

    /// Adds the busy times of the parts of the media so far.
    fn add_busy(&self, now: Instant, busy: &mut [Vec<Duration>; HOPS]);
}

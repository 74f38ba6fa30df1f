//! A medium at work: what a drive asks of flash, of platters, of any media.
//!
//! A medium takes the four operations of a command. What takes time is an event of the drive's: `Event::Media` as a step
//! of an operation of the media ends, `Event::OffMedia` and `Event::FromBuffer` as data is ready. Which step it is, the
//! medium knows from the operation. All that the host's side goes on with is an [`Outcome`].

use super::outcome::{Outcome, Outcomes, Passage};
use crate::result::DriveUse;
use crate::sim::budget::HOPS;
use crate::sim::schedule::{Burst, Schedule};
use crate::sim::slab::{CommandHandle, OperationHandle};
use crate::units::{Bytes, Duration, Instant};
use crate::workload::fault::ReadRetries;

/// Data of a write on its way into the buffer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WriteBurst {
    /// The command of the data.
    pub command: CommandHandle,
    /// First byte of the burst on the drive.
    pub offset: Bytes,
    /// Length of the burst.
    pub length: Bytes,
    /// Whether the burst is the last of its command to come.
    pub last: bool,
}

/// Pages of the map that a command must wait for before the place of its data is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MapMisses {
    /// Pages of the map that come from the media.
    pub from_media: u32,
    /// Pages that come from the host's memory.
    pub from_host: u32,
}

/// Written data that a power cut takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PowerLoss {
    /// Data that was acknowledged and is lost.
    pub lost: Bytes,
    /// Room of the data that the buffer still holds.
    pub held: Bytes,
}

/// A medium at work.
pub(crate) trait Medium {
    /// Looks up the map for a command that reads or `changes` a range, and starts reading what is not at hand.
    fn look_up(
        &mut self,
        _now: Instant,
        _command: CommandHandle,
        _range: (Bytes, Bytes),
        _changes: bool,
        _events: &mut Schedule,
    ) -> MapMisses {
        MapMisses::default()
    }

    /// Starts a read, and returns how many bursts will come.
    fn read(
        &mut self,
        now: Instant,
        command: CommandHandle,
        range: (Bytes, Bytes),
        events: &mut Schedule,
    ) -> u32;

    /// Whether what lies at `offset` was read ahead, or is being read ahead.
    fn holds(&self, _offset: Bytes) -> bool {
        false
    }

    /// A range will be written before long.
    fn expect_write(&mut self, _range: (Bytes, Bytes)) {}

    /// Takes a burst of a write that has come into the buffer.
    fn write(
        &mut self,
        now: Instant,
        burst: WriteBurst,
        events: &mut Schedule,
        outcomes: &mut Outcomes,
    );

    /// Takes a flush, which is done when all that was written before is safe.
    fn flush(
        &mut self,
        now: Instant,
        command: CommandHandle,
        events: &mut Schedule,
        outcomes: &mut Outcomes,
    );

    /// Forgets what lies in a range, where the medium gains from that.
    fn trim(&mut self, _range: (Bytes, Bytes)) {}

    /// A step of an operation ends: returns what comes of it, or `None` where the operation goes on in the media alone.
    /// Where more comes of it than one outcome, the others are in `outcomes`, behind the one returned.
    fn step(
        &mut self,
        now: Instant,
        operation: OperationHandle,
        events: &mut Schedule,
        outcomes: &mut Outcomes,
    ) -> Option<Outcome>;

    /// A burst of a read comes off the media by itself.
    fn off_media(
        &mut self,
        now: Instant,
        burst: Burst,
        _events: &mut Schedule,
        outcomes: &mut Outcomes,
    ) {
        let Burst { command, bytes } = burst;
        outcomes.emit(Outcome::Data { command, bytes, passage: Passage::worked(now) });
    }

    /// The drive gets commands.
    fn takes(&mut self, _commands: u32) {}

    /// The drive has completed a command: when to look whether it is still idle, if that matters.
    fn gives(&mut self, _now: Instant) -> Option<Instant> {
        None
    }

    /// The drive may have been idle for long enough to work in the background.
    fn idle(&mut self, _now: Instant, _events: &mut Schedule) {}

    /// The power fails: all that is under way is gone.
    fn power_cut(&mut self, now: Instant) -> PowerLoss;

    /// The power is back.
    fn power_up(&mut self, _now: Instant, _events: &mut Schedule) {}

    /// Lets reads be repeated so from now on; none where there is no rule.
    fn set_retries(&mut self, _retries: Option<ReadRetries>) {}

    /// Returns what the media have written so far.
    fn usage(&self) -> DriveUse;

    /// Returns whether the media have anything to do.
    fn works(&self, now: Instant) -> bool;

    /// Returns the time that each part of the media has worked until `at`, which lies no earlier than anything that
    /// was asked of it. The parts are those of the drive's [`MediaPower`](crate::sim::spec::MediaPower), in their order.
    fn worked(&self, at: Instant) -> Vec<Duration>;

    /// Adds the time busy until now of the parts of the media.
    fn add_busy(&self, now: Instant, busy: &mut [Vec<Duration>; HOPS]);
}

//! Effects of a drive's power states on commands, and the readings of the drive's meter.

use super::{AttachedDrive, Simulator};
use crate::drive::PowerStateTimes;
use crate::drive::media::media;
use crate::drive::medium::Medium;
use crate::engine::budget::Hop;
use crate::engine::event::Event;
use crate::engine::number::{DriveNumber, PathNumber};
use crate::engine::slab::CommandHandle;
use lanemark_schema::units::{Duration, Instant};

/// A reading of a drive's meter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PowerReading {
    /// Times for which the drive was at work, idle, and in each state.
    pub times: PowerStateTimes,
    /// Busy time of each part of the media.
    pub media: Vec<Duration>,
}

impl Simulator {
    /// Reads the meters of all drives at `at`, which must be between the last event and the next. Returns `None` if the
    /// power of a drive is not known.
    pub(in super::super) fn power(&self, at: Instant) -> Option<Vec<PowerReading>> {
        let reading = |attachment: &AttachedDrive| {
            let times = attachment.meter.as_ref()?.times(at);
            Some(PowerReading {
                times,
                media: media!(&attachment.drive.media, media => media.worked(at)),
            })
        };
        self.attachments.iter().map(reading).collect()
    }

    /// Handles a command that a core has submitted. A drive that fetches its commands itself must be awake for this.
    #[inline]
    pub(super) fn on_submitted(&mut self, handle: CommandHandle) {
        if self.faults.is_some() && self.keeps_from_drive(handle) {
            return;
        }
        if !self.must_wake(handle, false) {
            self.fetch(handle);
        }
    }

    /// Handles the arrival of a command's frames, for which the drive must be awake.
    #[inline]
    pub(super) fn on_frames_arrived(&mut self, handle: CommandHandle) {
        if !self.must_wake(handle, true) {
            self.decode(handle);
        }
    }

    /// Continues the command that has woken the drive.
    pub(super) fn on_awake(&mut self, handle: CommandHandle) {
        self.commands[handle].trace.account_wait(Hop::Power, self.now);
        let index = usize::from(self.commands[handle].drive);
        if self.attachments[index].path.port_path(PathNumber(0)).issues_by_frames() {
            self.decode(handle);
        } else {
            self.fetch(handle);
        }
    }

    /// Returns whether a drive must wake before it continues with a command. If `frames`, the drive receives the
    /// command in frames; otherwise it fetches the command itself.
    #[inline]
    fn must_wake(&mut self, handle: CommandHandle, frames: bool) -> bool {
        let AttachedDrive { meter, path, .. } =
            &mut self.attachments[usize::from(self.commands[handle].drive)];
        let Some(meter) = meter else { return false };
        if path.port_path(PathNumber(0)).issues_by_frames() != frames {
            return false;
        }
        let Some(awake) = meter.note_command(self.now) else { return false };
        self.events.schedule(awake, Event::Awake(handle));
        true
    }

    #[inline]
    pub(super) fn note_answer(&mut self, index: DriveNumber) {
        let AttachedDrive { meter, drive, .. } = &mut self.attachments[usize::from(index)];
        if let Some(meter) = meter {
            meter.note_answer(self.now, media!(&drive.media, media => media.is_working(self.now)));
        }
    }

    /// Records that the media of a drive may have begun or ended work for which no command waits.
    #[inline(always)]
    pub(super) fn media_changed(&mut self, index: DriveNumber) {
        let AttachedDrive { meter, drive, .. } = &mut self.attachments[usize::from(index)];
        if let Some(meter) = meter
            && meter.has_no_command()
        {
            meter.background(self.now, media!(&drive.media, media => media.is_working(self.now)));
        }
    }
}

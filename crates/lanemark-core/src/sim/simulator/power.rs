//! Effects of a drive's power states on commands, and the readings of its meter.

use super::{Attachment, Event, Simulator};
use crate::sim::budget::Hop;
use crate::sim::drive::PowerTimes;
use crate::sim::drive::media::media;
use crate::sim::drive::medium::Medium;
use crate::sim::number::{DriveNumber, WayNumber};
use crate::sim::slab::CommandHandle;
use crate::units::{Duration, Instant};

/// A reading of a drive's meter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PowerReading {
    /// Times in which the drive was at work, idle, and in each state.
    pub times: PowerTimes,
    /// Time in which each part of the media worked.
    pub media: Vec<Duration>,
}

impl Simulator {
    /// The meters of all drives at `at`, which must lie between the last event and the next; `None` where what a
    /// drive takes is not known.
    pub(in super::super) fn power(&self, at: Instant) -> Option<Vec<PowerReading>> {
        let reading = |attachment: &Attachment| {
            let times = attachment.meter.as_ref()?.times(at);
            Some(PowerReading {
                times,
                media: media!(&attachment.drive.media, media => media.worked(at)),
            })
        };
        self.attachments.iter().map(reading).collect()
    }

    /// A core has submitted a command. A drive that fetches its commands itself has to be awake for that.
    #[inline]
    pub(super) fn submitted(&mut self, handle: CommandHandle) {
        if self.faults.is_some() && self.keeps_from_drive(handle) {
            return;
        }
        if !self.wakes(handle, false) {
            self.fetch(handle);
        }
    }

    /// The frames of a command are there, for which the drive has to be awake.
    #[inline]
    pub(super) fn arrived(&mut self, handle: CommandHandle) {
        if !self.wakes(handle, true) {
            self.decode(handle);
        }
    }

    /// A drive that a command has woken goes on with it.
    pub(super) fn awake(&mut self, handle: CommandHandle) {
        self.commands[handle].trace.waited(Hop::Power, self.now);
        let index = usize::from(self.commands[handle].drive);
        match self.attachments[index].path.way(WayNumber(0)).issues_by_frames() {
            true => self.decode(handle),
            false => self.fetch(handle),
        }
    }

    /// Whether a drive has to wake before it goes on with a command, which it gets by frames or fetches itself.
    #[inline]
    fn wakes(&mut self, handle: CommandHandle, frames: bool) -> bool {
        let Attachment { meter, path, .. } =
            &mut self.attachments[usize::from(self.commands[handle].drive)];
        let Some(meter) = meter else { return false };
        if path.way(WayNumber(0)).issues_by_frames() != frames {
            return false;
        }
        let Some(awake) = meter.takes(self.now) else { return false };
        self.events.schedule(awake, Event::Awake(handle));
        true
    }

    /// A drive has answered a command.
    #[inline]
    pub(super) fn answered(&mut self, index: DriveNumber) {
        let Attachment { meter, drive, .. } = &mut self.attachments[usize::from(index)];
        if let Some(meter) = meter {
            meter.gives(self.now, media!(&drive.media, media => media.works(self.now)));
        }
    }

    /// The media of a drive may have begun or ended work that no command waits for.
    #[inline(always)]
    pub(super) fn media_changed(&mut self, index: DriveNumber) {
        let Attachment { meter, drive, .. } = &mut self.attachments[usize::from(index)];
        if let Some(meter) = meter
            && meter.has_no_command()
        {
            meter.background(self.now, media!(&drive.media, media => media.works(self.now)));
        }
    }
}

//! Drives: command engines, a write buffer, and a medium.
//!
//! ```text
//!  command ─► front end ─► medium ─► outcomes: data ─► link                                  (read)
//!  command ─► front end ─► buffer room ─► link ─► buffer ─► medium ─► outcomes: done, room   (write)
//! ```
//!
//! A drive takes commands and emits outcomes ([`outcome`]), which the host's side of the simulator processes in the
//! same way for every kind of media. Each kind has a folder here: [`solid_state`], [`disk`] and [`cloud`]. The folder
//! contains a [`Medium`], which is the simulated medium, and a [`MediumFormulas`](formulas::MediumFormulas), which
//! computes the demands without simulation.

pub(crate) mod arbitration;
mod buffer;
mod cloud;
pub(super) mod disk;
pub(super) mod formulas;
mod front_end;
pub(super) mod media;
pub(super) mod medium;
pub(super) mod outcome;
mod power;
mod solid_state;

pub(super) use buffer::{WriteBuffer, buffered_bytes};
pub(super) use front_end::{DecodableCommand, FrontEnd};
pub(super) use power::{PowerMeter, PowerStateTimes};
#[cfg(test)]
pub(super) use solid_state::write_amplification;
pub(super) use solid_state::{in_order_bytes, scattered_bytes};

use self::media::{Media, media};
use self::medium::{Medium, PowerCutData};
use crate::drive::arbitration::Arbiter;
use crate::engine::budget::{HOPS, Hop};
use crate::engine::number::DriveNumber;
use crate::engine::slab::Handle;
use crate::spec::{AttachmentSpec, DriveSpec, PriorContent};
use lanemark_schema::result::{CreditUse, DriveUse, Reserve};
use lanemark_schema::rng::StreamKey;
use lanemark_schema::units::{Bytes, Duration, Instant};

/// A simulated drive.
#[derive(Clone, Debug)]
pub(super) struct Drive {
    /// The command engines: decoding and firmware.
    pub front_end: FrontEnd,
    /// The write buffer.
    pub buffer: WriteBuffer,
    /// The media that hold the data.
    pub media: Media,
}

impl Drive {
    /// Creates the idle drive `index` of a system, in its specified condition and with the prior `content`. Its command
    /// engines take commands in the order of `arbiter`, and the run's `key` determines its random events.
    pub(super) fn new(
        index: DriveNumber,
        spec: &DriveSpec,
        content: PriorContent,
        arbiter: Option<Arbiter>,
        key: StreamKey,
    ) -> Self {
        Self {
            front_end: FrontEnd::new(index, spec.front_end_at_work()).arbitrated(arbiter),
            buffer: WriteBuffer::new(spec.buffer),
            media: Media::new(index, spec, content, key),
        }
    }

    /// Cuts the power: all work in progress is lost. Returns the number of acknowledged bytes that were lost.
    pub(super) fn power_cut(&mut self, now: Instant, spec: &AttachmentSpec) -> Bytes {
        let AttachmentSpec { drive, protocol, .. } = spec;
        self.front_end =
            self.front_end.restarted(drive.front_end_at_work(), Arbiter::for_protocol(protocol));
        let PowerCutData { lost, held } = media!(&mut self.media, media => media.power_cut(now));
        self.buffer = WriteBuffer::new(drive.buffer);
        self.buffer.admit(Handle::NONE, held);
        lost
    }

    /// Returns the amounts of data that the drive has written so far.
    pub(super) fn usage(&self) -> DriveUse {
        let buffered = match &self.media {
            Media::SolidState(_) | Media::Disk(_) => self.buffer.occupied(),
            // A volume's buffer contains only the data of writes in flight.
            Media::Cloud(_) => Bytes::ZERO,
        };
        DriveUse { buffered, ..media!(&self.media, media => media.usage()) }
    }

    /// Appends the remaining amount of each of the drive's reserves: room in the buffer, and the reserves of the media.
    pub(super) fn reserves(&self, left: &mut Vec<(Reserve, u64)>) {
        left.push((Reserve::WriteBuffer, self.buffer.free().get()));
        media!(&self.media, media => media.reserves(left));
    }

    /// Returns the use of the burst credits of the media, if they have any.
    pub(super) fn credits(&self) -> Vec<CreditUse> {
        media!(&self.media, media => media.credits())
    }

    /// Returns the number of slots that collection has moved in the media so far.
    pub(super) fn collected(&self) -> u64 {
        media!(&self.media, media => media.collected())
    }

    /// Returns the memory that grows with the written data, in bytes, with the growth that may follow soon.
    pub(super) fn bytes(&self) -> u64 {
        media!(&self.media, media => media.bytes())
    }

    /// Adds the busy times of the drive's parts so far.
    pub(super) fn add_busy(&self, now: Instant, busy: &mut [Vec<Duration>; HOPS]) {
        busy[Hop::FrontEnd as usize].extend(self.front_end.busy());
        media!(&self.media, media => media.add_busy(now, busy));
    }
}

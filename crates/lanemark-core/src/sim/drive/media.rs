//! The media of a drive, by kind: the one place that knows all kinds of media at work.

use super::disk::Disk;
use super::solid_state::SolidState;
use crate::rng::StreamKey;
use crate::sim::number::DriveNumber;
use crate::sim::spec::{Content, DriveSpec, MediaSpec};

/// The media of a drive at work. [`media!`](crate::sim::drive::media!) asks them.
#[derive(Clone, Debug)]
#[expect(clippy::large_enum_variant, reason = "few of them, and flash is asked at every event")]
pub(crate) enum Media {
    /// Flash.
    SolidState(SolidState),
    /// Platters.
    Disk(Box<Disk>),
}

/// Asks the media of a drive something that every [`Medium`](crate::sim::drive::medium::Medium) answers.
///
/// Calls of flash are inlined that way, which those of a trait object are not.
macro_rules! media {
    ($media:expr, $one:ident => $asked:expr) => {
        match $media {
            $crate::sim::drive::media::Media::SolidState($one) => $asked,
            $crate::sim::drive::media::Media::Disk($one) => $asked,
        }
    };
}
pub(crate) use media;

impl Media {
    /// The idle media of drive `index`, in its condition with `content`. What happens by chance in them follows from the
    /// run's `key`.
    pub(crate) fn new(
        index: DriveNumber,
        drive: &DriveSpec,
        content: Content,
        key: StreamKey,
    ) -> Self {
        match &drive.media {
            MediaSpec::Flash(flash) => {
                Self::SolidState(SolidState::new(index, flash, drive, content, key))
            }
            MediaSpec::Disk(disk) => {
                Self::Disk(Box::new(Disk::new(index, disk, drive.capacity, drive.buffer)))
            }
        }
    }
}

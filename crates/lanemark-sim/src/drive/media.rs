//! The media of a drive, by kind; this is the only module that handles all kinds of media.

use super::cloud::Cloud;
use super::disk::Disk;
use super::solid_state::SolidState;
use crate::engine::number::DriveNumber;
use crate::spec::{DriveSpec, MediaSpec, PriorContent};
use lanemark_schema::rng::StreamKey;

/// The simulated media of a drive. [`media!`](crate::drive::media!) calls their methods.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there are few of them, and flash is called at every event"
)]
pub(crate) enum Media {
    /// Flash.
    SolidState(SolidState),
    /// Platters.
    Disk(Box<Disk>),
    /// A volume of a cloud provider.
    Cloud(Box<Cloud>),
}

/// Calls a method of [`Medium`](crate::drive::medium::Medium) on a drive's media.
///
/// The compiler inlines these calls for flash, which it cannot do for a trait object.
macro_rules! media {
    ($media:expr, $one:ident => $asked:expr) => {
        match $media {
            $crate::drive::media::Media::SolidState($one) => $asked,
            $crate::drive::media::Media::Disk($one) => $asked,
            $crate::drive::media::Media::Cloud($one) => $asked,
        }
    };
}
pub(crate) use media;

impl Media {
    /// Creates the idle media of drive `index`, in the drive's specified condition and with the prior `content`. The
    /// run's `key` determines their random events.
    pub(crate) fn new(
        index: DriveNumber,
        drive: &DriveSpec,
        content: PriorContent,
        key: StreamKey,
    ) -> Self {
        match &drive.media {
            MediaSpec::Flash(flash) => {
                Self::SolidState(SolidState::new(index, flash, drive, content, key))
            }
            MediaSpec::Disk(disk) => {
                Self::Disk(Box::new(Disk::new(index, disk, drive.capacity, drive.buffer)))
            }
            MediaSpec::Cloud(cloud) => Self::Cloud(Box::new(Cloud::new(index, cloud, key))),
        }
    }
}

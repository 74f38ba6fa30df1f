//! The kinds of media that hold the data of a drive.

use super::bounds::SpecError;
use super::cloud::CloudSpec;
use super::disk::DiskSpec;
use super::flash::{FlashSpec, SLOT};
use super::power::MediaPower;
use lanemark_schema::units::Bytes;

/// The media that hold the data of a drive. A new kind needs a variant here and an arm in both `drive/media.rs` and
/// `drive/formulas.rs`.
#[derive(Clone, Debug, PartialEq)]
pub enum MediaSpec {
    /// NAND flash or a similar memory.
    Flash(FlashSpec),
    /// Platters under an arm.
    Disk(DiskSpec),
    /// A volume of a cloud provider.
    Cloud(CloudSpec),
}

impl MediaSpec {
    /// Checks all bounds on which the model relies, for a drive of `capacity`.
    ///
    /// # Errors
    /// Returns an error for the first value that is out of bounds.
    pub fn check(&self, capacity: Bytes) -> Result<(), SpecError> {
        match self {
            Self::Flash(flash) => flash.check(capacity),
            Self::Disk(disk) => disk.check(capacity),
            Self::Cloud(cloud) => cloud.check(capacity),
        }
    }

    /// Returns whether `power` fits this kind of media.
    pub(super) fn fits_power(&self, power: &MediaPower) -> bool {
        matches!(
            (self, power),
            (Self::Flash(_), MediaPower::Flash { .. }) | (Self::Disk(_), MediaPower::Disk { .. })
        )
    }

    /// Returns whether the media have burst credits, which change their rate when they run out.
    pub(crate) fn has_credits(&self) -> bool {
        match self {
            Self::Cloud(cloud) => cloud.has_credits(),
            Self::Flash(_) | Self::Disk(_) => false,
        }
    }

    /// Returns the room that the write buffer needs in addition to a burst, and the reason.
    pub(super) fn buffer_min(&self) -> (Bytes, &'static str) {
        match self {
            Self::Flash(flash) => (flash.unit() * 2, "a burst and two flash units"),
            // An unaligned burst takes an additional slot at each end.
            Self::Disk(_) | Self::Cloud(_) => (SLOT * 2, "a burst that is not aligned"),
        }
    }
}
